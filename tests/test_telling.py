"""From a change to the channel, over several scheduled runs: storms, silences, answers of people."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from detector.errors import StoreError
from detector.notify.base import Heard, Route
from detector.notify.file import FileReceiver
from detector.scheduled import answer
from detector.storage.store import Store
from tests.desk import CLEAN_AFTER, Desk, at, at_a_desk, silence, storm
from tests.incident_cases import T0
from tests.servers.slack import CHANNEL, OTHER_CHANNEL, Message


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with at_a_desk(tmp_path) as found:
        yield found


# -- storms
def test_many_new_incidents_are_one_summary(desk: Desk) -> None:
    """Six are a storm, five are not; each one's changes follow in the thread; edits stay silent."""
    desk.run(0, *storm(0, 6))
    assert "6 new incidents" in desk.parent().text
    assert json.dumps(desk.parent().attachments).count("since 2027-01-15 08:00 UTC") == 6
    assert desk.slack.replies(desk.parent()) == []
    desk.run(5, *storm(5, 6))
    assert desk.slack.replies(desk.parent()) == []
    desk.run(10, *storm(10, 5), at(10, deployment="d5", incident="5", severity="critical"))
    (reply,) = desk.slack.replies(desk.parent())
    assert "CRITICAL" in reply.text
    assert "d5" in reply.text
    desk.run(CLEAN_AFTER, *storm(CLEAN_AFTER, 1))
    assert len(desk.slack.parents()) == 1
    assert len(desk.slack.replies(desk.parent())) == 6
    shown = json.dumps(desk.parent().attachments, ensure_ascii=False)
    assert (shown.count("✅"), shown.count("🟠"), desk.parent().attachments[0]["color"]) == (5, 1, "#e8a317")
    desk.run(2 * CLEAN_AFTER)
    assert len(desk.slack.replies(desk.parent())) == 7
    assert desk.parent().text.startswith("✅ 6 incidents of one run")
    assert desk.parent().attachments[0]["color"] == "#2e9e5b"


@pytest.mark.parametrize("fault", ["500", "lost", "500stored", "429long"])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
def test_a_summary_is_brought_up_to_date_whatever_fails(method: str, fault: str, desk: Desk) -> None:
    """The reply once, the edit at the latest at the next run."""
    desk.run(0, *storm(0, 6))
    desk.slack.faults.append((method, fault))
    assert desk.run(CLEAN_AFTER, *storm(CLEAN_AFTER, 5)).exit_code == 3
    assert desk.run(CLEAN_AFTER + 5, *storm(CLEAN_AFTER + 5, 5)).exit_code == 1
    assert len(desk.slack.replies(desk.parent())) == 1
    assert json.dumps(desk.parent().attachments, ensure_ascii=False).count("✅") == 1


def test_five_new_incidents_are_five_messages(desk: Desk) -> None:
    desk.run(0, *storm(0, 5))
    assert len(desk.slack.parents()) == 5


def test_the_owners_of_a_storm_are_called(desk: Desk) -> None:
    """Once each, in the summary."""
    desk.route = lambda incident: Route(("slack",), None, {"d0": "S0LLMOPS1", "d1": "S0LLMOPS1", "d2": "the <night> shift"}.get(incident.deployment or ""))
    desk.run(0, *storm(0, 6))
    shown = json.dumps(desk.parent().attachments)
    assert shown.count("<!subteam^S0LLMOPS1>") == 1
    assert "the &lt;night&gt; shift" in shown


def test_a_storm_is_counted_per_channel(desk: Desk) -> None:
    """Four here and four there are no storm."""
    desk.route = lambda incident: Route(("slack",), OTHER_CHANNEL if incident.deployment in ("d0", "d1", "d2", "d3") else None)
    desk.run(0, *storm(0, 8))
    assert (len(desk.slack.parents(CHANNEL)), len(desk.slack.parents(OTHER_CHANNEL))) == (4, 4)


def test_a_summary_that_a_person_deleted(desk: Desk) -> None:
    """Slack would post the reply un-threaded, in silence; the incident gets a parent of its own, once."""
    desk.run(0, *storm(0, 6))
    desk.parent().deleted = True
    worse = {"deployment": "d0", "incident": "0", "severity": "critical"}
    desk.run(5, *storm(5, 6)[1:], at(5, **worse))
    (parent,) = desk.slack.parents()
    desk.run(CLEAN_AFTER)
    assert parent.metadata["event_payload"]["state"] == "resolved"
    assert len([one for one in desk.slack.parents() if one.metadata["event_payload"]["fingerprint"] == parent.metadata["event_payload"]["fingerprint"]]) == 1


# -- silences and snoozes
def test_what_a_silence_held_back_is_told_when_it_ends(desk: Desk) -> None:
    """As new, once; with what it had become meanwhile."""
    silence(desk, 0, 30)
    desk.run(0, at(0))
    desk.run(15, at(15, severity="critical"))
    assert desk.slack.messages == []
    desk.run(30, at(30, severity="critical"))
    desk.run(35, at(35, severity="critical"))
    assert "CRITICAL" in desk.parent().text
    assert len(desk.slack.replies(desk.parent())) == 1


def test_the_parent_shows_that_it_is_snoozed(desk: Desk) -> None:
    """Edits wake nobody, so they go on."""
    desk.run(0, at(0))
    react(desk.parent(), ("no_bell", "U0000002"))
    desk.run(5, at(5))
    assert "snoozed until" in json.dumps(desk.parent().attachments)
    desk.run(10, at(10))
    assert "35 of 1,204" in json.dumps(desk.parent().attachments)
    assert len(desk.slack.messages) == 2


def test_an_escalation_under_a_silence_is_made_up_for(desk: Desk) -> None:
    """The parent was told as a warning; when the silence ends the thread says that it is worse."""
    desk.run(0, at(0))
    silence(desk, 1, 30)
    desk.run(5, at(5, severity="critical"))
    assert len(desk.slack.replies(desk.parent())) == 1
    desk.run(31, at(31, severity="critical"))
    desk.run(36, at(36, severity="critical"))
    assert [reply.text for reply in desk.slack.replies(desk.parent())][1].startswith("⬆️")
    assert len(desk.slack.replies(desk.parent())) == 2


def test_what_got_worse_is_shown_in_the_channel_too(desk: Desk) -> None:
    """An edit and a reply notify nobody who does not follow the thread. What is new has a parent for that; an end and new counts are for the thread."""

    def broadcast() -> list[str]:
        return [args["text"][:2] for method, args in desk.slack.calls if method == "chat.postMessage" and args.get("reply_broadcast")]

    desk.run(0, at(0))
    desk.run(5, at(5))
    assert broadcast() == []
    desk.run(10, at(10, severity="critical"))
    assert broadcast() == ["⬆️"]
    desk.run(CLEAN_AFTER)
    assert len(broadcast()) == 1
    again = CLEAN_AFTER + 60
    desk.run(again, at(again, since=T0 + 60 * again))
    assert broadcast()[1:] == ["It"]
    assert len(desk.slack.parents()) == 1


def test_an_end_is_told_under_a_silence_to_those_who_knew(desk: Desk) -> None:
    """State is one thing, notification another."""
    desk.run(0, at(0))
    silence(desk, 1, 10 * CLEAN_AFTER)
    desk.run(CLEAN_AFTER)
    assert desk.parent().metadata["event_payload"]["state"] == "resolved"


def test_an_end_is_not_told_to_those_who_never_knew(desk: Desk, tmp_path: Path) -> None:
    """Neither to Slack nor to a file."""
    desk.receivers["file"] = FileReceiver(str(tmp_path / "out"))
    silence(desk, 0, 10 * CLEAN_AFTER)
    desk.run(0, at(0))
    done = desk.run(CLEAN_AFTER)
    assert [change.kind for change in done.changes] == ["resolved"]
    assert desk.slack.messages == []
    assert not (tmp_path / "out").exists()
    assert done.exit_code == 0


def test_reopened_under_a_silence(desk: Desk) -> None:
    """The green parent is not left green: when the silence ends, it is told as opened again."""
    desk.run(0, at(0))
    desk.run(CLEAN_AFTER)
    silence(desk, CLEAN_AFTER, CLEAN_AFTER + 60)
    again = CLEAN_AFTER + 10
    desk.run(again, at(again, since=T0 + 60 * again))
    assert desk.parent().metadata["event_payload"]["state"] == "resolved"
    desk.run(again + 60, at(again + 60, since=T0 + 60 * again))
    assert desk.parent().metadata["event_payload"]["state"] == "firing"
    assert "opened 2 times" in desk.slack.replies(desk.parent())[-1].text


def test_a_receiver_that_is_new_learns_what_is_open(desk: Desk, tmp_path: Path) -> None:
    """Once."""
    desk.run(0, at(0))
    desk.receivers["file"] = FileReceiver(str(tmp_path / "out"))
    desk.run(5, at(5))
    desk.run(10, at(10))
    assert [line.split()[3] for line in (tmp_path / "out").read_text().splitlines()] == ["fired"]


# -- answers of people
def react(message: Message, *reactions: tuple[str, str]) -> None:
    message.reactions = [{"name": name, "users": [user], "count": 1} for name, user in reactions]


def test_taken_and_snoozed(desk: Desk) -> None:
    """Eyes name who has it; the bell keeps what gets worse quiet for four hours, not for ever, though the reaction stays."""
    desk.run(0, at(0))
    react(desk.parent(), ("eyes", "U0000001"), ("no_bell", "U0000002"))
    desk.run(5, at(5))
    assert "<@U0000001>" in json.dumps(desk.parent().attachments)
    assert desk.incident().snoozed_until == T0 + 300 + 4 * 3600
    desk.run(10, at(10, severity="critical"))
    assert len(desk.slack.replies(desk.parent())) == 1
    desk.run(5 + 4 * 60, at(245, severity="critical"))
    assert len(desk.slack.replies(desk.parent())) == 2
    assert desk.incident().snoozed_until == T0 + 300 + 4 * 3600


def test_a_mark_that_stays_does_not_close_it_again(desk: Desk) -> None:
    """Closed, opened again: the old ✅ is no answer to the new trouble. Taken back and given again, it is."""
    desk.run(0, at(0))
    parent = desk.parent()
    react(parent, ("white_check_mark", "U0000001"))
    desk.run(5, at(5))
    assert desk.incident().state == "resolved"
    assert "Resolved by hand" in json.dumps(parent.attachments)
    desk.run(10, at(10))
    assert desk.incident().state == "resolved"  # windows look back: not at once
    for minute in (60, 65, 70):
        desk.run(minute, at(minute))
        assert desk.incident().state == "firing"
    react(parent)
    desk.run(75, at(75))
    react(parent, ("white_check_mark", "U0000001"))
    desk.run(80, at(80))
    assert desk.incident().state == "resolved"


def test_two_people_answer(desk: Desk) -> None:
    """The second one's eyes count although the first one's stay."""
    desk.run(0, at(0))
    react(desk.parent(), ("eyes", "U0000001"))
    desk.run(5, at(5))
    desk.parent().reactions = [{"name": "eyes", "users": ["U0000001", "U0000002"], "count": 2}]
    desk.run(10, at(10))
    assert desk.incident().acked_by == "U0000002"


def test_a_command_is_told_at_the_next_run(desk: Desk) -> None:
    """Taken on the command line, shown in the channel; closed on the command line, green in the channel."""
    desk.run(0, at(0))
    identifier = desk.incident().id
    assert answer(desk.store, Heard(identifier, "ack", "kim"), T0 + 60) is not None
    desk.run(5, at(5))
    assert "kim" in json.dumps(desk.parent().attachments)
    assert answer(desk.store, Heard(identifier, "resolve", "kim"), T0 + 360) is not None
    desk.run(10)
    assert desk.parent().metadata["event_payload"]["state"] == "resolved"
    assert answer(desk.store, Heard(identifier, "ack", "kim"), T0 + 700) is None
    assert [entry[2] for entry in desk.store.audited(identifier)].count("ack") == 1


def test_a_command_waits_for_a_run_and_then_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """It changes nothing behind the back of a run."""
    monkeypatch.setattr("detector.scheduled.COMMAND_WAIT", 0.1)
    other = Store(desk.store.shown)
    with other.exclusive(), pytest.raises(StoreError, match="a run has been at work"):
        answer(desk.store, Heard("x", "ack", "kim"), T0)
    other.close()
