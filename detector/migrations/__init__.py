"""Migrations of the store (Alembic); the store upgrades itself when it is opened."""
