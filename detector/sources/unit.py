"""The reading of one unit: bytes to lines to batches, by the fast path where lines fit it, by the general path for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

from detector.batch import Batch
from detector.formats.base import Document, Rejected
from detector.formats.wrapping_lines import LineFeed, raw_documents
from detector.reading import BATCH_ROWS, FAST_FORMAT, Reader, ReadingOptions, batched, counted, only_new
from detector.record import Record
from detector.sources.base import CouldNot, Tally
from detector.sources.lines import NOT_UTF8, Fault, line_blocks, raw_lines
from detector.sources.opening import Blocks
from detector.sources.partition import WHOLE, Unit, range_blocks

if TYPE_CHECKING:
    from detector.fast_path import FastLines

FAST_ROWS = 1024  # about 2 MB of answers: small enough for the cache, large enough that numpy's calls do not count
HELD_BYTES = 32 << 20  # of lines that wait for their batch: a thousand answers of many megabytes each must not be held together
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
        blocks: Iterator[bytes] = _after(packed, self.unit.start) if self.unit.end == WHOLE else range_blocks(self.unit)
        try:
            yield from self._of_blocks(blocks)
        except OSError as error:
            self.tally.could_not.append(CouldNot(self.unit.path, f"reading stopped: {error.strerror or type(error).__name__}", "read it again"))
        if packed.problem is not None:
            self.tally.could_not.append(CouldNot(self.unit.path, packed.problem, packed.remedy))

    def _of_blocks(self, blocks: Iterator[bytes]) -> Iterator[Batch]:
        first = next(blocks, b"")
        if self.unit.start == 0:
            first = first.removeprefix(_BYTE_ORDER_MARK)
        blocks = chain((first,), blocks)
        is_json = self.unit.end != WHOLE or first.lstrip()[:1] == b"{"
        if not is_json:  # tables and blocks of text are told by their first line, so they are read as a whole
            yield from batched(self._records(raw_documents(self._as_texts(raw_lines(blocks)), self.unit.path)), self.tally)
        elif not self.options.may_be_fast:
            yield from batched(self._records(self._fed(raw_lines(blocks))), self.tally)
        else:
            yield from self._mixed(line_blocks(blocks))

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

    def _mixed(self, blocks: Iterable[bytes | Fault]) -> Iterator[Batch]:
        """Fast rows and general records in batches of their own."""
        from detector.fast_path import fast_lines

        lines = _Mixed(self.unit.path, self._reader, self._as_text, self.first_line, fast_lines())
        size = 0  # bytes since batches were cut for their size
        for block in blocks:
            lines.feed(block)
            size += len(block)
            if len(lines.rows) >= FAST_ROWS or (lines.rows and size >= HELD_BYTES):
                yield self._fast_batch(lines)
            if len(lines.records) >= BATCH_ROWS or (lines.records and size >= HELD_BYTES):
                yield from batched(lines.records, self.tally)
                lines.records.clear()
            size = 0 if size >= HELD_BYTES else size
        if lines.rows:
            yield self._fast_batch(lines)
        lines.finish()
        yield from batched(lines.records, self.tally)
        self.next_line = lines.number

    def _fast_batch(self, lines: _Mixed) -> Batch:
        from detector.fast_columns import columns_of

        rows, numbers = lines.take()
        self.tally.documents += len(rows)
        self.tally.formats[FAST_FORMAT] += len(rows)
        return counted(only_new(columns_of(rows, numbers, self.unit.path), self._reader.seen, self.tally), self.tally)


@dataclass
class _Mixed:
    """Lines to fast rows and general records; a line may only take the fast path when no open document could go on with it.

    A log of several producers is for the general path, which joins their views of one request: at the first line of another one the rows that were not
    taken yet go through it again. Rows that were taken can't be joined any more, so such a log should show its kinds within `FAST_ROWS` lines.
    """

    path: str
    reader: Reader
    as_text: Callable[[int, bytes | Fault], str]
    number: int  # of the next line
    fast: FastLines | None
    rows: list[Any] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)  # lines of the rows
    records: list[Record] = field(default_factory=list)
    _held: list[tuple[int, bytes]] = field(default_factory=list)  # what the rows were read from, with the number of the first line
    _open: bool = False

    def __post_init__(self) -> None:
        self._lines = LineFeed(self.path)

    def feed(self, block: bytes | Fault) -> None:
        """Whole lines, or one that can't be read."""
        if isinstance(block, Fault):
            self._general(self.number, block)
            self.number += 1
            return
        whole = None if self.fast is None or self._open else self.fast.decode_block(block)
        if whole is None:
            for line in _split(block):
                self._line(line)
                self.number += 1
        else:
            self._keep(whole, block)
            self.number += len(whole)

    def take(self) -> tuple[list[Any], list[int]]:
        """The fast rows so far and their lines."""
        taken = self.rows, self.numbers
        self.rows, self.numbers, self._held = [], [], []
        return taken

    def finish(self) -> None:
        """Records of everything that was still open."""
        for document in self._lines.finish():
            self.records.extend(self.reader.feed(document))
        self.records.extend(self.reader.finish())

    def _line(self, line: bytes) -> None:
        row = None if self.fast is None or self._open else self.fast.decode(line)
        if row is not None:
            self._keep([row], line)
            return
        self._general(self.number, line)
        if self.fast is None or self._open:
            return
        if not self.reader.is_of_several:
            self.fast.learn(line)
            return
        self.fast, held = None, self._held
        self.take()
        for first, lines in held:
            for number, earlier in enumerate(_split(lines), first):
                self._general(number, earlier)

    def _keep(self, rows: list[Any], lines: bytes) -> None:
        self._held.append((self.number, lines))
        self.rows.extend(rows)
        self.numbers.extend(range(self.number, self.number + len(rows)))

    def _general(self, number: int, line: bytes | Fault) -> None:
        for document in self._lines.feed(number, self.as_text(number, line)):
            self.records.extend(self.reader.feed(document))
        self._open = self._lines.is_open or self.reader.is_waiting


def _split(block: bytes) -> list[bytes]:
    return block.removesuffix(b"\n").split(b"\n")


def _after(blocks: Iterable[bytes], passed: int) -> Iterator[bytes]:
    """Blocks without their first `passed` bytes."""
    for block in blocks:
        if passed < len(block):
            yield block[passed:]
        passed = max(0, passed - len(block))
