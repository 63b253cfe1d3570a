"""What `detector doctor` asks: can everything be reached and read, and how will it be evaluated. One file per thing, found by scanning the folder.

A checkup file defines `examine(settings, chosen, now)`; it never raises for what it examines: a problem is a line with its remedy.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from detector.config import Settings

State = Literal["ok", "note", "problem"]


@dataclass(frozen=True)
class Line:
    """One thing that was examined. `remedy` is set for problems; `note`s are worth knowing and harm nothing."""

    state: State
    what: str
    seen: str
    remedy: str = ""


@dataclass(frozen=True)
class Asked:
    """What the command line chose: `source` (a path or an address; None: the configuration's) and how many seconds back to look."""

    source: str | None = None
    since: float = 3600.0


def examine_all(settings: Settings, asked: Asked, now: float) -> Iterator[Line]:
    """Lines of every checkup, in the order of their files' names."""
    package = importlib.import_module("detector.checkups")
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        examine = getattr(importlib.import_module(f"detector.checkups.{module}"), "examine", None)
        if examine is not None:
            yield from examine(settings, asked, now)
