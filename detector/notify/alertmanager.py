"""Alertmanager (API v2): each open incident is an alert that is sent again at every run, and sent as ended when it resolves.

Labels identify (no numbers, no text of a log beyond names); numbers and links are annotations. Clients must re-send while firing, and `endsAt` guards against
a dead worker: an alert that is no longer re-sent ends by itself (https://prometheus.io/docs/alerting/latest/clients/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from detector.errors import NotifyError
from detector.notify.base import KINDS, Telling
from detector.notify.http import send_json
from detector.notify.summary import line
from detector.render.inert import plain
from detector.window import iso

LONGEST_VALUE = 200  # characters of a label
STILL_VALID = 3.0  # intervals between runs until an alert that is not sent again ends
LONGEST_INTERVAL = 86400.0  # seconds; a pause that is longer is no rhythm


@dataclass
class AlertmanagerReceiver:
    """One or several peers of a cluster; each gets every alert, as Alertmanager asks for.

    Args:
        interval: seconds between two runs. clock: seconds since 1970 UTC.
    """

    urls: tuple[str, ...]
    interval: float
    clock: Callable[[], float]
    name: str = "alertmanager"
    kinds: frozenset[str] = frozenset(KINDS) - {"storm", "reminder"}  # grouping and reminding are Alertmanager's own business
    silent: frozenset[str] = frozenset()
    remarks: list[str] = field(default_factory=list)
    _gap: float = 0.0

    def runs_every(self, seconds: float) -> None:
        """An alert must not go stale between two runs of a cron job."""
        self._gap = max(self._gap, min(seconds, LONGEST_INTERVAL))  # the groups of one process run one right after the other

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Send the alert; sending it twice is what Alertmanager expects, so doubt needs no look-up."""
        labels = self._labels(telling, (thread or {}).get("labels"))
        alerts = [self._alert(telling, labels)]
        before = (thread or {}).get("labels")
        if before and before != labels:  # another severity is another alert there: the old one ends now, not when it goes stale
            alerts.append({**self._alert(telling, before), "endsAt": iso(self.clock())})
        failures: list[NotifyError] = []
        for url in self.urls:
            try:
                send_json(self.name, "POST", f"{url.rstrip('/')}/api/v2/alerts", alerts)
            except NotifyError as error:
                failures.append(error)
        if len(failures) == len(self.urls):
            raise failures[0]
        # one peer is enough to notify; peers share no alerts, so one that is away gets them from a later run, when it is back
        self.remarks += [line for error in failures if (line := f"{error}; another peer took the alert") not in self.remarks]
        return {"labels": labels}

    def _labels(self, telling: Telling, before: dict[str, str] | None) -> dict[str, str]:
        """What identifies the alert: as at its first sending, but for severity and owner, by which Alertmanager routes."""
        incident = telling.incident
        labels = before or {
            "alertname": incident.findings[0].signal,
            "incident": incident.id,
            "deployment": incident.deployment or "",
            "model": incident.findings[0].labels.get("model") or "",
            "source": "llm-response-detector",
        }
        # under a silence it goes on as it was, so that it does not lapse; what got worse is for afterwards
        severity = before["severity"] if before and telling.quiet and incident.open else incident.severity
        changing = {"severity": severity, "owner": telling.owner or ""}
        return {name: plain(value, LONGEST_VALUE) for name, value in {**labels, **changing}.items() if value}

    def _alert(self, telling: Telling, labels: dict[str, str]) -> dict[str, Any]:
        incident, finding, now = telling.incident, telling.incident.findings[0], self.clock()
        annotations = {"summary": line(incident), "rules": ", ".join(incident.rules), "description": finding.meaning, "impact": finding.impact}
        annotations |= {f"{link.kind}_{index}": link.url for index, link in enumerate(telling.links[:6])}
        if incident.blind_since is not None and incident.open:
            annotations["blind"] = f"could not look since {iso(incident.blind_since)}: {plain(incident.blind_why, 300)}"
        start = min(incident.since, now)
        end = max(start, min(incident.resolved_at or now, now)) if incident.state == "resolved" else now + STILL_VALID * max(self.interval, self._gap)
        alert: dict[str, Any] = {
            "labels": labels,
            "annotations": {name: value for name, value in annotations.items() if value},
            "startsAt": iso(start),
            "endsAt": iso(end),
        }
        for link in telling.links:
            if link.kind == "kibana":
                alert["generatorURL"] = link.url
        return alert
