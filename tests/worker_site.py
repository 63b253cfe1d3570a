"""A place for `detector run` in tests: a log that grows, a configuration, a Slack workspace, and real worker processes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from detector.findings import Finding
from detector.report import Report
from detector.rules import Rule
from detector.scheduled import Run
from detector.settings.schedule import ScheduleSettings
from detector.sources.base import CouldNot, Tally
from detector.window import Window
from detector.worker import Group, Worker, groups_of
from tests.answers import envelope, leak
from tests.servers.slack import CHANNEL, TOKEN, Workspace, slack

SPIKE, LEAK = "finish_reason_length_spike", "think_tag_leak"
PATIENCE = 90.0  # seconds that a busy machine gets for what takes one


def free_port() -> int:
    """A port of loopback that nobody has."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def asked(url: str) -> tuple[int, str]:
    """Status and text of a GET; (0, "") while nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def until(ready: Callable[[], bool], what: str) -> None:
    """Wait for something; fails with its name when it does not come."""
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline, f"waited {PATIENCE:.0f} s for {what}"
        time.sleep(0.1)


@dataclass
class Process:
    """A running worker."""

    child: subprocess.Popen[str]
    port: int
    log: Path

    @property
    def said(self) -> str:
        """What stands on its stderr."""
        return self.log.read_text()

    def metric(self, line: str) -> float:
        """The value of one line of /metrics, such as `detector_runs_total{group="default",outcome="quiet"}`; 0 where there is none."""
        page = asked(f"http://127.0.0.1:{self.port}/metrics")[1]
        return next((float(entry.rpartition(" ")[2]) for entry in page.splitlines() if entry.rpartition(" ")[0] == line), 0.0)

    def runs(self, *outcomes: str) -> float:
        """Finished runs of the default group."""
        wanted = outcomes or ("quiet", "firing", "blind", "undelivered")
        return sum(self.metric(f'detector_runs_total{{group="default",outcome="{outcome}"}}') for outcome in wanted)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.child.poll() is None:
            self.child.send_signal(number)
        return self.child.wait(PATIENCE)


@dataclass
class Site:
    """One folder with log, configuration and store; `workspace` is where messages arrive."""

    folder: Path
    base_url: str
    workspace: Workspace
    workers: list[Process] = field(default_factory=list)
    number: int = 0

    def configure(self, schedule: str = "every: 1s, jitter: 0s", **sections: str) -> None:
        """Write detector.yml; `sections` replace whole sections."""
        parts = {
            "source": "{path: log.jsonl, lag: 0s}",
            "store": "sqlite:///state.db",
            "notify": f"{{slack: {{channel: {CHANNEL}, base_url: '{self.base_url}'}}}}",
            "schedule": f"{{{schedule}, listen: 'LISTEN'}}",
            **sections,
        }
        (self.folder / "detector.yml").write_text("".join(f"{name}: {value}\n" for name, value in parts.items()))

    def append(self, count: int, until_at: datetime, *, leaks: bool = False, gap: float = 1.0, **labels: Any) -> None:
        """Append answers that end at a time, `gap` seconds apart."""
        with (self.folder / "log.jsonl").open("a") as file:
            for back in range(count, 0, -1):
                self.number += 1
                row = (leak if leaks else envelope)(self.number, until_at - timedelta(seconds=back * gap), **labels)
                file.write(json.dumps(row) + "\n")

    def start(self) -> Process:
        """Start a worker."""
        port = free_port()
        config = self.folder / f"worker-{port}.yml"
        config.write_text((self.folder / "detector.yml").read_text().replace("LISTEN", f"127.0.0.1:{port}"))
        log = self.folder / f"worker-{port}.log"
        with log.open("w") as stderr:
            command = [sys.executable, "-m", "detector.cli", "run", "--config", str(config)]
            child = subprocess.Popen(command, stderr=stderr, text=True, env={**os.environ, "DETECTOR_SLACK_TOKEN": TOKEN})
        self.workers.append(Process(child, port, log))
        return self.workers[-1]

    def keys(self) -> list[str]:
        """The outbox keys of all messages that arrived."""
        return [message.metadata["event_payload"]["key"] for message in self.workspace.messages]


@contextlib.contextmanager
def site(folder: Path) -> Iterator[Site]:
    """A site with two days of sound answers behind it; all its workers end with it."""
    with slack() as (url, workspace):
        made = Site(folder, url, workspace)
        made.configure()
        made.append(2880, datetime.now(UTC), gap=60.0)
        made.append(60, datetime.now(UTC))
        try:
            yield made
        finally:
            for worker in made.workers:
                worker.end(signal.SIGKILL)


def just_judged() -> datetime:
    """A time that the next run judges: runs judge whole minutes."""
    return datetime.now(UTC) - timedelta(seconds=61)


def report(*could_not: CouldNot, findings: tuple[Finding, ...] = ()) -> Report:
    """A minute's report."""
    return Report(Window(0, 60), Tally(), findings, could_not)


def group_of(rules: list[Rule], **schedule: Any) -> Group:
    """The first group of a schedule without jitter."""
    return groups_of(rules, ScheduleSettings.model_validate({"jitter": "0s", **schedule}))[0]


def told(rules: list[Rule], runs: list[Run]) -> tuple[list[str], int, Worker]:
    """Lines of log and heartbeats after these runs, a minute apart."""
    said: list[str] = []
    beats: list[float] = []
    now = 0.0

    def clock() -> float:
        return now

    made = Worker([group_of(rules)], lambda _: runs.pop(0), clock, said.append, lambda: beats.append(now))
    for _ in range(len(runs)):
        now += 60
        made.run_group(made.groups[0])
    return said, len(beats), made


def blind(what: str, why: str = "it is down") -> Run:
    """A run that could not look."""
    return Run(report(CouldNot(what, why, "")))
