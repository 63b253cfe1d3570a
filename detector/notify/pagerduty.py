"""PagerDuty (Events API v2): triggers, acknowledges and resolves, keyed by the incident. https://developer.pagerduty.com/docs/events-api-v2/"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from detector.notify.base import Telling
from detector.notify.http import send_json
from detector.notify.summary import as_data, line
from detector.render.inert import plain
from detector.window import iso

SUMMARY_LIMIT = 1024  # characters of payload.summary
SEVERITY = {"critical": "critical", "warning": "warning", "info": "info"}


@dataclass
class PagerDutyReceiver:
    """One service's integration key."""

    routing_key: str
    url: str = "https://events.pagerduty.com/v2/enqueue"
    name: str = "pagerduty"
    kinds: frozenset[str] = frozenset({"fired", "reopened", "escalated", "taken", "resolved", "merged"})
    silent: frozenset[str] = frozenset({"taken"})

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Send one event. The dedup key makes repeating harmless."""
        incident = telling.incident
        action = "resolve" if incident.state == "resolved" else "acknowledge" if telling.kind == "taken" else "trigger"
        body: dict[str, Any] = {
            "routing_key": self.routing_key,
            "event_action": action,
            "dedup_key": f"llm-response-detector/{incident.id}",
        }
        if action == "trigger":
            body["payload"] = {
                "summary": plain(line(incident), SUMMARY_LIMIT),
                "source": plain(incident.where or "llm-response-detector", 200),
                "severity": SEVERITY[incident.severity],
                "timestamp": iso(incident.since),
                "component": plain(incident.findings[0].labels.get("model") or "", 200),
                "class": incident.signals[0] if incident.signals else "",
                "custom_details": as_data(telling, key)["findings"][:5],
            }
            body["links"] = [{"href": link.url, "text": link.title} for link in telling.links[:10]]
        send_json(self.name, "POST", self.url, body)
        return {"dedup_key": body["dedup_key"]}
