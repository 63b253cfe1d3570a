"""What is wrong with an SQLite file, which SQLite does not say."""

from __future__ import annotations

import os
from pathlib import Path


def file_trouble(path: Path) -> str:
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
