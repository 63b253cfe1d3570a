"""The store's tables. Changing one means adding a migration in `detector/migrations/versions`."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

metadata = MetaData()

incidents = Table(
    "incident",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("deployment", Text),
    Column("state", String(16), nullable=False),
    Column("severity", String(16), nullable=False),
    Column("since", Float, nullable=False),
    Column("active_at", Float, nullable=False),
    Column("resolved_at", Float),
    Column("body", Text, nullable=False),  # the whole incident as JSON; the columns beside it are for lists and retention
)

messages = Table(  # the outbox: decide -> persist -> send -> record
    "message",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("key", String(160), nullable=False),  # idempotency: one decision is one message, however often it is decided
    Column("receiver", String(64), nullable=False),
    Column("incident_id", String(64)),
    Column("kind", String(32), nullable=False),
    Column("body", Text, nullable=False),
    Column("state", String(16), nullable=False),  # waiting, sent, dropped (superseded), failed (never deliverable)
    Column("created_at", Float, nullable=False),
    Column("attempts", Integer, nullable=False, default=0),
    Column("next_at", Float, nullable=False, default=0.0),
    Column("tried_at", Float),  # when the first attempt began: from then on it may have arrived
    Column("sent_at", Float),
    Column("error", Text),
    UniqueConstraint("receiver", "key", name="message_once"),
    Index("message_waiting", "state", "next_at"),
)

threads = Table(  # where an incident's parent message stands at a receiver
    "thread",
    metadata,
    Column("receiver", String(64), primary_key=True),
    Column("incident_id", String(64), primary_key=True),
    Column("reference", Text, nullable=False),  # JSON: channel and ts for Slack, annotation id for Grafana, …
    Column("updated_at", Float, nullable=False),
)

silences = Table(
    "silence",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("matchers", Text, nullable=False),  # JSON: [{"label", "op", "value"}]
    Column("comment", Text, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("created_at", Float, nullable=False),
    Column("starts_at", Float, nullable=False),
    Column("expires_at", Float, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Float, nullable=False),
    Column("actor", Text, nullable=False),
    Column("action", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
)

ledger_minutes = Table(  # one row per minute that was observed: read again while it is unsettled
    "ledger_minute",
    metadata,
    Column("source", String(64), primary_key=True),
    Column("minute", BigInteger, primary_key=True),
    Column("settled", Integer, nullable=False),
    Column("counts", Text, nullable=False),  # JSON: [[labels, signal, requests, flagged], …]
    Column("evidence", Text, nullable=False),
    Index("ledger_by_minute", "minute"),
)

facts = Table(  # small facts of the worker: end of the last window, blind since when
    "fact",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)
