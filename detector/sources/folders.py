"""All files of a folder: links to folders are followed, each folder is read once, and what can't be opened is told.

`Path.rglob` is not used: it passes over folders that are closed to us, and over links to folders, without a word.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from detector.sources.base import CouldNot


def files_below(folder: str, faults: list[CouldNot]) -> list[str]:
    """The regular files in a folder and in those below it, sorted; hidden names are left out. Folders and links that lead nowhere join `faults`."""
    found: list[str] = []
    above = {_identity(os.stat(parent)) for parent in Path(folder).resolve().parents}
    visited = set(above)  # a link to a folder that holds this one is a loop, too

    def closed(error: OSError) -> None:
        faults.append(CouldNot(str(error.filename), f"it can't be opened: {error.strerror or type(error).__name__}", "check its permissions"))

    for place, folders, names in os.walk(folder, onerror=closed, followlinks=True):
        if place == folder:
            visited.add(_identity(os.stat(place)))
        kept = []
        for name in sorted(name for name in folders if not name.startswith(".")):
            identity = _status(os.path.join(place, name), faults)
            if identity is not None and _identity(identity) not in visited:
                visited.add(_identity(identity))
                kept.append(name)
        folders[:] = kept
        for name in names:
            path = os.path.join(place, name)
            if not name.startswith(".") and (status := _status(path, faults)) is not None and stat.S_ISREG(status.st_mode):
                found.append(str(Path(path)))
    return sorted(found)


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _status(path: str, faults: list[CouldNot]) -> os.stat_result | None:
    """What stands at a path; None where nothing does, which is told unless it went away meanwhile."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        if os.path.islink(path):  # rotation and containers that ended leave such links: there is nothing behind them to be missed
            faults.append(CouldNot(path, "it is a link that leads nowhere", "remove it, or restore the file", blocking=False))
    except OSError as error:
        why = "it is a link to itself" if os.path.islink(path) else f"it can't be opened: {error.strerror or type(error).__name__}"
        faults.append(CouldNot(path, why, "check it and its permissions", blocking=not os.path.islink(path)))
    return None
