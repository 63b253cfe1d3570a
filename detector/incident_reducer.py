"""Incidents over time, as a pure reducer. No clock, no store, no message: time and state are arguments.

    advance(incidents, report, rules, now)  ->  (incidents, changes)

`now` is the end of the judged window. An incident is *pending* until one of its rules has fired for the rule's `for`, *firing* after that, and *resolved* once
its rules have been clean for `Policy.clean_seconds`. What could not be looked at holds an incident: it neither confirms nor resolves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from detector.findings import SEVERITIES, Finding
from detector.incident_matching import continued, groups_of_incidents, matched, opened_by
from detector.incidents import Advanced, Change, Incident, Policy
from detector.report import Report
from detector.rules import Rule
from detector.window import MINUTE


def advance(
    incidents: Sequence[Incident],
    report: Report,
    rules: Sequence[Rule],
    now: float,
    policy: Policy | None = None,
    elsewhere: frozenset[str] = frozenset(),
) -> Advanced:
    """Incidents after this report. `info` findings open no incident. Order of findings and incidents does not matter.

    Args:
        rules: the rules that this report judged.
        elsewhere: ids of rules that other runs judge (groups of a schedule). An incident whose first rule is one of them ends in that run, not here.
    """
    policy = policy or Policy()
    known = {rule.id: rule for rule in rules}
    kept: dict[str, Incident] = {incident.id: incident for incident in sorted(incidents, key=lambda entry: (entry.since, entry.id))}
    changes: list[Change] = []
    touched: set[str] = set()
    for group in groups_of_incidents(report.findings):
        incident, merged = matched(kept, group, now, policy)
        for other in merged:
            kept[other.id] = gone = replace(other, state="resolved", resolved_at=now, merged_into=incident.id if incident else None)
            touched.add(other.id)
            if other.state == "firing":
                changes.append(Change("merged", gone, "it turned out to be part of another incident", True))
        if incident is not None and _was_closed_just_now(incident, now, policy):
            continue
        before = incident
        after = opened_by(group) if incident is None else continued(incident, group)
        after = _judged(after, group, known, now)
        kept[after.id] = after
        touched.add(after.id)
        change = _change(before, after, now)
        if change is not None:
            kept[after.id] = change.incident
            changes.append(change)
    blind = {entry.rule: entry.why for entry in _blindness(report, rules)}
    for incident in list(kept.values()):
        if incident.open and incident.id not in touched and not set(incident.rules[:1]) & elsewhere:
            after, change = _quiet(incident, blind, known, now, policy)
            kept[after.id] = after
            if change is not None:
                changes.append(change)
    told = {change.incident.id for change in changes if change.kind not in ("updated",)}
    for incident in list(kept.values()):
        if incident.id in told:
            kept[incident.id] = replace(incident, told_at=now)
        elif _is_due(incident, now, policy):
            kept[incident.id] = again = replace(incident, told_at=now)
            changes = [change for change in changes if change.incident.id != incident.id]
            changes.append(Change("reminder", again, f"critical for {round((now - again.since) / 3600)} h and nobody has taken it", True))
    return Advanced(tuple(kept.values()), tuple(changes))


def _is_due(incident: Incident, now: float, policy: Policy) -> bool:
    """True when a critical incident that nobody acknowledged or snoozed was last told long ago."""
    if incident.state != "firing" or incident.severity != "critical" or incident.acked_by is not None:
        return False
    if incident.clean_from is not None or incident.blind_since is not None:
        return False  # it does not fire at this moment, or nobody knows: "still firing" would not be true
    if incident.snoozed_until is not None and incident.snoozed_until > now:
        return False
    return now - (incident.told_at if incident.told_at is not None else incident.since) >= policy.remind


def _was_closed_just_now(incident: Incident, now: float, policy: Policy) -> bool:
    """A person closed it: it may go on firing for a while, as windows look back, before that counts as coming back."""
    return incident.closed_by is not None and incident.resolved_at is not None and now - incident.resolved_at < policy.shortest_clean


@dataclass(frozen=True)
class _Blind:
    rule: str
    why: str


def _blindness(report: Report, rules: Sequence[Rule]) -> list[_Blind]:
    """Rules that were not looked at in this run. A fault of the reading itself blinds every rule."""
    found: list[_Blind] = []
    for entry in report.could_not:
        named = [rule.id for rule in rules if entry.what.startswith(f"rule {rule.id}") or entry.what == f"signal {rule.signal}"]
        if not named and entry.blocking:
            named = [rule.id for rule in rules]
        found += [_Blind(rule, f"{entry.what}: {entry.why}") for rule in named]
    return found


def _judged(incident: Incident, group: tuple[Finding, ...], known: dict[str, Rule], now: float) -> Incident:
    """The incident with this run's findings folded in, and firing if one of them has fired for its rule's `for`."""
    latest = {(finding.rule, tuple(sorted(finding.labels.items(), key=str))): finding for finding in (*incident.findings, *group)}
    findings = tuple(sorted(latest.values(), key=Finding.rank))
    active_at = max([incident.active_at, *(finding.firing[1] for finding in group)])
    fires = incident.state == "firing" or any(_has_lasted(finding, known.get(finding.rule), incident) for finding in group)
    return replace(
        incident,
        signals=tuple(sorted({*incident.signals, *(finding.signal for finding in group)})),
        rules=tuple(sorted({*incident.rules, *(finding.rule for finding in group)})),
        severity=max((incident.severity, *(finding.severity for finding in group)), key=SEVERITIES.index),
        state="firing" if fires else "pending",
        fired_at=incident.fired_at if incident.fired_at is not None else (now if fires else None),
        since=min([incident.since, *(finding.firing[0] for finding in group)]),
        active_at=active_at,
        clean_from=active_at if active_at < now else None,
        blind_since=None,
        blind_why="",
        findings=findings,
        series_seen=max(incident.series_seen, len({finding.labels.get("pod") or str(sorted(finding.labels.items(), key=str)) for finding in findings})),
        peak_flagged=max(incident.peak_flagged, max(finding.counts.flagged for finding in group)),
    )


def _has_lasted(finding: Finding, rule: Rule | None, before: Incident) -> bool:
    """Prometheus' meaning of `for`: it has fired without a break for at least that long. A pending incident is dropped at the first clean look, so a
    rule that is part of it already has fired ever since. A rule that no longer exists asks for nothing."""
    begun = min(finding.firing[0], before.since) if finding.rule in before.rules else finding.firing[0]
    return finding.firing[1] - begun >= (rule.for_minutes * MINUTE if rule is not None else 0)


def _change(before: Incident | None, after: Incident, now: float) -> Change | None:
    was = None if before is None or not before.open else before.state
    if after.state == "pending":
        return None
    loud = any(finding.notify for finding in after.findings)
    if before is None or was != "firing":
        if after.opened > 1:
            return Change("reopened", after, f"it fires again, for the {_ordinal(after.opened)} time", loud)
        return Change("fired", after, "a rule has fired for as long as it asks for", loud)
    if SEVERITIES.index(after.severity) > SEVERITIES.index(before.severity):
        return Change("escalated", _noted(after, now, f"severity rose to {after.severity}"), f"severity rose from {before.severity} to {after.severity}", loud)
    new_rules = sorted(set(after.rules) - set(before.rules))
    if new_rules:
        return Change("grew", _noted(after, now, f"also {', '.join(new_rules)}"), f"also fires: {', '.join(new_rules)}", loud)
    if before.blind_since is not None:
        return Change("seen_again", after, "it can be looked at again, and still fires", loud)
    return Change("updated", after, "new counts", loud) if after.findings != before.findings else None


def _quiet(incident: Incident, blind: dict[str, str], known: dict[str, Rule], now: float, policy: Policy) -> tuple[Incident, Change | None]:
    """An open incident without a finding in this run: held when it could not be looked at, resolved when clean for long enough."""
    why = next((blind[rule] for rule in incident.rules if rule in blind), None)
    loud = any(finding.notify for finding in incident.findings)
    if why is not None:
        held = replace(incident, clean_from=None, blind_since=incident.blind_since if incident.blind_since is not None else now, blind_why=why)
        told = incident.blind_since is None and incident.state == "firing"
        return held, Change("blind", held, f"could not look: {why}; it is held as it was", loud) if told else None
    if incident.blind_since is not None or incident.clean_from is None:
        # what passed while nobody could look counts for nothing: the clean time begins now
        incident = replace(incident, clean_from=now if incident.blind_since is not None else incident.active_at, blind_since=None, blind_why="")
    clean_from = incident.clean_from if incident.clean_from is not None else now
    if incident.state == "pending":
        # Prometheus: a pending alert whose condition ends is dropped at once, without a word
        return replace(incident, state="resolved", resolved_at=now), None
    if now - clean_from < policy.clean_seconds(known[rule] for rule in incident.rules if rule in known):
        return incident, None
    done = _noted(replace(incident, state="resolved", resolved_at=now), now, "resolved")
    return done, Change("resolved", done, f"clean for {round((now - clean_from) / MINUTE)} min", loud)


def _noted(incident: Incident, at: float, what: str) -> Incident:
    return replace(incident, history=(*incident.history, (at, what))[-20:])


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
