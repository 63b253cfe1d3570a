"""Documents to records: which format is this, read it, keep the log's order, drop what stands there twice, count what can't be read.

A `Reader` is fed raw documents of one unit of a log (a file, or a byte range of one) and gives records in the order of the log. Its memory is bounded:
joiners hold a bounded number of open answers, duplicates are remembered per unit.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import orjson

from detector.batch import Batch
from detector.errors import ConfigError
from detector.formats.base import Document, Format, Joiner, Json, Outcome, Placed, Rejected, formats
from detector.formats.wrapping import Peeler
from detector.record import DEFAULTS, Record
from detector.sources.base import Tally

if TYPE_CHECKING:
    from detector.settings.source import ColumnMapping

BATCH_ROWS = 4096
_HELD_DOCUMENTS = 16384  # outcomes that wait for an older open answer; beyond it they go out of order rather than fill memory

ZONELESS = "time without a zone, so it is not used (map `timestamp` with its `zone`)"
DUPLICATE = "the same answer read twice (same id, time and text), counted once"


@dataclass(frozen=True)
class ReadingOptions:
    """How documents are read.

    Args:
        only: name of the one format to use (`--format-of`).
        mapping: where canonical columns stand in a layout of the site's own (configuration `source.mapping`); asked before all formats.
        timezone: of times in such a layout that bear none (configuration `source.timezone`).
        keep_duplicates: give every answer, also one that stands in the log twice.
        in_order: give records strictly in the order of the log; otherwise answers that many lines make up may come later.
    """

    only: str | None = None
    mapping: Mapping[str, ColumnMapping] | None = None
    timezone: str = "UTC"
    keep_duplicates: bool = False
    in_order: bool = False

    def asked(self) -> tuple[Format, ...]:
        """The formats to ask, in order. Raises ConfigError for an unknown name."""
        known = formats()
        if self.mapping:
            from detector.formats.mapped import mapped_format

            known = (mapped_format(self.mapping, self.timezone), *known)
        if self.only is None:
            return known
        chosen = tuple(fmt for fmt in known if fmt.name == self.only)
        if not chosen:
            raise ConfigError(f"there is no format '{self.only}': choose one of {', '.join(sorted(fmt.name for fmt in known))}")
        return chosen


def recognised(body: Json, asked: Sequence[Format]) -> tuple[Format, str] | None:
    """The first format that claims a document, with its evidence; None when no format does."""
    for fmt in asked:
        try:
            evidence = fmt.recognise(body)
        except Exception:  # noqa: S112 (a hostile document may break one format; the others are still asked)
            continue
        if evidence is not None:
            return fmt, evidence
    return None


@dataclass
class Reader:
    """Feeds documents to formats and gives their records in the order of the log. One per unit; not reusable after `finish`."""

    options: ReadingOptions
    tally: Tally
    rejected: Callable[[Rejected], None] | None = None  # told about every document that gave no record
    _joiners: dict[str, Joiner] = field(default_factory=dict)
    _waiting: list[tuple[int, int, Record | Rejected, Document]] = field(default_factory=list)
    _position: int = 0
    _ticket: Iterator[int] = field(default_factory=count)
    _seen: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._asked = self.options.asked()
        self._peeler = Peeler(self._format_of)
        self._known: tuple[Json, Format | None] = (None, None)  # the peeler asks for the format that `_read` needs again

    def feed(self, raw: Document) -> Iterator[Record]:
        """Records that are ready after one more raw document."""
        self.tally.documents += 1
        for document in self._peeler.feed(raw):
            self._read(document)
        yield from self._ready()

    def _format_of(self, body: Json) -> Format | None:
        if self._known[0] is not body or body is None:
            found = recognised(body, self._asked)
            self._known = (body, None if found is None else found[0])
        return self._known[1]

    def _read(self, document: Document) -> None:
        self._position = max(self._position, document.position)
        fmt = self._format_of(document.body) if self.options.only is None else self._asked[0]
        if fmt is None:
            self._put([unrecognised(document)], document)
        else:
            self.tally.formats[fmt.name] += 1
            self._put(self._outcomes(fmt, document), document)

    def finish(self) -> Iterator[Record]:
        """Records of everything that was still open."""
        for document in self._peeler.finish():
            self._read(document)
        for name, joiner in self._joiners.items():
            last = Document(None, "", {}, self._position + 1)
            self._put(self._guarded(name, last, joiner.finish), last)
        self._joiners.clear()
        yield from self._ready()

    def is_new(self, record: Record) -> bool:
        """False when this very answer was read before in this unit: same id and choice, same time, text and outcome."""
        identity = record.record_id or record.request_id
        if identity is None or self.options.keep_duplicates:
            return True
        texts = (record.content, record.reasoning, record.tool_arguments)
        return self.is_first((identity, record.choice_index, record.timestamp, record.finish_reason, record.status_code, record.error_type, *texts))

    def is_first(self, answer: tuple[Any, ...]) -> bool:
        """True the first time that these values come. Only their hash is kept (64 bits: chance meetings do not happen)."""
        print_ = hash(answer)
        if print_ in self._seen:
            self.tally.notes[DUPLICATE] += 1
            return False
        self._seen.add(print_)
        return True

    def _outcomes(self, fmt: Format, document: Document) -> Iterable[Outcome]:
        if fmt.joiner is None:
            return self._guarded(fmt.name, document, lambda: fmt.read((document,)))
        joiner = self._joiners.get(fmt.name)
        if joiner is None:
            joiner = self._joiners[fmt.name] = fmt.joiner()
        held = joiner
        return self._guarded(fmt.name, document, lambda: held.feed(document))

    def _guarded(self, name: str, document: Document, read: Callable[[], Iterable[Outcome]]) -> Iterable[Outcome]:
        """One document that breaks a format must not cost the rest of the log; it is counted like any other that can't be read."""
        try:
            return list(read())
        except Exception as error:
            return [Rejected(document, f"format {name} failed on it ({type(error).__name__})")]

    def _put(self, outcomes: Iterable[Outcome], document: Document) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Placed):
                entry: tuple[Record | Rejected, Document] = (outcome.record, outcome.document)
            elif isinstance(outcome, Rejected):
                entry = (outcome, outcome.document)
            else:
                entry = (outcome, document)
            heapq.heappush(self._waiting, (entry[1].position, next(self._ticket), *entry))

    def _ready(self) -> Iterator[Record]:
        """What stands before every open answer, in the order of the log."""
        holds = [held for joiner in self._joiners.values() if (held := joiner.holds_from()) is not None]
        limit = min(holds, default=None)
        while self._waiting and (limit is None or self._waiting[0][0] < limit or len(self._waiting) > _HELD_DOCUMENTS):
            _, _, outcome, document = heapq.heappop(self._waiting)
            if isinstance(outcome, Rejected):
                self._reject(outcome)
            else:
                _fill(outcome, document)
                if self.is_new(outcome):
                    yield outcome

    def _reject(self, outcome: Rejected) -> None:
        self.tally.skip(outcome.reason, outcome.document.place, ignored=outcome.ignored)
        if self.rejected is not None:
            self.rejected(outcome)


def _fill(record: Record, document: Document) -> None:
    """What the document's wrapping knows fills what the record does not know."""
    for name, value in document.envelope.items():
        if value is not None and name in DEFAULTS and getattr(record, name) == DEFAULTS[name]:
            setattr(record, name, value)
    path, _, line = document.place.rpartition(":")
    if record.doc_index is None and path:
        record.doc_index = path
    if record.doc_id is None and path:
        record.doc_id = line


def unrecognised(document: Document) -> Rejected:
    """Why no format took a document; names no content."""
    body = document.body
    if isinstance(body, str):
        start = body.lstrip()[:1]
        if start in ("{", "["):
            return Rejected(document, broken_json(body))
        return Rejected(document, "a text line of no known log")
    if isinstance(body, dict):
        return Rejected(document, "JSON of no known format" if body else "an empty JSON object")
    return Rejected(document, f"JSON that is no object ({type(body).__name__})")


def broken_json(text: str) -> str:
    """The reason for a text that begins like JSON and can't be read as such."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError as error:
        if "recursion" in str(error).lower():
            return "JSON nested too deep"
        if error.pos >= len(text.rstrip()) - 1 or "unexpected end" in str(error) or "EOF" in str(error):
            return "JSON that is cut off"
    return "broken JSON"


def batched(records: Iterable[Record], rows: int = BATCH_ROWS) -> Iterator[Batch]:
    """Records in batches of about `rows`; choices of one request stay together."""
    held: list[Record] = []
    for record in records:
        if len(held) >= rows and not record.choice_index:
            yield Batch.from_records(held)
            held = []
        held.append(record)
    if held:
        yield Batch.from_records(held)
