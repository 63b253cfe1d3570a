"""What a signal is: a boolean per record, with a subtype and a reason for the rows that it flags.

A signal file defines `SIGNAL = Signal(...)`; nothing is registered by hand. Exactness lives in `judge`, which sees one record. Speed lives in
`candidates`, which may only leave out rows that `judge` would not flag (a test holds every signal to that).
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from detector.batch import Batch
from detector.record import Record


@dataclass(frozen=True, slots=True)
class Flag:
    """Why one record is flagged: `subtype` is one of the signal's `subtypes`; `reason` is short, names numbers and places, quotes no content."""

    subtype: str
    reason: str


@dataclass(frozen=True)
class SignalOptions:
    """What a site may set about its answers (configuration `signals:`).

    `think_markers`: further end-of-thinking strings (vLLM `reasoning_end_str`, home-made tags); `small_cap_tokens`: a requested cap below
    this many tokens is taken as meant (classifier, probe, keyboard; 16 itself is a server's default); `quiet_think_leak`: gateway merges
    reasoning into content on purpose.
    """

    think_markers: tuple[str, ...] = ()
    special_tokens: tuple[str, ...] = ()
    small_cap_tokens: int = 16


@dataclass(frozen=True)
class Where:
    """One condition on a canonical column that a store can evaluate, or narrow down, without reading text.

    `gte_column`, `equals_column`: `value` names another column. `blank`: no text, or text that shows nothing.
    """

    column: str
    op: Literal["in", "not_in", "gte", "lte", "exists", "missing", "equals_column", "gte_column", "contains", "blank"]
    value: Any = None


@dataclass(frozen=True)
class PushDown:
    """How a store may pre-filter for a signal.

    `exact`: any of these alternatives (each a conjunction) *is* the signal, so the store can count it. `candidates`: any of these alternatives is a
    superset whose documents must be fetched and judged here. Empty `candidates` with empty `exact`: every document must be read.
    """

    exact: tuple[tuple[Where, ...], ...] = ()
    candidates: tuple[tuple[Where, ...], ...] = ()


def _every_row(batch: Batch, options: SignalOptions) -> Iterable[int]:
    return range(batch.size)


@dataclass(frozen=True)
class Signal:
    """One signal.

    Args:
        name: snake_case, the file's stem, the label everywhere.
        subtypes: every subtype that `judge` can give, with a one-line meaning.
        needs: columns of which the source must know at least one for the signal to be judged at all (for the coverage report); `a with b`: both.
        observable: False when this record can't show the signal (text not captured, no answer …); such records leave its denominator.
        judge: the exact decision on one record; never raises; None means not flagged.
        candidates: rows of a batch that `judge` could flag: a cheap superset.
        parsed_text: text from before the reasoning parser can't show it, so `needs` means the text that the user read.
    """

    name: str
    subtypes: dict[str, str]
    needs: tuple[str, ...]
    observable: Callable[[Record], bool]
    judge: Callable[[Record, SignalOptions], Flag | None]
    candidates: Callable[[Batch, SignalOptions], Iterable[int]] = _every_row
    observable_rows: Callable[[Batch], list[bool]] | None = None  # vectorised `observable`; must agree with it
    push_down: PushDown = field(default_factory=PushDown)
    parsed_text: bool = False

    @property
    def needed(self) -> str:
        """`needs` in words."""
        return " or ".join(self.needs) + (" as the user read it (text from before the reasoning parser can't show it)" if self.parsed_text else "")

    def visible(self, batch: Batch) -> list[bool]:
        """`observable` for every row of a batch."""
        if self.observable_rows is not None:
            return self.observable_rows(batch)
        return [self.observable(batch.record(row)) for row in range(batch.size)]


@cache
def signals() -> dict[str, Signal]:
    """Every signal of this package by name, in alphabetical order: one file each, found by scanning the folder."""
    package = importlib.import_module("detector.signals")
    found = {}
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        signal = getattr(importlib.import_module(f"detector.signals.{module}"), "SIGNAL", None)
        if signal is not None:
            found[signal.name] = signal
    return found
