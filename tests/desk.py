"""A desk at which runs are told: a store, a Slack, and a clock that is set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from detector.findings import Finding
from detector.incidents import Incident
from detector.notify.base import Route
from detector.notify.slack import SlackReceiver
from detector.scheduled import Audience, Run, run_once
from detector.storage.silences import matcher
from detector.storage.store import Store
from tests.incident_cases import RULES, T0, finding, report
from tests.servers.slack import CHANNEL, TOKEN, Message, Workspace, slack

CLEAN_AFTER = 24 * 60  # minutes


@contextmanager
def at_a_desk(folder: Path) -> Iterator[Desk]:
    """A desk in this folder."""
    with slack() as (url, workspace):
        found = Desk(folder, url, workspace)
        yield found
        found.store.close()


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


def at(minute: float, **more: Any) -> Finding:
    """The usual finding, firing since T0."""
    return finding(T0 + 60 * minute, **({"since": T0, "flagged": int(25 + minute)} | more))


def storm(minute: float, count: int) -> list[Finding]:
    return [at(minute, deployment=f"d{number}", incident=str(number)) for number in range(count)]


def silence(desk: Desk, start: float, end: float) -> int:
    return desk.store.silence([matcher("deployment=chat")], "works", "me", T0, T0 + 60 * start, T0 + 60 * end)
