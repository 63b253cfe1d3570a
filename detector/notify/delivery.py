"""Deliver the outbox: say that we are about to send, send, record. At least once by retrying, at most once by looking before sending again.

A message whose process died, or whose answer was lost, is *doubtful*: it stands in the outbox with an attempt counted, and its receiver looks for its
key before it sends. Messages of one incident go out in the order in which they were decided; a later one waits for an earlier one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from detector.errors import NotifyError
from detector.notify.base import TELLING, Receiver, Telling, Told
from detector.storage.outbox import Message
from detector.storage.store import Store

ENDS = ("resolved", "merged")
FIRST_DELAY, LONGEST_DELAY = 15.0, 900.0  # seconds until a failed message is tried again: doubling, with a ceiling


@dataclass
class Delivered:
    """What a round of sending did. `failures`: one line per message that could not be delivered, fit for stderr."""

    sent: int = 0
    dropped: int = 0
    failures: list[str] = field(default_factory=list)


def deliver(store: Store, receivers: Mapping[str, Receiver], clock: Callable[[], float], *, ignore_delay: bool = False) -> Delivered:
    """Send what is waiting and due. `clock` gives seconds since 1970 UTC; `ignore_delay`: a one-shot run tries everything once."""
    done = Delivered()
    waiting = store.waiting()
    superseded = _superseded(waiting)
    stuck: set[tuple[str, str | None]] = set()
    resting: set[str] = set()  # receivers that asked to be left alone for a while
    for message in waiting:
        if message.id in superseded:
            store.mark(message.id, "dropped", now=clock(), error="a newer message says more", attempted=False)
            done.dropped += 1
            continue
        telling = TELLING.validate_python(message.body)
        lanes = {(message.receiver, incident_id) for incident_id in _incidents(message, telling)}
        receiver = receivers.get(message.receiver)
        if receiver is None:
            done.failures.append(
                f"{message.receiver}: message {message.id} ({message.kind}) waits, but no such receiver is configured (detector incidents outbox)"
            )
            continue
        if lanes & stuck:
            done.failures.append(f"{message.receiver}: message {message.id} ({message.kind}) waits for an earlier one of its incident")
            continue
        if message.receiver in resting:
            stuck |= lanes
            done.failures.append(f"{message.receiver}: message {message.id} ({message.kind}) waits, as the receiver asked to")
            continue
        if message.next_at > clock() and not ignore_delay:
            stuck |= lanes
            done.failures.append(f"{message.receiver}: message {message.id} ({message.kind}) waits for its next try: {message.error or 'not yet sent'}")
            continue
        failure = _send(store, receiver, message, telling, clock)
        if failure is None:
            done.sent += 1
            continue
        stuck |= lanes
        if failure.retry_after_seconds is not None:
            resting.add(message.receiver)
        done.failures.append(f"{message.receiver}: message {message.id} ({message.kind}): {failure}")
    return done


def _send(store: Store, receiver: Receiver, message: Message, telling: Telling, clock: Callable[[], float]) -> NotifyError | None:
    """Send one message; None when it arrived or need not, else why not."""
    thread = store.thread(message.receiver, message.incident_id) if message.incident_id else None
    if telling.kind in ENDS and (thread is None or int(thread["told"]["opened"]) < telling.incident.opened):
        store.mark(message.id, "dropped", now=clock(), error="nobody there was told that it fires", attempted=False)
        return None
    store.still_held()
    if not store.claim(message, clock()):  # if we die now, the next run is warned
        return None  # another worker has it: our lease was lost, and theirs is in force
    known = None if thread is None else {name: value for name, value in thread.items() if name != "told"}
    try:
        reference = receiver.tell(telling, message.key, known, tried_at=message.tried_at)
    except NotifyError as error:
        delay = error.retry_after_seconds if error.retry_after_seconds is not None else min(LONGEST_DELAY, FIRST_DELAY * 2.0 ** min(message.attempts, 10))
        store.mark(message.id, "waiting", now=clock(), error=str(error), next_at=clock() + delay, attempted=False)
        return error
    except Exception as error:  # a fault of ours in one receiver must not keep messages from the others; it is loud, and the message is kept
        text = f"{receiver.name}: it could not make the message ({type(error).__name__}); please report this"
        store.mark(message.id, "waiting", now=clock(), error=text, next_at=clock() + FIRST_DELAY, attempted=False)
        return NotifyError(text, retryable=True)
    store.delivered(message, reference, _told(telling, thread, reference), clock())
    return None


def _told(telling: Telling, thread: dict[str, Any] | None, reference: dict[str, Any] | None) -> dict[str, Told]:
    """What the receiver knows now. One that was told in a summary stays part of it for as long as it stands there."""
    names = tuple(incident.id for incident in telling.storm)
    if not names and thread is not None and reference is not None and reference.get("storm"):
        names = tuple(thread["told"].get("storm") or ())
    return {incident.id: Told(incident.opened, incident.severity, names) for incident in telling.storm or (telling.incident,)}


def _incidents(message: Message, telling: Telling) -> list[str | None]:
    """Ids of the incidents that a message tells of; a summary tells of several."""
    return [incident.id for incident in telling.storm] or [message.incident_id]


def _superseded(waiting: list[Message]) -> set[int]:
    """Waiting edits and heartbeats that a later message of the same incident and receiver makes needless; they were never attempted."""
    found: set[int] = set()
    later: set[tuple[str, str | None]] = set()
    for message in reversed(waiting):
        lane = (message.receiver, message.incident_id)
        if message.kind in ("updated", "still") and lane in later:
            found.add(message.id)
        later.add(lane)
    return found
