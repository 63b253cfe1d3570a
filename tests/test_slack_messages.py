"""What Slack messages say and how large they are: golden files of one incident each, limits for the largest of every kind, the same words in both languages."""

from __future__ import annotations

import json
import os
import re
import string
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from detector.findings import Counted
from detector.incidents import Incident
from detector.notify.base import KINDS, Link, Telling
from detector.notify.slack_message import moved, parent, reply
from detector.notify.slack_parts import TEXT_LIMIT, TOTAL_LIMIT, SlackMessage, Style, cut, moment, trend
from detector.notify.wording import duration, words
from detector.render.numbers import percents
from tests.incident_cases import RULES, SLICE, T0, finding, fired
from tests.servers.slack import refusal

GOLDEN = Path(__file__).parent / "golden"
KINDS_OF_SLACK = [kind for kind in KINDS if kind != "still"]
STYLES = {"en": Style("en", "UTC"), "ko": Style("ko", "Asia/Seoul")}
LINKS = (Link("kibana", "Kibana", "https://kibana.example/a?b&c"), Link("grafana", "Grafana: ttft", "https://grafana.example/d/x?viewPanel=4", "ttft"))


def usual() -> Incident:
    """One rule, one series."""
    case = finding(T0, slices=(SLICE,), also={"length_cutoff": 19})
    # words of our own: the rule's may change without touching these files
    case = replace(
        case, title="Thinking markers appear in answers", meaning="Answers that hold `</think>`.", impact="Users read tags.", next_steps=("Ask.", "Mend.")
    )
    return replace(fired(case), since=T0 - 6000)


def state_of(kind: str, incident: Incident) -> Incident:
    if kind == "blind":
        return replace(incident, blind_since=T0, blind_why="the log: no connection")
    if kind == "escalated":
        return replace(incident, severity="critical")
    if kind in ("resolved", "merged"):
        return replace(incident, state="resolved", resolved_at=T0 + 5400, merged_into="y" if kind == "merged" else None)
    return incident


def telling(kind: str, incident: Incident, **more: Any) -> Telling:
    storm = tuple(replace(incident, id=f"{number:016x}") for number in range(60)) if kind == "storm" else ()
    return Telling(kind, "because", T0 + 5400, state_of(kind, incident), LINKS, storm, **more)


def both(kind: str, incident: Incident, style: Style, **more: Any) -> list[SlackMessage]:
    one = telling(kind, incident, **more)
    return [parent(one, style)] if kind == "storm" else [parent(one, style), reply(one, style)]


def as_text(message: SlackMessage) -> str:
    """A message as the lines that a person reads."""
    lines: list[str] = []
    for block in [
        *message.blocks,
        *({"bar": part["color"]} for part in message.attachments),
        *(block for part in message.attachments for block in part["blocks"]),
    ]:
        if "bar" in block:
            lines.append(f"--- {block['bar']}")
        elif "fields" in block:
            lines += ["  " + field["text"].replace("\n", " | ") for field in block["fields"]]
        elif block["type"] == "context":
            lines.append(f"({block['elements'][0]['text']})")
        else:
            lines.append(("# " if block["type"] == "header" else "") + block["text"]["text"])
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("kind", ["fired", "resolved", "blind", "escalated"])
def test_golden(kind: str, language: str) -> None:
    """One incident as a person reads it. DETECTOR_WRITE_GOLDEN=1 writes the files; look at the difference."""
    shown = "\n>> thread\n".join(as_text(message) for message in both(kind, usual(), STYLES[language], owner="S0LLMOPS1"))
    shown = re.sub(r"detector \d[\w.]*", "detector VERSION", shown)
    path = GOLDEN / f"slack_{kind}_{language}.txt"
    if os.environ.get("DETECTOR_WRITE_GOLDEN") == "1":
        path.write_text(shown)
    assert shown == path.read_text()
    assert shown.count("\n") <= 50


def huge() -> Incident:
    """As large as an incident gets: every rule, many pods, long texts, full lists."""
    cases = [
        replace(
            finding(T0, rule, deployment="d" * 300, model="/share/models/" + "m" * 300, pod=f"{number:04d}" + "p" * 300, slices=(SLICE,) * 6),
            subtypes={f"kind_{n}" * 10: 1000 - n for n in range(40)},
            also={f"signal_{n}" * 10: n for n in range(40)},
            request_ids=("r" * 500,) * 5,
            meaning="meaning & <more> " * 400,
            impact="impact & <more> " * 400,
            next_steps=("step & `code` <more> " * 60,) * 12,
            references=tuple(f"https://github.com/vllm-project/vllm/issues/{number}" for number in range(200)),
            counts=Counted(123_456_789, 9_876_543_210, T0 - 900, T0),
        )
        for rule in RULES
        for number in range(6)
    ]
    return replace(fired(*cases), blind_why="why " * 300, acked_by="a" * 300, closed_by="c" * 300, snoozed_until=T0 + 9e5)


@pytest.mark.parametrize("language", ["en", "ko"])
@pytest.mark.parametrize("kind", KINDS_OF_SLACK)
def test_the_largest_messages_are_within_limits(kind: str, language: str) -> None:
    """Of Slack and of our own budget; what is left out is said; the plain usual one is small."""
    links = tuple(Link("kibana", "K" * 200, "https://kibana.example/" + "x&" * 900) for _ in range(20))
    one = replace(telling(kind, huge(), owner="o" * 80, excerpts={"r": "text " * 4000}), links=links)
    for message in [parent(one, STYLES[language])] + ([reply(one, STYLES[language])] if kind != "storm" else []):
        arguments = {"text": message.text, "blocks": message.blocks, "attachments": message.attachments}
        assert refusal(json.loads(json.dumps(arguments))) is None
        assert message.size() <= TOTAL_LIMIT + 1000
        assert len(message.text) <= TEXT_LIMIT
        for text in re.findall(r'"text": "((?:[^"\\]|\\.)*)"', json.dumps(message.attachments, ensure_ascii=False)):
            assert not re.search(r"&(?!amp;|lt;|gt;)", text)  # no half entity
            assert text.count("`") % 2 == 0
    for message in both(kind, usual(), STYLES[language]):
        assert message.size() < 3000


def test_what_does_not_fit_is_said() -> None:
    """Links, rules, incidents."""
    assert "left out to fit" in as_text(
        parent(replace(telling("fired", huge()), links=tuple(Link("rule", "r", "https://x.example/" + "y" * 900) for _ in range(9))), Style())
    )
    assert "left out to fit" in as_text(parent(telling("storm", usual()), Style()))


def test_both_languages_have_the_same_words_with_the_same_gaps() -> None:
    """No phrase is missing, and none forgets a number."""
    english, korean = words("en"), words("ko")
    assert english.keys() == korean.keys()
    for word, phrase in english.items():
        gaps = [sorted(name for _, name, _, _ in string.Formatter().parse(text) if name) for text in (phrase, korean[word])]
        assert gaps[0] == gaps[1], word
    assert not [word for word, phrase in korean.items() if phrase == english[word]]


@pytest.mark.parametrize("kind", KINDS_OF_SLACK)
def test_every_kind_has_its_words(kind: str) -> None:
    """No kind fails for want of a phrase, and Korean messages speak Korean."""
    for language, style in STYLES.items():
        for message in both(kind, usual(), style):
            assert bool(re.search("[가-힣]", message.text)) == (language == "ko")


def test_the_text_is_what_a_phone_shows() -> None:
    """Severity, title, deployment and counts in the notification."""
    assert parent(telling("fired", usual()), Style()).text == (
        "🟠 WARNING: Thinking markers appear in answers — chat — 25 of 1,204 requests (2.1 %, 1.4–3.0 %), usually 0.2 %"
    )


def test_times_are_utc_and_local() -> None:
    """With the day where it differs, through daylight saving."""
    assert moment(T0, Style("en", "Asia/Seoul")) == "2027-01-15 08:00 UTC (17:00 KST)"
    assert moment(T0 + 8 * 3600, Style("en", "Asia/Seoul")) == "2027-01-15 16:00 UTC (01-16 01:00 KST)"
    assert moment(1_793_491_200, Style("en", "Europe/Berlin")) == "2026-11-01 00:00 UTC (01:00 CET)"
    assert moment(1_785_542_400, Style("en", "Europe/Berlin")) == "2026-08-01 00:00 UTC (02:00 CEST)"
    assert moment(T0, Style()) == "2027-01-15 08:00 UTC"
    assert (duration(12_000), duration(12_000, "ko"), duration(90_000), duration(10)) == ("3 h 20 min", "3시간 20분", "1 d 1 h", "1 min")


def test_trend_shows_gaps_and_scale() -> None:
    """A dot where nobody asked; the highest rate is named; nothing where nothing was flagged."""
    case = finding(T0, trend=((0, 10), (0, 0), (5, 10), (10, 10)))
    assert trend(case, Style()) == "▁·▅█ up to 100\u00a0%"
    assert trend(finding(T0, trend=((0, 10),)), Style()) == ""
    assert trend(finding(T0, trend=()), Style()) == ""


def test_an_owner_is_mentioned_by_id_and_named_otherwise() -> None:
    """When called for: not at each edit."""
    for owner, shown in (("U0123456", "<@U0123456>"), ("S0123456", "<!subteam^S0123456>"), ("team <!channel>", "team &lt;!channel&gt;")):
        assert shown in reply(telling("fired", usual(), owner=owner), Style()).text
        assert shown in reply(telling("reminder", usual(), owner=owner), Style()).text
        assert shown not in reply(telling("grew", usual(), owner=owner), Style()).text


def test_a_route_that_changed_leaves_a_signpost() -> None:
    assert "<#C9876543210>" in as_text(moved(telling("grew", usual()), "C9876543210", Style()))


def test_cut_ends_neither_in_an_entity_nor_in_code() -> None:
    for limit in range(10, 40):
        for text in ("&amp;" * 20, "`abc` `defghi` `x`" * 5, "a&lt;b`c" * 20):
            shown = cut(text, limit)
            assert len(shown) <= limit
            assert not re.search(r"&(?!amp;|lt;|gt;)", shown)
            assert shown.count("`") % 2 == 0


def test_reports_upstream_stand_below_the_first_checks() -> None:
    """A first check says "the upstream reports below"."""
    links = ("https://github.com/vllm-project/vllm/issues/39697", "https://docs.example/a?b&c")
    shown = as_text(reply(telling("fired", fired(finding(T0, references=links))), STYLES["en"]))
    assert f"<{links[0]}|vllm-project/vllm 39697> · <https://docs.example/a?b&amp;c|docs.example/a?b&amp;c>" in shown
    assert shown.index("First checks") < shown.index("vllm 39697")


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(0.014, 0.03, "1.4–3.0 %"), (0.02, 0.034, "2.0–3.4 %"), (0.0, 0.03, "0–3 %"), (0.0, 0.0012, "0–0.12 %"), (0.68, 1.0, "68–100 %"), (0.15, 0.26, "15–26 %")],
)
def test_both_ends_of_an_interval_are_as_exact(low: float, high: float, shown: str) -> None:
    assert percents(low, high) == shown


def test_a_clean_incident_says_since_when() -> None:
    """It still stands as firing while its rules' calm lasts: whoever looks must see that it stopped."""
    calm = replace(usual(), clean_from=T0)
    assert "clean since 2027-01-15 08:00 UTC" in as_text(parent(telling("updated", calm), STYLES["en"]))
    assert "부터 정상" in as_text(parent(telling("updated", calm), STYLES["ko"]))


def test_an_end_says_how_many_it_were() -> None:
    """Duration, totals, peak."""
    over = replace(usual(), state="resolved", resolved_at=T0 + 5400, totals={"think_tag_leak": (1312, T0)}, peak_flagged=41)
    assert "1,312 requests in all, at most 41 in one window" in as_text(parent(telling("resolved", over), STYLES["en"]))
