"""What a sample shows: how often each column is there, and which signals can be judged, with what is missing for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from detector.record import COLUMNS, DEFAULTS, Record
from detector.signals.base import signals

_COLUMN_ORDER = tuple(COLUMNS)
PARSED = "text as the user read it (it is from before the reasoning parser)"
_STATES = ("content_state", "reasoning_state")


@dataclass(frozen=True)
class Coverage:
    """A column that at least one record has: in `share` of the records."""

    column: str
    share: float
    kind: str
    unit: str


@dataclass(frozen=True)
class Visible:
    """A signal: `share` of the records can show it; `missing` are what it needs, of `Signal.needs`, that no record has."""

    signal: str
    share: float
    missing: tuple[str, ...]


def coverage(records: Sequence[Record]) -> list[Coverage]:
    """Columns in the order of the record, those that nothing fills left out."""
    found = []
    for name in _COLUMN_ORDER:
        if name in _STATES or name in ("choice_index", "doc_index", "doc_id"):
            continue
        values = [value for record in records if (value := getattr(record, name)) is not None and value != DEFAULTS[name]]
        if values:
            kinds = Counter(type(value).__name__ for value in values)
            found.append(Coverage(name, len(values) / len(records), _KINDS.get(kinds.most_common(1)[0][0], "text"), COLUMNS[name].metadata["unit"]))
    return found


_KINDS = {"str": "text", "float": "number", "int": "number", "bool": "true or false", "tuple": "list"}


def visible(records: Sequence[Record]) -> list[Visible]:
    """Every signal of single answers, with the share of records that can show it."""
    filled = {entry.column for entry in coverage(records)}
    if any(record.content_state != "not_captured" for record in records):
        filled.add("content")  # also where every text is empty
    found = []
    for name, signal in signals().items():
        share = sum(signal.observable(record) for record in records) / len(records) if records else 0.0
        missing = tuple(need for need in signal.needs if not filled.issuperset(need.split(" with ")))
        if signal.parsed_text and not share and "content" in filled:
            missing = (PARSED,)
        found.append(Visible(name, share, missing))
    return found


def text_states(records: Sequence[Record]) -> Counter[str]:
    """How many answers have text, none, none captured, or a cut one."""
    return Counter(record.content_state for record in records)
