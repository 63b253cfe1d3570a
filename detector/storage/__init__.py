"""The store: incidents, outbox, silences, audit and the ledger of scheduled runs, in SQLite or PostgreSQL (SQLAlchemy)."""
