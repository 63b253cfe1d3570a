"""Observe: turn batches of records into counts. The only stage whose cost grows with traffic.

A pure function of one partition; observations of partitions add up in any order, with equal results.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import compress

import numpy as np

from detector.batch import Batch
from detector.evidence import Evidence, Example
from detector.ledger import SUBTYPE_MARK, Labels, Ledger
from detector.record import EARLIEST, LATEST, SERIES_LABELS
from detector.signals.base import Flag, Signal, SignalOptions
from detector.signals.request_failure import failed_rows
from detector.sources.base import Source, Tally

_SERIES_LIMIT = 1 << 32  # series numbers are below it: minute and number fit one 64-bit key
UNTIMED = -1  # the ledger's minute of records that bear no time
_COLLECT_AFTER = 200_000  # objects of containers made since the last collection; a batch of 1,024 answers makes about 20,000, and none in cycles


@dataclass
class Observation:
    """Counts and tally of what was read. `invisible`: per signal, requests that could not show it (content not captured, no answer …)."""

    ledger: Ledger = field(default_factory=Ledger)
    tally: Tally = field(default_factory=Tally)
    invisible: dict[str, int] = field(default_factory=dict)

    unexplained: dict[str, int] = field(default_factory=dict)  # of the invisible ones: answered requests, which should have shown it

    def add(self, other: Observation) -> None:
        """Add another partition's observation to this one."""
        self.ledger.merge(other.ledger)
        self.tally.add(other.tally)
        for signal, count in other.invisible.items():
            self.invisible[signal] = self.invisible.get(signal, 0) + count
        for signal, count in other.unexplained.items():
            self.unexplained[signal] = self.unexplained.get(signal, 0) + count


def observe(source: Source, signals: Mapping[str, Signal], options: SignalOptions) -> Observation:
    """Count every signal over everything that `source` yields, or have it counted where the source can. Raises SourceError when nothing can be read at all."""
    counted: Callable[[Mapping[str, Signal], SignalOptions], Observation] | None = getattr(source, "observe", None)
    seen = Observation()
    with _seldom_collected():
        if counted is not None:
            return counted(signals, options)
        for batch in source.batches(seen.tally):
            observe_batch(batch, signals, options, seen)
    return seen


@contextmanager
def _seldom_collected() -> Iterator[None]:
    """Let Python look for unreachable cycles seldom: batches live for milliseconds and hold none, but their tuples set the search off again and again."""
    before = gc.get_threshold()
    if before[0]:  # 0: whoever runs us switched it off
        gc.set_threshold(max(before[0], _COLLECT_AFTER), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def observe_batch(batch: Batch, signals: Mapping[str, Signal], options: SignalOptions, seen: Observation) -> None:
    """Add one batch's counts to `seen`. Choices of one request must stand next to each other in the batch."""
    batch = _counted(batch, seen.tally)
    if not batch.size:
        return
    request_of = _request_of(batch)  # row -> request number; None: every row is a request of its own
    first_rows = None if request_of is None else np.flatnonzero(np.diff(request_of, prepend=-1))
    stamps = np.array(batch.column("timestamp"), dtype=np.float64)
    timed = (stamps >= EARLIEST) & (stamps < LATEST)  # false for NaN
    minutes = np.where(timed, np.floor_divide(np.where(timed, stamps, 0.0), 60), UNTIMED).astype(np.int64)
    labels: list[Labels] = list(zip(*(_texts(batch, name) for name in SERIES_LABELS), strict=True))
    ledger = seen.ledger
    series = ledger.series_ids(labels)
    if first_rows is not None:
        minutes, series = minutes[first_rows], series[first_rows]
    requests = len(minutes)
    keys, cell = np.unique(minutes * _SERIES_LIMIT + series, return_inverse=True)
    cell_minutes, cell_series = keys // _SERIES_LIMIT, keys % _SERIES_LIMIT
    seen.tally.requests += requests
    seen.tally.records += batch.size
    ledger.add_shared(cell_minutes, cell_series, signals, np.bincount(cell, minlength=len(keys)))
    flags: dict[str, dict[int, Flag]] = {}
    answered: np.ndarray | None = None  # requests that did not fail; looked up only where something is invisible
    for name, signal in signals.items():
        visible = np.frombuffer(bytes(signal.visible(batch)), np.bool_)  # over bytes: three times faster than an array of a list
        flagged = _judged(batch, signal, options, visible)
        if request_of is not None and first_rows is not None:
            visible = np.bitwise_or.reduceat(visible, first_rows)
            by_request: dict[int, Flag] = {}
            for row, flag in flagged.items():
                by_request.setdefault(int(request_of[row]), flag)
            flagged = by_request
        hidden = requests - int(visible.sum())
        seen.invisible[name] = seen.invisible.get(name, 0) + hidden
        if hidden:
            if answered is None:
                sound = ~np.frombuffer(bytes(failed_rows(batch)), np.bool_)
                answered = sound if first_rows is None else sound[first_rows]
            seen.unexplained[name] = seen.unexplained.get(name, 0) + int((answered & ~visible).sum())
        unseen = np.bincount(cell[~visible], minlength=len(keys)) if hidden else np.zeros(len(keys), np.int64)
        hit = np.bincount(cell[list(flagged)], minlength=len(keys)) if flagged else np.zeros(len(keys), np.int64)
        at = np.flatnonzero(unseen + hit)
        ledger.add_numbered(cell_minutes[at], cell_series[at], name, -unseen[at], hit[at])
        for subtype in sorted({flag.subtype for flag in flagged.values()}):
            rows = [request for request, flag in flagged.items() if flag.subtype == subtype]
            hit = np.bincount(cell[rows], minlength=len(keys))
            at = np.flatnonzero(hit)
            ledger.add_numbered(cell_minutes[at], cell_series[at], f"{name}{SUBTYPE_MARK}{subtype}", np.zeros(len(at), np.int64), hit[at])
        flags[name] = flagged
    for name, flagged in flags.items():
        for request, flag in flagged.items():
            row = request if first_rows is None else int(first_rows[request])
            also = {other: 1 for other, theirs in flags.items() if other != name and request in theirs}
            stamp = float(stamps[row]) if timed[row] else 0.0
            example = Example(stamp, _key(batch, row), flag.subtype, flag.reason, batch.column("doc_index")[row] or "", batch.column("doc_id")[row] or "")
            ledger.add_evidence(int(minutes[request]), labels[row], name, Evidence({flag.subtype: 1}, also, [example], stamp, stamp))


def _judged(batch: Batch, signal: Signal, options: SignalOptions, visible: np.ndarray) -> dict[int, Flag]:
    """Rows that the signal flags, in row order."""
    found: dict[int, Flag] = {}
    for row in signal.candidates(batch, options):
        if visible[row]:
            flag = signal.judge(batch.record(row), options)
            if flag is not None:
                found[row] = flag
    return found


def _counted(batch: Batch, tally: Tally) -> Batch:
    """The rows that count: an answer from a gateway's cache would count one engine answer many times, a probe is nobody's answer."""
    left_out = [False] * batch.size
    for column, note in (("cache_hit", "answers from a gateway's cache, left out of all rates"), ("is_probe", "health probes, left out of all rates")):
        if batch.knows(column):
            marked = [value is True for value in batch.column(column)]
            tally.notes[note] += sum(marked)
            left_out = [a or b for a, b in zip(left_out, marked, strict=True)]
    if not any(left_out):
        return batch
    keep = [not out for out in left_out]
    return Batch(sum(keep), {name: list(compress(values, keep)) for name, values in batch.columns.items()})


def _request_of(batch: Batch) -> np.ndarray | None:
    """Row -> number of its request, counting up; None when every row is a request of its own (the usual case).

    Rows that stand next to each other with different choice indices are choices of one request when they share its id, or, where the log holds no id
    or gives the choices in another order than their own, when they were read from one place.
    """
    if not batch.knows("choice_index") and "choice_index" not in batch.columns:
        return None
    choices = batch.column("choice_index")
    if not any(choices):
        return None
    ids: Sequence[str | None] = batch.column("request_id")
    files, lines = batch.column("doc_index"), batch.column("doc_id")
    numbers = np.zeros(batch.size, np.int64)
    number, taken = 0, {choices[0]}
    for row in range(1, batch.size):
        choice = choices[row]
        same_place = lines[row] is not None and lines[row] == lines[row - 1] and files[row] == files[row - 1]
        same = ids[row] == ids[row - 1] and choice not in taken and (same_place or (choice > 0 and ids[row] is not None))
        if not same:
            number, taken = number + 1, set()
        taken.add(choice)
        numbers[row] = number
    return numbers


def _texts(batch: Batch, name: str) -> Sequence[str | None]:
    """A label column as text; booleans become 'true' and 'false'."""
    values = batch.column(name)
    if name == "stream":
        return [None if value is None else ("true" if value else "false") for value in values]
    return values


def _key(batch: Batch, row: int) -> str:
    for name in ("request_id", "record_id", "doc_id"):
        value = batch.column(name)[row]
        if value:
            return str(value)
    return ""
