"""A simulated site over a day and a night: its log, Slack, store, worker and clock, and what every run did."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from detector.config import load_settings
from detector.incidents import Change
from detector.looking import Looking
from detector.notify.choice import audience_of
from detector.notify.slack import SlackReceiver
from detector.rules import load_rules
from detector.scheduled import Run
from detector.storage.store import Store
from detector.worker import Worker, groups_of
from tests.answers import days, envelope, leak, write
from tests.servers.slack import CHANNEL, TOKEN, Message, Workspace

BEGIN = datetime(2026, 10, 24, 12, tzinfo=UTC)  # 13 h later clocks in Berlin go back
HOURS = 27
STEP = timedelta(minutes=10)
HEAD = """\
title: {title}
status: stable
severity: warning
signal: {signal}
detector: {{hits: {{within: 20m}}}}
threshold: 3
group_by: [deployment, model]
window: 20m
meaning: What the deployments of this timeline do wrong.
impact: The readers of this timeline would be disappointed.
next_steps: ["Look at the last 20 min."]
causes: [release_regression]
panels: [finish_reason]
false_positives: ["None."]
references: [https://github.com/vllm-project/vllm/issues/39697]
tests:
"""
LEAKS = (
    HEAD.format(title="Markers in answers", signal="think_leak")
    + '  - {name: fires on three, current: [{count: 9, content: fine}, {count: 3, content: "so </think> yes"}], firing: [{deployment: d, model: m}]}\n'
    + '  - {name: silent otherwise, current: [{count: 9, content: fine}, {count: 2, content: "so </think> yes"}], firing: []}\n'
)
EMPTY = (
    HEAD.format(title="Nothing in answers", signal="empty_content")
    + "  - {name: fires on three, current: [{count: 9, content: fine}, {count: 3, content: '', completion_tokens: 9}], firing: [{deployment: d, model: m}]}\n"
    + "  - {name: silent otherwise, current: [{count: 9, content: fine}], firing: []}\n"
)


@dataclass
class Day:
    """The simulated site: log, Slack, store, worker, clock; and what every run did."""

    folder: Path
    workspace: Workspace
    base_url: str
    now: float = BEGIN.timestamp()
    skew: float = 0.0
    number: int = 0
    runs: list[tuple[datetime, Run | None]] = field(default_factory=list)
    visible: list[set[str]] = field(default_factory=list)  # deployments with a message in the channel, after each run
    said: list[str] = field(default_factory=list)
    beats: int = 0
    broken: dict[str, Callable[[], None]] = field(default_factory=dict)
    is_writing: bool = True
    worker: Worker = field(init=False)
    store: Store = field(init=False)

    def __post_init__(self) -> None:
        (self.folder / "logs").mkdir()
        (self.folder / "rules").mkdir()
        (self.folder / "rules" / "leaks.yml").write_text(LEAKS)
        (self.folder / "rules" / "empty.yml").write_text(EMPTY)
        (self.folder / "detector.yml").write_text(
            "source: {path: logs, lag: 0s}\nrules: [rules/]\nstore: sqlite:///state.db\n"
            "schedule: {cron: '*/10 * * * *', timezone: Europe/Berlin, jitter: 0s, window: 30m, deadline: 5s}\n"
            "incidents: {shortest_clean: 30m, clean_windows: 1}\n"
            f"notify: {{slack: {{channel: {CHANNEL}, base_url: '{self.base_url}'}}}}\n"
        )
        write(self.live, days(1, 60, BEGIN - timedelta(days=1)))
        self.number = 2000
        self.start()

    @property
    def live(self) -> Path:
        """Where the servers write, whether the worker can see it or not."""
        away = self.folder / "away"
        return (away if away.exists() else self.folder / "logs") / "llm.jsonl"

    def clock(self) -> float:
        return self.now + self.skew

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def start(self) -> None:
        """A fresh worker that knows only what stands in the store."""
        settings = load_settings(self.folder / "detector.yml", {"DETECTOR_SLACK_TOKEN": TOKEN})
        receiver = SlackReceiver(TOKEN, CHANNEL, lambda: self.now, self.sleep, base_url=self.base_url)
        audience = replace(audience_of(settings), receivers={"slack": receiver})
        self.store = Store(settings.store)
        rules = load_rules(settings.rule_paths)
        looking = Looking(settings, rules, self.store, audience, self.clock, self.said.append, wait=0.1)

        def beat() -> None:
            self.beats += 1

        self.worker = Worker(groups_of(rules, settings.schedule), looking.run, self.clock, self.said.append, beat)

    def restart(self) -> None:
        self.store.close()
        self.start()

    def append(self, rows: list[dict[str, Any]]) -> None:
        with self.live.open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))

    def leak(self, deployment: str, at: datetime, count: int = 6) -> None:
        """Answers of one deployment that leak, ten seconds apart."""
        rows = []
        for k in range(count):
            self.number += 1
            rows.append(leak(self.number, at + timedelta(seconds=10 * k), deployment=deployment))
        self.append(rows)

    def traffic(self, until: datetime) -> None:
        """Sound answers of the ten minutes before a time."""
        rows = []
        for minute in range(10):
            self.number += 1
            rows.append(envelope(self.number, until - timedelta(minutes=10 - minute), deployment="base"))
        if self.is_writing:
            self.append(rows)

    def parents(self, deployment: str) -> list[Message]:
        """Standing parents of one deployment."""
        return [one for one in self.workspace.parents() if one.metadata["event_payload"]["deployment"] == deployment]

    def changes(self, kind: str) -> list[tuple[datetime, Change]]:
        return [(at, change) for at, run in self.runs if run is not None for change in run.changes if change.kind == kind]

    def went(self, hour: int) -> list[Run | None]:
        """The runs of one hour of the timeline."""
        start = BEGIN + timedelta(hours=hour)
        return [run for at, run in self.runs if start < at <= start + timedelta(hours=1)]
