"""The store: what survives a run. SQLite by default; PostgreSQL where several workers share it. All methods are short transactions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import sqlalchemy as sa
from pydantic import TypeAdapter

from detector.incidents import Incident
from detector.render.inert import plain
from detector.storage import tables
from detector.storage.audit import note
from detector.storage.counts import Counts
from detector.storage.outbox import Outbox
from detector.storage.silences import Silence

_INCIDENT = TypeAdapter(Incident)
LONGEST_COMMENT = 1000  # characters


class Store(Outbox, Counts):
    """An open store. Raises StoreError wherever the database can't be reached or refuses."""

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
                matchers=json.dumps(list(matchers)),  # escaped: a terminal may hand over what a database refuses
                comment=plain(comment, LONGEST_COMMENT),
                created_by=plain(by),
                created_at=now,
                starts_at=starts_at,
                expires_at=expires_at,
            )
            number = int((connection.execute(row).inserted_primary_key or (0,))[0])
            note(connection, now, by, "silence", str(number), json.dumps(list(matchers)))
            return number

    def expire_silence(self, number: int, by: str, now: float) -> bool:
        """End a silence now; False when there is no such silence in force."""
        with self.transaction() as connection:
            query = sa.update(tables.silences).where(tables.silences.c.id == number, tables.silences.c.expires_at > now).values(expires_at=now)
            if not connection.execute(query).rowcount:
                return False
            note(connection, now, by, "unsilence", str(number), "")
            return True

    def note(self, connection: sa.Connection, now: float, actor: str, action: str, subject: str, detail: str = "") -> None:
        """Write one line of audit."""
        note(connection, now, actor, action, subject, detail)

    def audited(self, subject: str | None = None) -> list[tuple[float, str, str, str, str]]:
        """(at, actor, action, subject, detail), oldest first."""
        query = sa.select(tables.audit).order_by(tables.audit.c.id)
        if subject is not None:
            query = query.where(tables.audit.c.subject == subject)
        with self.transaction() as connection:
            return [(row.at, row.actor, row.action, row.subject, row.detail) for row in connection.execute(query)]

    def forget(self, before: float) -> None:
        """Retention: drop counts, delivered messages, resolved incidents and ended silences from before an instant. Audit stays."""
        with self.transaction() as connection:
            connection.execute(sa.delete(tables.ledger_minutes).where(tables.ledger_minutes.c.minute < before // 60))
            connection.execute(sa.delete(tables.messages).where(tables.messages.c.state != "waiting", tables.messages.c.created_at < before))
            connection.execute(sa.delete(tables.incidents).where(tables.incidents.c.state == "resolved", tables.incidents.c.resolved_at < before))
            connection.execute(sa.delete(tables.silences).where(tables.silences.c.expires_at < before))
            known = sa.select(tables.incidents.c.id)
            connection.execute(sa.delete(tables.threads).where(tables.threads.c.incident_id.not_in(known)))
