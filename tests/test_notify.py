"""`check --notify` with a Slack workspace behind a real socket: one message per incident, whatever goes wrong."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from detector.cli import main
from detector.window import iso
from tests.answers import START, days, envelope, leak, write
from tests.servers.slack import CHANNEL, TOKEN, Workspace, slack

END = START + timedelta(days=2)


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """A Slack workspace and a configuration that points at it, in the current folder."""
    with slack() as (url, state):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("DETECTOR_SLACK_TOKEN", TOKEN)
        (tmp_path / "detector.yml").write_text(f"notify:\n  slack: {{channel: {CHANNEL}, base_url: '{url}'}}\n  docs_url: https://docs.example/rules\n")
        rows = days(2, 60)
        rows += [leak(90_000 + i, END + timedelta(minutes=3 * i), pod="harbour-7") for i in range(20)]
        rows += [envelope(91_000 + i, END + timedelta(minutes=i)) for i in range(24 * 60)]
        write(tmp_path / "log.jsonl", rows)
        yield state


def run(minute: float) -> int:
    """One cron run whose window of one hour ends `minute` minutes after the trouble began."""
    end = END + timedelta(minutes=minute)
    return main(["check", "--notify", "--source", "log.jsonl", "--from", iso((end - timedelta(hours=1)).timestamp()), "--to", iso(end.timestamp())])


def test_one_parent_edited_in_place_and_resolved_green(workspace: Workspace) -> None:
    """Fired, edited at later runs, resolved: one parent, its thread tells the story."""
    assert run(20) == 1
    (parent,) = workspace.parents()
    assert parent.metadata["event_type"] == "llm_incident"
    assert {"fingerprint", "state", "deployment", "severity"} <= set(parent.metadata["event_payload"])
    assert parent.metadata["event_payload"]["deployment"] == "harbour"
    assert run(40) == 1
    assert workspace.parents() == [parent]
    assert parent.edits >= 1
    for hour in range(2, 22, 2):
        run(60 * hour)
    assert workspace.parents() == [parent]
    assert parent.metadata["event_payload"]["state"] == "resolved"
    assert parent.attachments[0]["color"] == "#2e9e5b"
    assert len(workspace.replies(parent)) >= 2


def test_the_same_run_twice_says_nothing_new(workspace: Workspace) -> None:
    """Two cron jobs over the same window."""
    run(20)
    before = len(workspace.messages)
    run(20)
    assert len(workspace.messages) == before


@pytest.mark.parametrize("fault", ["429", "500", "500stored", "lost", "html", "429long"])
@pytest.mark.parametrize("method", ["chat.postMessage", "chat.update"])
def test_faults_lose_and_double_nothing(fault: str, method: str, workspace: Workspace) -> None:
    """Each fault on the first call of a method; afterwards the channel looks as if nothing had happened."""
    if method == "chat.update":
        run(20)
    workspace.faults.append((method, fault))
    first = run(40)
    assert first in (1, 3)
    run(40)
    run(45)
    (parent,) = workspace.parents()
    keys = [message.metadata["event_payload"]["key"] for message in workspace.messages]
    assert len(keys) == len(set(keys))
    assert 1 <= len(workspace.replies(parent)) <= 2  # the details, and where a second rule joined later: growth


@pytest.mark.parametrize(("break_it", "word"), [("archived", "archived"), ("revoked", "token")])
def test_hard_failures_are_loud_and_kept(break_it: str, word: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 3, named on stderr, delivered once the cause is gone."""
    setattr(workspace, break_it, True)
    assert run(20) == 3
    assert word in capsys.readouterr().err
    assert run(25) == 3
    setattr(workspace, break_it, False)
    assert run(30) == 1
    assert len(workspace.parents()) == 1


def test_a_deleted_parent_is_posted_anew_but_not_to_say_resolved(workspace: Workspace) -> None:
    """A person deleted it: the next change posts it again; an end alone does not."""
    run(20)
    workspace.parents()[0].deleted = True
    run(40)
    assert len(workspace.parents()) == 1
    run(60 * 8)  # clean by now, not yet resolved
    for message in workspace.messages:
        message.deleted = True
    for hour in range(9, 24, 3):
        run(60 * hour)
    assert [message.metadata for message in workspace.messages if not message.deleted] == []


def test_reactions_acknowledge_snooze_and_close(workspace: Workspace) -> None:
    """Read at the next run."""
    run(20)
    (parent,) = workspace.parents()
    parent.reactions = [{"name": "eyes", "users": ["U1"], "count": 1}]
    run(25)
    assert "U1" in json.dumps(parent.attachments)
    parent.reactions.append({"name": "white_check_mark", "users": ["U2"], "count": 1})
    run(30)
    assert parent.metadata["event_payload"]["state"] == "resolved"
    run(35)
    assert parent.metadata["event_payload"]["state"] == "resolved"


def test_without_a_token_nothing_is_checked(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The message says which variable to set."""
    monkeypatch.delenv("DETECTOR_SLACK_TOKEN")
    assert run(20) == 2
    assert "DETECTOR_SLACK_TOKEN" in capsys.readouterr().err


def test_excerpts_only_when_asked_for_and_masked(workspace: Workspace, tmp_path: Path) -> None:
    """Nothing of an answer's text by default; the shape with its marker, read again from the file, with `masked`."""
    run(20)
    assert "crane" not in json.dumps([message.attachments for message in workspace.messages])
    workspace.messages.clear()
    (tmp_path / "detector.db").unlink()
    with (tmp_path / "detector.yml").open("a") as config:
        config.write("privacy: {content: masked}\n")
    run(20)
    (parent,) = workspace.parents()
    shown = json.dumps(workspace.replies(parent)[0].attachments)
    assert "</think>" in shown
    assert "each one into the xxxxxx of the xxxxx xxxx" in shown
    for word in ("crane", "ledger", "quay"):
        assert word not in shown


def test_a_broken_line_and_a_tiny_deployment_hold_no_incident(workspace: Workspace, tmp_path: Path) -> None:
    """Both are in the log for good: a line that was cut, and a deployment with too few requests to be judged by any level. The incident ends all the same."""
    with (tmp_path / "log.jsonl").open("a") as log:
        log.write('{"timestamp": "2026-11-21T00:00:0\n')
        for hour in range(24):
            row = envelope(95_000 + hour, END + timedelta(hours=hour), deployment="tiny", model="small")
            log.write(json.dumps(row) + "\n")
    run(20)
    (parent,) = workspace.parents()
    for hour in range(1, 22):
        assert run(60 * hour) in (0, 1, 2)
        assert parent.attachments[0]["color"] != "#8a8a8a"
    assert parent.metadata["event_payload"]["state"] == "resolved"
