"""The reader that takes any stream of raw documents to records: each by the format that recognises it; one that no format does is rejected with its reason.

`Reader` is the seam between sources and formats: a file source gives it lines or JSON values, the Elasticsearch source gives it hits; both get records and
rejections in the order of the log. Memory is flat: formats that join documents hold a bounded number of them.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from detector.formats.base import Document, Format, Joiner, Json, Outcome, Placed, Rejected
from detector.formats.detect import JSON_START, Detection, Detector, OtherLines
from detector.formats.log_lines import access, failed_access
from detector.formats.wrapping import Peeler
from detector.formats.wrapping_stores import bulk_action
from detector.record import Record

_EVIDENCE = 5  # places remembered per format
_EARLY = 1024  # failed access lines that wait for the first line that says whose log this is
CUT = "JSON that is cut off or broken"
NO_LOG_LINE = "text that no format recognises"
ACCESS_LINE = "access line"
ACTION_LINE = "action line of a bulk request, no answer"
OTHER_DOCUMENT = "document that no format recognises"
OTHER_LOG_DOCUMENT = "application log message, no answer"
FAULT = "fault in a reader of detector"
NOT_A_DOCUMENT = "a bare value instead of an object"


class Reader:
    """Raw documents in, records and rejections out, in the order of the log.

    Args:
        format_of: read every document as this format instead of detecting it, but for objects of logs that see answers from elsewhere (a gateway's beside
            an engine's); wrappings are peeled all the same.

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
        self._early: list[Document] = []
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
        self._release(None)
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
            other = self._other_view(self._only, body)
            if other is not None:
                self._reading = None
                self._take((Rejected(document, f"document of {other.name}: another view than the format that was named", ignored=True),), document)
                return
            found: Detection | None = Detection(self._only, "named by the caller")
        else:
            found = self._detector.detect(body)
        if found is None:
            log = self._others.of(body)
            if log is not None:
                self._give(document, log)
            elif self._is_early(body):
                self._early.append(document)
            else:
                self._reject(document)
            return
        fmt = found.format
        self._others.saw(fmt)
        if self._early:
            self._release(fmt)
        self.found[fmt.name] += 1
        seen = self.evidence.setdefault(fmt.name, [])
        if len(seen) < _EVIDENCE:
            seen.append((found.evidence, document.place))
        self._give(document, fmt)

    def _other_view(self, only: Format, body: Json) -> Format | None:
        """The format of an object that sees answers from elsewhere than the named one: naming a format counts one view of a log that holds several."""
        if not isinstance(body, dict) or only.view == "client" or only.recognise(body) is not None:
            return None
        found = self._detector.detect(body)
        return found.format if found is not None and found.format.view not in ("client", only.view) else None

    def _is_early(self, body: Json) -> bool:
        """A failed call before anything tells whose log this is: a log that was rotated or cut begins anywhere."""
        return not self.found and isinstance(body, str) and len(self._early) < _EARLY and failed_access(body) is not None

    def _release(self, fmt: Format | None) -> None:
        early, self._early = self._early, []
        for document in early:
            if fmt is not None and fmt.other_lines:
                self._give(document, fmt)
            else:
                self._reject(document)

    def _reject(self, document: Document) -> None:
        self._reading = None
        self._take((self._unclaimed(document),), document)

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
            if JSON_START.match(body):
                return Rejected(document, CUT)
            if access(body) is not None:
                return Rejected(document, ACCESS_LINE, ignored=True)
            return Rejected(document, NO_LOG_LINE)
        if isinstance(body, dict):
            if bulk_action(body) is not None:
                return Rejected(document, ACTION_LINE, ignored=True)  # shipped line by line: which document it announced can't be told
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
