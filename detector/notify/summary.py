"""An incident as plain data and as one line, for receivers that make their own picture of it. Names from logs stay raw: each receiver escapes for itself."""

from __future__ import annotations

from typing import Any

from detector import __version__
from detector.incidents import Incident
from detector.notify.base import Telling
from detector.render.inert import plain
from detector.render.numbers import rate_line
from detector.window import iso


def line(incident: Incident) -> str:
    """`Thinking markers appear in answers: chat / qwen3: 25 of 1,204 requests (2.1 %, …), usually 0.2 %`, with control characters shown."""
    finding = incident.findings[0]
    name = " / ".join(plain(value, 60) for value in finding.labels.values() if value and value.strip()) or f"requests without {' and '.join(finding.labels)}"
    return f"{finding.title}: {name}: {rate_line(finding)}"


def as_data(telling: Telling, key: str) -> dict[str, Any]:
    """The stable shape of webhook bodies and index documents: what changed, and the incident with its findings. No text of any answer."""
    incident = telling.incident
    return {
        "key": key,
        "kind": telling.kind,
        "reason": telling.reason,
        "at": iso(telling.at),
        "detector_version": __version__,
        "incident": {
            "id": incident.id,
            "state": incident.state,
            "severity": incident.severity,
            "title": incident.title,
            "deployment": incident.deployment,
            "signals": list(incident.signals),
            "rules": list(incident.rules),
            "since": iso(incident.since),
            "active_at": iso(incident.active_at),
            "resolved_at": None if incident.resolved_at is None else iso(incident.resolved_at),
            "opened": incident.opened,
            "blind_since": None if incident.blind_since is None else iso(incident.blind_since),
            "acked_by": incident.acked_by,
        },
        "findings": [
            {
                "rule": finding.rule,
                "rule_digest": finding.rule_digest,
                "signal": finding.signal,
                "labels": finding.labels,
                "flagged": finding.counts.flagged,
                "requests": finding.counts.requests,
                "rate": finding.counts.rate,
                "interval": list(finding.interval),
                "baseline": None if finding.baseline is None else {"flagged": finding.baseline.flagged, "requests": finding.baseline.requests},
                "score": finding.score,
                "subtypes": finding.subtypes,
                "request_ids": list(finding.request_ids),
            }
            for finding in incident.findings
        ],
        "owner": telling.owner,
        "storm": [member.id for member in telling.storm],
        "links": [{"kind": link.kind, "title": link.title, "url": link.url, "panel": link.panel} for link in telling.links],
    }
