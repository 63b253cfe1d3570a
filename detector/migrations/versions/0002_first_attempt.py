"""When the first attempt to send a message began, and what receivers know of each incident."""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Attempts of before count as begun when the message was decided; threads of before, as told of their incident as it is."""
    op.add_column("message", sa.Column("tried_at", sa.Float))
    op.execute("UPDATE message SET tried_at = created_at WHERE attempts > 0")
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT t.receiver, t.incident_id, t.reference, i.body FROM thread t LEFT JOIN incident i ON i.id = t.incident_id"))
    for receiver, incident_id, reference, body in rows.fetchall():
        incident = json.loads(body) if body else {}
        told = {"opened": incident.get("opened", 1), "severity": incident.get("severity", "warning")}
        values = {"reference": json.dumps({**json.loads(reference), "told": told}), "receiver": receiver, "incident": incident_id}
        connection.execute(sa.text("UPDATE thread SET reference = :reference WHERE receiver = :receiver AND incident_id = :incident"), values)
