"""Pages of search hits to batches of records: by the fast path where a document is a usual envelope, by the general path for everything else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from detector.batch import Batch
from detector.formats.base import Document
from detector.reading import BATCH_ROWS, FAST_FORMAT, Reader, ReadingOptions, batched, counted, only_new
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.es_json import source_of

if TYPE_CHECKING:
    from detector.fast_path import FastLines

Hit = Mapping[str, Any]


def place(hit: Hit) -> str:
    """Where a document stands, for the tally."""
    return f"{hit.get('_index', '?')}:{hit.get('_id', '?')}"


def document_of(hit: Hit) -> Document:
    """A hit as a document that needs no more peeling of the search answer around it."""
    where = {column: str(hit[name]) for column, name in (("doc_index", "_index"), ("doc_id", "_id")) if hit.get(name) is not None}
    return Document(source_of(hit), place(hit), where)


def records_of(hits: Iterable[Hit], options: ReadingOptions, tally: Tally) -> Iterator[Record]:
    """Records of some hits in the order of time, by the general path."""
    reader = Reader(options, tally)
    for hit in hits:
        yield from reader.feed(document_of(hit))
    yield from reader.finish()


@dataclass
class HitBatches:
    """Turns pages of hits into batches once. Documents may come decoded or as bytes (`es_json.raw_sources`); only the latter can be read fast."""

    options: ReadingOptions
    tally: Tally
    _reader: Reader = field(init=False)

    def __post_init__(self) -> None:
        self._reader = Reader(self.options, self.tally)

    def of(self, pages: Iterable[list[dict[str, Any]]]) -> Iterator[Batch]:
        """Every batch of these pages; choices of one request stand together."""
        fast = self._fast()
        records: list[Record] = []
        for page in pages:
            rows: list[Any] = []
            hits: list[Hit] = []  # of the rows
            for hit in page:
                source = hit.get("_source")
                row = None
                if fast is not None and source.__class__ is msgspec.Raw and not self._reader.is_waiting:
                    row = fast.decode(source)
                if row is not None:
                    rows.append(row)
                    hits.append(hit)
                    continue
                records.extend(self._reader.feed(document_of(hit)))
                if fast is None or source.__class__ is not msgspec.Raw:
                    continue
                if not self._reader.is_of_several:
                    fast.learn(bytes(source))
                    continue
                fast = None  # for good; what the page gave so far may be joined, too
                for earlier in hits:
                    records.extend(self._reader.feed(document_of(earlier)))
                rows, hits = [], []
            if rows:
                yield self._fast_batch(rows, hits)
            if len(records) >= BATCH_ROWS:
                yield from batched(records, self.tally)
                records = []
        records.extend(self._reader.finish())
        yield from batched(records, self.tally)

    def _fast(self) -> FastLines | None:
        if not self.options.may_be_fast:
            return None
        from detector.fast_path import fast_lines

        return fast_lines()

    def _fast_batch(self, rows: list[Any], hits: list[Hit]) -> Batch:
        from detector.fast_columns import columns_of

        self.tally.documents += len(rows)
        self.tally.formats[FAST_FORMAT] += len(rows)
        batch = columns_of(rows, range(len(rows)), "")
        batch.columns["doc_index"] = [hit["_index"] for hit in hits]
        batch.columns["doc_id"] = [hit["_id"] for hit in hits]
        return counted(only_new(batch, self._reader.seen, self.tally), self.tally)
