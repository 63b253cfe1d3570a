"""Incidents: findings of one cause on one deployment over time, and their changes. Plain data; `detector.incident_reducer` moves them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

from detector.findings import Finding
from detector.rules import Rule
from detector.window import MINUTE

State = Literal["pending", "firing", "resolved"]
Kind = Literal["fired", "reopened", "escalated", "grew", "updated", "taken", "reminder", "blind", "seen_again", "resolved", "merged"]

REOPEN_SECONDS = 24 * 3600  # an incident that comes back within a day is the same one
SHORTEST_CLEAN_SECONDS = 30 * MINUTE
REMIND_SECONDS = 4 * 3600  # a critical incident that nobody took is said again (Alertmanager's default repeat_interval)


@dataclass(frozen=True)
class Policy:
    """How calm the reducer is. `clean_windows`: rule windows without firing before an incident resolves, at least `shortest_clean` seconds."""

    clean_windows: float = 2.0
    shortest_clean: float = SHORTEST_CLEAN_SECONDS
    reopen: float = REOPEN_SECONDS
    remind: float = REMIND_SECONDS

    def clean_seconds(self, rules: Iterable[Rule]) -> float:
        """How long the incident's rules must be clean."""
        windows = [rule.window_minutes * MINUTE for rule in rules]
        return max([self.shortest_clean, *(self.clean_windows * window for window in windows)])


@dataclass(frozen=True)
class Incident:
    """One incident. Times are seconds since 1970 UTC.

    `id` never changes and holds no numbers or text of a log beyond a hash. `findings` are the latest of each rule and series. `since`: when its first
    rule began to fire; `fired_at`: when it went from pending to firing; `active_at`: last evaluation at which a rule fired; `clean_from`: since when its rules
    rules are clean (None: not clean, or not known to be). `blind_since`: since when it can't be looked at. `peak_flagged`: most flagged requests in one window.
    `opened` counts how often it began to fire, `eased` how often a part of it ended while the rest went on.

    By rule: `clean`, since when it is clean; `hidden`, since when and why it could not be looked at; `totals`, its flagged requests since the incident was
    opened, and up to which instant they are counted. `begun`: by rule and series, since when it fires without a break, for rules with a `for`.
    `model`: of the incident, where the log names no deployment.
    """

    id: str
    deployment: str | None
    signals: tuple[str, ...]
    rules: tuple[str, ...]
    state: State
    severity: str
    since: float
    active_at: float
    fired_at: float | None = None
    clean_from: float | None = None
    blind_since: float | None = None
    blind_why: str = ""
    resolved_at: float | None = None
    opened: int = 1
    history: tuple[tuple[float, str], ...] = ()
    findings: tuple[Finding, ...] = ()
    series_seen: int = 0
    peak_flagged: int = 0
    acked_by: str | None = None
    acked_at: float | None = None
    snoozed_until: float | None = None
    merged_into: str | None = None
    told_at: float | None = None
    closed_by: str | None = None
    answers: tuple[str, ...] = ()  # what people said at receivers and stands there still
    untold: str = ""  # what a command changed since the last run
    eased: int = 0
    clean: dict[str, float] = field(default_factory=dict)
    hidden: dict[str, tuple[float, str]] = field(default_factory=dict)
    totals: dict[str, tuple[int, float]] = field(default_factory=dict)
    begun: dict[str, float] = field(default_factory=dict)
    model: str | None = None

    @property
    def open(self) -> bool:
        return self.state != "resolved"

    @property
    def place(self) -> str:
        """As `Finding.place`."""
        return self.deployment or (f"model\x1f{self.where}" if self.where else "")

    @property
    def where(self) -> str:
        """The name of the place, for people; empty where the log names none."""
        return self.deployment or self.model or (self.findings[0].model if self.findings else None) or ""  # older versions kept no model

    @property
    def total_flagged(self) -> int:
        """Flagged requests since it was opened, by the rule that counts most of them."""
        return max([self.peak_flagged, *(total for total, _ in self.totals.values())])

    @property
    def title(self) -> str:
        """Title of the most important finding."""
        return self.findings[0].title if self.findings else ", ".join(self.signals)


@dataclass(frozen=True)
class Change:
    """One change of one incident, with the reason for telling it now. `notify`: someone should hear of it; the others are only kept."""

    kind: Kind
    incident: Incident
    reason: str
    notify: bool


@dataclass(frozen=True)
class Advanced:
    """All incidents after a run, and what changed, in the incidents' order."""

    incidents: tuple[Incident, ...]
    changes: tuple[Change, ...] = field(default=())
