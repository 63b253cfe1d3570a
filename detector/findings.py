"""The finding: rule × series × window that fired, with counts, interval, baseline and examples. Plain data; no text of any answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

SEVERITIES = ("info", "warning", "critical")  # by consequence: some day · today · users see it now


@dataclass(frozen=True)
class Counted:
    """Flagged requests of all requests over `[start, end)` (seconds since 1970 UTC)."""

    flagged: int
    requests: int
    start: float
    end: float

    @property
    def rate(self) -> float | None:
        """Share of flagged requests, 0 to 1; None when there were none to flag."""
        return self.flagged / self.requests if self.requests else None


@dataclass(frozen=True)
class Slice:
    """A breakdown that stands out: rows under `conditions` hold `share_explained` (0 to 1) of what is above the rate outside."""

    conditions: dict[str, str]
    flagged: int
    requests: int
    outside_flagged: int
    outside_requests: int
    share_explained: float


@dataclass(frozen=True)
class Finding:
    """One rule fired on one series.

    `counts`: the judged window. `peak`: the stretch in which it fired, where that is shorter than the window. `baseline`: the same series before
    the window, None when the log holds nothing before it. `firing`: first and last evaluation time of the latest unbroken stretch in which the rule fired
    (seconds since 1970 UTC); it fires still when the last one is the window's end. `interval`: 95 % interval of the window's rate. `expected`: flagged
    requests that the detector expected in the window with the highest score, None when it has no expectation. `chronic`: as high since the log begins.
    """

    rule: str
    title: str
    severity: str
    notify: bool
    signal: str
    labels: dict[str, str | None]
    counts: Counted
    interval: tuple[float, float]
    baseline: Counted | None
    score: float
    threshold: float
    first: float | None
    last: float | None
    firing: tuple[float, float] = (0.0, 0.0)
    expected: float | None = None
    peak: Counted | None = None
    chronic: bool = False
    trend: tuple[tuple[int, int], ...] = ()
    hits: tuple[tuple[int, int], ...] = ()  # (minute since 1970 UTC, flagged requests in it) of the window; empty where it is too long for that
    subtypes: dict[str, int] = field(default_factory=dict)
    also: dict[str, int] = field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    request_ids: tuple[str, ...] = ()
    doc_ids: tuple[tuple[str, str], ...] = ()  # (index or file, id or place) of the same examples
    reasons: tuple[str, ...] = ()
    meaning: str = ""
    impact: str = ""
    next_steps: tuple[str, ...] = ()
    false_positives: tuple[str, ...] = ()
    causes: tuple[str, ...] = ()
    panels: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    incident: str = ""
    rule_digest: str = ""  # which version of the rule it was
    excerpt: str = ""  # text of one answer, only where it was asked for

    @property
    def deployment(self) -> str | None:
        return self.labels.get("deployment")

    @property
    def model(self) -> str | None:
        return self.labels.get("model")

    @property
    def place(self) -> str:
        """Where an incident of it is: the deployment; where the log names none, the model, which is the best that is known of it."""
        return self.deployment or (f"model\x1f{self.model}" if self.model else "")

    def rank(self) -> tuple[Any, ...]:
        """Sort key: most important first; stable for equal input whatever the order of reading."""
        labels = tuple(sorted((name, value or "") for name, value in self.labels.items()))
        return (-SEVERITIES.index(self.severity), not self.notify, -self.counts.flagged, -self.score, self.rule, labels)
