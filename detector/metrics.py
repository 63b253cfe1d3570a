"""What the worker shows on /metrics."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Info, PlatformCollector, ProcessCollector, generate_latest

from detector import __version__
from detector.findings import SEVERITIES
from detector.scheduled import Run
from detector.storage.memory import KEPT

OUTCOMES = {0: "quiet", 1: "firing", 2: "blind", 3: "undelivered"}


class Metrics:
    """Counters and gauges of one worker. Times are seconds since 1970 UTC; 0 means never."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        Info("detector", "Version of detector.", registry=registry).info({"version": __version__})
        group = ("group",)
        self.runs = Counter(
            "detector_runs", "Runs by outcome: quiet, firing, blind, undelivered, failed, skipped, overlapped.", (*group, "outcome"), registry=registry
        )
        self.seconds = Gauge("detector_run_seconds", "Duration of the last run.", group, registry=registry)
        self.last = Gauge("detector_last_run_timestamp_seconds", "End of the last run that looked at everything.", group, registry=registry)
        self.lag = Gauge("detector_window_lag_seconds", "Age of the end of the last judged window.", group, registry=registry)
        self.blind = Gauge("detector_blind_since_timestamp_seconds", "Since when something can't be looked at; 0: it can.", group, registry=registry)
        self.requests = Counter("detector_requests_observed", "Requests read.", group, registry=registry)
        self.findings = Gauge("detector_findings", "Findings of the last run by severity.", (*group, "severity"), registry=registry)
        self.open = Gauge("detector_incidents_open", "Firing incidents by severity.", ("severity",), registry=registry)
        self.sent = Counter("detector_messages_sent", "Messages delivered.", registry=registry)
        self.failed = Counter("detector_message_failures", "Messages that a run could not deliver, once per run.", registry=registry)
        self.waiting = Gauge("detector_messages_waiting", "Messages in the outbox after the last run.", registry=registry)
        self.unreadable = Counter("detector_documents_unreadable", "Documents that could not be read.", group, registry=registry)

    def page(self) -> bytes:
        """The text exposition."""
        return generate_latest(self.registry)

    def count(self, group: str, run: Run, started: float, now: float) -> None:
        """Add one run that began and ended at these times."""
        self.runs.labels(group, "skipped" if run.skipped else OUTCOMES[run.exit_code]).inc()
        self.seconds.labels(group).set(max(0.0, now - started))
        if run.skipped:
            return
        report = run.report
        self.requests.labels(group).inc(max(0, report.tally.requests - report.tally.notes[KEPT]))
        self.unreadable.labels(group).inc(sum(report.tally.unreadable.values()))
        if report.window is not None:
            self.lag.labels(group).set(max(0.0, now - report.window.end))
        for severity in SEVERITIES:
            self.findings.labels(group, severity).set(sum(finding.severity == severity for finding in report.findings))
            self.open.labels(severity).set(sum(incident.state == "firing" and incident.severity == severity for incident in run.incidents))
        self.sent.inc(run.delivered.sent)
        self.failed.inc(len(run.delivered.failures))
        self.waiting.set(len(run.delivered.failures))
