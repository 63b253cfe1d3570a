"""The store: what survives a run. SQLite by default; PostgreSQL where several workers share it.

Opening it upgrades its tables. `exclusive` is the lease: its lock dies with the process (SQLite: a file lock) or the connection (PostgreSQL: an advisory
lock), so a killed worker never blocks the next run. All other methods are short transactions.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import TypeAdapter
from sqlalchemy.exc import SQLAlchemyError

from detector.errors import StoreError
from detector.incidents import Incident
from detector.ledger import Evidence, Example, Labels, Ledger
from detector.notify.base import Told
from detector.render.inert import plain
from detector.storage import tables
from detector.storage.silences import Silence

_INCIDENT = TypeAdapter(Incident)
_LOCK_KEY = 0x6465746563746F72 & 0x7FFFFFFFFFFFFFFF  # "detector" as a PostgreSQL advisory lock key
_POLL_SECONDS = 0.05


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


class Store:
    """An open store. Raises StoreError wherever the database can't be reached or refuses."""

    def __init__(self, url: str, password: str | None = None) -> None:
        try:
            address = sa.make_url(url)
        except sa.exc.ArgumentError:
            raise StoreError("store: is no database address: write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME") from None
        if password is not None:
            address = address.set(password=password)
        self.shown = address.render_as_string(hide_password=True)
        self._sqlite = Path(address.database) if address.get_backend_name() == "sqlite" and address.database not in (None, "", ":memory:") else None
        if self._sqlite is not None and not self._sqlite.parent.is_dir():
            raise StoreError(f"store {self.shown}: the folder {self._sqlite.parent} does not exist; make it, or name another file in `store:`")
        try:
            self._engine = sa.create_engine(address, **self._options(address.get_backend_name()))
            self._lease: sa.Connection | None = None
            self._upgraded()
        except ModuleNotFoundError as error:
            raise StoreError(f"store {self.shown}: the driver {error.name} is missing: pip install 'llm-response-detector[postgres]'") from None
        except (SQLAlchemyError, OSError) as error:
            raise self._refused(error) from None

    def _refused(self, error: SQLAlchemyError | OSError) -> StoreError:
        """The complaint about a database that can't be opened, read or written; for a file with what is wrong with it, which SQLite does not say."""
        why = "" if self._sqlite is None else _file_trouble(self._sqlite)
        return StoreError(f"store {self.shown}: {_said(error)}{why}")

    def _upgraded(self) -> None:
        """Upgrade the tables, unless they are as they should be: a command must not wait for a run to end only to look."""
        with self._engine.connect() as connection:
            if _is_current(connection):
                return
        with self._held(timeout=60, upgrade=True) as held:
            if not held:
                raise StoreError(f"store {self.shown}: another process has been upgrading its tables for a minute; try again when it has ended")
            with self._engine.begin() as connection:
                _upgrade(connection)

    @staticmethod
    def _options(backend: str) -> dict[str, Any]:
        return {"connect_args": {"timeout": 30}} if backend == "sqlite" else {"pool_pre_ping": True}

    def close(self) -> None:
        """Give all connections back."""
        self._engine.dispose()

    # -- the lease
    @contextlib.contextmanager
    def exclusive(self, timeout: float = 30.0) -> Iterator[bool]:
        """Hold the lease; yields False when another worker holds it for longer than `timeout` seconds."""
        try:
            with self._held(timeout) as held:
                yield held
        except SQLAlchemyError as error:
            raise self._refused(error) from None

    def still_held(self) -> None:
        """Ask whether the lease is in force. Raises StoreError when its connection is gone, and with it the lock: another worker may hold it by now."""
        if self._lease is not None:
            try:
                self._lease.execute(sa.select(1))
            except SQLAlchemyError:
                raise StoreError(f"store {self.shown}: the connection that held the lease is gone; what is not sent yet waits for the next run") from None

    @contextlib.contextmanager
    def _held(self, timeout: float, *, upgrade: bool = False) -> Iterator[bool]:
        if self._sqlite is not None:
            try:
                descriptor = os.open(self._sqlite.with_name(self._sqlite.name + (".upgrade" if upgrade else ".lock")), os.O_RDWR | os.O_CREAT, 0o600)
            except OSError as error:
                raise self._refused(error) from None
            with _file_lock(descriptor, timeout) as held:
                yield held
        elif self._engine.dialect.name == "postgresql":
            key = _LOCK_KEY + upgrade
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                held = _until(lambda: bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key)))), timeout)
                self._lease = connection if held and not upgrade else None
                try:
                    yield held
                finally:
                    self._lease = None
                    if held:
                        with contextlib.suppress(SQLAlchemyError):  # a connection that is gone has dropped its lock
                            connection.execute(sa.select(sa.func.pg_advisory_unlock(key)))
        else:
            yield True  # an in-memory database has one user

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sa.Connection]:
        """One transaction: all of it or nothing."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise self._refused(error) from None

    # -- incidents
    def incidents(self, *, only_open: bool = False) -> list[Incident]:
        """Incidents, oldest first."""
        query = sa.select(tables.incidents.c.body).order_by(tables.incidents.c.since, tables.incidents.c.id)
        if only_open:
            query = query.where(tables.incidents.c.state != "resolved")
        with self.transaction() as connection:
            return [_INCIDENT.validate_python(json.loads(body)) for body in connection.scalars(query)]

    def save(self, connection: sa.Connection, incidents: Iterable[Incident]) -> None:
        """Write incidents as they are now."""
        for incident in incidents:
            values = {name: getattr(incident, name) for name in ("id", "deployment", "state", "severity", "since", "active_at", "resolved_at")}
            values["deployment"] = None if incident.deployment is None else plain(incident.deployment)
            values["body"] = json.dumps(_INCIDENT.dump_python(incident, mode="json"))  # escaped: names from logs hold what a database may refuse
            connection.execute(sa.delete(tables.incidents).where(tables.incidents.c.id == incident.id))
            connection.execute(sa.insert(tables.incidents).values(**values))

    # -- the outbox
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
            chosen = (tables.messages.c.receiver == receiver, tables.messages.c.state == "waiting")
            count = connection.execute(sa.update(tables.messages).where(*chosen).values(state="dropped", error=f"dropped by {plain(by)}")).rowcount
            if count:
                _note(connection, now, by, "drop", receiver, f"{count} messages")
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

    # -- silences and audit
    def silences(self, now: float | None = None) -> list[Silence]:
        """Silences, those in force at `now` only where it is given."""
        query = sa.select(tables.silences).order_by(tables.silences.c.id)
        if now is not None:
            query = query.where(tables.silences.c.starts_at <= now, tables.silences.c.expires_at > now)
        with self.transaction() as connection:
            return [
                Silence(row.id, tuple(json.loads(row.matchers)), row.comment, row.created_by, row.created_at, row.starts_at, row.expires_at)
                for row in connection.execute(query)
            ]

    def silence(self, matchers: Sequence[dict[str, str]], comment: str, by: str, now: float, starts_at: float, expires_at: float) -> int:
        """Add a silence and return its number."""
        with self.transaction() as connection:
            row = sa.insert(tables.silences).values(
                matchers=json.dumps(list(matchers)), comment=comment, created_by=by, created_at=now, starts_at=starts_at, expires_at=expires_at
            )
            number = int((connection.execute(row).inserted_primary_key or (0,))[0])
            _note(connection, now, by, "silence", str(number), json.dumps(list(matchers)))
            return number

    def expire_silence(self, number: int, by: str, now: float) -> bool:
        """End a silence now; False when there is no such silence in force."""
        with self.transaction() as connection:
            query = sa.update(tables.silences).where(tables.silences.c.id == number, tables.silences.c.expires_at > now).values(expires_at=now)
            if not connection.execute(query).rowcount:
                return False
            _note(connection, now, by, "unsilence", str(number), "")
            return True

    def note(self, connection: sa.Connection, now: float, actor: str, action: str, subject: str, detail: str = "") -> None:
        """Write one line of audit."""
        _note(connection, now, actor, action, subject, detail)

    def audited(self, subject: str | None = None) -> list[tuple[float, str, str, str, str]]:
        """(at, actor, action, subject, detail), oldest first."""
        query = sa.select(tables.audit).order_by(tables.audit.c.id)
        if subject is not None:
            query = query.where(tables.audit.c.subject == subject)
        with self.transaction() as connection:
            return [(row.at, row.actor, row.action, row.subject, row.detail) for row in connection.execute(query)]

    # -- facts
    def fact(self, name: str) -> Any:
        """A small fact by name, or None."""
        with self.transaction() as connection:
            value = connection.scalar(sa.select(tables.facts.c.value).where(tables.facts.c.name == name))
        return None if value is None else json.loads(value)

    def keep_fact(self, name: str, value: Any) -> None:
        """Remember a small fact."""
        with self.transaction() as connection:
            _keep_fact(connection, name, value)

    # -- the ledger of scheduled runs
    def ledger(self, source: str, start: int, end: int) -> tuple[Ledger, set[int]]:
        """The kept counts of minutes `[start, end)` of one source, and which of these minutes are settled."""
        ledger, settled = Ledger(), set()
        import numpy as np

        kept = tables.ledger_minutes.c
        query = sa.select(kept.minute, kept.settled, kept.counts, kept.evidence).where(kept.source == source, kept.minute >= start, kept.minute < end)
        found: dict[str, list[tuple[int, Labels, int, int]]] = {}
        with self.transaction() as connection:
            for minute, is_settled, counts, evidence in connection.execute(query):
                for labels, signal, requests, flagged in json.loads(counts):
                    found.setdefault(signal, []).append((minute, tuple(labels), requests, flagged))
                if evidence != "[]":
                    _load_evidence(ledger, minute, json.loads(evidence))
                if is_settled:
                    settled.add(int(minute))
        for signal, rows in found.items():
            minutes, labels_of, requests_of, flagged_of = zip(*rows, strict=True)
            ledger.add(np.array(minutes), labels_of, signal, np.array(requests_of), np.array(flagged_of))
        return ledger, settled

    def keep_ledger(self, source: str, ledger: Ledger, minutes: Iterable[int], settled_before: int, fact: tuple[str, Any] | None = None) -> None:
        """Replace the kept counts of `minutes` by what `ledger` holds; those before `settled_before` are not read again. `fact`: kept with them, or neither."""
        counts: dict[int, list[list[Any]]] = {minute: [] for minute in minutes}
        evidence: dict[int, list[list[Any]]] = {minute: [] for minute in counts}
        for minute, labels, signal, requests, flagged in ledger.rows():
            if minute in counts:
                counts[minute].append([list(labels), signal, requests, flagged])
        for (minute, labels, signal), found in ledger.evidence.items():
            if minute in evidence:
                examples = [[e.timestamp, e.request_id, e.subtype, e.reason, e.doc_index, e.doc_id] for e in found.examples]
                evidence[minute].append([list(labels), signal, found.subtypes, found.also, examples, found.first, found.last])
        with self.transaction() as connection:
            if counts:  # many at once: the first run of a worker keeps a week of minutes
                gone = sa.delete(tables.ledger_minutes).where(tables.ledger_minutes.c.source == source, tables.ledger_minutes.c.minute == sa.bindparam("at"))
                connection.execute(gone, [{"at": minute} for minute in counts])
                rows = [
                    {
                        "source": source,
                        "minute": minute,
                        "settled": int(minute < settled_before),
                        "counts": json.dumps(counts[minute]),
                        "evidence": json.dumps(evidence[minute]),
                    }
                    for minute in counts
                ]
                connection.execute(sa.insert(tables.ledger_minutes), rows)
            if fact is not None:
                _keep_fact(connection, *fact)

    def forget(self, before: float) -> None:
        """Retention: drop counts, delivered messages, resolved incidents and ended silences from before an instant. Audit stays."""
        with self.transaction() as connection:
            connection.execute(sa.delete(tables.ledger_minutes).where(tables.ledger_minutes.c.minute < before // 60))
            connection.execute(sa.delete(tables.messages).where(tables.messages.c.state != "waiting", tables.messages.c.created_at < before))
            connection.execute(sa.delete(tables.incidents).where(tables.incidents.c.state == "resolved", tables.incidents.c.resolved_at < before))
            connection.execute(sa.delete(tables.silences).where(tables.silences.c.expires_at < before))
            known = sa.select(tables.incidents.c.id)
            connection.execute(sa.delete(tables.threads).where(tables.threads.c.incident_id.not_in(known)))


def _place(connection: sa.Connection, receiver: str, incident_id: str, reference: dict[str, Any] | None, now: float) -> None:
    connection.execute(sa.delete(tables.threads).where(tables.threads.c.receiver == receiver, tables.threads.c.incident_id == incident_id))
    if reference is not None:
        connection.execute(sa.insert(tables.threads).values(receiver=receiver, incident_id=incident_id, reference=json.dumps(reference), updated_at=now))


def _migrations() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).resolve().parent.parent / "migrations"))
    return config


def _is_current(connection: sa.Connection) -> bool:
    """True when the tables have this version's shape. Raises StoreError when a newer version made them: what it added would be lost."""
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_migrations())
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in {one.revision for one in script.walk_revisions()}:
        raise StoreError(f"the store was made by a newer version of detector (revision {found}): upgrade this one")
    return bool(found == script.get_current_head())


def _upgrade(connection: sa.Connection) -> None:
    """Bring the tables to this version's shape."""
    from alembic import command

    if _is_current(connection):
        return  # another process did it while we waited
    config = _migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


def _load_evidence(ledger: Ledger, minute: int, evidence: list[list[Any]]) -> None:
    for labels, signal, subtypes, also, examples, first, last in evidence:
        ledger.add_evidence(minute, tuple(labels), signal, Evidence(subtypes, also, [Example(*example) for example in examples], first, last))


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


def _keep_fact(connection: sa.Connection, name: str, value: Any) -> None:
    connection.execute(sa.delete(tables.facts).where(tables.facts.c.name == name))
    connection.execute(sa.insert(tables.facts).values(name=name, value=json.dumps(value)))


def _note(connection: sa.Connection, now: float, actor: str, action: str, subject: str, detail: str) -> None:
    connection.execute(sa.insert(tables.audit).values(at=now, actor=plain(actor), action=action, subject=plain(subject), detail=plain(detail, 1000)))


def _file_trouble(path: Path) -> str:
    """What is wrong with an SQLite file, and what to do."""
    if path.is_dir():
        return "; it is a folder: name a file in `store:`"
    if not _may(path.parent, os.W_OK | os.X_OK):
        return f"; this user may not write in the folder {path.parent}, which has to hold the database, its journal and its lock: grant it, or name another"
    for file in (path, *(path.with_name(path.name + suffix) for suffix in (".lock", ".upgrade"))):
        if file.exists() and not _may(file, os.R_OK | os.W_OK):
            return f"; this user may not read and write {file}: give the file to the user that detector runs as"
    return "; name the file of an earlier run, or a new one, in `store:`" if path.exists() and not _is_sqlite(path) else ""


def _may(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _is_sqlite(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) in (b"", b"SQLite format 3\x00")


def _said(error: SQLAlchemyError | OSError) -> str:
    """What the database said, in one line; SQLAlchemy's text without statement and parameters, which may hold names from a log."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(getattr(error, "orig", None) or type(error).__name__).splitlines()[0]


def _until(attempt: Any, timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


@contextlib.contextmanager
def _file_lock(descriptor: int, timeout: float) -> Iterator[bool]:
    """A lock on an open file, which is closed after it; the system drops it when the process ends, however it ends."""
    import fcntl

    try:

        def attempt() -> bool:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        yield _until(attempt, timeout)
    finally:
        os.close(descriptor)
