"""Links to Kibana and OpenSearch Dashboards: read back, they say what was meant."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.errors import ConfigError, SourceError
from detector.links.kibana import LONGEST, DataView, choose_data_view, conditions, discover, kql_value, one_document, one_of, rison, rows
from detector.links.kibana_lookup import find_data_view
from tests.rison_reader import read

START, END = 1_796_000_040.0, 1_796_003_640.0
VIEW = DataView("https://kibana.example/base", "9f2c-1", space="llm ops", columns=("deployment", "finish_reason"))
TEXTS = st.text(max_size=40)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-(10**9), 10**9), TEXTS)
VALUES = st.recursive(SCALARS, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)), max_leaves=12)


def _parts(address: str) -> tuple[str, dict[str, Any]]:
    """The path before the fragment, and every state in it, decoded."""
    head, _, fragment = address.partition("#")
    pairs = (part.partition("=") for part in fragment.partition("?")[2].split("&"))
    return head, {name: read(unquote(value)) for name, _, value in pairs}


def _kql_literals(query: str) -> list[str]:
    """Quoted literals of a KQL query, unescaped as Kibana does."""
    return [re.sub(r"\\(.)", r"\1", literal) for literal in re.findall(r'"((?:[^"\\]|\\.)*)"', query)]


@given(VALUES)
def test_rison_reads_back(value: Any) -> None:
    assert read(rison(value)) == value


@given(TEXTS)
def test_a_literal_stays_one_literal(text: str) -> None:
    shown = "".join(character if character.isprintable() else " " for character in text)
    assert _kql_literals(kql_value(text)) == [shown]
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', kql_value(text))) == 2  # its own two quotes, no other is bare


@given(
    st.lists(TEXTS.filter(str.isprintable), min_size=1, max_size=60),
    st.dictionaries(st.sampled_from(("deployment", "model", "pod")), TEXTS.filter(str.isprintable)),
)
def test_rows_read_back(ids: list[str], labels: dict[str, str]) -> None:
    address = rows(VIEW, START, END, labels, "request_id", ids)
    assert len(address) <= LONGEST
    assert not set(address) & set("()' \"<>")
    _, state = _parts(address)
    literals = _kql_literals(state["_a"]["query"]["query"])
    assert literals[: len(labels)] == list(labels.values())
    named = literals[len(labels) :]
    assert named == ids[: len(named)]
    if len(named) < len(ids):  # left out only because the next one does not fit
        longer = " and ".join(part for part in (conditions(labels), one_of("request_id", ids[: len(named) + 1])) if part)
        assert len(discover(VIEW, START, END, longer)) > LONGEST


def test_values_whose_field_is_not_known_are_looked_for_in_all() -> None:
    """`request_id : "x"` shows nothing in a log whose ids stand in `response.id`."""
    _, state = _parts(rows(VIEW, START, END, {"service.name": "chat"}, None, ["a", 'b"c'], ["qwen3-32b"]))
    assert state["_a"]["query"]["query"] == r'service.name : "chat" and "qwen3-32b" and ("a" or "b\"c")'
    assert _parts(rows(VIEW, START, END, {}, None, ["a"]))[1]["_a"]["query"]["query"] == '("a")'


def test_discover_says_everything() -> None:
    head, state = _parts(discover(VIEW, START, END, conditions({"deployment": "chat", "pod": None, "status": 504, "stream": True})))
    assert head == "https://kibana.example/base/s/llm%20ops/app/discover"
    assert state["_a"]["index"] == "9f2c-1"
    assert state["_a"]["columns"] == ["deployment", "finish_reason"]
    assert state["_a"]["query"] == {"language": "kuery", "query": 'deployment : "chat" and not pod : * and status : 504 and stream : true'}
    assert state["_a"]["sort"] == [["@timestamp", "desc"]]
    start, end = (datetime.fromisoformat(state["_g"]["time"][side]).timestamp() for side in ("from", "to"))
    assert start == START
    assert end == pytest.approx(END - 0.001, abs=1e-4)


def test_default_space_is_not_named() -> None:
    assert urlsplit(discover(DataView("https://kibana.example/", "v"), START, END, "")).path == "/app/discover"


def test_opensearch_dashboards_has_its_own_state() -> None:
    view = DataView("https://dash.example", "logs-*", product="opensearch-dashboards", time_field="ts")
    head, state = _parts(rows(view, START, END, {"model": "/share/models/큰'모델!"}))
    assert head == "https://dash.example/app/data-explorer/discover"
    assert state["_a"]["metadata"] == {"indexPattern": "logs-*", "view": "discover"}
    assert state["_a"]["discover"]["sort"] == [["ts", "desc"]]
    assert _kql_literals(state["_q"]["query"]["query"]) == ["/share/models/큰'모델!"]
    assert set(state) == {"_g", "_a", "_q"}


def test_one_document() -> None:
    address = one_document(VIEW, ".ds-llm-2026.11.29-000001", "a/b?c#d&e")
    assert address.startswith("https://kibana.example/base/s/llm%20ops/app/discover#/doc/9f2c-1/.ds-llm-2026.11.29-000001?id=")
    assert unquote(address.partition("?id=")[2]) == "a/b?c#d&e"
    assert address.count("#") == 1


def test_too_long_even_without_ids() -> None:
    with pytest.raises(ConfigError, match="characters"):
        rows(VIEW, START, END, {"model": "m" * 3000})


@pytest.mark.parametrize(("wanted", "found"), [("9f", "9f"), ("logs-*", "7a"), ("All logs", "9f")])
def test_data_view_is_looked_up(wanted: str, found: str) -> None:
    listed = [{"id": "9f", "title": "llm-*", "name": "All logs"}, {"id": "7a", "title": "logs-*"}]
    assert choose_data_view(listed, wanted) == found


def test_data_view_must_be_one() -> None:
    with pytest.raises(ConfigError, match="2 data views"):
        choose_data_view([{"id": "a", "title": "x"}, {"id": "b", "title": "x"}], "x")
    with pytest.raises(ConfigError, match="there are: x"):
        choose_data_view([{"id": "a", "title": "x"}], "y")


class _Kibana(BaseHTTPRequestHandler):
    """Kibana's and OpenSearch Dashboards' lists of data views, as their API gives them."""

    asked: ClassVar[list[tuple[str, dict[str, str]]]] = []

    def do_GET(self) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.asked.append((self.path, headers))
        if self.path == "/s/ops%20team/api/data_views" and headers.get("kbn-xsrf") and headers.get("authorization") == "ApiKey k":
            self._answer(200, json.dumps({"data_view": [{"id": "9f", "title": "llm-*", "name": "LLM log", "namespaces": ["default"]}]}))
        elif self.path.startswith("/api/saved_objects/_find?type=index-pattern") and headers.get("osd-xsrf"):
            found = {"type": "index-pattern", "id": "d1", "attributes": {"title": "llm-*"}}
            self._answer(200, json.dumps({"page": 1, "total": 1, "saved_objects": [found]}))
        elif self.path.startswith("/s/login"):
            self._answer(302, "", location="/login")
        elif self.path.startswith("/s/page"):
            self._answer(200, "<html>login</html>")
        else:
            self._answer(401, json.dumps({"statusCode": 401, "error": "Unauthorized"}))

    def _answer(self, status: int, text: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def kibana() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Kibana)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    _Kibana.asked.clear()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_id_is_asked_of_kibana(kibana: str) -> None:
    assert find_data_view(kibana, "ops team", "llm-*", authorization="ApiKey k") == "9f"
    assert find_data_view(kibana, "ops team", "LLM log", authorization="ApiKey k") == "9f"
    with pytest.raises(ConfigError, match=r"there are: llm-\*"):
        find_data_view(kibana, "ops team", "other-*", authorization="ApiKey k")


def test_the_id_is_asked_of_dashboards(kibana: str) -> None:
    assert find_data_view(kibana, "default", "llm-*", product="opensearch-dashboards") == "d1"


@pytest.mark.parametrize(("space", "words"), [("default", "HTTP 401"), ("login", "HTTP 302"), ("page", "no Kibana")])
def test_kibana_that_does_not_tell(kibana: str, space: str, words: str) -> None:
    with pytest.raises(SourceError, match=words) as caught:
        find_data_view(kibana, space, "llm-*", authorization="ApiKey very-secret")
    assert "very-secret" not in str(caught.value)
    assert len(_Kibana.asked) == 1  # no redirect is followed with the credentials


def test_kibana_that_is_not_there() -> None:
    with pytest.raises(SourceError, match="can't be reached"):
        find_data_view("http://127.0.0.1:9", "default", "llm-*")
