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
    kinds: frozenset[str] = frozenset({"fired", "reopened", "escalated", "grew", "updated", "resolved", "merged"})
    silent: frozenset[str] = frozenset({"updated"})

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Draw or extend the incident's region."""
        incident = telling.incident
        headers = {"Authorization": f"Bearer {self.token}"}
        base = self.url.rstrip("/") + "/api/annotations"
        opening = f"{incident.id}.{incident.opened}"  # each opening is a region of its own
        tags = [TAG, incident.severity, incident.id, opening, *incident.signals]
        body: dict[str, Any] = {"time": round(incident.since * 1000), "timeEnd": round(incident.active_at * 1000), "tags": tags, "text": _html(line(incident))}
        known = thread if thread is not None and thread.get("opening") == opening else None
        if known is None and tried_at is not None:
            known = self._find(opening, headers, base)
        if known is not None:
            try:
                send_json(self.name, "PATCH", f"{base}/{known['id']}", body, headers)
                return known
            except NotifyError as error:
                if error.status != 404:
                    raise
        if telling.kind in ("resolved", "merged") and thread is not None:
            return None  # a person deleted it: that it ended need not be drawn
        answer = send_json(self.name, "POST", base, body, headers)
        if not isinstance(answer, dict) or "id" not in answer:
            raise NotifyError("grafana: the answer bears no annotation id; is this Grafana's address?", retryable=False)
        return {"id": answer["id"], "opening": opening}

    def _find(self, opening: str, headers: dict[str, str], base: str) -> dict[str, Any] | None:
        """The region that an attempt of unknown outcome may have drawn."""
        found = send_json(self.name, "GET", f"{base}?{urlencode([('tags', TAG), ('tags', opening), ('limit', '1')])}", b"", headers)
        return {"id": found[0]["id"], "opening": opening} if isinstance(found, list) and found else None


def _html(text: str) -> str:
    """Grafana shows annotation text as HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
