"""What becomes of messages: pacing, refusals, receivers that break, retention."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from detector.errors import NotifyError
from detector.notify.base import Route
from detector.notify.delivery import deliver
from detector.notify.file import FileReceiver
from detector.notify.slack import SlackReceiver
from detector.scheduled import Audience, run_once
from tests.desk import CLEAN_AFTER, Desk, at, at_a_desk, silence, storm
from tests.incident_cases import RULES, T0, report
from tests.servers.slack import CHANNEL, OTHER_CHANNEL, TOKEN, slack


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with at_a_desk(tmp_path) as found:
        yield found


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


def test_a_slack_that_is_not_reached_is_named_with_the_reason() -> None:
    """Refused: it can't have arrived. Hung up on: it may have."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{closed.getsockname()[1]}"
    receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=f"{address}/api/")
    with pytest.raises(NotifyError, match=rf"^slack: no answer from {address} \(connection refused\)$"):
        receiver._call("auth_test")
    with slack() as (url, workspace):
        workspace.faults.append(("auth.test", "lost"))
        receiver = SlackReceiver(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=url)
        with pytest.raises(NotifyError, match=r"\(closed without an answer\); it may have arrived"):
            receiver._call("auth_test")
