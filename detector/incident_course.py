"""What one run does to one incident: which of its rules fire, are clean, or could not be looked at; which of them leave it; whether it is over. Pure.

A rule joins an incident once it has fired for its `for`, and leaves it once it was clean for `Policy.clean_seconds`; the incident ends with the last one. So
the figures and the severity of an incident are those of what goes on, and rules that other runs judge hold it until those runs have seen them clean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from detector.findings import SEVERITIES, Finding
from detector.incidents import Incident, Policy
from detector.report import Report
from detector.rules import Rule
from detector.sources.base import CouldNot
from detector.window import MINUTE


@dataclass(frozen=True)
class Sight:
    """What a run could see. `rules`: those that it judged, by id; `now`: end of its window; `elsewhere`: ids of rules that other runs judge."""

    report: Report
    rules: Mapping[str, Rule]
    now: float
    policy: Policy
    elsewhere: frozenset[str] = frozenset()

    def hides(self, rule: str, findings: tuple[Finding, ...]) -> str | None:
        """Why a rule could not be judged on any one of these findings' series, or None. A fault of the reading itself hides every rule."""
        series = [finding.labels for finding in findings if finding.rule == rule]
        entry = next((entry for entry in self._gaps if self._concerns(entry, rule, series)), None)
        return None if entry is None else f"{entry.what}: {entry.why}"

    def of_weight(self, incident: Incident | None, group: tuple[Finding, ...]) -> tuple[Finding, ...]:
        """The findings that still fire, or fired for as long as their rules ask for; a shorter one that is over was nothing."""
        return tuple(finding for finding in group if finding.firing[1] >= self.now or self.has_lasted(finding, incident))

    def has_lasted(self, finding: Finding, incident: Incident | None) -> bool:
        """Prometheus' meaning of `for`: it has fired without a break for at least that long. A rule that no longer exists asks for nothing."""
        begun = min(finding.firing[0], finding.firing[0] if incident is None else incident.begun.get(identity(finding), finding.firing[0]))
        rule = self.rules.get(finding.rule)
        return finding.firing[1] - begun >= (rule.for_minutes * MINUTE if rule is not None else 0)

    def clean_seconds(self, rule: str) -> float:
        """How long this rule must be clean."""
        return self.policy.clean_seconds([self.rules[rule]] if rule in self.rules else ())

    @cached_property
    def _gaps(self) -> tuple[CouldNot, ...]:
        return tuple(entry for entry in self.report.could_not if entry.rules or entry.signals or entry.is_whole)

    def _concerns(self, entry: CouldNot, rule: str, series: list[dict[str, str | None]]) -> bool:
        if entry.is_whole:
            return True
        known = self.rules.get(rule)
        if rule not in entry.rules and (known is None or known.signal not in entry.signals):
            return False
        return not entry.series or any(labels in entry.series for labels in series)


def identity(finding: Finding) -> str:
    """Rule and series of a finding."""
    return "\x1f".join((finding.rule, *(f"{name}={value}" for name, value in sorted(finding.labels.items()))))


def seen(incident: Incident, group: tuple[Finding, ...], sight: Sight) -> Incident:
    """The incident after this run, of which `group` are the findings. It is resolved when the last of its rules has been clean for long enough."""
    joined = incident.rules if incident.state == "firing" else ()
    lasting = tuple(finding for finding in group if finding.rule in joined or sight.has_lasted(finding, incident))
    fires = incident.state == "firing" or bool(lasting)
    mine = lasting if fires else group
    held = incident.findings if joined or not fires else ()
    rules = tuple(sorted({*(incident.rules if held or not fires else ()), *(finding.rule for finding in mine)}))
    clean, hidden = _states(incident, rules, mine, sight)
    looked = replace(
        incident,
        state="firing" if fires else "pending",
        fired_at=incident.fired_at if incident.fired_at is not None or not fires else sight.now,
        since=min([incident.since, *(finding.firing[0] for finding in mine)]),
        active_at=max([incident.active_at, *(finding.firing[1] for finding in mine)]),
        signals=tuple(sorted({*incident.signals, *(finding.signal for finding in mine)})),
        rules=rules,
        findings=_latest(held, mine, sight),
        begun=_begun(incident, group, sight),
        clean=clean,
        hidden=hidden,
        totals=_totals(incident, mine),
        peak_flagged=max([incident.peak_flagged, *(finding.counts.flagged for finding in mine)]),
    )
    here = {finding.rule for finding in mine} | sight.elsewhere  # what fired within the window is told before it ends
    over = {rule for rule, since in looked.clean.items() if rule not in here and sight.now - since >= (sight.clean_seconds(rule) if fires else 0)}
    if over and over >= set(rules):
        return replace(_summed(looked), state="resolved", resolved_at=sight.now)
    return _without(looked, over, incident)


def _begun(incident: Incident, group: tuple[Finding, ...], sight: Sight) -> dict[str, float]:
    """Since when each rule with a `for` fires on each series without a break. What was not looked at breaks nothing."""
    begun = {name: since for name, since in incident.begun.items() if not _was_looked_at(name.partition("\x1f")[0], incident, sight)}
    for finding in group:
        rule = sight.rules.get(finding.rule)
        if rule is not None and rule.for_minutes and finding.firing[1] >= sight.now:
            begun[identity(finding)] = min(finding.firing[0], incident.begun.get(identity(finding), finding.firing[0]))
    return begun


def _was_looked_at(rule: str, incident: Incident, sight: Sight) -> bool:
    return rule not in sight.elsewhere and sight.hides(rule, incident.findings) is None


def _latest(held: tuple[Finding, ...], mine: tuple[Finding, ...], sight: Sight) -> tuple[Finding, ...]:
    """The latest finding of each rule and series, most important first; without series that are over while others of their rule go on."""
    firing = {finding.rule for finding in mine}
    old = [
        finding
        for finding in held
        if finding.rule not in firing or sight.now - finding.firing[1] < sight.clean_seconds(finding.rule) or sight.hides(finding.rule, (finding,)) is not None
    ]
    latest = {identity(finding): finding for finding in (*old, *(replace(finding, hits=()) for finding in mine))}
    return tuple(sorted(latest.values(), key=Finding.rank))


def _states(incident: Incident, rules: tuple[str, ...], mine: tuple[Finding, ...], sight: Sight) -> tuple[dict[str, float], dict[str, tuple[float, str]]]:
    """Since when each rule is clean, and since when and why it could not be looked at. A rule that fires now has neither."""
    clean = {rule: since for rule, since in incident.clean.items() if rule in rules}
    hidden = {rule: since for rule, since in incident.hidden.items() if rule in rules}
    last = {rule: max(finding.firing[1] for finding in mine if finding.rule == rule) for rule in {finding.rule for finding in mine}}
    for rule in rules:
        if rule in last:
            hidden.pop(rule, None)
            clean.pop(rule, None)
            if last[rule] < sight.now:
                clean[rule] = last[rule]
        elif rule in sight.elsewhere:
            continue
        elif (why := sight.hides(rule, incident.findings)) is not None:
            clean.pop(rule, None)
            hidden.setdefault(rule, (sight.now, why))
        elif hidden.pop(rule, None) is not None:
            clean[rule] = sight.now  # what passed while nobody could look counts for nothing: the clean time begins now
        else:
            clean.setdefault(rule, max((finding.firing[1] for finding in incident.findings if finding.rule == rule), default=incident.active_at))
    return clean, hidden


def _totals(incident: Incident, mine: tuple[Finding, ...]) -> dict[str, tuple[int, float]]:
    """Flagged requests since it was opened, by rule: of each run only minutes that no earlier one counted. Series of one rule share no request."""
    totals = dict(incident.totals)
    for rule in {finding.rule for finding in mine}:
        own = [finding for finding in mine if finding.rule == rule]
        total, until = incident.totals.get(rule, (0, float("-inf")))
        fresh = sum(flagged for finding in own for minute, flagged in finding.hits if minute * MINUTE >= until)
        if not any(finding.hits for finding in own):
            fresh = max(0, sum(finding.counts.flagged for finding in own) - total)
        totals[rule] = (total + fresh, max(until, *(finding.counts.end for finding in own)))
    return totals


def _without(incident: Incident, over: set[str], before: Incident) -> Incident:
    """The incident without rules that are over while others go on."""
    if over:
        incident = replace(
            incident,
            rules=tuple(rule for rule in incident.rules if rule not in over),
            findings=tuple(finding for finding in incident.findings if finding.rule not in over),
            clean={rule: since for rule, since in incident.clean.items() if rule not in over},
        )
    severity = max((finding.severity for finding in incident.findings), key=SEVERITIES.index, default=incident.severity)
    fell = bool(before.findings) and SEVERITIES.index(severity) < SEVERITIES.index(before.severity)
    return _summed(replace(incident, severity=severity, eased=incident.eased + bool(over or fell)))


def _summed(incident: Incident) -> Incident:
    """With since when all of it is clean, or, where nothing of it fires now, since when something can't be looked at."""
    waiting = set(incident.rules) - set(incident.clean) - set(incident.hidden)
    hidden = min(incident.hidden.values(), default=None) if not waiting else None
    clean = max(incident.clean.values(), default=None) if set(incident.clean) >= set(incident.rules) else None
    return replace(incident, clean_from=clean, blind_since=None if hidden is None else hidden[0], blind_why="" if hidden is None else hidden[1])
