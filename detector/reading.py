"""Documents to records of one unit of a log (a file, or a byte range of one): format, order, duplicates, and the tally of what gave no record.

Formats and order are `detector.formats.detect`'s; here stands what a source adds. Memory is bounded: joiners hold a bounded number of open answers,
duplicates are remembered per unit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import orjson

from detector.batch import Batch
from detector.formats import reader
from detector.formats.base import Document, Format, Rejected, formats
from detector.formats.detect import format_named
from detector.formats.values import assume_zone
from detector.record import EARLIEST, LATEST, Record
from detector.sources.base import Tally
from detector.sources.joining_views import JoinedViews, views

if TYPE_CHECKING:
    from detector.settings.source import ColumnMapping

BATCH_ROWS = 1024
BATCH_TEXT = 16 << 20  # characters of text in a batch, where answers are that long: its memory must not grow with its rows
FAST_FORMAT = "envelope"
DUPLICATE = "answers read twice (same id, time, length and outcome), counted once"
JOINED = "answers that several logs hold (engine, gateway, tracer), joined by request id and counted once"
ATTEMPTS = "failed attempts that the gateway retried, counted with the attempt that followed"
SEVERAL = "kinds of logs (engine, gateway, tracer) were read and no request is known to be in two: answers may be counted in each; name one with --format-of"
UNTIMED = "answers without a usable time (missing, impossible, or without a zone: source.timezone names one)"


@dataclass(frozen=True)
class ReadingOptions:
    """How documents are read.

    Args:
        only: name of the one format to use (`--format-of`).
        mapping: where canonical columns stand in a layout of the site's own (configuration `source.mapping`); asked before all formats.
        timezone: IANA name of the zone of times that bear none (configuration `source.timezone`); None: such times are not used, in a mapping they are UTC.
        keep_duplicates: give every answer, also one that stands in the log twice, or that several logs saw.
        in_order: give records strictly in the order of the log; otherwise answers that many lines make up may come later.
    """

    only: str | None = None
    mapping: Mapping[str, ColumnMapping] | None = None
    timezone: str | None = None
    keep_duplicates: bool = False
    in_order: bool = False

    @property
    def may_be_fast(self) -> bool:
        """Lines of `FAST_FORMAT` may be read without a record each (`detector.fast_path`)."""
        return not (self.in_order or self.mapping) and self.only in (None, FAST_FORMAT)

    def asked(self) -> tuple[Format, ...]:
        """The formats to ask, in order."""
        if not self.mapping:
            return formats()
        from detector.formats.mapped import mapped_format

        return (mapped_format(self.mapping, self.timezone or "UTC"), *formats())

    def chosen(self) -> Format | None:
        """The one format to use, if one is named. Raises ConfigError for an unknown name."""
        return None if self.only is None else format_named(self.only)


class Reader:
    """Raw documents of one unit to records in the order of the log; what gave no record is counted in `tally` and told to `rejected`."""

    def __init__(self, options: ReadingOptions, tally: Tally, rejected: Callable[[Rejected], None] | None = None) -> None:
        self._tally = tally
        self._rejected = rejected
        assume_zone(None if options.timezone is None else ZoneInfo(options.timezone))
        self._reader = reader.Reader(options.chosen(), options.asked())
        self.seen: set[int] | None = None if options.keep_duplicates else set()
        self._views = None if options.keep_duplicates else JoinedViews()

    def feed(self, raw: Document) -> Iterator[Record]:
        """Records that are settled after one more raw document. A document that breaks a format must not cost the rest of the log."""
        self._tally.documents += 1
        try:
            yield from self._kept(self._reader.feed((raw,)))
        except Exception as error:
            self.reject(Rejected(raw, f"its format failed on it ({type(error).__name__})"))

    @property
    def is_waiting(self) -> bool:
        """The next document must come through here too: the last one announced it."""
        return self._reader.is_waiting

    @property
    def is_of_several(self) -> bool:
        """Not only `FAST_FORMAT` came: views of one request by several logs are joined here, so nothing may pass by on the fast path."""
        return not self._reader.found.keys() <= {FAST_FORMAT}

    def finish(self) -> Iterator[Record]:
        """Records of everything that was still open."""
        yield from self._kept(self._reader.finish())
        if self._views is not None:
            yield from self._views.finish()
            for note, count in ((JOINED, self._views.joined), (ATTEMPTS, self._views.attempts)):
                if count:
                    self._tally.notes[note] += count
        self._tally.formats.update(self._reader.found)
        if self._views is not None:
            seen = views(self._tally.formats)
            if len(seen) > 1 and not self._tally.notes[JOINED]:
                self._tally.notes[SEVERAL] = len(seen)
            else:
                self._tally.notes.pop(SEVERAL, None)

    def reject(self, outcome: Rejected) -> None:
        """Count a document that gave no record."""
        body = outcome.document.body
        if outcome.reason == reader.CUT and isinstance(body, str):
            outcome = Rejected(outcome.document, broken_json(body))
        self._tally.skip(outcome.reason, outcome.document.place, ignored=outcome.ignored)
        if self._rejected is not None:
            self._rejected(outcome)

    def _kept(self, outcomes: Iterable[Record | Rejected]) -> Iterator[Record]:
        for outcome in outcomes:
            if isinstance(outcome, Rejected):
                self.reject(outcome)
            elif self.seen is None or self._is_new(outcome, self.seen):
                fmt = self._reader.current
                if self._views is None or fmt is None:
                    yield outcome
                else:
                    yield from self._views.feed(outcome, fmt.name, fmt.view)

    def _is_new(self, record: Record, seen: set[int]) -> bool:
        identity = record.record_id or record.request_id
        if identity is None:
            return True
        found = answer_hash(
            identity, record.choice_index, record.timestamp, record.finish_reason, record.status_code, record.error_type, record.content, record.reasoning
        )
        if found in seen:
            self._tally.notes[DUPLICATE] += 1
            return False
        seen.add(found)
        return True


def answer_hash(
    identity: str, choice: int, at: float | None, finish: str | None, status: int | None, error: str | None, content: str | None, reasoning: str | None
) -> int:
    """What two readings of one answer have in common (64 bits, equal only within a process): texts count by their length, which is cheap and enough
    beside id, time and outcome."""
    return hash((identity, choice, at, finish, status, error, len(content or ""), len(reasoning or "")))


_IDENTITY = ("choice_index", "timestamp", "finish_reason", "status_code", "error_type")


def only_new(batch: Batch, seen: set[int] | None, tally: Tally) -> Batch:
    """The batch without answers that were read before; their hashes join `seen`."""
    if seen is None:
        return batch
    names = [record or request for record, request in zip(batch.column("record_id"), batch.column("request_id"), strict=True)]
    lengths = [[len(text or "") for text in batch.column(name)] for name in ("content", "reasoning")]
    found = list(map(hash, zip(names, *(batch.column(name) for name in _IDENTITY), *lengths, strict=True)))
    if None not in names and len(set(found)) == len(found) and seen.isdisjoint(found):
        seen.update(found)
        return batch
    keep = []
    for name, answer in zip(names, found, strict=True):
        keep.append(name is None or answer not in seen)
        if name is not None:
            seen.add(answer)
    tally.notes[DUPLICATE] += keep.count(False)
    return Batch(sum(keep), {name: list(compress(values, keep)) for name, values in batch.columns.items()})


def broken_json(text: str) -> str:
    """The reason for a text that begins like JSON and gave no document."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "depth limit" in str(error) or "recursion" in str(error).lower():
            return "JSON nested too deep"
        if "unexpected end" in str(error) or "EOF" in str(error):
            return "JSON that is cut off"
        return "broken JSON"
    return reader.OTHER_DOCUMENT  # a piece that looked unended, though its shipper had only left the newline out


def batched(records: Iterable[Record], tally: Tally, rows: int = BATCH_ROWS) -> Iterator[Batch]:
    """Records in batches of about `rows`, or of fewer long ones; choices of one request stay together."""
    held: list[Record] = []
    size = 0
    for record in records:
        if (len(held) >= rows or size >= BATCH_TEXT) and not record.choice_index:
            yield counted(Batch.from_records(held), tally)
            held, size = [], 0
        held.append(record)
        size += len(record.content or "") + len(record.reasoning or "")
    if held:
        yield counted(Batch.from_records(held), tally)


def counted(batch: Batch, tally: Tally) -> Batch:
    """The batch, after answers without a usable time were noted."""
    stamps: Any = batch.column("timestamp")
    missing = sum(stamp is None or not EARLIEST <= stamp < LATEST for stamp in stamps)
    if missing:
        tally.notes[UNTIMED] += missing
    return batch
