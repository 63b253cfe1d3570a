"""Findings, reports and incidents for tests of what comes after judging."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from detector.findings import Counted, Finding, Slice
from detector.incident_reducer import advance
from detector.incidents import Incident
from detector.report import Report
from detector.rules import Rule, load_rules
from detector.sources.base import CouldNot, Tally
from detector.window import MINUTE, Window

T0 = 1_800_000_000.0
RULES = {rule.id: rule for rule in load_rules()}


def finding(
    at: float,
    rule: str = "think_tag_leak",
    *,
    since: float | None = None,
    deployment: str = "chat",
    model: str = "qwen3-32b",
    pod: str | None = None,
    severity: str = "warning",
    flagged: int = 25,
    requests: int = 1204,
    incident: str = "a",
    **more: Any,
) -> Finding:
    """A finding that fires at `at`, since `since`."""
    own: Rule = RULES[rule]
    labels: dict[str, str | None] = {"deployment": deployment, "model": model} | ({"pod": pod} if pod else {})
    trend = ((1, 400), (0, 410), (2, 395), (1, 402), (0, 0), (1, 399)) * 3 + ((3, 398), (9, 402), (14, 404), (20, 399), (24, 401), (25, 400))
    values: dict[str, Any] = {
        "interval": (0.014, 0.03),
        "baseline": Counted(18, 9021, at - 7 * 86400, at - 15 * MINUTE),
        "subtypes": {"close_tag_in_content": flagged},
        "request_ids": tuple(f"chatcmpl-{number:04d}" for number in range(3)),
        "meaning": own.meaning,
        "impact": own.impact,
        "next_steps": own.next_steps,
        "panels": own.panels,
        "trend": trend,
        "incident": incident,
    }
    return Finding(
        rule=rule,
        title=own.title,
        severity=severity,
        notify=severity != "info",
        signal=own.signal,
        labels=labels,
        counts=Counted(flagged, requests, at - 15 * MINUTE, at),
        score=9.0,
        threshold=3.0,
        first=at - 600,
        last=at - 5,
        firing=(since if since is not None else at, at),
        **(values | more),
    )


def report(at: float, *findings: Finding, blind: str = "") -> Report:
    """A report whose window ends at `at`."""
    could_not = (CouldNot("the log", blind, "mend it"),) if blind else ()
    return Report(Window(at - 15 * MINUTE, at), Tally(requests=1000, records=1000), findings, could_not)


def fired(*findings: Finding, at: float = T0) -> Incident:
    """The incident that these findings open."""
    (incident,) = advance((), report(at, *findings), list(RULES.values()), at).incidents
    return replace(incident, state="firing", fired_at=at)


SLICE = Slice({"pod": "chat-7f9c-x2", "engine_version": "0.29.0"}, 23, 310, 2, 894, 0.92)
