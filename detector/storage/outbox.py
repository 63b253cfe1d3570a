"""The outbox: messages that were decided, what became of them, and where their incidents stand at their receivers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa

from detector.notify.base import Told
from detector.render.inert import plain
from detector.storage import tables
from detector.storage.audit import note
from detector.storage.database import Database


@dataclass(frozen=True)
class Message:
    """One message of the outbox. `body` is what the receiver needs to make it; `key` makes the decision idempotent."""

    id: int
    key: str
    receiver: str
    incident_id: str | None
    kind: str
    body: dict[str, Any]
    state: str
    created_at: float
    attempts: int
    next_at: float
    error: str | None = None
    tried_at: float | None = None  # when the first attempt to send it began


class Outbox(Database):
    """Messages and threads."""

    def queue(self, connection: sa.Connection, key: str, receiver: str, incident_id: str | None, kind: str, body: dict[str, Any], now: float) -> bool:
        """Put a message into the outbox; False when this decision stands there already."""
        there = connection.scalar(sa.select(tables.messages.c.id).where(tables.messages.c.receiver == receiver, tables.messages.c.key == key))
        if there is not None:
            return False
        connection.execute(
            sa.insert(tables.messages).values(
                key=key,
                receiver=receiver,
                incident_id=incident_id,
                kind=kind,
                body=json.dumps(body),
                state="waiting",
                created_at=now,
                attempts=0,
                next_at=now,
            )
        )
        return True

    def waiting(self, receiver: str | None = None) -> list[Message]:
        """Messages not yet delivered, in the order in which they were decided."""
        query = sa.select(tables.messages).where(tables.messages.c.state == "waiting").order_by(tables.messages.c.id)
        if receiver is not None:
            query = query.where(tables.messages.c.receiver == receiver)
        with self.transaction() as connection:
            return [_message(row) for row in connection.execute(query)]

    def drop(self, receiver: str, by: str, now: float) -> int:
        """Give up what waits for a receiver, on a person's word; how many messages that were."""
        with self.transaction() as connection:
            chosen = (tables.messages.c.receiver == plain(receiver), tables.messages.c.state == "waiting")
            count = connection.execute(sa.update(tables.messages).where(*chosen).values(state="dropped", error=f"dropped by {plain(by)}")).rowcount
            if count:
                note(connection, now, by, "drop", receiver, f"{count} messages")
        return int(count)

    def mark(self, message_id: int, state: str, *, now: float, error: str | None = None, next_at: float | None = None, attempted: bool = True) -> None:
        """Record what became of a message: `sent`, `waiting` (try again at `next_at`), `dropped` or `failed`."""
        values: dict[str, Any] = {"state": state, "error": error}
        if attempted:
            values["attempts"] = tables.messages.c.attempts + 1
        if state == "sent":
            values["sent_at"] = now
        if next_at is not None:
            values["next_at"] = next_at
        with self.transaction() as connection:
            connection.execute(sa.update(tables.messages).where(tables.messages.c.id == message_id).values(**values))

    def claim(self, message: Message, now: float) -> bool:
        """Record that an attempt to send begins; False when somebody else began one meanwhile. Whoever finds the record left behind knows to look first."""
        chosen = (tables.messages.c.id == message.id, tables.messages.c.state == "waiting", tables.messages.c.attempts == message.attempts)
        values = {
            "attempts": message.attempts + 1,
            "tried_at": now if message.tried_at is None else message.tried_at,
            "error": "sending began and its outcome is not known",
        }
        with self.transaction() as connection:
            return bool(connection.execute(sa.update(tables.messages).where(*chosen).values(**values)).rowcount)

    def delivered(self, message: Message, reference: dict[str, Any] | None, told: Mapping[str, Told], now: float) -> None:
        """Record in one transaction that a message arrived, and where its incidents stand at the receiver and what is known there (None: it forgets them)."""
        with self.transaction() as connection:
            connection.execute(sa.update(tables.messages).where(tables.messages.c.id == message.id).values(state="sent", sent_at=now, error=None))
            for incident_id, known in told.items():
                _place(connection, message.receiver, incident_id, None if reference is None else {**reference, "told": asdict(known)}, now)

    def told(self, receiver: str) -> dict[str, Told]:
        """What a receiver knows of each incident, or will when its waiting messages have arrived."""
        found: dict[str, Told] = {}
        query = sa.select(tables.threads.c.incident_id, tables.threads.c.reference).where(tables.threads.c.receiver == receiver)
        with self.transaction() as connection:
            for incident_id, reference in connection.execute(query):
                found[incident_id] = Told(**json.loads(reference)["told"])
        for message in self.waiting(receiver):
            if message.kind not in ("resolved", "merged"):
                for incident in message.body["storm"] or [message.body["incident"]]:
                    found[incident["id"]] = Told(incident["opened"], incident["severity"])
        return found

    def thread(self, receiver: str, incident_id: str) -> dict[str, Any] | None:
        """Where the incident's parent message stands at a receiver, or None."""
        query = sa.select(tables.threads.c.reference).where(tables.threads.c.receiver == receiver, tables.threads.c.incident_id == incident_id)
        with self.transaction() as connection:
            reference = connection.scalar(query)
        return None if reference is None else json.loads(reference)


def _place(connection: sa.Connection, receiver: str, incident_id: str, reference: dict[str, Any] | None, now: float) -> None:
    connection.execute(sa.delete(tables.threads).where(tables.threads.c.receiver == receiver, tables.threads.c.incident_id == incident_id))
    if reference is not None:
        connection.execute(sa.insert(tables.threads).values(receiver=receiver, incident_id=incident_id, reference=json.dumps(reference), updated_at=now))


def _message(row: Any) -> Message:
    return Message(
        row.id,
        row.key,
        row.receiver,
        row.incident_id,
        row.kind,
        json.loads(row.body),
        row.state,
        row.created_at,
        row.attempts,
        row.next_at,
        row.error,
        row.tried_at,
    )
