"""`detector incidents`: look, take, snooze, silence, resolve; ids, matchers, expiry, audit."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from detector.cli import main
from detector.errors import ConfigError
from detector.notify.base import TELLING, Telling
from detector.storage.silences import Silence, matcher, silenced
from detector.storage.store import Store
from tests.incident_cases import T0, finding, fired

Call = Callable[..., tuple[int, str]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two open incidents and a resolved one, in the current folder."""
    monkeypatch.chdir(tmp_path)
    found = Store(f"sqlite:///{tmp_path}/detector.db")
    mild, bad = fired(finding(T0)), fired(finding(T0, deployment="voice", severity="critical"))
    over = replace(fired(finding(T0, deployment="old")), state="resolved", resolved_at=T0 + 60)
    with found.transaction() as connection:
        found.save(connection, [mild, bad, over])
        body = TELLING.dump_python(Telling("fired", "new", T0, mild), mode="json")
        found.queue(connection, "k", "pagerduty", mild.id, "fired", body, T0)
    found.close()
    return found


@pytest.fixture
def call(store: Store, capsys: pytest.CaptureFixture[str]) -> Call:
    """Run a verb: (exit code, what it printed)."""

    def run(*arguments: str) -> tuple[int, str]:
        code = main(["incidents", *arguments])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def ids(call: Call) -> dict[str, str]:
    """Deployment -> id of the open incidents."""
    return {entry["deployment"]: entry["id"] for entry in json.loads(call("list", "--format", "json")[1])}


def test_list_shows_open_ones_worst_first(call: Call) -> None:
    """The resolved one only with --all."""
    code, text = call("list")
    assert code == 0
    assert [line.split()[1] for line in text.splitlines() if not line.startswith(" ")] == ["CRITICAL", "WARNING"]
    assert "25 of 1,204" in text
    assert "old" not in text
    assert "old" in call("list", "--all")[1]


def test_list_says_who_is_snoozed(call: Call) -> None:
    known = ids(call)
    call("snooze", known["voice"], "--for", "2h", "--by", "kim")
    (line,) = [line for line in call("list")[1].splitlines() if known["voice"] in line]
    assert "snoozed until" in line
    assert call("list")[1].count("snoozed") == 1


@pytest.mark.parametrize("arguments", [("show", "nope", "--format", "json"), ("ack", "nope"), ("unsilence", "77")])
def test_what_is_not_there_is_told_on_stderr(store: Store, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever reads JSON from stdout must not find a sentence there."""
    assert main(["incidents", *arguments]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("detector: there is no ")


def test_ids_hold_no_names_and_are_stable(call: Call) -> None:
    """Sixteen hexadecimal digits; the same after another finding of the same kind."""
    assert ids(call)["chat"] == fired(finding(T0 + 999, flagged=77)).id
    assert all(len(one) == 16 and int(one, 16) for one in ids(call).values())


def test_show_tells_the_history(call: Call) -> None:
    chat = ids(call)["chat"]
    assert call("ack", chat, "--by", "kim")[0] == 0
    code, text = call("show", chat)
    assert code == 0
    assert "ack  by kim" in text
    assert "chatcmpl-0000" in text
    assert json.loads(call("show", chat, "--format", "json")[1])["acked_by"] == "kim"


@pytest.mark.parametrize(("verb", "field"), [("ack", "acked_by"), ("snooze", "snoozed_until"), ("resolve", "resolved_at")])
def test_an_answer_is_kept_and_audited(verb: str, field: str, call: Call, store: Store) -> None:
    """By whom, and told at the next run."""
    chat = ids(call)["chat"]
    code, text = call(verb, chat, "--by", "kim")
    assert code == 0
    assert "next run" in text
    kept = next(incident for incident in store.incidents() if incident.id == chat)
    assert getattr(kept, field) is not None
    assert kept.untold == f"{verb} by kim"
    assert [entry[1:4] for entry in store.audited()] == [("kim", verb, chat)]
    store.close()


@pytest.mark.parametrize("verb", ["show", "ack", "snooze", "resolve"])
def test_an_unknown_id_is_said(verb: str, call: Call) -> None:
    assert call(verb, "0123456789abcdef")[0] == 1
    code, text = call("resolve", "\x1b[31m<!channel>")
    assert code == 1
    assert "\x1b" not in text


def test_snooze_for_a_time(call: Call, store: Store) -> None:
    chat = ids(call)["chat"]
    call("snooze", chat, "--for", "30m")
    kept = next(incident for incident in store.incidents() if incident.id == chat)
    assert kept.snoozed_until == pytest.approx(time.time() + 1800, abs=60)
    store.close()
    code, text = call("snooze", chat, "--for", "soon")
    assert code == 2
    assert "soon" in text


def test_silence_and_its_end(call: Call, store: Store) -> None:
    """Numbered, listed with who and why, ended by hand, audited."""
    code, text = call("silence", "deployment=chat", "severity!=critical", "--for", "2h", "--comment", "upgrade", "--by", "kim")
    assert code == 0
    assert "silence 1" in text
    assert "upgrade" in call("silences")[1]
    (kept,) = json.loads(call("silences", "--format", "json")[1])
    assert kept["expires_at"] - kept["starts_at"] == 7200
    assert call("unsilence", "1", "--by", "lee")[0] == 0
    assert call("unsilence", "1")[0] == 1
    assert "nothing is silenced" in call("silences")[1]
    assert [entry[1:4] for entry in store.audited()] == [("kim", "silence", "1"), ("lee", "unsilence", "1")]
    store.close()


def test_a_silence_says_what_it_matches_now(call: Call) -> None:
    """A misspelt name would keep nothing quiet."""
    assert "it matches 1 open incident" in call("silence", "deployment=chat", "--comment", "upgrade")[1]
    assert "it matches 0 open incidents" in call("silence", "deployment=caht", "--comment", "upgrade")[1]


def test_silences_that_ended_are_shown_on_demand(call: Call) -> None:
    """From when to when, who ended it; one to come has its start."""
    call("silence", "deployment=chat", "--comment", "upgrade", "--by", "kim")
    call("silence", "deployment=chat", "--comment", "next year's", "--from", "2999-01-01T00:00:00Z", "--for", "1h")
    call("unsilence", "1", "--by", "lee")
    (line,) = call("silences")[1].splitlines()
    assert "from 2999-01-01T00:00:00Z until 2999-01-01T01:00:00Z" in line
    text = call("silences", "--all")[1]
    assert ", ended  deployment=chat  by kim: upgrade" in text
    assert "ended by lee at" in text


def test_what_a_terminal_hands_over_is_kept_and_shown_inert(call: Call) -> None:
    """Half characters, of which a database can store none; escape sequences."""
    odd = "\udcff\x1b[31m\x00"
    chat = ids(call)["chat"]
    for arguments in (
        ("silence", f"deployment={odd}", "--comment", odd, "--by", odd),
        ("unsilence", "1", "--by", odd),
        ("silences", "--all"),
        ("ack", chat, "--by", odd),
        ("show", chat),
        ("outbox", "--drop", "pagerduty", "--by", odd),
    ):
        code, text = call(*arguments)
        assert code == 0
        assert not set("\udcff\x1b\x00") & set(text)
    assert "0 messages" in call("outbox", "--drop", odd)[1]


def test_silence_in_the_past_or_without_reason_is_refused(call: Call) -> None:
    code, text = call("silence", "deployment=chat", "--from", "2020-01-01T00:00:00Z", "--comment", "x")
    assert code == 2
    assert "ended already" in text
    code, text = call("silence", "deployment=chat", "--comment", "  ")
    assert code == 2
    assert "say why" in text
    with pytest.raises(SystemExit):
        call("silence", "deployment=chat")


def test_outbox_shows_what_waits_and_drops_it(call: Call, store: Store) -> None:
    """For a receiver that is configured no more."""
    assert "pagerduty  fired" in call("outbox")[1]
    assert json.loads(call("outbox", "--format", "json")[1])[0]["receiver"] == "pagerduty"
    assert "1 message for pagerduty dropped" in call("outbox", "--drop", "pagerduty", "--by", "kim")[1]
    assert "nothing waits" in call("outbox")[1]
    assert store.audited("pagerduty")[0][1:3] == ("kim", "drop")
    store.close()


# -- matchers
CASE = fired(finding(T0, pod="chat-1"), finding(T0, "empty_content_spike", pod="chat-2"))


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("deployment=chat", True), ("deployment=chatter", False), ("deployment!=chat", False), ("deployment=~ch.t", True), ("deployment=~ch", False),
        ("deployment!~ch.*", False), ("model=qwen3-32b", True), ('model="qwen3-32b"', True), ("pod=chat-2", False), ("pod=~chat-[12]", True),
        ("pod=~chat-[34]", False), ("pod!=chat-1", False), ("pod!=chat-3", True), ("rule=empty_content_spike", False), ("rule=~.*_spike|think_.*", True),
        ("signal=think_leak", False), ("severity=warning", True), ("severity=critical", False),
        ("engine=", True), ("engine!=vllm", True), (f"incident={CASE.id}", True), (" deployment = chat ", True), ("deployment=", False),
    ],
)  # fmt: skip
def test_matchers(text: str, holds: bool) -> None:
    """Prometheus' words; a label that is lacking is the empty text; each rule and series must be covered: one pod's maintenance hides no other pod."""
    assert silenced(CASE, Silence(1, (matcher(text),), "", "", T0, T0, T0 + 60), T0) == holds


@pytest.mark.parametrize("text", ["deployment", "colour=red", "=x", "deployment=~(", "deployment=~" + "a" * 201, "", "deployment==x=~"])
def test_what_is_no_matcher_is_said(text: str) -> None:
    if text == "deployment==x=~":
        assert matcher(text)["value"] == "=x=~"
        return
    with pytest.raises(ConfigError):
        matcher(text)


def test_a_silence_holds_from_its_start_to_its_end() -> None:
    """All matchers must hold; without any it holds for nothing; the end is exclusive."""

    def holds(now: float, *texts: str) -> bool:
        return silenced(CASE, Silence(1, tuple(map(matcher, texts)), "", "", T0, T0, T0 + 60), now)

    assert [holds(T0 + offset, "deployment=chat") for offset in (-1, 0, 59, 60)] == [False, True, True, False]
    assert not holds(T0, "deployment=chat", "severity=critical")
    assert not holds(T0)
