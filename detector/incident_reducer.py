"""Incidents over time, as a pure reducer. No clock, no store, no message: time and state are arguments.

    advance(incidents, report, rules, now)  ->  (incidents, changes)

`now` is the end of the judged window. An incident is *pending* until one of its rules has fired for the rule's `for`, *firing* after that, and *resolved* once
the last of its rules has been clean for `Policy.clean_seconds`. What could not be looked at holds it: that neither confirms nor resolves it. What one run does
to one incident stands in `detector.incident_course`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from detector.findings import SEVERITIES, Finding
from detector.incident_course import Sight, seen
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
        elsewhere: ids of rules that other runs judge (groups of a schedule). This run says nothing of them: it neither confirms nor ends what they found.
    """
    policy = policy or Policy()
    sight = Sight(report, {rule.id: rule for rule in rules}, now, policy, elsewhere)
    before = {incident.id: incident for incident in sorted(incidents, key=lambda entry: (entry.since, entry.id))}
    kept = dict(before)
    came: dict[str, tuple[Finding, ...]] = {}
    changes: list[Change] = []
    for group in groups_of_incidents(report.findings):
        incident, merged = matched(kept, group, now, policy)
        for other in merged:
            kept[other.id] = gone = replace(other, state="resolved", resolved_at=now, merged_into=incident.id if incident else None)
            if other.state == "firing":
                changes.append(Change("merged", gone, "it turned out to be part of another incident", True))
        if incident is not None and _was_closed_just_now(incident, now, policy) and not _is_worse(incident, group):
            continue
        fresh = sight.of_weight(incident, group)
        if not fresh and (incident is None or not incident.open):
            continue  # it fired for less than its `for` and is over: never an incident
        after = opened_by(fresh) if incident is None else continued(incident, fresh)
        for other in merged:
            after = replace(after, acked_by=after.acked_by or other.acked_by, acked_at=after.acked_at if after.acked_by else other.acked_at)
        kept[after.id] = after
        came[after.id] = (*came.get(after.id, ()), *fresh)
    for name in (*came, *(name for name in kept if name not in came)):
        incident = kept[name]
        if incident.open and (name in came or not incident.rules or set(incident.rules) - elsewhere):
            kept[name] = after = seen(incident, came.get(name, ()), sight)
            change = _change(before.get(name), after, now)
            if change is not None:
                kept[name] = change.incident
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


def _is_worse(closed: Incident, group: Sequence[Finding]) -> bool:
    """More severe than what a person closed: nobody has seen that yet."""
    return max(SEVERITIES.index(finding.severity) for finding in group) > SEVERITIES.index(closed.severity)


def _change(before: Incident | None, after: Incident, now: float) -> Change | None:
    """What changed in this run, with the reason for telling it; the most important of several."""
    was = None if before is None or not before.open else before.state
    if after.state == "pending" or (after.state == "resolved" and was != "firing"):
        return None  # Prometheus: a pending alert whose condition ends is dropped at once, without a word
    loud = any(finding.notify for finding in after.findings)
    if after.state == "resolved":
        clean_from = after.clean_from if after.clean_from is not None else now
        return Change("resolved", _noted(after, now, "resolved"), f"clean for {round((now - clean_from) / MINUTE)} min", loud)
    if before is None or was != "firing":
        if after.opened > 1:
            return Change("reopened", after, f"it fires again, for the {_ordinal(after.opened)} time", loud)
        return Change("fired", after, "a rule has fired for as long as it asks for", loud)
    step = SEVERITIES.index(after.severity) - SEVERITIES.index(before.severity)
    if step > 0:
        return Change("escalated", _noted(after, now, f"severity rose to {after.severity}"), f"severity rose from {before.severity} to {after.severity}", loud)
    new_rules = sorted(set(after.rules) - set(before.rules))
    if new_rules:
        return Change("grew", _noted(after, now, f"also {', '.join(new_rules)}"), f"also fires: {', '.join(new_rules)}", loud)
    if before.blind_since is None and after.blind_since is not None:
        return Change("blind", after, f"could not look: {after.blind_why}; it is held as it was", loud)
    if before.blind_since is not None and after.blind_since is None and after.clean_from is None:
        return Change("seen_again", after, "it can be looked at again, and still fires", loud)
    if step < 0:
        return Change("updated", _noted(after, now, f"severity fell to {after.severity}"), f"severity fell from {before.severity} to {after.severity}", loud)
    if after.findings != before.findings:
        return Change("updated", after, "new counts", loud)
    same = (before.blind_since is None) == (after.blind_since is None) and (before.clean_from is None) == (after.clean_from is None)
    return None if same else Change("updated", after, "it is clean, for now", loud)


def _noted(incident: Incident, at: float, what: str) -> Incident:
    return replace(incident, history=(*incident.history, (at, what))[-20:])


def _ordinal(number: int) -> str:
    return f"{number}{'th' if 10 <= number % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
