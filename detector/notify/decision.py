"""Decide what to tell whom: changes of incidents, silences and receivers in, messages for the outbox out. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from detector.findings import SEVERITIES
from detector.incidents import Change, Incident, Kind
from detector.notify.base import EDITS, Link, Receiver, Route, Telling, Told
from detector.storage.silences import Silence, silenced

NEW = ("fired", "reopened")
ALWAYS = ("resolved", "merged")  # told even when silenced meanwhile, to receivers that were told of the incident before (`detector.notify.delivery`)


@dataclass(frozen=True)
class Decision:
    """One message for the outbox. `key` says the same for the same decision, however often it is made."""

    key: str
    receiver: str
    telling: Telling


def decide(
    changes: Sequence[Change],
    still: Iterable[Incident],
    silences: Sequence[Silence],
    receivers: Sequence[Receiver],
    routes: Callable[[Incident], Route],
    links: Callable[[Incident], tuple[Link, ...]],
    now: float,
    storm: int,
    excerpts: Callable[[Incident], Mapping[str, str]] = lambda incident: {},
    told: Mapping[str, Mapping[str, Told]] | None = None,
    ended: Sequence[Incident] = (),
    everyone: Mapping[str, Incident] | None = None,
) -> list[Decision]:
    """Messages for these changes, in their order.

    Args:
        still: open incidents: for receivers that want to hear each run that they go on, and for those that were not told while a silence was in force.
        storm: more new incidents than this for one receiver and channel become one summary.
        told: receiver -> incident -> what it knows of it. None: nothing is made up for.
        ended: incidents that ended a short while ago, for receivers that want to hear that again.
        everyone: all incidents by id, as they are now; for those that were told in one summary.
    """
    found: list[Decision] = []
    open_ones = list(still)
    for receiver in receivers:
        known = {} if told is None else told.get(receiver.name, {})
        mine = [
            change
            for change in changes
            if receiver.name in routes(change.incident).receivers
            and (_is_wanted(change, silences, now) or (change.notify and change.kind in receiver.silent and _knows(known, change.incident)))
        ]
        if told is not None:
            changed = {change.incident.id for change in mine if change.kind not in (*EDITS, "reminder", "seen_again")}
            late = [_late(incident, known) for incident in open_ones if incident.id not in changed and receiver.name in routes(incident).receivers]
            made_up = [change for change in late if change is not None and _is_wanted(change, silences, now)]
            again = {change.incident.id for change in made_up}
            mine = [*(change for change in mine if change.incident.id not in again), *made_up]
        mine = [change for change in mine if change.kind in receiver.kinds or (change.kind in NEW and "storm" in receiver.kinds)]
        in_storm: set[str] = set()
        if "storm" in receiver.kinds:
            for channel, fresh in _by_channel([change for change in mine if change.kind in NEW], routes).items():
                if len(fresh) > storm:
                    members = tuple(change.incident for change in fresh)
                    in_storm |= {member.id for member in members}
                    reason = f"{len(members)} new incidents in one run: one summary instead of {len(members)} messages"
                    key = _key("storm", now, *(f"{member.id}.{member.opened}" for member in members))
                    owners = "\n".join(dict.fromkeys(owner for member in members if (owner := routes(member).owner)))
                    found.append(Decision(key, receiver.name, Telling("storm", reason, now, members[0], (), members, channel=channel, owner=owners or None)))
        for change in mine:
            if change.kind in NEW and change.incident.id in in_storm:
                continue
            route = routes(change.incident)
            shown = dict(excerpts(change.incident)) if change.kind in NEW else {}
            telling = Telling(
                change.kind,
                change.reason,
                now,
                change.incident,
                links(change.incident),
                (),
                shown,
                route.channel,
                route.owner,
                is_quiet(change.incident, silences, now),
                _siblings(change.incident, known, everyone or {}),
            )
            found.append(Decision(change_key(change, now), receiver.name, telling))
        if "still" in receiver.kinds:
            said = {change.incident.id for change in mine}
            for incident in (*open_ones, *ended):
                if incident.id in said or incident.state == "pending" or receiver.name not in routes(incident).receivers:
                    continue
                quiet = is_quiet(incident, silences, now)
                if not _knows(known, incident) and (quiet or not incident.open):
                    continue  # what it knows is not left to lapse under a silence: there, that would be told as its end
                reason = "it goes on" if incident.open else "it has ended"
                telling = Telling("still", reason, now, incident, links(incident), owner=routes(incident).owner, quiet=quiet)
                found.append(Decision(_key("still", now, incident.id), receiver.name, telling))
    return found


def _siblings(incident: Incident, known: Mapping[str, Told], everyone: Mapping[str, Incident]) -> tuple[Incident, ...]:
    told = known.get(incident.id)
    return () if told is None else tuple(everyone[name] for name in told.storm if name in everyone)


def _knows(known: Mapping[str, Told], incident: Incident) -> bool:
    told = known.get(incident.id)
    return told is not None and told.opened == incident.opened


def _late(incident: Incident, known: Mapping[str, Told]) -> Change | None:
    """What a receiver should have heard of a firing incident and was not told, because it was silenced or snoozed then, or the receiver is new."""
    if incident.state != "firing" or not any(finding.notify for finding in incident.findings):
        return None
    told = known.get(incident.id)
    if told is None or told.opened < incident.opened:
        kind: Kind = "reopened" if incident.opened > 1 else "fired"
        return Change(kind, incident, "it fires, and this receiver was not told so far", True)
    if SEVERITIES.index(incident.severity) > SEVERITIES.index(told.severity):
        return Change("escalated", incident, f"severity rose from {told.severity} to {incident.severity} while it was silenced", True)
    return None


def _by_channel(changes: Sequence[Change], routes: Callable[[Incident], Route]) -> dict[str | None, list[Change]]:
    found: dict[str | None, list[Change]] = {}
    for change in changes:
        found.setdefault(routes(change.incident).channel, []).append(change)
    return found


def change_key(change: Change, now: float) -> str:
    """The identity of a change: the incident, how often it was opened, and what makes this change another one than the last of its kind."""
    incident = change.incident
    what: tuple[object, ...]
    if change.kind == "escalated":
        what = (incident.severity, incident.eased) if incident.eased else (incident.severity,)
    elif change.kind == "grew":
        what = (*incident.rules, incident.eased) if incident.eased else incident.rules
    elif change.kind in (*EDITS, "reminder", "blind", "seen_again"):
        what = (f"{now:.0f}",)
    else:
        what = ()
    return _key(change.kind, 0, f"{incident.id}.{incident.opened}", *what)


def _key(kind: str, now: float, *parts: object) -> str:
    text = "\x1f".join(str(part) for part in parts)
    at = f"{now:.0f}." if now else ""
    return f"{kind}.{at}{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def _is_wanted(change: Change, silences: Sequence[Silence], now: float) -> bool:
    if not change.notify:
        return False
    return change.kind in ALWAYS or not is_quiet(change.incident, silences, now)


def is_quiet(incident: Incident, silences: Sequence[Silence], now: float) -> bool:
    """Silenced by a matcher, or snoozed. An acknowledged incident is not quiet: what gets worse is still told."""
    return (incident.snoozed_until is not None and incident.snoozed_until > now) or any(silenced(incident, silence, now) for silence in silences)
