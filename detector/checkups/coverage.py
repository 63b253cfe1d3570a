"""Which columns the records of a log fill, and which signals can therefore be judged."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from detector.batch import Batch
from detector.checkups.base import Line
from detector.record import DEFAULTS, SERIES_LABELS, Record
from detector.render.numbers import several
from detector.settings.source import BODIES
from detector.signals.base import signals

if TYPE_CHECKING:
    from detector.settings.source import SourceSettings

SHOWN = (
    *SERIES_LABELS,
    "timestamp",
    "request_id",
    "status_code",
    "finish_reason",
    "content",
    "reasoning",
    "completion_tokens",
    "max_tokens",
    "latency_seconds",
)


_MAY_BE_EMPTY = frozenset(  # columns that a healthy stretch of a log need not fill
    (
        "error_type",
        "error_message",
        "stop_reason",
        "refusal",
        "reasoning",
        "tool_calls",
        "tool_arguments",
        "cache_hit",
        "is_probe",
        "cached_tokens",
        "stop",
        "choice_index",
    )
)


def blind_spots(formats: Counter[str]) -> Iterator[Line]:
    """One line per recognised format that hides something; `formats`: documents by format."""
    from detector.report import source_notes

    for note in source_notes(formats, signals()):
        yield Line("note", "format", note)


def mapped_places(source: SourceSettings, records: Sequence[Record]) -> Iterator[Line]:
    """Places of the configuration's mapping that gave nothing: a wrong path looks like a log without that column."""
    if source.mapping and source.format is not None:
        yield Line("note", "mapping", f"it is not used, because source.format names {source.format}: remove one of the two")
        return
    for name, place in source.mapping.items() if records else ():
        if name in BODIES or any(_is_known(record, name) for record in records):
            continue
        paths = " or ".join(place.path)
        remedy = f"correct source.mapping.{name}.path, or remove it"
        what, seen = f"mapping of {name}", f"nothing that can be read as {name} stands at {paths} in any of {several(len(records), 'record')}"
        yield Line("note", what, seen) if name in _MAY_BE_EMPTY else Line("problem", what, seen, remedy)


def _is_known(record: Record, name: str) -> bool:
    if name in ("content", "reasoning"):
        return bool(getattr(record, f"{name}_state") != "not_captured")
    return bool(getattr(record, name) not in (None, DEFAULTS[name]))


def coverage(records: Sequence[Record]) -> Iterator[Line]:
    """One line of all columns' shares, and one per signal that no record, or only some, can show."""
    if not records:
        return
    total = len(records)
    shares = []
    for name in SHOWN:
        known = sum(getattr(record, name) not in (None, DEFAULTS[name]) for record in records)
        shares.append(f"{name} {100 * known / total:.0f} %")
    yield Line("ok", "coverage", f"of {total:,} records: {', '.join(shares)}")
    batch = Batch.from_records(records)
    for name, signal in signals().items():
        visible = sum(signal.visible(batch))
        needs = " or ".join(signal.needs)
        if not visible:
            yield Line(
                "problem",
                f"signal {name}",
                f"no record can show it: it needs {signal.needed}",
                f"log {needs}, or map it (source.mapping); its rules are off for this log",
            )
        elif visible < total / 2:
            yield Line("note", f"signal {name}", f"{visible:,} of {total:,} records can show it (the others lack {needs}, or failed)")
