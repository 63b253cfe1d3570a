"""The reading of one unit: bytes to lines to batches, by the fast path where lines fit it, by the general path for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from detector.batch import Batch
from detector.formats.base import Document, Rejected
from detector.formats.wrapping_lines import LineFeed, raw_documents
from detector.reading import BATCH_ROWS, Reader, ReadingOptions, batched, counted, only_new
from detector.record import Record
from detector.sources.base import CouldNot, Tally
from detector.sources.lines import NOT_UTF8, Fault, raw_lines
from detector.sources.opening import Blocks
from detector.sources.partition import WHOLE, Unit, range_blocks

if TYPE_CHECKING:
    from detector.fast_path import FastLines

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass
class UnitReading:
    """Reads one unit once. After `batches` is used up, `next_line` is the number of the line that follows the unit."""

    unit: Unit
    first_line: int
    options: ReadingOptions
    tally: Tally
    rejected: Callable[[Rejected], None] | None = None
    next_line: int = 0
    _reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = Reader(self.options, self.tally, self.rejected)

    def batches(self) -> Iterator[Batch]:
        """Every batch of the unit; what stops the reading is told in the tally."""
        if self.unit.kind == "parquet":
            from detector.sources.parquet import rows

            yield from batched(self._records(rows(self.unit.path, self.tally)), self.tally)
            return
        packed = Blocks(self.unit.path)
        blocks: Iterable[bytes] = packed if self.unit.end == WHOLE else range_blocks(self.unit)
        try:
            yield from self._of_lines(raw_lines(blocks))
        except OSError as error:
            self.tally.could_not.append(CouldNot(self.unit.path, f"reading stopped: {error.strerror or type(error).__name__}", "read it again"))
        if packed.problem is not None:
            self.tally.could_not.append(CouldNot(self.unit.path, packed.problem, "fetch the file again"))

    def _of_lines(self, lines: Iterator[bytes | Fault]) -> Iterator[Batch]:
        first = next(lines, None)
        if first is None:
            return
        if isinstance(first, bytes) and self.unit.start == 0:
            first = first.removeprefix(_BYTE_ORDER_MARK)
        lines = chain((first,), lines)
        is_json = isinstance(first, bytes) and first.startswith(b"{")
        if self.unit.end == WHOLE and not is_json:  # tables and blocks of text are told by their first line, so they are read as a whole
            yield from batched(self._records(raw_documents(self._as_texts(lines), self.unit.path)), self.tally)
        elif self.options.in_order or self.options.mapping or self.options.only not in (None, "envelope"):
            yield from batched(self._records(self._fed(lines)), self.tally)
        else:
            yield from self._mixed(lines)

    def _records(self, documents: Iterable[Document]) -> Iterator[Record]:
        for document in documents:
            yield from self._reader.feed(document)
        yield from self._reader.finish()

    def _fed(self, lines: Iterable[bytes | Fault]) -> Iterator[Document]:
        feed = LineFeed(self.unit.path)
        for number, line in enumerate(self._as_texts(lines), self.first_line):
            yield from feed.feed(number, line)
        yield from feed.finish()

    def _as_texts(self, lines: Iterable[bytes | Fault]) -> Iterator[str]:
        """Lines as text; faults are counted and leave a blank line, so that numbers stay right."""
        number = self.first_line - 1
        for number, line in enumerate(lines, self.first_line):
            yield self._as_text(number, line)
        self.next_line = number + 1

    def _as_text(self, number: int, line: bytes | Fault) -> str:
        if not isinstance(line, Fault):
            try:
                return line.decode()
            except UnicodeDecodeError:
                line = NOT_UTF8
        self.tally.documents += 1
        self._reader.reject(Rejected(Document(None, f"{self.unit.path}:{number}"), str(line)))
        return ""

    def _mixed(self, lines: Iterable[bytes | Fault]) -> Iterator[Batch]:
        """Fast rows and general records in batches of their own; a line may only take the fast path when no open document could go on with it."""
        fast = _fast_lines()
        feed = LineFeed(self.unit.path)
        rows: list[Any] = []
        numbers: list[int] = []
        records: list[Record] = []
        number = self.first_line - 1
        is_open = False
        for number, line in enumerate(lines, self.first_line):
            if not is_open and line[:1] == b"{" and (row := fast.decode(line)) is not None:  # type: ignore[arg-type]  # a Fault never begins with b"{"
                rows.append(row)
                numbers.append(number)
                if len(rows) >= BATCH_ROWS:
                    yield self._fast_batch(rows, numbers)
                    rows, numbers = [], []
                continue
            for document in feed.feed(number, self._as_text(number, line)):
                records.extend(self._reader.feed(document))
            is_open = feed.is_open or self._reader.is_waiting
            if isinstance(line, bytes) and not is_open:
                fast.learn(line)
            if len(records) >= BATCH_ROWS:
                yield from batched(records, self.tally)
                records = []
        for document in feed.finish():
            records.extend(self._reader.feed(document))
        records.extend(self._reader.finish())
        if rows:
            yield self._fast_batch(rows, numbers)
        yield from batched(records, self.tally)
        self.next_line = number + 1

    def _fast_batch(self, rows: list[Any], numbers: list[int]) -> Batch:
        from detector.fast_path import columns_of

        self.tally.documents += len(rows)
        self.tally.formats["envelope"] += len(rows)
        return counted(only_new(columns_of(rows, numbers, self.unit.path, _stamps()), self._reader.seen, self.tally), self.tally)


_FAST: list[Any] = []  # the process's decoder and its parsed minutes: what one unit learned serves the next


def _fast_lines() -> FastLines:
    if not _FAST:
        from detector.fast_path import FastLines, Stamps

        _FAST.extend((FastLines(), Stamps()))
    found: FastLines = _FAST[0]
    return found


def _stamps() -> Any:
    return _FAST[1]
