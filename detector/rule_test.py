"""The test runner of rules: a case's rows go through the real signal, the ledger and the statistic, as `check` would take them.

`detector rules test` and the test suite use this one runner. It must not know any rule.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from detector.batch import Batch
from detector.ledger import SUBTYPE_MARK, Labels, Ledger
from detector.record import SERIES_LABELS, Record
from detector.rule_case import Case, Row
from detector.rules import Rule
from detector.scoring import Scored, score_rule
from detector.signals.base import Flag, Signal, SignalOptions, signals

CASE_END = 29_455_200  # minute since 1970 at which every case's window ends: 2026-01-02 00:00 UTC, any whole day would do

Series = tuple[tuple[str, str | None], ...]  # label names and values, in the order of group_by


@dataclass(frozen=True)
class Judged:
    """One series at the end of a case's window. `score`: NaN where the statistic can't judge; `why_not` says why."""

    series: Series
    score: float
    flagged: int
    requests: int
    expected: float
    why_not: str = ""

    def __str__(self) -> str:
        name = ", ".join(f"{label} {value if value is not None else '(none)'}" for label, value in self.series)
        if math.isnan(self.score):
            return f"{name}: could not be judged ({self.why_not or 'too little'}; {self.flagged:,} of {self.requests:,})"
        usual = "" if math.isnan(self.expected) else f", {self.expected:.3g} expected"
        return f"{name}: score {self.score:.3g} ({self.flagged:,} of {self.requests:,} flagged{usual})"


@dataclass(frozen=True)
class Outcome:
    """What one case gave. `complaints` is empty when it passed."""

    rule: Rule
    case: Case
    judged: tuple[Judged, ...]
    complaints: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.complaints

    @property
    def top_score(self) -> float:
        """The highest score of the case's series; NaN when none could be judged."""
        scores = [entry.score for entry in self.judged if not math.isnan(entry.score)]
        return max(scores, default=math.nan)


def run_cases(rules: Iterable[Rule], options: SignalOptions | None = None) -> list[Outcome]:
    """Run every case of these rules."""
    return [run_case(rule, case, options or SignalOptions()) for rule in rules for case in rule.tests]


def is_blunt(outcomes: Sequence[Outcome]) -> bool:
    """True when a rule's outcomes hold no silent case near its threshold: it could be halved carelessly and no case would notice."""
    silent = [outcome for outcome in outcomes if not outcome.case.firing and not outcome.case.cannot_judge]
    return not any(outcome.top_score >= outcome.rule.threshold / 2 for outcome in silent)


def run_case(rule: Rule, case: Case, options: SignalOptions) -> Outcome:
    """Run one case: count its rows into a ledger, score the series once at the end of the window, compare."""
    ledger = Ledger()
    signal = signals()[rule.signal]
    start = CASE_END - rule.window_minutes
    _count(ledger, signal, case.baseline, start - rule.baseline_minutes, rule.baseline_minutes, options)
    _count(ledger, signal, case.current, start, rule.window_minutes, options)
    scored = score_rule(rule, ledger, start, CASE_END, rule.window_minutes)
    judged = tuple(_judged(scored, index, ledger) for index in range(len(scored.labels)))
    return Outcome(rule, case, judged, tuple(_complaints(rule, case, judged)))


def _judged(scored: Scored, index: int, ledger: Ledger) -> Judged:
    """One series' score at the end of the window, with the counts of the stretch that gave it."""
    rule, labels = scored.rule, scored.labels[index]
    length = max(1, int(scored.length[index, -1]))
    panel = ledger.panel(rule.signal, rule.group_by, CASE_END - length, CASE_END, length, rule.subtypes)
    own = panel.labels.index(labels)
    return Judged(
        series=tuple((name, labels[name]) for name in rule.group_by),
        score=float(scored.score[index, -1]),
        flagged=int(panel.flagged[own].sum()),
        requests=int(panel.requests[own].sum()),
        expected=float(scored.expected[index, -1]),
        why_not=scored.reasons[int(scored.why_not[index, -1])],
    )


def _complaints(rule: Rule, case: Case, judged: Sequence[Judged]) -> list[str]:
    expected = {_series(rule, labels) for labels in case.firing}
    complaints = []
    for entry in judged:
        fires, blind = entry.score >= rule.threshold, math.isnan(entry.score)
        if blind != case.cannot_judge and (blind or case.cannot_judge):
            complaints.append(f"expected {'no verdict' if case.cannot_judge else 'a verdict'}, got {entry}")
        elif fires and entry.series not in expected:
            complaints.append(f"expected silence below {rule.threshold:g}, got {entry}")
        elif not fires and entry.series in expected:
            complaints.append(f"expected a score of {rule.threshold:g} or more, got {entry}")
    seen = {entry.series for entry in judged}
    absent = [", ".join(f"{name} {value}" for name, value in series) for series in sorted(expected - seen, key=str)]
    return complaints + [f"expected {series} to fire, but no row has these labels" for series in absent]


def _series(rule: Rule, labels: dict[str, str | bool | None]) -> Series:
    return tuple((name, _label(labels.get(name))) for name in rule.group_by)


def _label(value: object) -> str | None:
    """A label as the ledger holds it."""
    if value is None:
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _count(ledger: Ledger, signal: Signal, rows: Sequence[Row], start: int, length: int, options: SignalOptions) -> None:
    """Judge one request of each row and count it as often, and when, as the row says."""
    if not rows:
        return
    records = [row.record() for row in rows]
    batch = Batch.from_records(records)
    visible = signal.visible(batch)
    flags: dict[int, Flag | None] = {index: signal.judge(batch.record(index), options) for index in signal.candidates(batch, options) if visible[index]}
    for index, (row, record) in enumerate(zip(rows, records, strict=True)):
        placed = row.minutes(length)
        minutes = np.array([start + minute for minute, _ in placed], np.int64)
        counts = np.array([count for _, count in placed], np.int64)
        labels = [_labels(record)] * len(placed)
        flag = flags.get(index)
        none = np.zeros_like(counts)
        ledger.add(minutes, labels, signal.name, counts if visible[index] else none, counts if flag else none)
        if flag:
            ledger.add(minutes, labels, f"{signal.name}{SUBTYPE_MARK}{flag.subtype}", none, counts)


def _labels(record: Record) -> Labels:
    return tuple(_label(getattr(record, name)) for name in SERIES_LABELS)
