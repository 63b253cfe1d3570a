"""Backtest: what rules would have fired over a stretch of counts, and when. Pure: the same scoring as `check`, at many ends."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from detector.detectors.base import Horizon, make
from detector.episodes import episodes
from detector.ledger import SUBTYPE_MARK, Ledger
from detector.rules import Rule
from detector.scoring import Scored, score_rule
from detector.sources.base import CouldNot

DAY = 1440  # minutes


@dataclass(frozen=True)
class Alarm:
    """One episode of one rule on one series. Times in minutes since 1970 UTC; counts and `score` are those of the highest score, over its `window` minutes."""

    rule: str
    severity: str
    signal: str
    labels: dict[str, str | None]
    fired_at: int
    resolved_at: int | None
    peak_at: int
    score: float
    flagged: int
    requests: int
    expected: float | None
    window: int


@dataclass(frozen=True)
class Backtest:
    """Alarms in the order in which they fired, and what could not be judged. `series_days`: judged time over all rules and series, in days."""

    alarms: tuple[Alarm, ...]
    could_not: tuple[CouldNot, ...]
    series_days: float


def bin_minutes(rules: Sequence[Rule], every: int) -> int:
    """The longest bins that lose nothing: a ledger counted in such bins gives these rules the same scores as one-minute counts."""
    grains = [make(rule.detector, rule.params).grain(Horizon(rule.window_minutes, rule.baseline_minutes, rule.min_requests)) for rule in rules]
    return math.gcd(every, DAY, *grains)


def backtest(ledger: Ledger, rules: Sequence[Rule], start: int, end: int, every: int, *, all_subtypes: bool = False) -> Backtest:
    """Evaluate every rule each `every` minutes in `(start, end]`, at multiples of `every` since 1970 UTC (so at midnight, where `every` divides a day).

    `all_subtypes`: every subtype was counted, so one without counts did not occur (a log; a table may have left it out).
    """
    alarms: list[Alarm] = []
    could_not: list[CouldNot] = []
    judged = 0
    last = end // every * every
    counted = {*ledger.signals, *ledger.subtypes}
    without: dict[str, list[str]] = {}
    for rule in rules:
        absent = _absent(rule, counted, all_subtypes=all_subtypes)
        if absent:
            without.setdefault(absent, []).append(rule.id)
        if absent or last <= start:
            continue
        scored = score_rule(rule, ledger, start, last, every)
        known = ~np.isnan(scored.score)
        judged += int(known.sum())
        alarms += _alarms(scored)
        seen = ledger.panel(rule.signal, rule.group_by, start, last, last - start).requests.sum(axis=1) > 0
        blind = seen & ~known.any(axis=1)
        if blind.any():
            reason = Counter(scored.why_not[blind].ravel().tolist()).most_common(1)[0][0]
            what = f"rule {rule.id}: {int(blind.sum())} of {int(seen.sum())} series"
            could_not.append(CouldNot(what, scored.reasons[reason] or "too little to judge", "backtest over more days, or lower the rule's min_requests"))
    could_not += [
        CouldNot(f"rules {', '.join(ids)}", f"the counts have no {absent}", "add rows of that signal if it was counted", blocking=False)
        for absent, ids in without.items()
    ]
    unruled = sorted(signal for signal in counted - {rule.signal for rule in rules} if SUBTYPE_MARK not in signal)
    could_not += [CouldNot(f"signal {signal}", "no rule looks at it", "check the name, or add a rule") for signal in unruled]
    if not judged and not any(entry.blocking for entry in could_not):
        could_not.append(CouldNot("the counts", "no rule could judge any of them", "name a stretch that holds counts, and rules for their signals"))
    alarms.sort(key=lambda alarm: (alarm.fired_at, alarm.rule, [value or "" for value in alarm.labels.values()]))
    return Backtest(tuple(alarms), tuple(could_not), judged * every / DAY)


def _absent(rule: Rule, counted: set[str], *, all_subtypes: bool) -> str | None:
    """What the rule needs and the counts do not have: its signal, or every one of its subtypes."""
    if rule.signal not in counted:
        return rule.signal
    subtypes = [] if all_subtypes else [f"{rule.signal}{SUBTYPE_MARK}{subtype}" for subtype in rule.subtypes]
    return " or ".join(subtypes) if subtypes and not counted.intersection(subtypes) else None


def _alarms(scored: Scored) -> list[Alarm]:
    rule, found = scored.rule, []
    for series in np.flatnonzero(scored.firing().any(axis=1)).tolist():
        for episode in episodes(scored.score[series], scored.ends, rule.threshold, rule.for_minutes):
            at = (series, episode.peak)
            expected = float(scored.expected[at])
            found.append(
                Alarm(
                    rule=rule.id,
                    severity=rule.severity,
                    signal=rule.signal,
                    labels=scored.labels[series],
                    fired_at=int(scored.ends[episode.fired]),
                    resolved_at=None if episode.resolved is None else int(scored.ends[episode.resolved]),
                    peak_at=int(scored.ends[episode.peak]),
                    score=round(float(scored.score[at]), 3),
                    flagged=int(scored.flagged[at]),
                    requests=int(scored.requests[at]),
                    expected=None if math.isnan(expected) else round(expected, 3),
                    window=int(scored.length[at]),
                )
            )
    return found
