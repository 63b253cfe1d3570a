"""Judge: score the ledger with the rules and turn what fires into findings. Pure: no I/O, no clock, no state."""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from detector.detectors.base import Horizon, Scores, make
from detector.detectors.binomial import interval
from detector.findings import Counted, Finding
from detector.ledger import Evidence, Ledger, Panel
from detector.rules import Rule
from detector.slices import stand_out
from detector.sources.base import CouldNot
from detector.window import MINUTE, Window

CHRONIC_RATIO = 2.0  # a level below twice its own past is not news; chosen so that the spike rules (ratio >= 2) never call theirs chronic
MOST_SERIES = 300  # judged one by one: bounds memory (about 0.4 GB for all shipped rules) and time; a fleet of 50 deployments with 6 models each
DAY = 1440  # minutes
_CELLS_AT_ONCE = 8_000_000  # series x bins of one panel: bounds memory at about 300 MB
CHRONIC_EVENTS = 3  # fewer flagged requests before the window say too little to call a level chronic (evidence gate of statistics, section 1)
TREND_WINDOW, TREND_ALL = 8, 24  # bars of the small chart in messages: a third is the window, the rest what came before it


_LEFT_BEHIND: dict[str, threading.Thread] = {}  # rule -> its thread of an earlier run that took too long


@dataclass(frozen=True)
class Judgement:
    """What fires, most important first, and what could not be judged."""

    findings: tuple[Finding, ...]
    could_not: tuple[CouldNot, ...]


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


def judge(ledger: Ledger, rules: Sequence[Rule], window: Window, every: int = 5, deadline: float | None = None) -> Judgement:
    """Findings of all rules over a window; each rule is evaluated every `every` minutes inside it, as the worker would have done.

    A rule that can't judge becomes a `CouldNot`; it blocks (exit code 2) only where no other rule could judge the same signal.
    """
    findings: list[Finding] = []
    unjudged: list[tuple[str, CouldNot]] = []
    judged: set[str] = set()
    could_not: list[CouldNot] = []
    start, end = window.first_minute, window.end_minute
    if ledger.span() is None:
        return Judgement((), ())
    parts = {labels: _bounded(ledger, labels, rules, start, end, could_not) for labels in dict.fromkeys(rule.group_by for rule in rules)}
    for rule in rules:
        ledger = parts[rule.group_by]
        try:
            scored = _in_time(deadline, rule, ledger, start, end, every)
        except TimeoutError:
            why = f"it took longer than {deadline:g} s; the other rules were judged"
            could_not.append(CouldNot(f"rule {rule.id}", why, "judge a shorter window, group by fewer labels, or raise schedule.deadline"))
            continue
        except Exception as error:  # one broken rule or statistic must not silence the others; it is told as "could not look"
            could_not.append(
                CouldNot(f"rule {rule.id}", f"it could not be evaluated ({type(error).__name__})", "run `detector rules test`; if that passes, report it")
            )
            continue
        totals = ledger.panel(rule.signal, rule.group_by, start, end, max(1, end - start), rule.subtypes)
        known = ~np.isnan(scored.score)
        if known.any():
            judged.add(rule.signal)
        firing = scored.firing().any(axis=1) & (totals.flagged.sum(axis=1) > 0)  # without a hit in the window it fired on requests before it only
        findings.extend(_finding(scored, series, totals, ledger, window) for series in np.flatnonzero(firing).tolist())
        blind = ~known.any(axis=1) & (totals.requests.sum(axis=1) > 0)
        if blind.any() and not _covered(findings, rule.signal, scored, blind):
            unjudged.append((rule.signal, _unjudged(scored, blind)))
    findings.sort(key=Finding.rank)
    could_not += [replace(entry, blocking=signal not in judged) for signal, entry in unjudged]
    return Judgement(tuple(fold(findings)), tuple(could_not))


def _bounded(ledger: Ledger, group_by: tuple[str, ...], rules: Sequence[Rule], start: int, end: int, could_not: list[CouldNot]) -> Ledger:
    """The ledger, or where it has more than `MOST_SERIES` series the part with most flagged requests, then most requests; the rest is told."""
    if ledger.series_count(group_by) <= MOST_SERIES:
        return ledger
    flagged: dict[tuple[str | None, ...], int] = {}
    requests: dict[tuple[str | None, ...], int] = {}
    for signal in sorted({rule.signal for rule in rules}):
        panel = ledger.panel(signal, group_by, start, end, max(1, end - start))
        for labels, n, k in zip(panel.labels, panel.requests.sum(axis=1).tolist(), panel.flagged.sum(axis=1).tolist(), strict=True):
            key = tuple(labels.values())
            flagged[key] = flagged.get(key, 0) + k
            requests[key] = max(requests.get(key, 0), n)
    ranked = sorted(requests, key=lambda key: (-flagged[key], -requests[key], tuple(value or "" for value in key)))
    left_out = ranked[MOST_SERIES:]
    hits = sum(flagged[key] for key in left_out)
    told = f"{len(left_out):,} of {len(ranked):,} series by {', '.join(group_by)}, with {sum(requests[key] for key in left_out):,} requests in the window"
    why = f"too many to judge one by one: those with most flagged requests, then most requests, were; {hits:,} flagged requests are among the rest"
    could_not.append(CouldNot(told, why, "group by fewer labels (group_by), or give the log a steadier deployment name", blocking=hits > 0))
    return ledger.only(group_by, set(ranked[:MOST_SERIES]))


def _in_time(deadline: float | None, rule: Rule, ledger: Ledger, start: int, end: int, every: int) -> Scored:
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


def _finding(scored: Scored, series: int, totals: Panel, ledger: Ledger, window: Window) -> Finding:
    rule, labels = scored.rule, scored.labels[series]
    start, end = window.first_minute, window.end_minute
    firing = scored.firing()[series]
    counts = Counted(int(totals.flagged[series].sum()), int(totals.requests[series].sum()), start * MINUTE, end * MINUTE)
    best = int(np.nanargmax(np.where(firing, scored.score[series], np.nan)))
    fired = np.flatnonzero(firing)
    peak_start = max(start, int(scored.ends[fired[0]] - scored.length[series, fired[0]]))
    before = ledger.panel(rule.signal, rule.group_by, start - max(rule.baseline_minutes, 1), start, 1, rule.subtypes)
    baseline = _counts(before, series)
    evidence = _evidence(ledger, rule, labels, window)
    chronic = rule.detector != "spike" and _chronic(counts, baseline, before, series)
    severity = "info" if chronic else rule.severity
    expected = float(scored.expected[series, best])
    return Finding(
        rule=rule.id,
        title=rule.title,
        severity=severity,
        notify=severity != "info" and rule.status == "stable",
        signal=rule.signal,
        labels=labels,
        counts=counts,
        interval=interval(counts.flagged, counts.requests),
        baseline=baseline,
        score=float(scored.score[series, best]),
        threshold=rule.threshold,
        first=evidence.first if np.isfinite(evidence.first) else None,
        last=evidence.last if np.isfinite(evidence.last) else None,
        firing=_latest_stretch(scored.ends, firing),
        expected=None if np.isnan(expected) else expected,
        peak=_peak(ledger, rule, series, peak_start, int(scored.ends[fired[-1]]), counts),
        chronic=chronic,
        trend=_trend(ledger, rule, series, start, end),
        subtypes=dict(sorted(evidence.subtypes.items(), key=lambda item: (-item[1], item[0]))),
        also=dict(sorted(evidence.also.items(), key=lambda item: (-item[1], item[0]))),
        slices=stand_out(ledger, rule.signal, rule.group_by, labels, window, rule.subtypes),
        request_ids=tuple(example.request_id for example in evidence.examples if example.request_id),
        doc_ids=tuple((example.doc_index, example.doc_id) for example in evidence.examples if example.doc_id),
        reasons=tuple(dict.fromkeys(example.reason for example in evidence.examples if example.reason)),
        meaning=rule.meaning,
        impact=rule.impact,
        next_steps=rule.next_steps,
        false_positives=rule.false_positives,
        causes=rule.causes,
        panels=rule.panels,
        references=rule.references,
    )


def _latest_stretch(ends: npt.NDArray[np.int64], firing: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """First and last end (seconds) of the latest unbroken run of firing evaluations."""
    last = int(np.flatnonzero(firing)[-1])
    quiet = np.flatnonzero(~firing[:last])
    first = int(quiet[-1]) + 1 if len(quiet) else 0
    return float(ends[first]) * MINUTE, float(ends[last]) * MINUTE


def _peak(ledger: Ledger, rule: Rule, series: int, start: int, end: int, counts: Counted) -> Counted | None:
    """Counts from the first to the last flagged request of the stretch that made the rule fire, or None where that is (nearly) the whole window."""
    exact = ledger.panel(rule.signal, rule.group_by, start, end, 1, rule.subtypes)
    hits = np.flatnonzero(exact.flagged[series])
    if not len(hits):
        return None
    start, end = start + int(hits[0]), start + int(hits[-1]) + 1
    if (end - start) * MINUTE > 0.8 * (counts.end - counts.start):
        return None
    panel = ledger.panel(rule.signal, rule.group_by, start, end, max(1, end - start), rule.subtypes)
    return _counts(panel, series)


def _trend(ledger: Ledger, rule: Rule, series: int, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Counts of the window in TREND_WINDOW stretches, and of as long stretches before it, TREND_ALL in all."""
    step = max(1, -(-(end - start) // TREND_WINDOW))
    panel = ledger.panel(rule.signal, rule.group_by, end - TREND_ALL * step, end, step, rule.subtypes)
    return tuple(zip(panel.flagged[series].tolist(), panel.requests[series].tolist(), strict=True))


def _evidence(ledger: Ledger, rule: Rule, labels: Mapping[str, str | None], window: Window) -> Evidence:
    evidence = ledger.evidence_of(rule.signal, labels, window.first_minute, window.end_minute)
    if rule.subtypes:
        evidence.examples = [example for example in evidence.examples if example.subtype in rule.subtypes]
        evidence.subtypes = {subtype: count for subtype, count in evidence.subtypes.items() if subtype in rule.subtypes}
    return evidence


def _counts(panel: Panel, series: int) -> Counted | None:
    """All of a panel's counts of one series, from its first request on; None when it has none."""
    seen = np.flatnonzero(panel.requests[series])
    if not len(seen):
        return None
    start = panel.start + int(seen[0]) * panel.step
    return Counted(int(panel.flagged[series].sum()), int(panel.requests[series].sum()), start * MINUTE, (panel.start + panel.bins * panel.step) * MINUTE)


def _chronic(counts: Counted, baseline: Counted | None, before: Panel, series: int) -> bool:
    """True when the level is not above its own past, and that past had it from its beginning on.

    The past counts as "from its beginning" when its first third already holds a flagged request.
    """
    if baseline is None or baseline.flagged < CHRONIC_EVENTS or not counts.requests:
        return False
    seen = np.flatnonzero(before.requests[series])
    flagged = np.flatnonzero(before.flagged[series])
    early = flagged[0] <= seen[0] + (before.bins - seen[0]) / 3
    past = baseline.flagged / baseline.requests
    return bool(early and counts.flagged / counts.requests < CHRONIC_RATIO * past)


def _covered(findings: Sequence[Finding], signal: str, scored: Scored, blind: npt.NDArray[np.bool_]) -> bool:
    """True when every series that this rule could not judge already has a finding of the same signal: nothing is hidden then."""
    told = [finding.labels for finding in findings if finding.signal == signal]
    return all(labels in told for labels, unseen in zip(scored.labels, blind, strict=True) if unseen)


def _unjudged(scored: Scored, blind: npt.NDArray[np.bool_]) -> CouldNot:
    """One line about the series that a rule could not judge at any time of the window."""
    fullest = scored.requests[blind].argmax(axis=1)  # the time with most requests tells best why it was still too little
    codes = scored.why_not[blind][np.arange(len(fullest)), fullest].astype(np.int64)
    reason = scored.reasons[int(np.bincount(codes).argmax())] or "too little to judge"
    names = ", ".join(_name(labels) for labels, unseen in zip(scored.labels, blind, strict=True) if unseen)
    which = f"{int(blind.sum())} of {len(blind)} series" if len(names) > 100 else names
    return CouldNot(f"rule {scored.rule.id} for {which}", reason, "give it a longer log; or lower min_requests in the rule if so few requests are normal here")


def _name(labels: Mapping[str, str | None]) -> str:
    return " / ".join(value for value in labels.values() if value) or "the whole log"


def fold(findings: Sequence[Finding]) -> list[Finding]:
    """Give findings of one incident the same `incident` key: same deployment, and at least half of the smaller one's requests in common.

    The key holds no numbers: the deployment and the most important signal of the incident.
    """
    root = list(range(len(findings)))

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for i, one in enumerate(findings):
        for j in range(i):
            other = findings[j]
            if one.deployment == other.deployment and (one.signal == other.signal or _overlap(one, other)):
                a, b = find(i), find(j)
                root[max(a, b)] = min(a, b)
    keys = {}
    for i, finding in enumerate(findings):
        head = find(i)
        if head == i:
            name = f"{finding.deployment or ''}\x1f{finding.signal}"
            keys[i] = hashlib.sha256(name.encode()).hexdigest()[:16]
    return [replace(finding, incident=keys[find(i)]) for i, finding in enumerate(findings)]


def _overlap(one: Finding, other: Finding) -> bool:
    shared = max(one.also.get(other.signal, 0), other.also.get(one.signal, 0))
    return shared * 2 >= max(1, min(one.counts.flagged, other.counts.flagged)) and shared > 0
