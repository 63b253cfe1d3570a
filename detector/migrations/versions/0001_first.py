"""The first tables of the store."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table as it was in version 0.1.0."""
    op.create_table(
        "incident",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("deployment", sa.Text),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("severity", sa.String(16), nullable=False),
        sa.Column("since", sa.Float, nullable=False),
        sa.Column("active_at", sa.Float, nullable=False),
        sa.Column("resolved_at", sa.Float),
        sa.Column("body", sa.Text, nullable=False),
    )
    op.create_table(
        "message",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("key", sa.String(160), nullable=False),
        sa.Column("receiver", sa.String(64), nullable=False),
        sa.Column("incident_id", sa.String(64)),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("next_at", sa.Float, nullable=False),
        sa.Column("sent_at", sa.Float),
        sa.Column("error", sa.Text),
        sa.UniqueConstraint("receiver", "key", name="message_once"),
    )
    op.create_index("message_waiting", "message", ["state", "next_at"])
    op.create_table(
        "thread",
        sa.Column("receiver", sa.String(64), primary_key=True),
        sa.Column("incident_id", sa.String(64), primary_key=True),
        sa.Column("reference", sa.Text, nullable=False),
        sa.Column("updated_at", sa.Float, nullable=False),
    )
    op.create_table(
        "silence",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("matchers", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_at", sa.Float, nullable=False),
        sa.Column("starts_at", sa.Float, nullable=False),
        sa.Column("expires_at", sa.Float, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("actor", sa.Text, nullable=False),
        sa.Column("action", sa.String(32), nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("detail", sa.Text, nullable=False),
    )
    op.create_table(
        "ledger_minute",
        sa.Column("source", sa.String(64), primary_key=True),
        sa.Column("minute", sa.BigInteger, primary_key=True),
        sa.Column("settled", sa.Integer, nullable=False),
        sa.Column("counts", sa.Text, nullable=False),
        sa.Column("evidence", sa.Text, nullable=False),
    )
    op.create_index("ledger_by_minute", "ledger_minute", ["minute"])
    op.create_table(
        "fact",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
