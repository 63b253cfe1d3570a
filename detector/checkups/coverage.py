"""Which columns the records of a log fill, and which signals can therefore be judged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from detector.batch import Batch
from detector.checkups.base import Line
from detector.record import DEFAULTS, SERIES_LABELS, Record
from detector.signals.base import signals

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
            yield Line("problem", f"signal {name}", "no record can show it", f"log {needs}, or map it (source.mapping); its rules are off for this log")
        elif visible < total / 2:
            yield Line("note", f"signal {name}", f"{visible:,} of {total:,} records can show it (the others lack {needs}, or failed)")
