"""What is told of a series on which a rule fired: counts, baseline, peak, trend, evidence, and whether it was ever so."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from detector.detectors.binomial import interval
from detector.evidence import Evidence
from detector.findings import Counted, Finding
from detector.ledger import Ledger
from detector.panel import Panel
from detector.rules import Rule
from detector.scoring import Scored
from detector.slices import stand_out
from detector.window import MINUTE, Window

CHRONIC_RATIO = 2.0  # a level below twice its own past is not news; chosen so that the spike rules (ratio >= 2) never call theirs chronic
CHRONIC_EVENTS = 3  # fewer flagged requests before the window say too little to call a level chronic (evidence gate of statistics, section 1)
LONGEST_BY_MINUTE = 720  # minutes; scheduled runs judge an hour, and six after an outage
TREND_WINDOW, TREND_ALL = 8, 24  # bars of the small chart in messages: a third is the window, the rest what came before it


def finding_of(scored: Scored, series: int, totals: Panel, ledger: Ledger, window: Window, panels: Callable[..., Panel] | None = None) -> Finding:
    """The finding of one series that fires. `totals`: counts of the window in one bin; `panels`: `ledger.panel` with a memory, where many series fire."""
    panels = panels or ledger.panel
    rule, labels = scored.rule, scored.labels[series]
    start, end = window.first_minute, window.end_minute
    firing = scored.firing()[series]
    counts = Counted(int(totals.flagged[series].sum()), int(totals.requests[series].sum()), start * MINUTE, end * MINUTE)
    best = int(np.nanargmax(np.where(firing, scored.score[series], np.nan)))
    fired = np.flatnonzero(firing)
    peak_start = max(start, int(scored.ends[fired[0]] - scored.length[series, fired[0]]))
    before = panels(rule.signal, rule.group_by, start - max(rule.baseline_minutes, 1), start, 1, rule.subtypes)
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
        trend=_trend(panels, rule, series, start, end),
        hits=_hits(panels, rule, series, start, end),
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
        rule_digest=rule.digest,
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


def _trend(panels: Callable[..., Panel], rule: Rule, series: int, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Counts of the window in TREND_WINDOW stretches, and of as long stretches before it, TREND_ALL in all."""
    step = max(1, -(-(end - start) // TREND_WINDOW))
    panel = panels(rule.signal, rule.group_by, end - TREND_ALL * step, end, step, rule.subtypes)
    return tuple(zip(panel.flagged[series].tolist(), panel.requests[series].tolist(), strict=True))


def _hits(panels: Callable[..., Panel], rule: Rule, series: int, start: int, end: int) -> tuple[tuple[int, int], ...]:
    """Minutes of the window with flagged requests, for totals over many runs."""
    if end - start > LONGEST_BY_MINUTE:
        return ()
    flagged = panels(rule.signal, rule.group_by, start, end, 1, rule.subtypes).flagged[series]
    return tuple((start + minute, int(flagged[minute])) for minute in np.flatnonzero(flagged).tolist())


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
