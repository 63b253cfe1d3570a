"""The worker: scheduled runs around `detector.scheduled.run_once`, with APScheduler; metrics, health, heartbeat.

Runs of one group never overlap; a run that was missed is made up for once, not many times. Rules of several groups share one store and one set of
incidents: no run ends an incident that it did not look at. This module and `commands` are the only ones that read the clock.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from zoneinfo import ZoneInfo

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.base import BaseTrigger
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.interval import IntervalTrigger
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from detector.errors import ConfigError, DetectorError
from detector.rules import Rule
from detector.scheduled import Run
from detector.settings.schedule import ScheduleSettings

MISSED_RUNS = 3.0  # intervals without a finished run after which /healthz says no


class Metrics:
    """What /metrics shows. Times are seconds since 1970 UTC; 0 means never."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.runs = Counter("detector_runs", "Runs by group and outcome.", ("group", "outcome"), registry=self.registry)
        self.seconds = Gauge("detector_run_seconds", "Duration of the last run.", ("group",), registry=self.registry)
        self.last = Gauge("detector_last_run_timestamp_seconds", "End of the last run that looked at everything.", ("group",), registry=self.registry)
        self.lag = Gauge("detector_window_lag_seconds", "Age of the end of the last judged window.", ("group",), registry=self.registry)
        self.blind = Gauge("detector_blind_since_timestamp_seconds", "Since when something can't be looked at; 0: it can.", ("group",), registry=self.registry)
        self.requests = Counter("detector_requests_observed", "Requests judged.", ("group",), registry=self.registry)
        self.findings = Gauge("detector_findings", "Findings of the last run by severity.", ("group", "severity"), registry=self.registry)
        self.open = Gauge("detector_incidents_open", "Open incidents by severity.", ("severity",), registry=self.registry)
        self.sent = Counter("detector_messages_sent", "Messages delivered.", registry=self.registry)
        self.failed = Counter("detector_message_failures", "Attempts to deliver that failed.", registry=self.registry)
        self.unreadable = Counter("detector_documents_unreadable", "Documents that could not be read.", ("group",), registry=self.registry)

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self.registry)


@dataclass
class Group:
    """Rules that run together. `every`: seconds between runs, for health; `trigger`: when."""

    name: str
    rules: tuple[Rule, ...]
    every: float
    trigger: BaseTrigger
    blind_since: float | None = None
    finished_at: float | None = None


@dataclass
class Worker:
    """Runs groups of rules until it is stopped.

    Args:
        look: one run of a group: rules in, run out (it opens the source, the store and the receivers).
        clock: seconds since 1970 UTC. log: one line for stderr.
        beat: asks the heartbeat address; called after a run that looked at everything.
    """

    groups: Sequence[Group]
    look: Callable[[Group], Run]
    clock: Callable[[], float]
    log: Callable[[str], None]
    beat: Callable[[], None] = lambda: None
    metrics: Metrics = field(default_factory=Metrics)
    started_at: float = 0.0
    _stop: threading.Event = field(default_factory=threading.Event)
    _turn: threading.Lock = field(default_factory=threading.Lock)

    def run_group(self, group: Group) -> Run | None:
        """One run of one group; a failure is told and counted, and ends nothing."""
        with self._turn:  # groups share incidents and outbox: one after the other
            started = self.clock()
            try:
                run = self.look(group)
            except DetectorError as error:
                self.metrics.runs.labels(group.name, "failed").inc()
                self._blind(group, started, str(error).splitlines()[0])
                return None
            except Exception as error:  # an unforeseen fault of one run must not end the worker; it is told, and the run counts as blind
                self.metrics.runs.labels(group.name, "failed").inc()
                self._blind(group, started, f"unforeseen: {type(error).__name__}")
                return None
            self._count(group, run, started)
            return run

    def serve(self, *, timezone: str = "UTC", jitter: float = 0.0) -> None:
        """Run until `stop`; a run in progress is finished first."""
        scheduler = BackgroundScheduler(timezone=ZoneInfo(timezone), job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None})
        self.started_at = self.clock()
        for group in self.groups:
            scheduler.add_job(self.run_group, group.trigger, args=(group,), id=group.name, name=group.name)
        scheduler.start()
        for group in self.groups:
            if not self._stop.is_set():
                self.run_group(group)  # the first look at once: after a restart there may be something to make up for
        self._stop.wait()
        scheduler.shutdown(wait=True)

    def stop(self, *_: Any) -> None:
        """End `serve` after the run in progress."""
        self._stop.set()

    def healthy(self) -> tuple[bool, str]:
        """Whether each group finished a run lately, and why not."""
        now = self.clock()
        for group in self.groups:
            since = group.finished_at if group.finished_at is not None else self.started_at
            if now - since > MISSED_RUNS * group.every + 60:
                return False, f"group {group.name} has not finished a run for {now - since:.0f} s"
        return True, "ok"

    def _count(self, group: Group, run: Run, started: float) -> None:
        metrics, report, now = self.metrics, run.report, self.clock()
        outcome = "skipped" if run.skipped else {0: "quiet", 1: "firing", 2: "blind", 3: "undelivered"}[run.exit_code]
        metrics.runs.labels(group.name, outcome).inc()
        metrics.seconds.labels(group.name).set(now - started)
        if run.skipped:
            return
        group.finished_at = now
        metrics.requests.labels(group.name).inc(report.tally.requests)
        metrics.unreadable.labels(group.name).inc(sum(report.tally.unreadable.values()))
        if report.window is not None:
            metrics.lag.labels(group.name).set(max(0.0, now - report.window.end))
        for severity in ("info", "warning", "critical"):
            metrics.findings.labels(group.name, severity).set(sum(finding.severity == severity for finding in report.findings))
            metrics.open.labels(severity).set(sum(incident.state == "firing" and incident.severity == severity for incident in run.incidents))
        metrics.sent.inc(run.delivered.sent)
        metrics.failed.inc(len(run.delivered.failures))
        for line in (*run.remarks, *run.delivered.failures):
            self.log(line)
        blocking = [entry for entry in report.could_not if entry.blocking]
        if blocking:
            self._blind(group, started, f"{blocking[0].what}: {blocking[0].why}", count=len(blocking))
            return
        if group.blind_since is not None:
            self.log(f"group {group.name}: looks again, after {now - group.blind_since:.0f} s")
        group.blind_since = None
        metrics.blind.labels(group.name).set(0)
        metrics.last.labels(group.name).set(now)
        if not run.delivered.failures:
            try:
                self.beat()
            except (OSError, DetectorError) as error:
                self.log(f"heartbeat: {error}")

    def _blind(self, group: Group, since: float, why: str, count: int = 1) -> None:
        if group.blind_since is None:
            group.blind_since = since
            more = f" (and {count - 1} more)" if count > 1 else ""
            self.log(f"group {group.name}: could not look: {why}{more}; open incidents are held")
        self.metrics.blind.labels(group.name).set(group.blind_since)


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
    jitter = int(schedule.jitter) or None
    if cron is not None:
        trigger = CronTrigger.from_crontab(cron, timezone=zone)
        trigger.jitter = jitter
        return Group(name, tuple(rules), _longest_gap(trigger, zone), trigger)
    seconds = every if every is not None else schedule.every
    return Group(name, tuple(rules), seconds, IntervalTrigger(seconds=max(1, round(seconds)), timezone=zone, jitter=jitter))


def _longest_gap(trigger: CronTrigger, zone: ZoneInfo) -> float:
    """Longest time between two of the next fifty runs of a cron schedule, in seconds, for health."""
    from datetime import datetime, timedelta

    calm = CronTrigger(**{entry.name: str(entry) for entry in trigger.fields}, timezone=zone)
    at = datetime(2026, 1, 1, tzinfo=zone)
    times = []
    for _ in range(50):
        following = calm.get_next_fire_time(None, at)
        if following is None:
            break
        times.append(following)
        at = following + timedelta(seconds=1)
    return max((later - earlier).total_seconds() for earlier, later in itertools.pairwise(times)) if len(times) > 1 else 86400.0


def listen(worker: Worker, address: str) -> ThreadingHTTPServer:
    """Serve /metrics and /healthz; close it with `shutdown`. Raises ConfigError when the address can't be taken."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/metrics":
                self._answer(200, worker.metrics.page(), CONTENT_TYPE_LATEST)
            elif self.path == "/healthz":
                well, why = worker.healthy()
                self._answer(200 if well else 503, f"{why}\n".encode(), "text/plain; charset=utf-8")
            else:
                self._answer(404, b"there is /metrics and /healthz\n", "text/plain; charset=utf-8")

        def _answer(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Scrapes are not news."""

    host, _, port = address.rpartition(":")
    try:
        server = ThreadingHTTPServer((host.strip("[]"), int(port)), Handler)
    except OSError as error:
        raise ConfigError(f"schedule.listen: {address} can't be taken: {error.strerror}") from None
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
    return server


def end_on_signals(worker: Worker) -> None:
    """SIGTERM and SIGINT end the worker after its run in progress."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, worker.stop)


def to_stderr(line: str) -> None:
    """One line of log with its time in UTC."""
    print(f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} detector: {line}", file=sys.stderr, flush=True)
