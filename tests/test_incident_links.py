"""Links under an incident's message: where they lead, and that no name and no missing Kibana costs more than a link."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from detector.config import Settings
from detector.links.incident import links_of
from detector.links.kibana import LONGEST, DataView
from detector.links.kibana_view import KnownView
from detector.notify.choice import audience_of
from tests.config_texts import loaded
from tests.incident_cases import T0, finding, fired
from tests.test_kibana import _Kibana, kibana

__all__ = ["kibana"]  # the fixture
PLACES = "grafana: {url: 'https://grafana.example', panels: {finish_reason: {dashboard: uid, panel: 4}}}\nkibana: {url: 'https://kibana.example'}\n"
VIEW = DataView("https://kibana.example", "llm")


def view(folder: Path, url: str, *more: str, key: str = "k", source: str = "{url: 'https://es.example', index: llm-*}") -> KnownView:
    text = f"source: {source}\nkibana: {{{', '.join((f'url: {url!r}', *more))}}}\n"
    return KnownView(loaded(folder, text, {"DETECTOR_ES_API_KEY": key}), lambda: clock[0])


clock = [0.0]


@pytest.mark.parametrize(
    ("more", "found"),
    [
        (("space: ops team",), DataView("http://x", "9f", "ops team")),
        (("space: ops team", "data_view: LLM log"), DataView("http://x", "9f", "ops team")),
        (("product: opensearch-dashboards",), DataView("http://x", "d1", product="opensearch-dashboards")),
    ],
    ids=["by the index pattern", "by its name", "OpenSearch Dashboards"],
)
def test_the_data_view_is_looked_up_once(more: tuple[str, ...], found: DataView, kibana: str, tmp_path: Path) -> None:
    known = view(tmp_path, kibana, *more)
    assert [known(), known()] == [replace(found, url=kibana)] * 2
    assert len(_Kibana.asked) == 1
    assert known.remarks == []


def test_a_kibana_that_does_not_tell_costs_the_link_and_is_asked_again_later(kibana: str, tmp_path: Path) -> None:
    clock[0] = 0.0
    known = view(tmp_path, kibana)
    assert [known(), known()] == [None, None]
    assert len(_Kibana.asked) == 1
    assert "no link to Kibana" in known.remarks[0]
    assert "HTTP 401" in known.remarks[0]
    clock[0] = 901.0
    known()
    assert len(_Kibana.asked) == 2


def test_an_id_that_was_configured_is_taken_where_kibana_cannot_be_asked(tmp_path: Path) -> None:
    known = view(tmp_path, "http://127.0.0.1:9", "data_view: my-id")
    assert known() == DataView("http://127.0.0.1:9", "my-id")
    assert known.remarks == []


def test_a_name_that_kibana_does_not_know_leads_nowhere(kibana: str, tmp_path: Path) -> None:
    known = view(tmp_path, kibana, "space: ops team", "data_view: no-such")
    assert known() is None
    assert "there is no data view no-such" in known.remarks[0]


def test_files_need_the_name_of_a_data_view(tmp_path: Path) -> None:
    known = view(tmp_path, "http://127.0.0.1:9", source="{path: log.jsonl}")
    assert known() is None
    assert "kibana.data_view must name" in known.remarks[0]


def places(folder: Path) -> Settings:
    return loaded(folder, PLACES)


def test_links_cover_all_of_the_incident(tmp_path: Path) -> None:
    """Not only the last window: six hours after it began, its beginning is on the panel too."""
    incident = replace(fired(finding(T0)), since=T0 - 6 * 3600)
    by_kind = {link.kind: link.url for link in links_of(incident, places(tmp_path), VIEW)}
    query = parse_qs(urlsplit(by_kind["grafana"]).query)
    assert int(query["from"][0]) / 1000 <= T0 - 6 * 3600 - 900
    assert int(query["to"][0]) / 1000 >= T0 + 900
    assert query["var-deployment"] == ["chat"]
    assert "from:'2027-01-15T02:00:00.000Z'" in unquote(by_kind["kibana"])


@pytest.mark.parametrize("name", ["\ud800half", "d" * 4000, "모델" * 2000, "a'b)(!&<>|\"\\"])
@pytest.mark.parametrize("ids", [(), ("r" * 5000,), ("한" * 400, "ok-1")])
def test_no_name_is_too_long_or_too_odd_for_them(name: str, ids: tuple[str, ...], tmp_path: Path) -> None:
    """A link less, or a wider one; never a run that fails."""
    links = links_of(fired(finding(T0, deployment=name, model=name, request_ids=ids)), places(tmp_path), VIEW)
    assert [link.kind for link in links] == ["kibana", "grafana"]
    assert all(len(link.url) <= LONGEST and link.url.isascii() for link in links)


@pytest.mark.parametrize(
    ("settings", "ids", "query"),
    [
        ("", ("c-1", "c-2"), '("c-1" or "c-2")'),
        ("kibana: {url: 'https://kibana.example', id_field: response.id}", ("c-1",), 'response.id : ("c-1")'),
        ("source: {path: x, mapping: {request_id: rid, model: llm}}", ("c-1",), 'rid : ("c-1")'),
        ("source: {path: x, mapping: {request_id: rid, model: llm}}", (), 'llm : "qwen3-32b" and "chat"'),
    ],
)
def test_rows_are_asked_by_fields_that_are_known(settings: str, ids: tuple[str, ...], query: str, tmp_path: Path) -> None:
    """The names of our columns are no fields of a log: asked by them, Discover would show nothing."""
    text = settings if "kibana" in settings else f"kibana: {{url: 'https://kibana.example'}}\n{settings}\n"
    (link,) = links_of(fired(finding(T0, request_ids=ids)), loaded(tmp_path, text), VIEW)
    assert f"query:'{query}'" in unquote(link.url)


def test_many_pods_are_looked_at_together(tmp_path: Path) -> None:
    """Three hundred variables would be an address that no browser takes."""
    links = links_of(fired(*(finding(T0, pod=f"p{number}") for number in range(30))), places(tmp_path), VIEW)
    query = parse_qs(urlsplit(next(link.url for link in links if link.kind == "grafana")).query)
    assert "var-pod" not in query
    assert query["var-model_name"] == ["qwen3-32b"]


def test_the_audience_links_through_the_view(kibana: str, tmp_path: Path) -> None:
    text = f"source: {{url: 'https://es.example', index: llm-*}}\nkibana: {{url: {kibana!r}, space: ops team}}\nnotify: {{file: {{path: out}}}}\n"
    audience = audience_of(loaded(tmp_path, text, {"DETECTOR_ES_API_KEY": "k"}))
    (link,) = audience.links(fired(finding(T0)))
    assert link.url.startswith(f"{kibana}/s/ops%20team/app/discover")
    assert "9f" in link.url
