"""One scheduled run: check, advance the incidents, decide what to tell, keep it, tell it. `check --notify` and the worker both are this.

    decide -> persist -> send -> record

The end of the judged window is "now" for incidents; the clock is read only to pace sending. Two workers on one store take turns: the lease is held from reading the
incidents to recording what was sent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from detector.errors import SourceError
from detector.incidents import Change, Incident, Policy, advance
from detector.notify.base import TELLING, Link, Receiver
from detector.notify.decision import decide
from detector.notify.delivery import Delivered, deliver
from detector.report import Report
from detector.rules import Rule
from detector.sources.base import CouldNot, Tally
from detector.storage.store import Store
from detector.window import Window

UNDELIVERED = 3  # exit code: a message could not be delivered; it is kept for the next run


@dataclass(frozen=True)
class Telling:
    """Who is told, and how. `routes`: names of the receivers of an incident; `links`: what belongs under its messages."""

    receivers: Mapping[str, Receiver]
    routes: Callable[[Incident], Sequence[str]]
    links: Callable[[Incident], tuple[Link, ...]] = lambda incident: ()
    storm: int = 5
    excerpts: Callable[[Incident], Mapping[str, str]] = lambda incident: {}


@dataclass(frozen=True)
class Run:
    """What one run did."""

    report: Report
    incidents: tuple[Incident, ...] = ()
    changes: tuple[Change, ...] = ()
    delivered: Delivered = field(default_factory=Delivered)
    skipped: bool = False  # another worker held the lease

    @property
    def exit_code(self) -> int:
        """As of `check`; 3 when a message could not be delivered."""
        return UNDELIVERED if self.delivered.failures else self.report.exit_code


def blind_report(window: Window | None, error: SourceError) -> Report:
    """The report of a run whose source could not be read at all: nothing was looked at, and nothing resolves."""
    return Report(window, Tally(), (), (CouldNot("the log", str(error), "see `detector doctor`"),))


def run_once(
    look: Callable[[], Report],
    rules: Sequence[Rule],
    store: Store,
    telling: Telling,
    clock: Callable[[], float],
    *,
    policy: Policy | None = None,
    wait: float = 30.0,
    one_shot: bool = True,
) -> Run:
    """Carry out one run. `look` makes the report (it may raise SourceError only through `blind_report`).

    Args:
        clock: seconds since 1970 UTC.
        wait: seconds to wait for the lease; after that the run is skipped, and says so.
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
        advanced = advance(before, report, rules, now, policy)
        open_ones = [incident for incident in advanced.incidents if incident.open]
        decisions = decide(
            advanced.changes,
            open_ones,
            store.silences(now),
            list(telling.receivers.values()),
            telling.routes,
            telling.links,
            now,
            telling.storm,
            telling.excerpts,
        )
        with store.transaction() as connection:  # all of it or nothing: a crash before this line decides again, after it sends
            changed = {incident.id: incident for incident in before}
            store.save(connection, [incident for incident in advanced.incidents if changed.get(incident.id) != incident])
            for decision in decisions:
                body = TELLING.dump_python(decision.telling, mode="json")
                store.queue(connection, decision.key, decision.receiver, decision.telling.incident.id, decision.telling.kind, body, now)
            for change in advanced.changes:
                if change.kind != "updated":
                    store.note(connection, now, "detector", change.kind, change.incident.id, change.reason)
        delivered = deliver(store, telling.receivers, clock, ignore_delay=one_shot)
    return Run(report, advanced.incidents, advanced.changes, delivered)


def acknowledge(store: Store, incident_id: str, by: str, now: float) -> Incident | None:
    """Someone takes the incident: reminders stop. None when there is no such open incident."""
    return _set(store, incident_id, by, now, "ack", acked_by=by, acked_at=now)


def snooze(store: Store, incident_id: str, by: str, now: float, until: float) -> Incident | None:
    """Say nothing of the incident until an instant, except that it resolved."""
    return _set(store, incident_id, by, now, "snooze", snoozed_until=until)


def resolve(store: Store, incident_id: str, by: str, now: float) -> Incident | None:
    """Someone declares the incident over; if it still fires it comes back at the next run."""
    return _set(store, incident_id, by, now, "resolve", state="resolved", resolved_at=now)


def _set(store: Store, incident_id: str, by: str, now: float, action: str, **values: object) -> Incident | None:
    found = next((incident for incident in store.incidents(only_open=True) if incident.id == incident_id), None)
    if found is None:
        return None
    after = replace(found, **values)  # type: ignore[arg-type]  # fields of Incident, named by the three callers above
    with store.transaction() as connection:
        store.save(connection, [after])
        store.note(connection, now, by, action, incident_id)
    return after
