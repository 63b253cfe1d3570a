"""Alertmanager (API v2): each open incident is an alert that is sent again at every run, and sent as ended when it resolves.

Labels identify (no numbers, no text of a log beyond names); numbers and links are annotations. Clients must re-send while firing, and `endsAt` guards against
a dead worker: an alert that is no longer re-sent ends by itself (https://prometheus.io/docs/alerting/latest/clients/).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from detector.notify.base import KINDS, Telling
from detector.notify.http import send_json
from detector.notify.summary import line
from detector.window import iso

STILL_VALID = 3.0  # intervals between runs until an alert that is not sent again ends


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

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, doubtful: bool) -> dict[str, Any] | None:
        """Send the alert; sending it twice is what Alertmanager expects, so doubt needs no look-up."""
        incident = telling.incident
        finding = incident.findings[0]
        labels = {
            "alertname": incident.signals[0] if incident.signals else "llm_incident",
            "incident": incident.id,
            "deployment": incident.deployment or "",
            "model": finding.labels.get("model") or "",
            "severity": incident.severity,
            "source": "llm-response-detector",
        }
        annotations = {"summary": line(incident), "rules": ", ".join(incident.rules), "description": finding.meaning, "impact": finding.impact}
        annotations |= {f"{link.kind}_{index}": link.url for index, link in enumerate(telling.links[:6])}
        alert: dict[str, Any] = {
            "labels": {name: value for name, value in labels.items() if value},
            "annotations": {name: value for name, value in annotations.items() if value},
            "startsAt": iso(min(incident.since, self.clock())),
        }
        if incident.state == "resolved":
            alert["endsAt"] = iso(min(incident.resolved_at or self.clock(), self.clock()))
        else:
            alert["endsAt"] = iso(self.clock() + STILL_VALID * self.interval)
        for link in telling.links:
            if link.kind == "kibana":
                alert["generatorURL"] = link.url
        for url in self.urls:
            send_json(self.name, "POST", f"{url.rstrip('/')}/api/v2/alerts", [alert])
        return thread
