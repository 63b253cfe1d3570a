"""Files that hold the same requests seen from several places (engine, gateway, tracer), read side by side so that one answer is one record.

Each file is read by itself; their records are fed in turns to one joiner (`joining_views`): files with times by time, files without (an engine's text log
has no year) in step with them. The joiner waits for a bounded number of records, so the files have to cover the same stretch of time.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from detector.batch import Batch
from detector.formats.base import View
from detector.formats.detect import Detector
from detector.formats.wrapping import Peeler
from detector.formats.wrapping_lines import raw_documents
from detector.reading import JOINED, SEVERAL, UNTIMED, ReadingOptions, batched
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.joining_views import JoinedViews
from detector.sources.lines import Fault, texts
from detector.sources.opening import Blocks

SAMPLE_LINES = 64  # documents that decide from where a file sees answers
MOST_FILES = 16  # read side by side; a folder of more is no handful of views
STEP = 128  # records of one file before the next has its turn: well below the joiner's reach


def view_of(path: str, options: ReadingOptions) -> View | None:
    """From where most documents at a file's start see answers; None where no format is recognised."""
    chosen = options.chosen()
    if chosen is not None:
        return chosen.view
    detector = Detector(options.asked())
    peeler = Peeler(detector.detect)
    counts: Counter[View] = Counter()
    lines = ("" if isinstance(line, Fault) else line for line in texts(Blocks(path)))
    for raw in islice(raw_documents(lines, path), SAMPLE_LINES):
        for document in peeler.feed(raw):
            found = detector.detect(document.body)
            if found is not None:
                counts[found.format.view] += 1
    return counts.most_common(1)[0][0] if counts else None


@dataclass
class Stream:
    """One file's records. `at`: time of its next record, or of the last one that had a time; None: none had."""

    name: str
    view: View
    batches: Iterator[Batch]
    at: float | None = None
    given: int = 0
    waiting: deque[Record] = field(default_factory=deque)

    def fill(self) -> bool:
        """Make sure that a record waits; False at the end."""
        while not self.waiting:
            batch = next(self.batches, None)
            if batch is None:
                return False
            self.waiting.extend(batch.record(row) for row in range(batch.size))
        if self.waiting[0].timestamp is not None:
            self.at = self.waiting[0].timestamp
        return True

    def take(self) -> Iterator[Record]:
        """The next records of the file."""
        for _ in range(min(STEP, len(self.waiting))):
            self.given += 1
            yield self.waiting.popleft()


def side_by_side(streams: Sequence[Stream], tally: Tally) -> Iterator[Batch]:
    """Batches of all streams, each request once; what was joined is noted in the tally."""
    joiner = JoinedViews()
    yield from batched(_joined(streams, joiner), tally)
    if joiner.joined:
        tally.notes[JOINED] += joiner.joined
        tally.notes.pop(SEVERAL, None)


def add_reading(tally: Tally, reading: Tally) -> None:
    """What reading one of the files told; answers without a time are counted after joining, when another view may have given them one."""
    reading.notes.pop(UNTIMED, None)
    tally.add(reading)


def _joined(streams: Sequence[Stream], joiner: JoinedViews) -> Iterator[Record]:
    left = [stream for stream in streams if stream.fill()]
    while left:
        stream = _next(left)
        for record in stream.take():
            yield from joiner.feed(record, stream.name, stream.view)
        if not stream.fill():
            left.remove(stream)
    yield from joiner.finish()


def _next(left: Sequence[Stream]) -> Stream:
    """Whose turn it is: a stream without times that lags behind in number, else the one whose records are oldest."""
    timed = [stream for stream in left if stream.at is not None]
    untimed = [stream for stream in left if stream.at is None]
    if not timed:
        return min(untimed, key=lambda stream: stream.given)
    oldest = min(timed, key=lambda stream: stream.at or 0.0)
    lagging = min(untimed, key=lambda stream: stream.given, default=None)
    return lagging if lagging is not None and lagging.given <= oldest.given else oldest
