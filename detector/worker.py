"""The worker: scheduled runs around `detector.scheduled.run_once`, with APScheduler; health, heartbeat.

Runs of one group never overlap; a run that was missed is made up for once, not many times. Rules of several groups share one store and one set of
incidents: no run ends an incident that it did not look at. This module and `commands` are the only ones that read the clock.
"""

from __future__ import annotations

import itertools
import logging
import random
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.events import EVENT_JOB_MAX_INSTANCES
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger

from detector.errors import ConfigError, DetectorError
from detector.metrics import Metrics
from detector.render.inert import plain
from detector.rules import Rule
from detector.scheduled import UNDELIVERED, Run
from detector.settings.schedule import ScheduleSettings

MISSED_RUNS = 3.0  # intervals without a finished run after which /healthz says no
JUMP = 60.0  # seconds by which the wall clock may part from the monotonic one before runs are planned anew
LOOK_AT_CLOCK = 20.0  # seconds between two looks at the clock
LINE = 2000  # characters of one line of log


@dataclass
class Group:
    """Rules that run together. `every`: seconds between runs, for health; `trigger`: when."""

    name: str
    rules: tuple[Rule, ...]
    every: float
    trigger: BaseTrigger
    blind_since: float | None = None
    blind_what: str = ""
    finished_at: float | None = None


@dataclass
class Worker:
    """Runs groups of rules until it is stopped.

    Args:
        look: one run of a group: rules in, run out (it opens the source, the store and the receivers).
        clock: seconds since 1970 UTC. log: one line for stderr.
        beat: asks the heartbeat address; called after a run that looked at everything and left nothing undelivered.
        jitter: each run but the first begins up to this many seconds later. (Not APScheduler's: its jitter drops the fold of a repeated hour, and then
            plans the runs of that hour for ever.)
        monotonic: seconds that no one sets, to notice that somebody set the clock.
    """

    groups: Sequence[Group]
    look: Callable[[Group], Run]
    clock: Callable[[], float]
    log: Callable[[str], None]
    beat: Callable[[], None] = lambda: None
    jitter: float = 0.0
    monotonic: Callable[[], float] = time.monotonic
    metrics: Metrics = field(default_factory=Metrics)
    started_at: float | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def run_group(self, group: Group) -> Run | None:
        """One run of one group; a failure is told and counted, and ends nothing. None: it failed, or the worker is ending."""
        with self._turn:  # groups share incidents and outbox: one after the other
            if self._stop.is_set():
                return None
            started = self.clock()
            try:
                run = self.look(group)
            except DetectorError as error:
                self._failed(group, started, str(error).splitlines()[0])
                return None
            except Exception as error:  # an unforeseen fault of one run must not end the worker; it is told, and the run counts as blind
                self._failed(group, started, f"unforeseen: {type(error).__name__}")
                return None
            self._count(group, run, started)
            return run

    def serve(self, *, timezone: str = "UTC") -> None:
        """Run until `stop`; a run in progress is finished first."""
        zone = ZoneInfo(timezone)
        logging.getLogger("apscheduler").setLevel(logging.ERROR)  # runs that overlap are counted, not logged
        scheduler = BackgroundScheduler(timezone=zone, job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None})
        scheduler.add_listener(self._overlapped, EVENT_JOB_MAX_INSTANCES)
        self.started_at = self.clock()
        for group in self.groups:  # the first look at once: after a restart there may be something to make up for
            scheduler.add_job(self._due, group.trigger, args=(group,), id=group.name, name=group.name, next_run_time=datetime.now(zone))
        ahead = self.clock() - self.monotonic()  # before the first run: what the clock does from then on is a jump
        scheduler.start()
        while not self._stop.wait(LOOK_AT_CLOCK):
            jump = self.clock() - self.monotonic() - ahead
            if abs(jump) > JUMP:  # APScheduler plans by the wall clock: set back, it would sleep until that time comes again
                self.log(f"the clock was set by {jump:+.0f} s; runs are planned anew")
                ahead += jump
                for group in self.groups:
                    scheduler.modify_job(group.name, next_run_time=datetime.now(zone))
        scheduler.shutdown(wait=True)

    def stop(self, *_: Any) -> None:
        """End `serve` after the run in progress."""
        self._stop.set()

    def healthy(self) -> tuple[bool, str]:
        """Whether each group finished a run lately, and why not. A run that could not look has finished too: it told so."""
        now = self.clock()
        for group in self.groups:
            since = group.finished_at if group.finished_at is not None else self.started_at
            if since is not None and now - since > MISSED_RUNS * group.every + 60:
                return False, f"group {group.name} has not finished a run for {now - since:.0f} s"
        return True, "ok"

    def _due(self, group: Group) -> None:
        if group.finished_at is None or not self._stop.wait(random.uniform(0.0, self.jitter)):  # noqa: S311  # no secret
            self.run_group(group)

    def _overlapped(self, event: Any) -> None:
        """A run was due while the last one of its group went on: it is left out, and counted."""
        self.metrics.runs.labels(event.job_id, "overlapped").inc()

    def _failed(self, group: Group, started: float, why: str) -> None:
        self.metrics.runs.labels(group.name, "failed").inc()
        self._blind(group, started, "this run", why)

    def _count(self, group: Group, run: Run, started: float) -> None:
        now = self.clock()
        self.metrics.count(group.name, run, started, now)
        group.finished_at = now
        for line in (*run.remarks, *run.delivered.failures):
            self.log(line)
        if run.skipped:  # another worker looks
            return
        blocking = [entry for entry in run.report.could_not if entry.blocking and not entry.slight]
        if blocking:
            more = f" (and {len(blocking) - 1} more)" if len(blocking) > 1 else ""
            self._blind(group, started, blocking[0].what, f"{blocking[0].why}{more}")
            return
        if group.blind_since is not None:
            self.log(f"group {group.name}: looks again, after {now - group.blind_since:.0f} s")
        group.blind_since, group.blind_what = None, ""
        self.metrics.blind.labels(group.name).set(0)
        self.metrics.last.labels(group.name).set(now)
        if not run.delivered.failures:
            try:
                self.beat()
            except (OSError, DetectorError) as error:
                self.log(str(error) if isinstance(error, DetectorError) else f"heartbeat: {type(error).__name__}")

    def _blind(self, group: Group, since: float, what: str, why: str) -> None:
        """Say that a group could not look: once, and again when it is something else."""
        kind = re.sub(r"\d+", "", what)  # counts change from run to run
        if group.blind_since is None or kind != group.blind_what:
            self.log(f"group {group.name}: could not look: {what}: {why}; open incidents are held")
        group.blind_since, group.blind_what = group.blind_since if group.blind_since is not None else since, kind
        self.metrics.blind.labels(group.name).set(group.blind_since)


def exit_code(runs: Sequence[Run | None]) -> int:
    """One code for several runs: undelivered, else firing, else blind, else quiet."""
    codes = {run.exit_code if run is not None else 2 for run in runs}
    return next((code for code in (UNDELIVERED, 1, 2) if code in codes), 0)


def groups_of(rules: Sequence[Rule], schedule: ScheduleSettings) -> list[Group]:
    """The schedule's groups with their rules; rules that no group names form `default`. Raises ConfigError for a rule that does not exist."""
    known = {rule.id: rule for rule in rules}
    named = {rule_id for group in schedule.groups.values() for rule_id in group.rules}
    missing = sorted(named - set(known))
    if missing:
        raise ConfigError(f"schedule.groups: there is no rule {', '.join(missing)} (detector rules list)")
    found = []
    for name, group in schedule.groups.items():
        found.append(_group(name, [known[rule_id] for rule_id in group.rules], group.every, group.cron, schedule))
    rest = [rule for rule in rules if rule.id not in named]
    if rest:
        found.append(_group("default", rest, None if schedule.cron else schedule.every, schedule.cron, schedule))
    return found


def _group(name: str, rules: Sequence[Rule], every: float | None, cron: str | None, schedule: ScheduleSettings) -> Group:
    zone = ZoneInfo(schedule.timezone)
    if cron is not None:
        return Group(name, tuple(rules), _longest_gap(cron, zone), CronTrigger.from_crontab(cron, timezone=zone))
    seconds = every if every is not None else schedule.every
    return Group(name, tuple(rules), seconds, IntervalTrigger(seconds=max(1, round(seconds)), timezone=zone))


def _longest_gap(cron: str, zone: ZoneInfo) -> float:
    """Longest time between two of the next fifty runs of a cron schedule, in seconds, for health."""
    trigger = CronTrigger.from_crontab(cron, timezone=zone)
    at = datetime(2026, 1, 1, tzinfo=zone)
    times = []
    for _ in range(50):
        following = trigger.get_next_fire_time(None, at)
        if following is None:
            break
        times.append(following)
        at = following + timedelta(seconds=1)
    return max((later - earlier).total_seconds() for earlier, later in itertools.pairwise(times)) if len(times) > 1 else 86400.0


def end_on_signals(worker: Worker) -> None:
    """SIGTERM and SIGINT end the worker after its run in progress."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)


def to_stderr(line: str) -> None:
    """One line of log with its time in UTC; names from a log are made inert."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} detector: {plain(line, LINE)}", file=sys.stderr, flush=True)
