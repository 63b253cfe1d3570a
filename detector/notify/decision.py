"""Decide what to tell whom: changes of incidents, silences and receivers in, messages for the outbox out. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from detector.incidents import Change, Incident
from detector.notify.base import Link, Receiver, Telling
from detector.storage.silences import Silence, silenced

NEW = ("fired", "reopened")
ALWAYS = ("resolved", "merged")  # told even when silenced meanwhile: state is one thing, notification another
# ^ only to receivers that were told of the incident before


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
    routes: Callable[[Incident], Sequence[str]],
    links: Callable[[Incident], tuple[Link, ...]],
    now: float,
    storm: int,
    excerpts: Callable[[Incident], Mapping[str, str]] = lambda incident: {},
) -> list[Decision]:
    """Messages for these changes, in their order.

    Args:
        still: open incidents, for receivers that want to hear each run that they go on.
        routes: names of the receivers that an incident goes to.
        storm: more new incidents than this for one receiver become one summary.
    """
    found: list[Decision] = []
    for receiver in receivers:
        mine = [change for change in changes if receiver.name in routes(change.incident) and _is_wanted(change, silences, receiver, now)]
        fresh = [change for change in mine if change.kind in NEW]
        summary = len(fresh) > storm and "storm" in receiver.kinds
        if summary:
            members = tuple(change.incident for change in fresh)
            reason = f"{len(members)} new incidents in one run: one summary instead of {len(members)} messages"
            telling = Telling("storm", reason, now, members[0], (), members)
            found.append(Decision(_key("storm", now, *(f"{member.id}.{member.opened}" for member in members)), receiver.name, telling))
        for change in mine:
            if change.kind not in receiver.kinds or (summary and change.kind in NEW):
                continue
            telling = Telling(change.kind, change.reason, now, change.incident, links(change.incident), (), dict(excerpts(change.incident)))
            found.append(Decision(change_key(change, now), receiver.name, telling))
        if "still" in receiver.kinds:
            told = {change.incident.id for change in mine}
            for incident in still:
                if incident.id not in told and incident.state == "firing" and receiver.name in routes(incident) and not _is_quiet(incident, silences, now):
                    found.append(Decision(_key("still", now, incident.id), receiver.name, Telling("still", "it goes on", now, incident, links(incident))))
    return found


def change_key(change: Change, now: float) -> str:
    """The identity of a change: the incident, how often it was opened, and what makes this change another one than the last of its kind."""
    incident = change.incident
    what: tuple[object, ...]
    if change.kind == "escalated":
        what = (incident.severity,)
    elif change.kind == "grew":
        what = incident.rules
    elif change.kind in ("updated", "reminder", "blind", "seen_again"):
        what = (f"{now:.0f}",)
    else:
        what = ()
    return _key(change.kind, 0, f"{incident.id}.{incident.opened}", *what)


def _key(kind: str, now: float, *parts: object) -> str:
    text = "\x1f".join(str(part) for part in parts)
    at = f"{now:.0f}." if now else ""
    return f"{kind}.{at}{hashlib.sha256(text.encode()).hexdigest()[:32]}"


def _is_wanted(change: Change, silences: Sequence[Silence], receiver: Receiver, now: float) -> bool:
    if not change.notify:
        return False
    return change.kind in ALWAYS or not _is_quiet(change.incident, silences, now)


def _is_quiet(incident: Incident, silences: Sequence[Silence], now: float) -> bool:
    """Silenced by a matcher, or snoozed. An acknowledged incident is not quiet: what gets worse is still told."""
    return (incident.snoozed_until is not None and incident.snoozed_until > now) or any(silenced(incident, silence, now) for silence in silences)
