"""The database under the store: opening it, its lease, its transactions.

Opening it upgrades its tables. `exclusive` is the lease: its lock dies with the process (SQLite: a file lock) or the connection (PostgreSQL: an advisory
lock), so a killed worker never blocks the next run. All else are short transactions.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import SQLAlchemyError

from detector.errors import StoreError
from detector.storage.locks import file_lock, until
from detector.storage.shape import foreign_tables, is_current, upgrade
from detector.storage.sqlite_file import file_trouble

_LOCK_KEY = 0x6465746563746F72 & 0x7FFFFFFFFFFFFFFF  # "detector" as a PostgreSQL advisory lock key


class Database:
    """An open database. Raises StoreError wherever the database can't be reached or refuses."""

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
        why = "" if self._sqlite is None else file_trouble(self._sqlite)
        return StoreError(f"store {self.shown}: {_said(error)}{why}")

    def _upgraded(self) -> None:
        """Upgrade the tables, unless they are as they should be: a command must not wait for a run to end only to look."""
        with self._engine.connect() as connection:
            if is_current(connection):
                return
        with self._held(timeout=60, upgrade=True) as held:
            if not held:
                raise StoreError(f"store {self.shown}: another process has been upgrading its tables for a minute; try again when it has ended")
            with self._engine.begin() as connection:
                if self._sqlite is not None and (others := foreign_tables(connection)):
                    raise StoreError(f"store {self.shown}: is another program's database (table {others[0]}); name a file of its own in `store:`")
                upgrade(connection)

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
            with file_lock(descriptor, timeout) as held:
                yield held
        elif self._engine.dialect.name == "postgresql":
            key = _LOCK_KEY + upgrade
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                held = until(lambda: bool(connection.scalar(sa.select(sa.func.pg_try_advisory_lock(key)))), timeout)
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


def _said(error: SQLAlchemyError | OSError) -> str:
    """What the database said, in one line; SQLAlchemy's text without statement and parameters, which may hold names from a log."""
    if isinstance(error, OSError):
        return error.strerror or type(error).__name__
    return str(getattr(error, "orig", None) or type(error).__name__).splitlines()[0]
