"""Kill the worker at every step of a run, under every fault of Slack, alone, with a second worker, and with a restart: nothing is lost, nothing comes twice.

Each cell is killed with SIGKILL in a process of its own, on a database file of its own, against a Slack workspace behind a real socket.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from detector.storage.store import Store
from tests.crash_child import STEPS
from tests.incident_cases import T0
from tests.servers.slack import Workspace, slack

MODES = ("one worker", "two workers", "restart")
PASSING = ("ok", "429", "500", "500stored", "lost", "timeout", "timeoutstored")  # happen to one call
LASTING = {"archived": "archived", "revoked": "token"}  # until a person mends it; the word that stderr must hold
FAULTS = (*PASSING, *LASTING, "deleted")
LONG_AFTER = 24 * 60  # minutes; the rule has been clean for two windows by then


class Cell:
    """One cell: a database, an empty Slack, and runs."""

    def __init__(self, folder: Path, blank: Path, url: str, slack: Workspace, child: subprocess.Popen[str]) -> None:
        self.folder, self.url, self.slack, self.child = folder, url, slack, child
        shutil.copy(blank, folder / "detector.db")
        slack.messages.clear()
        slack.faults.clear()
        slack.archived = slack.revoked = False

    def runs(self, *tasks: dict[str, Any]) -> list[dict[str, Any]]:
        """Runs at the same time; what became of each. `minute` after T0 is their now."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        full = []
        # short only where a call is going to be kept waiting: a busy machine must not look like a Slack that does not answer
        patience = 0.5 if any(fault.startswith("timeout") for _, fault in self.slack.faults) else 60.0
        for number, task in enumerate(tasks):
            now = T0 + 60.0 * task.pop("minute", 0)
            base = {"store": f"sqlite:///{self.folder}/detector.db", "url": self.url, "now": now, "since": T0, "flagged": 5 + now - T0, "step": ""}
            base["patience"] = patience
            full.append(base | {"result": str(self.folder / f"result{number}.json")} | task)
        self.child.stdin.write(json.dumps(full) + "\n")
        self.child.stdin.flush()
        outcomes: list[dict[str, Any]] = json.loads(self.child.stdout.readline())
        assert not [outcome["error"] for outcome in outcomes if "error" in outcome]
        return outcomes

    def holds(self, replies: int) -> None:
        """One parent, its thread, no key twice, an empty outbox."""
        (parent,) = self.slack.parents()
        assert len(self.slack.replies(parent)) == replies
        keys = [message.metadata["event_payload"]["key"] for message in self.slack.messages if not message.deleted]
        assert len(keys) == len(set(keys)) == replies + 1


@pytest.fixture(scope="module")
def child(workplace: tuple[str, Workspace], blank: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[subprocess.Popen[str]]:
    """The process that forks the runs, warmed up."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.crash_child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
    )
    cell = Cell(tmp_path_factory.mktemp("warm"), blank, *workplace, process)
    cell.runs({"warm": True})
    yield process
    process.communicate(timeout=60)  # the end of its input ends it


@pytest.fixture(scope="module")
def workplace() -> Iterator[tuple[str, Workspace]]:
    """One Slack for all cells; each cell starts with it empty."""
    with slack() as (url, state):
        yield url, state


@pytest.fixture(scope="module")
def blank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database file with its tables."""
    path = tmp_path_factory.mktemp("blank") / "detector.db"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def cell(tmp_path: Path, blank: Path, workplace: tuple[str, Workspace], child: subprocess.Popen[str]) -> Iterator[Cell]:
    """An empty cell. Its database lies in memory where there is such a folder: a killed process needs no disk to lose its memory, and disks are slow."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="detector-", dir=shared)) if os.access(shared, os.W_OK) else tmp_path
    yield Cell(folder, blank, *workplace, child)
    if folder != tmp_path:
        shutil.rmtree(folder)


def is_loud(outcome: dict[str, Any], word: str) -> bool:
    """Exit code 3, and a line for stderr that names the cause."""
    return outcome["exit"] == 3 and outcome["failures"] and word in " ".join(outcome["failures"])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("step", STEPS)
def test_first_message(step: str, fault: str, mode: str, cell: Cell) -> None:
    """A new incident: 300 cells."""
    if fault in PASSING:
        cell.slack.faults += [("chat.postMessage", fault)] * (fault != "ok")
    elif fault in LASTING:
        setattr(cell.slack, fault, True)
    first = {"step": step}
    second = {"minute": 5 if mode == "one worker" else 0}
    outcomes = cell.runs(first, second) if mode == "two workers" else [*cell.runs(first), *cell.runs(second)]
    if fault == "ok" or step in ("before decide", "before persist", "amid persist", "after persist", "before send", "after claim"):
        # in "two workers" either may come first, and the one to be killed may find nothing left to do
        assert outcomes[0]["killed"] or mode == "two workers"
    if fault in LASTING:
        assert is_loud(outcomes[1], LASTING[fault])
        assert outcomes[1]["waiting"] >= 1
        setattr(cell.slack, fault, False)
    if fault == "deleted":
        cell.runs({"minute": 6})
        for message in cell.slack.messages:
            message.deleted = True
    (last,) = cell.runs({"minute": 10})
    for _ in range(3):  # the fault of one call may have waited for this run, and on a busy machine another call may have lost its patience before it
        if last["exit"] == 3:
            assert last["failures"]
            (last,) = cell.runs({"minute": 10})
    assert (last["exit"], last["waiting"]) == (1, 0)
    cell.holds(replies=1)
    (end,) = cell.runs({"minute": LONG_AFTER, "clean": True})
    assert (end["exit"], end["waiting"]) == (0, 0)
    cell.holds(replies=2)
    assert cell.slack.parents()[0].metadata["event_payload"]["state"] == "resolved"


@pytest.mark.parametrize("change", ["escalated", "resolved"])
@pytest.mark.parametrize("fault", ["ok", "429", "500", "lost", "archived"])
@pytest.mark.parametrize("step", STEPS)
def test_later_message(step: str, fault: str, change: str, cell: Cell) -> None:
    """An edit and a reply: 100 cells."""
    cell.runs({})
    worse: dict[str, Any] = {"minute": 5, "severity": "critical"} if change == "escalated" else {"minute": LONG_AFTER, "clean": True}
    if fault == "archived":
        cell.slack.archived = True
    elif fault != "ok":
        cell.slack.faults += [("chat.update", fault), ("chat.postMessage", fault)]
    cell.runs(dict(worse, step=step))
    tries = 0
    (again,) = cell.runs(dict(worse))
    if fault == "archived":
        assert is_loud(again, "archived")
        cell.slack.archived = False
    while again["waiting"]:  # each call's fault may have cost a run; four are more than enough
        assert again["failures"]
        assert tries < 4
        tries += 1
        (again,) = cell.runs(dict(worse))
    cell.holds(replies=2)
    payload = cell.slack.parents()[0].metadata["event_payload"]
    assert (payload["severity"], payload["state"]) == (("critical", "firing") if change == "escalated" else ("warning", "resolved"))
