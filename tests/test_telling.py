"""From a change to the channel, over several scheduled runs: storms, silences, answers of people, routes that change, messages that Slack refuses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from detector.errors import StoreError
from detector.findings import Finding
from detector.incidents import Incident
from detector.notify.base import Heard, Route
from detector.notify.delivery import deliver
from detector.notify.file import FileReceiver
from detector.notify.slack import SlackReceiver
from detector.scheduled import Audience, Run, answer, run_once
from detector.storage.silences import matcher
from detector.storage.store import Store
from tests.incident_cases import RULES, T0, finding, report
from tests.servers.slack import CHANNEL, OTHER_CHANNEL, TOKEN, Message, Workspace, slack

CLEAN_AFTER = 24 * 60  # minutes


class Desk:
    """A store, a Slack workspace, and scheduled runs on a clock of ours."""

    def __init__(self, folder: Path, url: str, workspace: Workspace) -> None:
        self.slack = workspace
        self.store = Store(f"sqlite:///{folder}/detector.db")
        self.receivers: dict[str, Any] = {"slack": SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=url)}
        self.route: Callable[[Incident], Route] = lambda incident: Route(tuple(self.receivers))
        self.retention: float | None = None

    def run(self, minute: float, *findings: Finding, blind: str = "") -> Run:
        """A run whose window ends `minute` minutes after T0."""
        now = T0 + 60 * minute
        audience = Audience(self.receivers, lambda incident: self.route(incident), retention=self.retention)
        return run_once(lambda: report(now, *findings, blind=blind), list(RULES.values()), self.store, audience, lambda: now)

    def parent(self) -> Message:
        (found,) = self.slack.parents()
        return found

    def incident(self) -> Incident:
        (found,) = self.store.incidents()
        return found


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with slack() as (url, workspace):
        found = Desk(tmp_path, url, workspace)
        yield found
        found.store.close()


def at(minute: float, **more: Any) -> Finding:
    """The usual finding, firing since T0."""
    return finding(T0 + 60 * minute, **({"since": T0, "flagged": int(25 + minute)} | more))


def storm(minute: float, count: int) -> list[Finding]:
    return [at(minute, deployment=f"d{number}", incident=str(number)) for number in range(count)]


# -- storms
def test_many_new_incidents_are_one_summary(desk: Desk) -> None:
    """Six are a storm, five are not; each one's changes follow in the thread; edits stay silent."""
    desk.run(0, *storm(0, 6))
    assert "6 new incidents" in desk.parent().text
    assert desk.slack.replies(desk.parent()) == []
    desk.run(5, *storm(5, 6))
    assert desk.slack.replies(desk.parent()) == []
    desk.run(10, *storm(10, 5), at(10, deployment="d5", incident="5", severity="critical"))
    (reply,) = desk.slack.replies(desk.parent())
    assert "CRITICAL" in reply.text
    assert "d5" in reply.text
    desk.run(CLEAN_AFTER)
    assert len(desk.slack.parents()) == 1
    assert len(desk.slack.replies(desk.parent())) == 7


def test_five_new_incidents_are_five_messages(desk: Desk) -> None:
    desk.run(0, *storm(0, 5))
    assert len(desk.slack.parents()) == 5


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
def silence(desk: Desk, start: float, end: float) -> int:
    return desk.store.silence([matcher("deployment=chat")], "works", "me", T0, T0 + 60 * start, T0 + 60 * end)


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


# -- routes
def test_a_route_that_changes_leads_to_the_new_channel(desk: Desk) -> None:
    """The old parent points there, the new one is complete, and the end is told in the new one."""
    desk.run(0, at(0))
    desk.route = lambda incident: Route(("slack",), OTHER_CHANNEL)
    desk.run(5, at(5))
    (old,), (new,) = desk.slack.parents(CHANNEL), desk.slack.parents(OTHER_CHANNEL)
    assert OTHER_CHANNEL in json.dumps(old.attachments)
    assert len(desk.slack.replies(new)) == 1
    desk.run(CLEAN_AFTER)
    assert new.metadata["event_payload"]["state"] == "resolved"
    assert len(desk.slack.messages) == 5


def test_an_end_is_told_where_the_beginning_was(desk: Desk) -> None:
    """Also when the route led elsewhere meanwhile."""
    desk.run(0, at(0))
    desk.route = lambda incident: Route(("slack",), OTHER_CHANNEL)
    desk.run(CLEAN_AFTER)
    assert desk.parent().channel == CHANNEL
    assert desk.parent().metadata["event_payload"]["state"] == "resolved"


def test_a_route_to_nobody(desk: Desk) -> None:
    desk.route = lambda incident: Route(())
    desk.run(0, at(0))
    assert desk.slack.messages == []
    assert desk.incident().state == "firing"


# -- delivery
def test_a_receiver_that_asks_for_rest_gets_it(desk: Desk) -> None:
    """Four messages, one long Retry-After: one call, four lines on stderr, all delivered at the next run."""
    desk.slack.faults.append(("chat.postMessage", "429long"))
    done = desk.run(0, *storm(0, 4))
    assert (done.exit_code, len(done.delivered.failures)) == (3, 4)
    assert [method for method, _ in desk.slack.calls].count("chat.postMessage") == 1
    assert desk.run(5, *storm(5, 4)).exit_code == 1
    assert len(desk.slack.parents()) == 4


def test_a_deleted_parent_comes_back_after_the_silence(desk: Desk) -> None:
    """An edit that finds it gone posts nothing while nobody is to be woken."""
    desk.run(0, at(0))
    silence(desk, 1, 30)
    for message in desk.slack.messages:
        message.deleted = True
    desk.run(5, at(5))
    assert desk.slack.parents() == []
    desk.run(31, at(31))
    assert "56 of 1,204" in desk.parent().text


def test_a_receiver_that_breaks_keeps_nothing_from_the_others(desk: Desk) -> None:
    """A fault of ours is loud, and what it kept is delivered once it is mended."""

    class Broken(FileReceiver):
        def tell(self, *arguments: Any, **more: Any) -> dict[str, Any] | None:
            raise KeyError("a secret of a log")

    desk.receivers = {"file": Broken("-"), **desk.receivers}
    done = desk.run(0, at(0))
    assert done.exit_code == 3
    assert "KeyError" in done.delivered.failures[0]
    assert "secret" not in done.delivered.failures[0]
    assert len(desk.slack.parents()) == 1
    assert [message.receiver for message in desk.store.waiting()] == ["file"]


def test_posts_are_paced_per_channel(desk: Desk) -> None:
    """About one a second and channel, as Slack asks."""
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    receiver = desk.receivers["slack"]
    receiver.clock, receiver.sleep = lambda: now[0], sleep
    desk.run(0, *storm(0, 2))
    assert waits == [1.0, 1.0, 1.0]  # two parents and two replies


def test_blocks_that_slack_refuses_go_as_plain_text(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plain message beats a pretty one that never comes."""
    monkeypatch.setattr("tests.servers.slack.refusal", lambda args: "invalid_blocks" if args.get("blocks") else None)
    assert desk.run(0, at(0)).exit_code == 1
    assert "invalid_blocks" in desk.parent().text
    assert "25 of 1,204" in desk.parent().text


def test_a_message_is_claimed_once(desk: Desk) -> None:
    """Two senders with the same message in hand: the one that comes second leaves it alone."""
    desk.slack.revoked = True
    desk.run(0, at(0))
    desk.slack.revoked = False
    (message,) = desk.store.waiting()
    assert desk.store.claim(message, T0)
    assert not desk.store.claim(message, T0)


def test_a_receiver_that_is_configured_no_more_is_loud(desk: Desk) -> None:
    """Its messages are neither lost nor silent, until a person drops them."""
    desk.slack.revoked = True
    desk.run(0, at(0))
    done = deliver(desk.store, {}, lambda: T0)
    assert "no such receiver" in done.failures[0]
    assert desk.store.drop("slack", "me", T0) == 1
    assert deliver(desk.store, {}, lambda: T0).failures == []


def test_pending_that_ends_was_never_there(desk: Desk) -> None:
    """A condition that did not last long enough is no first time when it comes again."""
    held = [rule.model_copy(update={"for_minutes": 10}) for rule in RULES.values()]
    audience = Audience(desk.receivers, desk.route)
    for minute, case in ((0, [at(0)]), (5, []), (20, [at(20, since=T0 + 1200)]), (30, [at(30, since=T0 + 1200)])):
        now = T0 + 60 * minute
        run_once(lambda now=now, case=case: report(now, *case), held, desk.store, audience, lambda now=now: now)  # type: ignore[misc]  # bound per turn
    assert desk.slack.replies(desk.parent())[0].text == "It fires."


def test_retention_forgets_what_is_over(desk: Desk) -> None:
    """Resolved incidents, sent messages and ended silences; what is open and the audit stay."""
    desk.retention = 3 * 86400.0
    silence(desk, -60, -30)
    desk.run(0, at(0), at(0, deployment="other", incident="b"))
    desk.run(CLEAN_AFTER, at(CLEAN_AFTER, deployment="other", incident="b"))
    late = CLEAN_AFTER * 5
    desk.run(late, at(late, deployment="other", incident="b"))
    assert [incident.deployment for incident in desk.store.incidents()] == ["other"]
    assert desk.store.silences() == []
    assert desk.store.told("slack").keys() == {desk.incident().id}
    assert len(desk.store.audited()) >= 3
