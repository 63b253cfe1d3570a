"""Runs of the worker that are killed at a named step; started once by tests/test_crash_matrix.py, it forks one process per run.

Reads one JSON list of tasks per line; all tasks of a line run at the same time. Writes, per line, what became of each. The seams are subclasses here: the
product knows nothing of being killed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from detector.incidents import Incident, Policy
from detector.notify.base import Route, Told
from detector.notify.slack import SlackReceiver
from detector.scheduled import Audience, run_once
from detector.storage.outbox import Message
from detector.storage.silences import Silence
from detector.storage.store import Store
from tests.incident_cases import RULES, finding, report
from tests.servers.slack import CHANNEL, TOKEN

STEPS = (
    "before decide",
    "before persist",
    "amid persist",
    "after persist",
    "before send",
    "after claim",
    "after first call",
    "after second call",
    "before record",
    "after record",
)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class DyingStore(Store):
    """A store whose process is killed at one step of a run."""

    step = ""

    def at(self, step: str) -> None:
        if self.step == step:
            die()

    def silences(self, now: float | None = None) -> list[Silence]:
        self.at("before decide")
        return super().silences(now)

    def save(self, connection: sa.Connection, incidents: Any) -> None:
        self.at("before persist")
        super().save(connection, incidents)
        self.at("amid persist")

    def waiting(self, receiver: str | None = None) -> list[Message]:
        if receiver is None:
            self.at("after persist")
        return super().waiting(receiver)

    def claim(self, message: Message, now: float) -> bool:
        self.at("before send")
        done = super().claim(message, now)
        self.at("after claim")
        return done

    def delivered(self, message: Message, reference: dict[str, Any] | None, told: Mapping[str, Told], now: float) -> None:
        self.at("before record")
        super().delivered(message, reference, told, now)
        self.at("after record")


class DyingSlack(SlackReceiver):
    """A receiver whose process is killed once Slack took its first or second message."""

    step = ""
    taken = 0

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        answer = super()._call(method, **arguments)
        if method in ("chat_postMessage", "chat_update"):
            self.taken += 1
            if (self.step, self.taken) in (("after first call", 1), ("after second call", 2)):
                die()
        return answer


def carry_out(task: dict[str, Any]) -> dict[str, Any]:
    """One run of the worker: {"exit", "failures", "waiting"}."""
    now, severity = float(task["now"]), task.get("severity", "warning")
    findings = [] if task.get("clean") else [finding(now, since=float(task["since"]), severity=severity, flagged=int(task["flagged"]))]
    store = DyingStore(task["store"])
    store.step = task["step"]
    slack = DyingSlack(TOKEN, CHANNEL, lambda: 0.0, lambda seconds: None, base_url=task["url"], timeout=float(task["patience"]))
    slack.step = task["step"]

    def routes(incident: Incident) -> Route:
        return Route(("slack",))

    audience = Audience({"slack": slack}, routes, policy=Policy())
    done = run_once(lambda: report(now, *findings), list(RULES.values()), store, audience, time.time, wait=60.0)
    left = len(store.waiting("slack"))
    store.close()
    return {"exit": done.exit_code, "failures": done.delivered.failures, "waiting": left, "skipped": done.skipped}


def serve() -> None:
    """Fork a process per task, wait for all of a line, and tell."""
    for line in sys.stdin:
        tasks: Sequence[dict[str, Any]] = json.loads(line)
        if tasks[0].get("warm"):  # once, in this process: what it loads and compiles, the forks need not
            carry_out(tasks[0])
            print("[]", flush=True)
            continue
        children = []
        for task in tasks:
            pid = os.fork()
            if pid == 0:
                try:
                    Path(task["result"]).write_text(json.dumps(carry_out(task)))
                    code = 0
                except BaseException as error:  # told to the test, which fails by it
                    Path(task["result"]).write_text(json.dumps({"error": repr(error)}))
                    code = 1
                os._exit(code)
            children.append(pid)
        outcomes = []
        for pid, task in zip(children, tasks, strict=True):
            status = os.waitpid(pid, 0)[1]
            killed = os.WIFSIGNALED(status)
            result = {} if killed else json.loads(Path(task["result"]).read_text())
            outcomes.append({"killed": killed, **result})
        print(json.dumps(outcomes), flush=True)


if __name__ == "__main__":
    serve()
