"""Which format a document is of, and the reader that takes any stream of raw documents to records.

`Reader` is the seam between sources and formats: a file source gives it lines or JSON values, the Elasticsearch source gives it hits; both get records and
rejections in the order of the log. Memory is flat: formats that join documents hold a bounded number of them.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from detector.errors import ConfigError
from detector.formats.base import Document, Format, Joiner, Json, Outcome, Placed, Rejected, formats
from detector.formats.log_lines import access
from detector.formats.wrapping import Peeler
from detector.record import Record

_SHAPES = 4096  # remembered sets of top-level keys; an index has tens
_EVIDENCE = 5  # places remembered per format
_ASK_TEXT = 65_536  # characters of a line that formats are asked about: evidence stands at its head

_JSON_START = re.compile(r"\s*(?:\{|\[\s*[\[{\"])")

CUT = "JSON that is cut off or broken"
NO_LOG_LINE = "text that no format recognises"
ACCESS_LINE = "access line"
OTHER_DOCUMENT = "document that no format recognises"
OTHER_LOG_DOCUMENT = "application log message, no answer"
FAULT = "fault in a reader of detector"
NOT_A_DOCUMENT = "a bare value instead of an object"


class Detection(NamedTuple):
    """`evidence`: what in the document shows that it is of `format`; quotes no content."""

    format: Format
    evidence: str


class Detector:
    """Asks the formats, most specific first. Pure apart from remembering which formats a set of top-level keys rules out."""

    def __init__(self, available: Sequence[Format] | None = None) -> None:
        self._formats = tuple(formats() if available is None else available)
        self._of_lines = tuple(fmt for fmt in self._formats if fmt.lines)
        self._of_shape: dict[tuple[str, ...], tuple[Format, ...]] = {}
        self._last_line: Format | None = None  # neighbours are mostly lines of one log, and no format claims another's lines: it is asked first
        self._last: tuple[Json, Detection | None] = (None, None)

    def detect(self, body: Json) -> Detection | None:
        """The first format that recognises `body`; None if none does."""
        if body is self._last[0] and body is not None:
            return self._last[1]
        found = self._ask(body)
        self._last = (body, found)
        return found

    def _ask(self, body: Json) -> Detection | None:
        if isinstance(body, dict):
            asked = self.candidates(body)
        elif isinstance(body, str):
            return self._ask_line(body)
        else:
            return None
        for fmt in asked:
            evidence = fmt.recognise(body)
            if evidence is not None:
                return Detection(fmt, evidence)
        return None

    def _ask_line(self, line: str) -> Detection | None:
        if len(line) > _ASK_TEXT and not line.startswith(("data:", "event:")):
            line = line[:_ASK_TEXT]
        first = self._last_line
        if first is not None:
            evidence = first.recognise(line)
            if evidence is not None:
                return Detection(first, evidence)
        for fmt in self._of_lines:
            evidence = None if fmt is first else fmt.recognise(line)
            if evidence is not None:
                self._last_line = fmt
                return Detection(fmt, evidence)
        return None

    def candidates(self, body: dict[str, Json]) -> tuple[Format, ...]:
        """The formats that an object with these top-level keys could be of, in the order in which they are asked."""
        shape = tuple(body)
        found = self._of_shape.get(shape)
        if found is None:
            keys = body.keys()
            found = tuple(fmt for fmt in self._formats if (not fmt.keys or not fmt.keys.isdisjoint(keys)) and (fmt.shape is None or fmt.shape(keys)))
            if len(self._of_shape) >= _SHAPES:
                self._of_shape.clear()
            self._of_shape[shape] = found
        return found


def format_named(name: str) -> Format:
    """The format of this name (dashes and underscores are the same). Raises ConfigError with the names there are."""
    wanted = name.strip().lower().replace("-", "_")
    for fmt in formats():
        if fmt.name == wanted:
            return fmt
    raise ConfigError(f"no format is named {name!r}; there are: {', '.join(sorted(fmt.name for fmt in formats()))}")


class OtherLines:
    """Text that no format recognises, between lines of an engine's log, is the rest of that log (banners, stack traces, access lines)."""

    def __init__(self) -> None:
        self._last: Format | None = None

    def saw(self, fmt: Format) -> None:
        """A document of this format was met."""
        if fmt.other_lines:
            self._last = fmt

    def of(self, body: Json) -> Format | None:
        """The format whose log an unrecognised body is a line of; None for objects, broken JSON, and text before any such log."""
        return self._last if isinstance(body, str) and not _JSON_START.match(body) else None


class Reader:
    """Raw documents in, records and rejections out, in the order of the log.

    Args:
        format_of: read every document as this format instead of detecting it; wrappings are peeled all the same.

    `found` counts documents by format, `evidence` keeps why and where for each format's first documents, `current` is the format of the outcome given last.
    """

    def __init__(self, format_of: Format | None = None, available: Sequence[Format] | None = None) -> None:
        self._detector = Detector(available)
        self._only = format_of
        self._peeler = Peeler(self._recognised)
        self._joiners: dict[str, Joiner] = {}
        self._joined: dict[str, Format] = {}
        self._waiting: list[tuple[int, int, Record | Rejected, Format | None]] = []  # heap by position
        self._serial = 0
        self._ready: list[tuple[Record | Rejected, Format | None]] = []  # outcomes that need no ordering: no joiner holds anything back
        self._reading: Format | None = None  # whose outcomes are being taken
        self._others = OtherLines()
        self.found: Counter[str] = Counter()
        self.current: Format | None = None
        self.evidence: dict[str, list[tuple[str, str]]] = {}

    def feed(self, documents: Iterable[Document]) -> Iterator[Record | Rejected]:
        """Outcomes that these raw documents settle."""
        for raw in documents:
            try:
                documents_inside = self._peeler.feed(raw)
            except Exception as error:
                self._wait(0, Rejected(raw, f"{FAULT} in a wrapping: {type(error).__name__}"))
                documents_inside = []
            for document in documents_inside:
                self._guarded(document)
            yield from self._settled()

    @property
    def is_waiting(self) -> bool:
        """The next document is announced by the last one, so it must come through here too."""
        return self._peeler.is_waiting

    def finish(self) -> Iterator[Record | Rejected]:
        """Outcomes of everything that was held back."""
        for document in self._peeler.finish():
            self._guarded(document)
        for name, joiner in self._joiners.items():
            self._reading = self._joined[name]
            try:
                self._take(joiner.finish(), None)
            except Exception as error:
                self._wait(0, Rejected(Document(None, "end of the log"), f"{FAULT}: {type(error).__name__}"))
        yield from self._settled()
        self._joiners = {}

    def read(self, documents: Iterable[Document]) -> Iterator[Record | Rejected]:
        """`feed` and `finish` in one."""
        yield from self.feed(documents)
        yield from self.finish()

    def _recognised(self, body: Json) -> object:
        if self._only is not None:
            return self._only.recognise(body)
        return self._detector.detect(body)

    def _guarded(self, document: Document) -> None:
        """One hostile document must not end the reading of a log: a fault of ours is counted with its place, and is a bug to report."""
        try:
            self._route(document)
        except Exception as error:
            self._wait(document.position, Rejected(document, f"{FAULT}: {type(error).__name__}"))

    def _route(self, document: Document) -> None:
        body = document.body
        if self._only is not None:
            found: Detection | None = Detection(self._only, "named by the caller")
        else:
            found = self._detector.detect(body)
        if found is None:
            log = self._others.of(body)
            if log is not None:
                self._give(document, log)
            else:
                self._reading = None
                self._take((self._unclaimed(document),), document)
            return
        fmt = found.format
        self._others.saw(fmt)
        self.found[fmt.name] += 1
        seen = self.evidence.setdefault(fmt.name, [])
        if len(seen) < _EVIDENCE:
            seen.append((found.evidence, document.place))
        self._give(document, fmt)

    def _give(self, document: Document, fmt: Format) -> None:
        self._reading = fmt
        joiner = self._joiners.get(fmt.name)
        if joiner is None:
            if fmt.joiner is None:
                self._take(fmt.read((document,)), document)
                return
            joiner = self._joiners[fmt.name] = fmt.joiner()
            self._joined[fmt.name] = fmt
        self._take(joiner.feed(document), document)

    def _unclaimed(self, document: Document) -> Rejected:
        body = document.body
        if isinstance(body, str):
            if _JSON_START.match(body):
                return Rejected(document, CUT)
            if access(body) is not None:
                return Rejected(document, ACCESS_LINE, ignored=True)
            return Rejected(document, NO_LOG_LINE)
        if isinstance(body, dict):
            message = body.get("message", body.get("msg"))
            if isinstance(message, str) and body.keys() & {"level", "levelname", "severity", "log.level", "lvl"}:
                return Rejected(document, OTHER_LOG_DOCUMENT, ignored=True)
            return Rejected(document, OTHER_DOCUMENT)
        return Rejected(document, NOT_A_DOCUMENT)

    def _take(self, outcomes: Iterable[Outcome], document: Document | None) -> None:
        for outcome in outcomes:
            if isinstance(outcome, Placed):
                fill_in(outcome.record, outcome.document)
                self._wait(outcome.document.position, outcome.record)
            elif isinstance(outcome, Rejected):
                self._wait(outcome.document.position, outcome)
            else:
                if document is not None:
                    fill_in(outcome, document)
                self._wait(0 if document is None else document.position, outcome)

    def _wait(self, position: int, outcome: Record | Rejected) -> None:
        if not self._joiners:
            self._ready.append((outcome, self._reading))
            return
        self._serial += 1
        heapq.heappush(self._waiting, (position, self._serial, outcome, self._reading))

    def _settled(self) -> Iterator[Record | Rejected]:
        if self._ready:
            for outcome, current in self._ready:
                self.current = current
                yield outcome
            self._ready.clear()
        if not self._waiting:
            return
        held = [since for joiner in self._joiners.values() if (since := joiner.holds_from()) is not None]
        limit = min(held) if held else None
        while self._waiting and (limit is None or self._waiting[0][0] < limit):
            _, _, outcome, self.current = heapq.heappop(self._waiting)
            yield outcome


def fill_in(record: Record, document: Document) -> None:
    """Give a record what its document's wrapping knew and the record itself does not; the place where it stands if nothing else names it."""
    for column, value in document.envelope.items():
        if getattr(record, column) is None:
            setattr(record, column, value)
    if record.doc_id is None:
        record.doc_index, _, record.doc_id = document.place.rpartition(":") if record.doc_index is None else (record.doc_index, "", document.place)
        record.doc_index = record.doc_index or None
