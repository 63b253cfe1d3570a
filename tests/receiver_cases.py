"""What is told to receivers in tests, and runs with one receiver alone."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from detector.incidents import Incident
from detector.notify.base import Link, Receiver, Route, Telling
from detector.scheduled import Audience, Run, run_once
from detector.storage.store import Store
from tests.incident_cases import RULES, T0, report

LINKS = (
    Link("kibana", "Kibana", "https://kibana.example/app/discover#/?_g=(time:(from:'2026'))"),
    Link("grafana", "Grafana: ttft", "https://grafana.example/d/x", "ttft"),
)


def telling(kind: str, incident: Incident, at: float = T0, **more: Any) -> Telling:
    return Telling(kind, "because", at, incident, LINKS, **more)


def ended(incident: Incident, at: float) -> Incident:
    return replace(incident, state="resolved", resolved_at=at)


def one_run(store: Store, receiver: Receiver, now: float, *findings: Any, clock: Callable[[], float] = time.time) -> Run:
    """A scheduled run with this receiver alone."""
    return run_once(
        lambda: report(now, *findings), list(RULES.values()), store, Audience({receiver.name: receiver}, lambda incident: Route((receiver.name,))), clock
    )
