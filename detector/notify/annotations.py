"""Grafana annotations: the incident drawn on the panels, as a region that grows until it ends.

https://grafana.com/docs/grafana/latest/developers/http_api/annotations/ (POST /api/annotations, PATCH /api/annotations/:id; times in milliseconds).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from detector.errors import NotifyError
from detector.notify.base import Telling
from detector.notify.http import send_json
from detector.notify.summary import line

TAG = "llm-response-detector"


@dataclass
class AnnotationReceiver:
    """One Grafana; needs the permission annotations:create (and :write to let a region grow)."""

    url: str
    token: str
    name: str = "grafana"
    kinds: frozenset[str] = frozenset({"fired", "reopened", "escalated", "resolved", "merged"})

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, doubtful: bool) -> dict[str, Any] | None:
        """Draw or extend the incident's region."""
        incident = telling.incident
        headers = {"Authorization": f"Bearer {self.token}"}
        base = self.url.rstrip("/") + "/api/annotations"
        tags = [TAG, incident.severity, incident.id, *incident.signals]
        body: dict[str, Any] = {"time": round(incident.since * 1000), "timeEnd": round(incident.active_at * 1000), "tags": tags, "text": _html(line(incident))}
        known = thread or (self._find(incident.id, headers, base) if doubtful else None)
        if known is not None and telling.kind != "reopened":
            try:
                send_json(self.name, "PATCH", f"{base}/{known['id']}", body, headers)
            except NotifyError as error:
                if " 404" not in str(error):
                    raise
                known = None  # a person deleted it: it is drawn anew
            if known is not None:
                return known
        answer = send_json(self.name, "POST", base, body, headers)
        return {"id": answer["id"]} if isinstance(answer, dict) and "id" in answer else None

    def _find(self, incident_id: str, headers: dict[str, str], base: str) -> dict[str, Any] | None:
        """The region that an attempt of unknown outcome may have drawn."""
        found = send_json(self.name, "GET", f"{base}?{urlencode([('tags', TAG), ('tags', incident_id), ('limit', '1')])}", b"", headers)
        return {"id": found[0]["id"]} if isinstance(found, list) and found else None


def _html(text: str) -> str:
    """Grafana shows annotation text as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
