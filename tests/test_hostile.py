"""Names and ids from logs are hostile: each string of tests/data/hostile.jsonl, as every field that a log fills, through every receiver. Nothing is obeyed."""

from __future__ import annotations

import json
import re
import time
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detector.folding import fingerprint
from detector.incidents import Incident
from detector.notify.alertmanager import AlertmanagerReceiver
from detector.notify.annotations import AnnotationReceiver
from detector.notify.base import KINDS, Link, Telling
from detector.notify.excerpts import masked
from detector.notify.file import FileReceiver
from detector.notify.pagerduty import PagerDutyReceiver
from detector.notify.slack_message import parent, reply
from detector.notify.slack_parts import TEXT_LIMIT, TOTAL_LIMIT, SlackMessage, Style
from detector.notify.webhook import WebhookReceiver
from detector.render.inert import markdown, plain
from detector.storage.store import Store
from tests.incident_cases import SLICE, T0, finding, fired
from tests.servers.alertmanager import alertmanager
from tests.servers.receivers import Grafana, PagerDuty, Webhook, served
from tests.servers.required import ServerMissingError, missing
from tests.servers.slack import refusal

STRINGS: list[str] = [json.loads(line)["text"] for line in (Path(__file__).parent / "data" / "hostile.jsonl").read_text().splitlines()]
LINKS = (Link("kibana", "Kibana", "https://kibana.example/app/discover#/?_g=(a:'b')"), Link("rule", "think_tag_leak", "https://docs.example/think_tag_leak.md"))
OUR_LINK = re.compile(r"<https://(?:kibana|docs)\.example/[^<>|\s]*\|[^<>|]*>")
UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
CHANGES = [kind for kind in KINDS if kind != "still"]


def incident(text: str) -> Incident:
    """An incident with this string wherever a log, a person or an error may put one."""
    case = finding(
        T0,
        deployment=text,
        model=text,
        pod=text,
        request_ids=(text, text),
        subtypes={text: 25},
        also={text: 3},
        slices=(replace(SLICE, conditions={"pod": text, "client": text}),),
        doc_ids=((text, text),),
    )
    opened = fired(case, replace(case, labels={**case.labels, "pod": "2" + text}))
    return replace(opened, blind_why=text, acked_by=text or "-", closed_by=text or "-", deployment=text)


def told(kind: str, text: str) -> Telling:
    """A telling of this kind, with everything shown that the kind can show."""
    one = incident(text)
    if kind == "blind":
        one = replace(one, blind_since=T0)
    if kind in ("resolved", "merged"):
        one = replace(one, state="resolved", resolved_at=T0 + 600, merged_into="x" if kind == "merged" else None)
    storm = tuple(replace(one, id=str(number)) for number in range(25)) if kind == "storm" else ()
    return Telling(kind, text, T0 + 600, one, LINKS, storm, {text: text})


def texts(value: Any) -> Iterator[tuple[str, str]]:
    """(how Slack reads it, text) of every text in some blocks."""
    if isinstance(value, dict):
        if isinstance(value.get("text"), str) and value.get("type") in ("mrkdwn", "plain_text", "text"):
            yield value["type"], value["text"]
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


def of_slack(message: SlackMessage) -> list[tuple[str, str]]:
    fallbacks = [("plain_text", attachment["fallback"]) for attachment in message.attachments]
    return [("plain_text", message.text), *fallbacks, *texts(message.blocks), *texts(message.attachments)]


def shape(text: str) -> dict[str, int]:
    """How often each mark stands in a text that mrkdwn reads."""
    outside = re.sub(r"`[^`\n]*`", "‹code›", OUR_LINK.sub("‹link›", text))
    outside = re.sub(r"(?<=[^\W_])_(?=[^\W_])", "", outside)  # within a word it marks nothing
    return {mark: outside.count(mark) for mark in ("*", "_", "~", "`", "\n", "‹code›", "‹link›")}


BENIGN = {
    (kind, make.__name__): [shape(text) for how, text in of_slack(make(told(kind, "chat"), Style())) if how != "text"]
    for kind in CHANGES
    for make in (parent, reply)
    if kind != "storm" or make is parent
}


def check_slack(message: SlackMessage, benign: list[dict[str, int]]) -> None:
    found = of_slack(message)
    for kind, text in found:
        if kind == "text":  # rich text: literal, but it must not disguise itself
            assert not [char for char in text if unicodedata.category(char) in UNSAFE and char != "\n"]
            continue
        rest = OUR_LINK.sub("", text)
        assert "<" not in rest
        assert ">" not in rest
        assert not re.search(r"&(?!amp;|lt;|gt;)", rest)
        assert not [char for char in rest if unicodedata.category(char) in UNSAFE and char != "\n"]
        outside_code = re.sub(r"`[^`\n]*`", "", rest)
        assert not re.search(r"https?://|ftp://|mailto:|www\.", outside_code, re.IGNORECASE)
        assert not re.search(r"@(here|channel|everyone)", outside_code)
        assert not re.search(r":[\w+'-]{1,60}:", outside_code)
        assert not re.search(r"^\s*&gt;", outside_code, re.MULTILINE)
        text.encode()
    shapes = [shape(text) for kind, text in found if kind != "text"]
    if any("left out to fit" in text for _, text in found[6:]) and len(shapes) != len(benign):
        shapes, benign = shapes[:6], benign[:6]  # names of five-fold size leave fewer of many incidents room, which is said
    assert shapes == benign
    assert refusal({"text": message.text, "blocks": message.blocks, "attachments": message.attachments}) is None
    assert len(message.text) <= TEXT_LIMIT
    assert message.size() <= TOTAL_LIMIT + 1500


def test_the_corpus_is_large_enough() -> None:
    assert len(set(STRINGS)) >= 200


@pytest.mark.parametrize("kind", CHANGES)
def test_slack_obeys_nothing(kind: str) -> None:
    """Every string, as a parent and as a reply: same blocks, same marks, same lines as a harmless name gives; only our links."""
    for text in STRINGS:
        check_slack(parent(told(kind, text), Style()), BENIGN[kind, "parent"])
        if kind != "storm":
            check_slack(reply(told(kind, text), Style()), BENIGN[kind, "reply"])


def test_excerpts_are_masked_and_inert() -> None:
    """No name, number or address survives; markers do."""
    for text in STRINGS:
        assert len(masked(text)) <= 450
    said = "So Jane Doe (jane.doe@corp.example, 010-1234-5678) of 12 Elm Street asked 김민수 at https://corp.example/x?y.\n</think>\n\nThe answer is 42."
    shown = masked(said)
    for private in ("Jane", "Doe", "corp", "1234", "Elm", "김민수", "42", "12 "):
        assert private not in shown
    assert "</think>" in shown
    assert "The xxxxxx is 00." in shown


def test_text_and_markdown_files_obey_nothing(tmp_path: Path) -> None:
    """One line of text per message, no control characters, no markup."""
    for form in ("text", "markdown", "json"):
        path = tmp_path / form
        receiver = FileReceiver(str(path), form)  # type: ignore[arg-type]  # one of its three
        for number, text in enumerate(STRINGS):
            receiver.tell(told("fired", text), f"key-{number}", None, tried_at=None)
        written = path.read_bytes().decode()
        assert not [char for char in written if unicodedata.category(char) in UNSAFE and char != "\n"]
        if form != "markdown":
            assert written.count("\n") == len(STRINGS)
        if form == "json":
            assert [json.loads(line)["key"] for line in written.splitlines()] == [f"key-{number}" for number in range(len(STRINGS))]
        if form == "markdown":
            assert "<" not in re.sub(r"<!-- key-\d+ -->", "", written)
            assert len(re.findall(r"^## ", written, re.MULTILINE)) == len(STRINGS)
            assert not re.search(r"(?<!\\)\]\(|https?://|www\.", written)


def test_plain_text_is_cut_between_graphemes() -> None:
    """Neither an accent, a flag, a skin tone, a family nor a jamo block is halved, nor one of our own escapes."""
    assert plain("e\u0301" * 80, 60).removesuffix("…")[-2:] == "e\u0301"
    assert len(plain("🇰🇷" * 40, 60).removesuffix("…")) % 2 == 0
    assert plain("👍🏽" * 40, 60).removesuffix("…").endswith("👍🏽")
    assert plain("\u1112\u1161\u11ab" * 40, 60).removesuffix("…").endswith("\u11ab")
    family = plain("👨\u200d👩\u200d👧" * 20, 60)
    assert not family.removesuffix("…").endswith("\\u200d")
    for text in STRINGS:
        for limit in (10, 60, 150):
            shown = plain(text, limit)
            assert len(shown) <= limit
            assert not re.search(r"\\u[0-9a-f]{0,3}…$", shown)


def test_markdown_makes_no_link_of_a_bare_address() -> None:
    assert markdown("https://evil.example www.evil.example") == "https:&#47;/evil.example www&#46;evil.example"


def test_webhook_pagerduty_and_grafana_get_valid_json() -> None:
    """The names arrive as they are (lone surrogates, which are no text, replaced); lengths are kept; Grafana, which shows HTML, gets none."""
    hook, pager, grafana = Webhook(), PagerDuty(), Grafana()
    with served(hook) as hook_url, served(pager) as pager_url, served(grafana) as grafana_url:
        for number, text in enumerate(STRINGS):
            telling = told("fired", text)
            WebhookReceiver(hook_url, "whsec-test", time.time).tell(telling, f"k{number}", None, tried_at=None)
            PagerDutyReceiver("a" * 32, pager_url).tell(telling, f"k{number}", None, tried_at=None)
            AnnotationReceiver(f"{grafana_url}/grafana", "glsa_test").tell(telling, f"k{number}", None, tried_at=None)
    assert len(hook.taken) == len(STRINGS)
    for number, text in enumerate(STRINGS):
        assert hook.taken[f"k{number}"]["incident"]["deployment"] == text.encode("utf-8", "replace").decode()
    assert len(grafana.annotations) == len(STRINGS)
    assert not [one for one in grafana.annotations.values() if re.search('[<>"]', one["text"])]


@pytest.mark.alertmanager
def test_alertmanager_takes_every_name(tmp_path: Path) -> None:
    """A real one: one alert per name that has anything to show."""
    try:
        with alertmanager(tmp_path) as running:
            receiver = AlertmanagerReceiver((running.url,), 300, time.time)
            for number, text in enumerate(STRINGS):
                receiver.tell(replace(told("fired", text), incident=replace(incident(text), id=f"id{number}")), f"k{number}", None, tried_at=None)
            held = running.alerts()
    except ServerMissingError as error:
        missing(error)
    assert len(held) == len(STRINGS)
    for alert in held:
        assert not [char for value in alert["labels"].values() for char in value if unicodedata.category(char) in UNSAFE]


def test_the_store_keeps_every_name(tmp_path: Path) -> None:
    """Saved and read back unchanged; ids differ by name."""
    store = Store(f"sqlite:///{tmp_path}/detector.db")
    with store.transaction() as connection:
        store.save(connection, [replace(incident(text), id=f"id{number}", since=float(number)) for number, text in enumerate(STRINGS)])
        for text in STRINGS:
            store.note(connection, T0, text, "ack", text, text)
    assert [one.deployment for one in store.incidents()] == STRINGS
    assert len(store.audited()) == len(STRINGS)
    store.close()
    assert len({fingerprint(text, "think_leak") for text in STRINGS}) == len(STRINGS)
