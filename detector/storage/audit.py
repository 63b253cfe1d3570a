"""The audit: who did what to what, when. Lines are added and never changed."""

from __future__ import annotations

import sqlalchemy as sa

from detector.render.inert import plain
from detector.storage import tables


def note(connection: sa.Connection, now: float, actor: str, action: str, subject: str, detail: str) -> None:
    """Write one line of audit."""
    connection.execute(sa.insert(tables.audit).values(at=now, actor=plain(actor), action=action, subject=plain(subject), detail=plain(detail, 1000)))
