"""The reading of one unit: bytes to lines to batches, by the fast path where lines fit it, by the general path for everything else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from detector.batch import Batch
from detector.formats.base import Document, Rejected
from detector.formats.wrapping_lines import LineFeed, raw_documents
from detector.reading import BATCH_ROWS, Reader, ReadingOptions, batched, counted, only_new
from detector.record import Record
from detector.sources.base import CouldNot, Tally
from detector.sources.lines import NOT_UTF8, Fault, line_blocks, raw_lines
from detector.sources.opening import Blocks
from detector.sources.partition import WHOLE, Unit, range_blocks

FAST_ROWS = 1024  # about 2 MB of answers: small enough for the cache, large enough that numpy's calls do not count
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
        elif self.options.in_order or self.options.mapping or self.options.only not in (None, "envelope"):
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
        """Fast rows and general records in batches of their own; a line may only take the fast path when no open document could go on with it."""
        from detector.fast_path import fast_lines

        fast = fast_lines()
        feed = LineFeed(self.unit.path)
        records: list[Record] = []
        rows: list[Any] = []
        numbers: list[int] = []
        number = self.first_line
        is_open = False
        for block in blocks:
            whole = None if is_open or isinstance(block, Fault) else fast.decode_block(block)
            if whole is not None:
                rows.extend(whole)
                numbers.extend(range(number, number + len(whole)))
                number += len(whole)
            else:
                for line in (block,) if isinstance(block, Fault) else block.removesuffix(b"\n").split(b"\n"):
                    row = None if is_open or isinstance(line, Fault) else fast.decode(line)
                    if row is not None:
                        rows.append(row)
                        numbers.append(number)
                    else:
                        for document in feed.feed(number, self._as_text(number, line)):
                            records.extend(self._reader.feed(document))
                        is_open = feed.is_open or self._reader.is_waiting
                        if isinstance(line, bytes) and not is_open:
                            fast.learn(line)
                    number += 1
            if len(rows) >= FAST_ROWS:
                yield self._fast_batch(rows, numbers)
                rows, numbers = [], []
            if len(records) >= BATCH_ROWS:
                yield from batched(records, self.tally)
                records = []
        if rows:
            yield self._fast_batch(rows, numbers)
        for document in feed.finish():
            records.extend(self._reader.feed(document))
        records.extend(self._reader.finish())
        yield from batched(records, self.tally)
        self.next_line = number

    def _fast_batch(self, rows: list[Any], numbers: Sequence[int]) -> Batch:
        from detector.fast_columns import columns_of

        self.tally.documents += len(rows)
        self.tally.formats["envelope"] += len(rows)
        return counted(only_new(columns_of(rows, numbers, self.unit.path), self._reader.seen, self.tally), self.tally)


def _after(blocks: Iterable[bytes], passed: int) -> Iterator[bytes]:
    """Blocks without their first `passed` bytes."""
    for block in blocks:
        if passed < len(block):
            yield block[passed:]
        passed = max(0, passed - len(block))
