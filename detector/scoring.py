"""Scoring: one rule's statistic over the ledger's series, at many ends. Pure; `check`, `backtest`, the worker and the tests inside rules all score here."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.detectors.base import Horizon, Scores, make
from detector.ledger import Ledger
from detector.rules import Rule

DAY = 1440  # minutes
_CELLS_AT_ONCE = 8_000_000  # series x bins of one panel: bounds memory at about 300 MB
_LEFT_BEHIND: dict[str, threading.Thread] = {}  # rule -> its thread of an earlier run that took too long


@dataclass(frozen=True)
class Scored:
    """One rule's scores over a window. Arrays have shape (n_series, n_ends); `ends` are minutes since 1970 UTC, ascending."""

    rule: Rule
    labels: tuple[dict[str, str | None], ...]
    ends: npt.NDArray[np.int64]
    score: npt.NDArray[np.float64]
    expected: npt.NDArray[np.float64]
    length: npt.NDArray[np.int64]  # minutes of the detection window that gave the score
    flagged: npt.NDArray[np.int64]  # counts of that detection window
    requests: npt.NDArray[np.int64]
    why_not: npt.NDArray[np.int8]
    reasons: tuple[str, ...]

    def firing(self) -> npt.NDArray[np.bool_]:
        """Boolean (n_series, n_ends): score at or above the rule's threshold. NaN never fires."""
        with np.errstate(invalid="ignore"):
            return np.asarray(self.score >= self.rule.threshold)


def score_rule(rule: Rule, ledger: Ledger, start: int, end: int, every: int) -> Scored:
    """Score one rule every `every` minutes in `(start, end]` (minutes since 1970 UTC), the last time at `end` itself.

    Bins are as long as the statistic, `every` and `end` allow without changing a score. The span is worked off in stretches of days, so memory does not
    grow with it; days without any request near them are left out.
    """
    detector = make(rule.detector, rule.params)
    horizon = Horizon(rule.window_minutes, rule.baseline_minutes, rule.min_requests)
    step = math.gcd(every, end, detector.grain(horizon))
    back = -(-detector.warm_up(horizon) // step) * step
    all_ends = np.arange(end, start, -every, dtype=np.int64)[::-1]
    bins_a_day = DAY // step * max(1, ledger.series_count(rule.group_by))
    longest = max(1, (_CELLS_AT_ONCE - back // step) // bins_a_day)
    parts: list[tuple[npt.NDArray[np.int64], Scores]] = []
    labels: tuple[dict[str, str | None], ...] = ()
    for first_day, last_day in _stretches(np.unique((all_ends - 1) // DAY), np.unique(ledger.minutes() // DAY), longest):
        ends = all_ends[((all_ends - 1) // DAY >= first_day) & ((all_ends - 1) // DAY <= last_day)]
        first = int(ends[0]) - back
        panel = ledger.panel(rule.signal, rule.group_by, first, int(ends[-1]), step, rule.subtypes)
        labels = panel.labels
        parts.append((ends, detector.score(panel, ((ends - first) // step).tolist(), horizon)))
    scores = [part for _, part in parts]
    return Scored(
        rule,
        labels,
        np.concatenate([ends for ends, _ in parts]),
        np.concatenate([part.score for part in scores], axis=1),
        np.concatenate([part.expected for part in scores], axis=1),
        np.concatenate([part.window for part in scores], axis=1),
        np.concatenate([part.flagged for part in scores], axis=1),
        np.concatenate([part.requests for part in scores], axis=1),
        np.concatenate([part.why_not for part in scores], axis=1),
        scores[0].reasons,
    )


def _stretches(days: npt.NDArray[np.int64], busy: npt.NDArray[np.int64], longest: int) -> list[tuple[int, int]]:
    """Runs of days to score together, each at most `longest` days: those with requests on them or the day before, and the first in any case."""
    wanted = days[np.isin(days, busy) | np.isin(days - 1, busy)]
    if not wanted.size:
        wanted = days[:1]  # nothing can fire; one day tells what could not be judged
    runs: list[tuple[int, int]] = []
    for day in wanted.tolist():
        if runs and day == runs[-1][1] + 1 and day - runs[-1][0] < longest:
            runs[-1] = (runs[-1][0], day)
        else:
            runs.append((day, day))
    return runs


def score_in_time(deadline: float | None, rule: Rule, ledger: Ledger, start: int, end: int, every: int) -> Scored:
    """`score_rule`, given up after `deadline` seconds (TimeoutError): one slow rule must not delay the others.

    A thread can't be ended; it is left behind, and the rule is not begun again before it is done: else every run would leave one more.
    """
    if deadline is None:
        return score_rule(rule, ledger, start, end, every)
    left = _LEFT_BEHIND.get(rule.id)
    if left is not None and left.is_alive():
        raise TimeoutError
    done: list[Scored | Exception] = []

    def work() -> None:
        try:
            done.append(score_rule(rule, ledger, start, end, every))
        except Exception as error:  # carried over to the caller's thread, which tells it
            done.append(error)

    thread = threading.Thread(target=work, name=f"rule {rule.id}", daemon=True)
    thread.start()
    thread.join(deadline)
    if not done:
        _LEFT_BEHIND[rule.id] = thread
        raise TimeoutError
    if isinstance(done[0], Exception):
        raise done[0]
    return done[0]
