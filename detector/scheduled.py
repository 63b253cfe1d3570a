"""One scheduled run: check, advance the incidents, decide what to tell, keep it, tell it. `check --notify` and the worker both are this.

    decide -> persist -> send -> record

The end of the judged window is "now" for incidents; the clock is read only to pace sending. Two workers on one store take turns: the lease is held
from reading the incidents to recording what was sent.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from detector.errors import NotifyError, StoreError
from detector.incident_reducer import advance
from detector.incidents import Change, Incident, Kind, Policy
from detector.notify.base import TELLING, Heard, Link, Listener, Receiver, Remarking, Repeating, Route
from detector.notify.decision import decide
from detector.notify.delivery import Delivered, deliver
from detector.notify.translation import translated
from detector.notify.wording import Language
from detector.report import Report
from detector.rules import Rule
from detector.sources.base import CouldNot, Tally
from detector.storage.silences import Silence
from detector.storage.store import Store
from detector.window import iso

SNOOZE_SECONDS = 4 * 3600  # a reaction names no time: half a shift
FORGET_EVERY = 3600.0  # seconds; retention is counted in days
COMMAND_WAIT = 120.0  # seconds that a command waits for a run to end
ENDED_AGAIN = 900.0  # seconds that an end is told again where alerts are (Prometheus' resolvedRetention): a server that was restarted forgot it
RHYTHM = 5  # runs whose distance tells a cron job's rhythm
UNDELIVERED = 3  # exit code: a message could not be delivered; it is kept for the next run


@dataclass(frozen=True)
class Audience:
    """Who is told, and how.

    `routes`: where an incident goes; `links`: what belongs under its messages; `policy`: when incidents end; `retention`: seconds that what is over is kept
    (None: for ever); `remarks`: what stderr should hear at every run; `remarking`: who may have more to say there;
    `language`: of messages; `calendar`: silences of the configuration that are in force at an instant.
    """

    receivers: Mapping[str, Receiver]
    routes: Callable[[Incident], Route]
    links: Callable[[Incident], tuple[Link, ...]] = lambda incident: ()
    storm: int = 5
    excerpts: Callable[[Incident], Mapping[str, str]] = lambda incident: {}
    policy: Policy = field(default_factory=Policy)
    retention: float | None = None
    remarks: tuple[str, ...] = ()
    remarking: tuple[Remarking, ...] = ()
    language: Language = "en"
    calendar: Callable[[float], Sequence[Silence]] = lambda at: ()


@dataclass(frozen=True)
class Run:
    """What one run did."""

    report: Report
    incidents: tuple[Incident, ...] = ()
    changes: tuple[Change, ...] = ()
    delivered: Delivered = field(default_factory=Delivered)
    remarks: tuple[str, ...] = ()  # trouble that delays nothing, for stderr
    skipped: bool = False  # another worker held the lease

    @property
    def exit_code(self) -> int:
        """As of `check`; 3 when a message could not be delivered."""
        return UNDELIVERED if self.delivered.failures else self.report.exit_code


def run_once(
    look: Callable[[], Report],
    rules: Sequence[Rule],
    store: Store,
    audience: Audience,
    clock: Callable[[], float],
    *,
    policy: Policy | None = None,
    wait: float = 30.0,
    one_shot: bool = True,
    elsewhere: frozenset[str] = frozenset(),
) -> Run:
    """Carry out one run. `look` makes the report (it may raise SourceError only through `blind_report`).

    Args:
        clock: seconds since 1970 UTC.
        wait: seconds to wait for the lease; after that the run is skipped, and says so.
        elsewhere: ids of rules that other groups of the schedule judge.
        one_shot: try every waiting message once, also those whose next try is not due (a cron job has no later).

    Raises:
        StoreError: the store can't be read or written. Then nothing was sent.
    """
    with store.exclusive(wait) as held:
        if not held:
            return Run(Report(None, Tally(), (), (CouldNot("this run", "another worker is at work", "run less often, or wait for it"),)), skipped=True)
        report = look()
        now = report.window.end if report.window is not None else clock()
        before = store.incidents()
        heard, deaf = listen(store, audience.receivers)
        settled, commands = untold(before)
        told, reactions = answered(settled, heard, now)
        replies = (*commands, *reactions)
        advanced = advance(
            told, replace(report, findings=translated(report.findings, rules, audience.language)), rules, now, policy or audience.policy, elsewhere
        )
        changes = merged_changes(replies, advanced.changes)
        open_ones = [incident for incident in advanced.incidents if incident.open]
        ended = [incident for incident in advanced.incidents if incident.resolved_at is not None and 0 <= now - incident.resolved_at <= ENDED_AGAIN]
        _pace(store, audience.receivers, clock(), told=one_shot)
        decisions = decide(
            changes,
            open_ones,
            [*store.silences(now), *audience.calendar(now)],
            list(audience.receivers.values()),
            audience.routes,
            audience.links,
            now,
            audience.storm,
            audience.excerpts,
            {name: store.told(name) for name in audience.receivers},
            ended,
            {incident.id: incident for incident in advanced.incidents},
        )
        with store.transaction() as connection:  # all of it or nothing: a crash before this line decides again, after it sends
            changed = {incident.id: incident for incident in before}
            store.save(connection, [incident for incident in advanced.incidents if changed.get(incident.id) != incident])
            for decision in decisions:
                body = TELLING.dump_python(decision.telling, mode="json")
                store.queue(connection, decision.key, decision.receiver, decision.telling.incident.id, decision.telling.kind, body, now)
            for change in changes:
                if change.kind != "updated" or change in replies:
                    store.note(connection, now, "detector", change.kind, change.incident.id, change.reason)
        delivered = deliver(store, audience.receivers, clock, ignore_delay=one_shot)
        if audience.retention is not None:
            forget(store, now, audience.retention)
    return Run(
        report, advanced.incidents, changes, delivered, remarks=(*audience.remarks, *deaf, *_remarks((*audience.receivers.values(), *audience.remarking)))
    )


def _pace(store: Store, receivers: Mapping[str, Receiver], at: float, *, told: bool) -> None:
    """Tell receivers how far runs are apart, where nothing but the runs themselves shows it."""
    repeating = [receiver for receiver in receivers.values() if isinstance(receiver, Repeating)]
    if repeating and told:
        ran = [*(store.fact("ran") or ())[-RHYTHM:], at]
        apart = max((later - earlier for earlier, later in itertools.pairwise(ran)), default=0.0)  # the longest: a run by hand in between is no rhythm
        for receiver in repeating:
            receiver.runs_every(max(0.0, apart))
        store.keep_fact("ran", ran)


def _remarks(speakers: Iterable[object]) -> list[str]:
    found = []
    for speaker in speakers:
        if isinstance(speaker, Remarking):
            found += speaker.remarks
            speaker.remarks.clear()
    return found


def forget(store: Store, now: float, retention: float) -> None:
    """Drop what is over for longer than `retention` seconds; at most once in an hour."""
    last = store.fact("forgotten")
    if last is None or not 0 <= now - float(last) < FORGET_EVERY:
        store.forget(now - retention)
        store.keep_fact("forgotten", now)


def merged_changes(replies: Sequence[Change], changes: Sequence[Change]) -> tuple[Change, ...]:
    """What people changed, then what the run changed; an edit is left out where the run says more of the same incident."""
    louder = {change.incident.id for change in changes}
    return (*(change for change in replies if change.kind != "updated" or change.incident.id not in louder), *changes)


def answered(incidents: Sequence[Incident], heard: Mapping[str, Sequence[Heard]], now: float) -> tuple[tuple[Incident, ...], tuple[Change, ...]]:
    """Incidents after what stands said of them at a receiver, and what that changed. Pure.

    An answer counts once, when it is new: a reaction that merely stays neither snoozes for ever nor closes an incident that was opened again. Taken back and
    given again, it counts again.
    """
    kept = {incident.id: incident for incident in incidents}
    changes: list[Change] = []
    for incident_id, entries in heard.items():
        incident = kept.get(incident_id)
        if incident is None or not incident.open:
            continue
        fresh = [entry for entry in entries if _answer_key(entry) not in incident.answers]
        after = replace(incident, answers=tuple(sorted({_answer_key(entry) for entry in entries})))
        for entry in fresh:
            if after.open:
                after = applied(after, entry, now)
                kind: Kind = "resolved" if not after.open else "taken" if entry.action == "ack" else "updated"
                changes = [change for change in changes if change.incident.id != incident_id]
                changes.append(Change(kind, after, f"{entry.action} by {entry.by}" if after.open else f"closed by {entry.by}", notify=True))
        kept[incident_id] = after
    return tuple(kept.values()), tuple(changes)


def applied(incident: Incident, said: Heard, now: float) -> Incident:
    """The incident after one answer. Pure."""
    if said.action == "ack":
        return replace(incident, acked_by=said.by, acked_at=now)
    if said.action == "snooze":
        return replace(incident, snoozed_until=said.until if said.until is not None else now + SNOOZE_SECONDS)
    return replace(incident, state="resolved", resolved_at=now, closed_by=said.by)


def _answer_key(entry: Heard) -> str:
    return f"{entry.action}.{entry.by}"


def answer(store: Store, said: Heard, now: float) -> Incident | None:
    """Apply what a person said on the command line; None when there is no such open incident. It is told at the next run, through the outbox."""
    with store.exclusive(COMMAND_WAIT) as held:
        if not held:
            raise StoreError(f"a run has been at work for {COMMAND_WAIT:.0f} s and holds the store; try again when it has ended")
        found = next((incident for incident in store.incidents(only_open=True) if incident.id == said.incident_id), None)
        if found is None:
            return None
        after = applied(found, said, now)
        with store.transaction() as connection:
            store.save(connection, [replace(after, untold=f"{said.action} by {said.by}")])
            until = "" if after.snoozed_until is None or said.action != "snooze" else f"until {iso(round(after.snoozed_until))}"
            store.note(connection, now, said.by, said.action, found.id, until)
    return after


def untold(incidents: Sequence[Incident]) -> tuple[tuple[Incident, ...], tuple[Change, ...]]:
    """What commands changed since the last run, as changes to tell; and the incidents with that settled."""
    changes = [Change(_said_kind(incident), replace(incident, untold=""), incident.untold, notify=True) for incident in incidents if incident.untold]
    return tuple(replace(incident, untold="") if incident.untold else incident for incident in incidents), tuple(changes)


def _said_kind(incident: Incident) -> Kind:
    if incident.state == "resolved":
        return "resolved"
    return "taken" if incident.untold.startswith("ack ") else "updated"


def listen(store: Store, receivers: Mapping[str, Receiver]) -> tuple[dict[str, list[Heard]], list[str]]:
    """What stands said at the receivers that can be listened to, by incident; and which could not be asked."""
    heard: dict[str, list[Heard]] = {}
    deaf: list[str] = []
    open_ids = [incident.id for incident in store.incidents(only_open=True)]
    for receiver in receivers.values():
        if not isinstance(receiver, Listener):
            continue
        threads = {incident_id: thread for incident_id in open_ids if (thread := store.thread(receiver.name, incident_id)) is not None}
        try:
            for incident_id, entries in receiver.heard(threads).items():
                heard.setdefault(incident_id, []).extend(entries)
        except NotifyError as error:
            deaf.append(f"reactions could not be read: {error}")
    return heard, deaf
