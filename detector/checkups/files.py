"""The log in files: can they be opened, which format are they, what do they hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from detector.checkups.base import Asked, Line
from detector.checkups.coverage import blind_spots, coverage, mapped_places
from detector.errors import DetectorError

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.record import Record

ENOUGH = 2000  # records; the first ones tell which columns a log fills


def examine(settings: Settings, asked: Asked, now: float) -> Iterator[Line]:
    """Lines about the files; none when the log is in a cluster."""
    from detector.placing import Span
    from detector.sources.base import Tally
    from detector.sources.choice import open_source
    from detector.sources.files import Files

    if asked.source is None and (settings.source.url or settings.source.cloud_id):
        return
    try:
        source = open_source(settings, asked.source, jobs=1, format_of=None, span=Span(), rules=(), now=now)[0]
        if not isinstance(source, Files):
            return
        tally = Tally()
        records: list[Record] = []
        for batch in source.batches(tally):
            records += (batch.record(row) for row in range(batch.size))
            if len(records) >= ENOUGH:
                break
    except DetectorError as error:
        yield Line("problem", "source", str(error), "name a log with --source, or in detector.yml")
        return
    for entry in tally.could_not:
        yield Line("problem", entry.what, entry.why, entry.remedy)
    for reason, count in tally.unreadable.most_common():
        yield Line(
            "problem",
            "lines",
            f"{count:,} can't be read: {reason} ({', '.join(tally.places.get(reason, []))})",
            "mend them, name the format, or map its fields",
        )
    if not records:
        yield Line("problem", "records", "none was found", "`detector formats detect PATH` tells what a file is")
        return
    named = ", ".join(f"{name} ({count:,})" for name, count in tally.formats.most_common()) or "read as plain columns"
    yield Line("ok", "format", f"{named}, in the first {len(records):,} answers")
    yield from blind_spots(tally.formats)
    yield from mapped_places(settings.source, records)
    yield from coverage(records)
