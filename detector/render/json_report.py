"""A report as JSON: the stable contract that other programs read (docs/json.md). Keys are added, never moved."""

from __future__ import annotations

import json
from typing import Any

from detector.findings import Counted, Finding
from detector.report import Report
from detector.window import iso


def as_json(report: Report) -> str:
    """The report as one JSON document, keys in a fixed order, ending in a newline. Equal reports give equal bytes."""
    return json.dumps(as_dict(report), ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def as_dict(report: Report) -> dict[str, Any]:
    """The report as plain data. Shares are fractions 0 to 1, times ISO 8601 UTC."""
    tally, window = report.tally, report.window
    return {
        "window": None if window is None or not window.start else {"from": iso(window.start), "to": iso(window.end)},
        "scanned": {
            "requests": tally.requests,
            "records": tally.records,
            "unreadable": sum(tally.unreadable.values()),
            "sampled": tally.sampled,
            "documents": tally.documents,
            "ignored": sum(tally.ignored.values()),
            "unreadable_reasons": dict(sorted(tally.unreadable.items())),
            "ignored_reasons": dict(sorted(tally.ignored.items())),
            "places": dict(sorted(tally.places.items())),
            "formats": dict(sorted(tally.formats.items())),
        },
        "findings": [_finding(finding) for finding in report.findings],
        "could_not": [{"what": entry.what, "why": entry.why, "remedy": entry.remedy, "blocking": entry.blocking} for entry in report.could_not],
        "notes": list(report.remarks),
    }


def _counted(counted: Counted | None) -> dict[str, Any] | None:
    if counted is None:
        return None
    return {"flagged": counted.flagged, "requests": counted.requests, "rate": _share(counted.rate), "from": iso(counted.start), "to": iso(counted.end)}


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 8)


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "title": finding.title,
        "severity": finding.severity,
        "notify": finding.notify,
        "chronic": finding.chronic,
        "incident": finding.incident,
        "signal": finding.signal,
        "deployment": finding.labels.get("deployment"),
        "model": finding.labels.get("model"),
        "labels": finding.labels,
        "flagged": finding.counts.flagged,
        "requests": finding.counts.requests,
        "rate": _share(finding.counts.rate),
        "interval": [_share(bound) for bound in finding.interval],
        "baseline": _counted(finding.baseline),
        "peak": _counted(finding.peak),
        "first": None if finding.first is None else iso(finding.first),
        "last": None if finding.last is None else iso(finding.last),
        "score": round(finding.score, 4),
        "threshold": finding.threshold,
        "expected": None if finding.expected is None else round(finding.expected, 4),
        "subtypes": finding.subtypes,
        "also": finding.also,
        "slices": [
            {
                "conditions": part.conditions,
                "share_explained": part.share_explained,
                "flagged": part.flagged,
                "requests": part.requests,
                "outside": {"flagged": part.outside_flagged, "requests": part.outside_requests},
            }
            for part in finding.slices
        ],
        "request_ids": list(finding.request_ids),
        "reasons": list(finding.reasons),
        **({"excerpt": finding.excerpt} if finding.excerpt else {}),
        "diagnosis": {
            "summary": finding.meaning,
            "impact": finding.impact,
            "causes": [],
            "possible_causes": list(finding.causes),
            "metrics": [],
            "changes": [],
            "next_steps": list(finding.next_steps),
            "links": [{"kind": "upstream", "title": link, "url": link, "panel": ""} for link in finding.references],
        },
    }
