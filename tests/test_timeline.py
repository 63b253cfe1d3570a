"""A day and more of a worker on a fake clock, with a fault at every hour, against the real Slack protocol: nothing lost, doubled, or resolved while blind.

Each hour one deployment (`dep-0` …) leaks thinking markers for a few minutes. What the hour's fault does to that is what the tests look at.
"""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from detector import scoring
from detector.config import load_settings
from detector.incidents import Change
from detector.looking import Looking
from detector.notify.choice import audience_of
from detector.notify.slack import SlackReceiver
from detector.rules import Rule, load_rules
from detector.scheduled import Run
from detector.storage.silences import matcher
from detector.storage.store import Store
from detector.worker import Worker, groups_of
from tests.answers import days, envelope, leak, write
from tests.servers.slack import CHANNEL, TOKEN, Message, Workspace, slack

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
            "schedule: {cron: '*/10 * * * *', timezone: Europe/Berlin, jitter: 0s, window: 30m, deadline: 500ms}\n"
            "incidents: {shortest_clean: 30m, clean_windows: 1}\n"
            f"notify: {{slack: {{channel: {CHANNEL}, base_url: '{self.base_url}'}}}}\n".replace("500ms", "0.5s")
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


# -- the faults: what happens at the beginning of an hour, and at its end -----------------------------------------------------------------------------
def slack_fault(*faults: tuple[str, str]) -> Callable[[Day], Iterator[None]]:
    def during(day: Day) -> Iterator[None]:
        day.workspace.faults.extend(faults)
        yield

    return during


def source_down(day: Day) -> Iterator[None]:
    (day.folder / "logs").rename(day.folder / "away")
    yield
    (day.folder / "away").rename(day.folder / "logs")


def unreadable_part(day: Day) -> Iterator[None]:
    (day.folder / "logs" / "core.bin").write_bytes(b"\x00" * 4096)
    yield
    (day.folder / "logs" / "core.bin").unlink()


def lease_held(day: Day) -> Iterator[None]:
    other = Store(f"sqlite:///{day.folder / 'state.db'}")
    with other.exclusive(1.0) as held:
        assert held
        yield
    other.close()


def clock_ahead(day: Day) -> Iterator[None]:
    day.skew = 6 * 3600.0
    yield
    day.skew = 0.0


def clock_behind(day: Day) -> Iterator[None]:
    day.skew = -6 * 3600.0
    yield
    day.skew = 0.0


def restarted(day: Day) -> Iterator[None]:
    day.restart()
    yield
    day.restart()


def archived(day: Day) -> Iterator[None]:
    day.workspace.archived = True
    yield
    day.workspace.archived = False


def revoked(day: Day) -> Iterator[None]:
    day.workspace.revoked = True
    yield
    day.workspace.revoked = False


def empty_log(day: Day) -> Iterator[None]:
    day.is_writing = False
    yield
    day.is_writing = True


def crashing_rule(day: Day) -> Iterator[None]:
    def crash() -> None:
        raise ZeroDivisionError

    day.broken["empty"] = crash
    yield
    day.broken.clear()


def slow_rule(day: Day) -> Iterator[None]:
    day.broken["empty"] = lambda: time.sleep(1.0)
    yield
    day.broken.clear()


def rotated(day: Day) -> Iterator[None]:
    day.live.rename(day.folder / "logs" / "llm.jsonl.1")
    yield
    old = day.folder / "logs" / "llm.jsonl.1"
    (day.folder / "logs" / "llm.jsonl.1.gz").write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()


def silenced(day: Day) -> Iterator[None]:
    day.store.silence([matcher("deployment=dep-18")], "planned", "mina", day.now, day.now, day.now + 2400)
    yield


def nothing(day: Day) -> Iterator[None]:
    yield


FAULTS: dict[int, Callable[[Day], Iterator[None]]] = {
    0: nothing,
    1: slack_fault(("chat.postMessage", "500")),
    2: source_down,
    3: slack_fault(("chat.postMessage", "429")),
    4: slack_fault(("chat.postMessage", "lost"), ("chat.update", "lost")),
    5: lease_held,
    6: clock_ahead,
    7: clock_behind,
    8: restarted,
    9: nothing,  # late documents
    10: nothing,  # the parent is deleted
    11: nothing,  # a reaction: ack
    12: nothing,  # a reaction: snooze
    13: nothing,  # the hour that Berlin has twice
    14: archived,
    15: revoked,
    16: empty_log,
    17: crashing_rule,
    18: silenced,
    19: slow_rule,
    20: unreadable_part,
    21: nothing,  # flapping
    22: rotated,
    23: nothing,  # a storm
    24: slack_fault(("chat.postMessage", "500stored"), ("*", "html"), ("reactions.get", "429long")),
}


def acted(day: Day, hour: int, minute: int) -> None:
    """What people and the log do at a time, before the run."""
    at = BEGIN + timedelta(hours=hour, minutes=minute)
    name = f"dep-{hour}"
    if hour in FAULTS and minute == 10 and hour not in (9, 23):
        day.leak(name, at - timedelta(minutes=8))
    if hour == 9 and minute == 30:
        day.leak(name, at - timedelta(minutes=28))  # came 20 minutes late: that minute was judged three times by then
    if hour == 10 and minute == 20:
        (parent,) = day.parents(name)
        parent.deleted = True
        day.leak(name, at - timedelta(minutes=3))
    if hour in (11, 12) and minute == 20:
        (parent,) = day.parents(name)
        parent.reactions.append({"name": {11: "eyes", 12: "no_bell"}[hour], "users": ["U0MINA"], "count": 1})
    if hour == 18 and minute in (30, 50):  # it goes on when its silence ends
        day.leak(name, at - timedelta(minutes=5))
    if hour == 21 and minute in (10, 30, 50):
        day.leak(name, at - timedelta(minutes=5))
    if hour == 23 and minute == 10:
        for number in range(7):
            day.leak(f"storm-{number}", at - timedelta(minutes=8))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """The whole timeline, run once."""
    real = scoring.score_rule

    with slack() as (url, workspace), pytest.MonkeyPatch.context() as patch:
        made = Day(tmp_path_factory.mktemp("day"), workspace, url)

        def scored(rule: Rule, *rest: Any) -> Any:
            if rule.id in made.broken:
                made.broken[rule.id]()
            return real(rule, *rest)

        patch.setattr(scoring, "score_rule", scored)
        trigger = made.worker.groups[0].trigger
        due = BEGIN.astimezone(ZoneInfo("Europe/Berlin"))
        open_fault: Iterator[None] = iter(())
        hour = -1
        while due.timestamp() <= (BEGIN + timedelta(hours=HOURS)).timestamp():
            elapsed = timedelta(seconds=due.timestamp() - BEGIN.timestamp())
            due_hour, minute = divmod(int(elapsed.total_seconds() // 60) - 1, 60)
            if due_hour != hour:
                next(open_fault, None)
                hour = due_hour
                made.now = due.timestamp() - 540
                open_fault = FAULTS.get(hour, nothing)(made)
                next(open_fault)
            acted(made, hour, minute + 1)
            made.traffic(due.astimezone(UTC))
            made.now = max(made.now, due.timestamp() + 1)
            made.runs.append((due.astimezone(UTC), made.worker.run_group(made.worker.groups[0])))
            made.visible.append({one.metadata["event_payload"]["deployment"] for one in workspace.parents()})
            due = trigger.get_next_fire_time(due, due)
        next(open_fault, None)
        yield made
        made.store.close()


# -- what must be true of all of it ------------------------------------------------------------------------------------------------------------------
def test_runs_came_every_ten_minutes_through_the_hour_that_comes_twice(day: Day) -> None:
    gaps = {(later - earlier) for (earlier, _), (later, _) in zip(day.runs, day.runs[1:], strict=False)}
    assert gaps == {STEP}
    assert len(day.runs) == HOURS * 6 + 1


def test_each_incident_is_told_once_and_none_is_lost(day: Day) -> None:
    told = Counter(one.metadata["event_payload"]["deployment"] for one in day.workspace.parents())
    expected = {f"dep-{hour}" for hour in FAULTS if hour not in (23,)}
    singles = {name: count for name, count in told.items() if name.startswith("dep-")}
    assert singles == dict.fromkeys(expected, 1)


def test_no_message_came_twice(day: Day) -> None:
    keys = Counter(one.metadata["event_payload"]["key"] for one in day.workspace.messages if not one.deleted)
    assert [key for key, count in keys.items() if count > 1] == []


def test_nothing_is_left_in_the_outbox(day: Day) -> None:
    assert day.store.waiting() == []


def test_nothing_resolved_in_a_run_that_could_not_look(day: Day) -> None:
    for _, run in day.runs:
        if run is not None and any(entry.blocking and not entry.what.startswith("rule ") for entry in run.report.could_not):
            assert [change for change in run.changes if change.kind == "resolved"] == []


def test_everything_ended_in_the_end_and_turned_green(day: Day) -> None:
    assert [incident.id for incident in day.store.incidents(only_open=True)] == []
    states = {one.metadata["event_payload"]["deployment"]: one.metadata["event_payload"]["state"] for one in day.workspace.parents()}
    assert {name: state for name, state in states.items() if name.startswith("dep-")} == dict.fromkeys((f"dep-{h}" for h in FAULTS if h != 23), "resolved")


def test_no_incident_is_longer_than_its_trouble_and_its_blindness(day: Day) -> None:
    """Twenty minutes of the rule's window, the judged half hour, half an hour of calm, and what could not be looked at."""
    for at, change in day.changes("resolved"):
        blind = sum(1 for when, run in day.runs if change.incident.since < when.timestamp() <= at.timestamp() and (run is None or _is_blind(run)))
        assert at.timestamp() - change.incident.since <= (20 + 30 + 30 + 40) * 60 + 2 * blind * 600, change.incident.deployment


def _is_blind(run: Run) -> bool:
    return run.skipped or any(entry.blocking for entry in run.report.could_not)


def test_metrics_agree_with_what_happened(day: Day) -> None:
    page = day.worker.metrics.page().decode()
    since = next(index for index, (at, _) in enumerate(day.runs) if at > BEGIN + timedelta(hours=9))  # the last restart
    outcomes = Counter(
        "failed" if run is None else "skipped" if run.skipped else {0: "quiet", 1: "firing", 2: "blind", 3: "undelivered"}[run.exit_code]
        for _, run in day.runs[since:]
    )
    for outcome, count in outcomes.items():
        assert f'detector_runs_total{{group="default",outcome="{outcome}"}} {count:.1f}' in page
    assert 'detector_incidents_open{severity="warning"} 0.0' in page
    assert "detector_messages_waiting 0.0" in page
    assert 'detector_blind_since_timestamp_seconds{group="default"} 0.0' in page


def test_blindness_was_said_once_each_time_and_its_end_too(day: Day) -> None:
    lost = [line for line in day.said if "could not look" in line]
    found = [line for line in day.said if "looks again" in line]
    stretches = sum(1 for (_, one), (_, other) in zip(day.runs, day.runs[1:], strict=False) if not _blind_now(one) and _blind_now(other))
    assert len(found) >= 3
    assert stretches <= len(lost) <= stretches + 4  # another reason within one stretch is said as well


def _blind_now(run: Run | None) -> bool:
    return run is None or (not run.skipped and any(entry.blocking for entry in run.report.could_not))


def test_the_heart_did_not_beat_while_blind_or_undelivered(day: Day) -> None:
    calm = sum(1 for _, run in day.runs if run is not None and not run.skipped and not _blind_now(run) and not run.delivered.failures)
    assert day.beats == calm


# -- what is true of one hour -------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("hour", "what"),
    [(2, "the log"), (6, "the newest part of the log"), (16, "the newest part of the log"), (17, "rule empty"), (19, "rule empty"), (20, "core.bin")],
    ids=["source down", "clock ahead", "empty log", "rule crashes", "rule is slow", "a file is no log"],
)
def test_what_could_not_be_looked_at_is_told(day: Day, hour: int, what: str) -> None:
    entries = [entry.what for run in day.went(hour) if run is not None for entry in run.report.could_not]
    assert [entry for entry in entries if what in entry]


@pytest.mark.parametrize("hour", [17, 19])
def test_the_other_rule_was_judged_meanwhile(day: Day, hour: int) -> None:
    assert {finding.rule for run in day.went(hour) if run is not None for finding in run.report.findings} == {"leaks"}


@pytest.mark.parametrize("hour", [1, 14, 15])
def test_what_could_not_be_delivered_was_loud(day: Day, hour: int) -> None:
    assert [run.exit_code for run in day.went(hour) if run is not None and run.delivered.failures] != []


def test_another_worker_held_the_lease(day: Day) -> None:
    assert [run.skipped for run in day.went(5) if run is not None] == [True] * 6


def test_late_documents_were_found(day: Day) -> None:
    fired = [at for at, change in day.changes("fired") if change.incident.deployment == "dep-9"]
    assert fired == [BEGIN + timedelta(hours=9, minutes=30)]


def test_a_deleted_parent_was_posted_anew(day: Day) -> None:
    gone = [one for one in day.workspace.messages if one.deleted]
    assert len(gone) == 1
    assert len(day.parents("dep-10")) == 1


def test_reactions_were_heard(day: Day) -> None:
    by_name = {incident.deployment: incident for incident in day.store.incidents()}
    assert by_name["dep-11"].acked_by == "U0MINA"
    assert by_name["dep-12"].snoozed_until is not None


def test_the_silenced_incident_was_told_when_its_silence_ended(day: Day) -> None:
    (fired_at,) = [at for at, change in day.changes("fired") if change.incident.deployment == "dep-18"]
    assert fired_at == BEGIN + timedelta(hours=18, minutes=10)
    first_seen = next(at for (at, _), names in zip(day.runs, day.visible, strict=True) if "dep-18" in names)
    assert first_seen == BEGIN + timedelta(hours=18, minutes=50)  # the first run after 40 minutes of silence


def test_flapping_is_one_incident(day: Day) -> None:
    assert len([change for _, change in day.changes("fired") if change.incident.deployment == "dep-21"]) == 1
    assert [change for _, change in day.changes("reopened") if change.incident.deployment == "dep-21"] == []


def test_a_storm_is_one_message(day: Day) -> None:
    storms = [one for one in day.workspace.parents() if "storm-6" in json.dumps(one.attachments) + one.text]
    assert len(storms) == 1
    assert all(f"storm-{number}" in json.dumps(storms[0].attachments) + storms[0].text for number in range(7))
