"""The tables' shape: brought up to this version's by migrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa

from detector.errors import StoreError


def _migrations() -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).resolve().parent.parent / "migrations"))
    return config


def is_current(connection: sa.Connection) -> bool:
    """True when the tables have this version's shape. Raises StoreError when a newer version made them: what it added would be lost."""
    from alembic.migration import MigrationContext
    from alembic.script import ScriptDirectory

    script = ScriptDirectory.from_config(_migrations())
    found = MigrationContext.configure(connection).get_current_revision()
    if found is not None and found not in {one.revision for one in script.walk_revisions()}:
        raise StoreError(f"the store was made by a newer version of detector (revision {found}): upgrade this one")
    return bool(found == script.get_current_head())


def foreign_tables(connection: sa.Connection) -> list[str]:
    """Tables in a database that no version of ours has touched."""
    names = sorted(sa.inspect(connection).get_table_names())
    return [] if "alembic_version" in names else names


def upgrade(connection: sa.Connection) -> None:
    """Bring the tables to this version's shape."""
    from alembic import command

    if is_current(connection):
        return  # another process did it while we waited
    config = _migrations()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
