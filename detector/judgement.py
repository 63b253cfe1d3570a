"""Judge: score the ledger with the rules and turn what fires into findings. Pure: no I/O, no clock, no state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt

from detector.finding_facts import finding_of
from detector.findings import Finding
from detector.folding import fold
from detector.ledger import Ledger
from detector.rules import Rule
from detector.scoring import Scored, score_in_time
from detector.sources.base import CouldNot
from detector.window import Window

MOST_SERIES = 300  # judged one by one: bounds memory (about 0.4 GB for all shipped rules) and time; a fleet of 50 deployments with 6 models each


@dataclass(frozen=True)
class Judgement:
    """What fires, most important first, and what could not be judged."""

    findings: tuple[Finding, ...]
    could_not: tuple[CouldNot, ...]


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
            scored = score_in_time(deadline, rule, ledger, start, end, every)
        except TimeoutError:
            why = f"it took longer than {deadline:g} s; the other rules were judged"
            remedy = "judge a shorter window, group by fewer labels, or raise schedule.deadline"
            could_not.append(CouldNot(f"rule {rule.id}", why, remedy, rules=(rule.id,)))
            continue
        except Exception as error:  # one broken rule or statistic must not silence the others; it is told as "could not look"
            could_not.append(
                CouldNot(
                    f"rule {rule.id}",
                    f"it could not be evaluated ({type(error).__name__})",
                    "run `detector rules test`; if that passes, report it",
                    rules=(rule.id,),
                )
            )
            continue
        totals = ledger.panel(rule.signal, rule.group_by, start, end, max(1, end - start), rule.subtypes)
        known = ~np.isnan(scored.score)
        if known.any():
            judged.add(rule.signal)
        firing = scored.firing().any(axis=1) & (totals.flagged.sum(axis=1) > 0)  # without a hit in the window it fired on requests before it only
        panels = cache(ledger.panel)  # in a storm all series ask for the same ones
        findings.extend(finding_of(scored, series, totals, ledger, window, panels) for series in np.flatnonzero(firing).tolist())
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
    could_not.append(
        CouldNot(
            told,
            why,
            "group by fewer labels (group_by), or give the log a steadier deployment name",
            blocking=hits > 0,
            rules=tuple(rule.id for rule in rules if rule.group_by == group_by),
            series=tuple(dict(zip(group_by, key, strict=True)) for key in left_out),
        )
    )
    return ledger.only(group_by, set(ranked[:MOST_SERIES]))


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
    return CouldNot(
        f"rule {scored.rule.id} for {which}",
        reason,
        "give it a longer log; or lower min_requests in the rule if so few requests are normal here",
        rules=(scored.rule.id,),
        series=tuple(labels for labels, unseen in zip(scored.labels, blind, strict=True) if unseen),
    )


def _name(labels: Mapping[str, str | None]) -> str:
    return " / ".join(value for value in labels.values() if value) or "the whole log"
