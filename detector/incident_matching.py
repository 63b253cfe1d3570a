"""Which incident a group of findings belongs to: one that is open, one that ended not long ago, or a new one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from detector.findings import Finding
from detector.folding import fingerprint
from detector.incidents import Incident, Policy


def groups_of_incidents(findings: Sequence[Finding]) -> list[tuple[Finding, ...]]:
    """Findings of one incident key each, most important first; info findings are report lines and open nothing."""
    groups: dict[str, list[Finding]] = {}
    for finding in sorted(findings, key=Finding.rank):
        if finding.severity != "info":
            groups.setdefault(finding.incident, []).append(finding)
    return [tuple(group) for group in groups.values()]


def matched(kept: dict[str, Incident], group: tuple[Finding, ...], now: float, policy: Policy) -> tuple[Incident | None, list[Incident]]:
    """The incident that a group belongs to (the oldest open one that shares a signal, else one resolved not long ago), and further open ones that it joins."""
    place, signals = group[0].place, {finding.signal for finding in group}
    related = [incident for incident in kept.values() if incident.place == place and signals & set(incident.signals)]
    open_ones = [incident for incident in related if incident.open]
    if open_ones:
        return open_ones[0], open_ones[1:]
    recent = [
        incident for incident in related if incident.merged_into is None and incident.resolved_at is not None and now - incident.resolved_at <= policy.reopen
    ]
    if recent:
        return max(recent, key=lambda incident: (incident.resolved_at or 0, incident.id)), []
    # the same fault after a long time: the id is taken, so the old incident is opened again rather than overwritten
    return kept.get(fingerprint(place, group[0].signal)), []


def opened_by(group: tuple[Finding, ...]) -> Incident:
    """A new incident that begins with these findings; `detector.incident_reducer` folds them in."""
    first = group[0]
    since = min(finding.firing[0] for finding in group)
    return Incident(
        id=fingerprint(first.place, first.signal),
        deployment=first.deployment,
        model=None if first.deployment else first.model,
        signals=tuple(sorted({finding.signal for finding in group})),
        rules=(),
        state="pending",
        severity=first.severity,
        since=since,
        active_at=since,
    )


def continued(incident: Incident, group: tuple[Finding, ...]) -> Incident:
    """The incident that these findings go on with; one that ended begins again."""
    if incident.open:
        return incident
    since = min(finding.firing[0] for finding in group)
    come_back = incident.fired_at is not None  # one that never fired was never told: it does not come back, it begins
    return replace(
        incident,
        state="pending",
        since=since,
        fired_at=None,
        resolved_at=None,
        merged_into=None,
        opened=incident.opened + come_back,
        signals=tuple(sorted({finding.signal for finding in group})),
        rules=(),
        findings=(),
        clean={},
        hidden={},
        totals={},
        begun={},
        eased=0,
        clean_from=None,
        blind_since=None,
        blind_why="",
        acked_by=None,
        acked_at=None,
        snoozed_until=None,
        closed_by=None,
        history=(*incident.history, (since, "opened again"))[-20:] if come_back else incident.history,
        series_seen=0,
        peak_flagged=0,
    )
