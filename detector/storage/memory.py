"""The ledger kept between scheduled runs: each run reads only what is new.

Of a cluster that is minutes that are new, not yet settled, or into which documents came late; a minute is settled once it was read completely, some lag after
its end. Of log files it is the lines that were appended. Counts are kept under a key that changes with all that they depend on (log, mapping, signals and
their options, version of `detector`), so that no run mixes counts made in two ways.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from detector import __version__
from detector.ledger import Ledger
from detector.observation import UNTIMED, Observation, observe
from detector.signals.base import Signal, SignalOptions
from detector.sources.base import Source, Tally
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_looking import time_field
from detector.sources.es_state import late_minutes, settles
from detector.sources.files import Files
from detector.sources.tail import Mark, follow
from detector.storage.store import Store
from detector.window import Window

KEPT = "requests judged from kept counts, not read again"
DAY = 1440  # minutes


@dataclass
class LedgerMemory:
    """Observes a log through the kept counts.

    Args:
        what: text that names the log and how it is read (addresses, index, mapping); only its hash is kept.
        lag: seconds that documents may come late.
        reach: seconds before a window that its rules look at.
    """

    store: Store
    what: str
    lag: float
    reach: float = 0.0
    _loaded: dict[str, tuple[Any, Ledger]] = field(default_factory=dict)  # key -> (marks that its counts belong to, counts)

    def observe(self, source: Source, window: Window | None, wanted: Mapping[str, Signal], options: SignalOptions, now: float) -> Observation | None:
        """Counts over window and baseline, of which only a part was read now; None when this source can't be remembered (a whole log, files not of NDJSON)."""
        if isinstance(source, ClusterSource) and source.window is not None:
            return self._of_cluster(source, source.window, wanted, options, now)
        if isinstance(source, Files) and window is not None:
            return self._of_files(source, window, wanted, options)
        return None

    def _of_cluster(self, source: ClusterSource, window: Window, wanted: Mapping[str, Signal], options: SignalOptions, now: float) -> Observation:
        span = Window(min(source.baseline_from or window.start, window.start), window.end)
        key = self._key(wanted, options)
        kept, settled = self.store.ledger(key, span.first_minute, span.end_minute)
        last = self.store.fact(f"read.{key}")
        if settled and last is not None:
            settled -= late_minutes(source.cluster, source.fields, time_field(source.fields), span, float(last) - self.lag)
        source.settled = settled
        stretches = source.stretches(span)
        seen = source.observe(wanted, options)
        # a sample is kept as what it is (fewer requests that show a signal): reading it again at every run would never end
        complete = not any(entry.blocking and not entry.lasting for entry in seen.tally.could_not)
        read = {minute for stretch in stretches for minute in range(stretch.first_minute, stretch.end_minute)}
        if complete:
            before = min(settles(stretches, now, self.lag) ^ read, default=span.end_minute)
            self.store.keep_ledger(key, seen.ledger, read, before, (f"read.{key}", now))
        kept.replace(seen.ledger, read)
        return _total(kept, seen.tally, wanted, span)

    def _of_files(self, source: Files, window: Window, wanted: Mapping[str, Signal], options: SignalOptions) -> Observation | None:
        """Counts of followed files. New lines are added to what is kept of their minutes, in one transaction with the marks of how far they were read."""
        key = self._key(wanted, options)
        known = self.store.fact(f"marks.{key}") or {}
        tail = follow(source, {name: Mark(**mark) for name, mark in known.items()})
        if tail is None:
            return None
        span = Window(window.start - self.reach, window.end)
        loaded, kept = self._loaded.get(key, (None, Ledger()))
        if loaded != known:  # the first run, or another worker read meanwhile
            kept = self.store.ledger(key, span.first_minute, span.end_minute)[0]
        seen = observe(tail, wanted, options)
        minutes = [minute for minute in seen.ledger.minutes().tolist() if minute != UNTIMED]
        marks = {name: asdict(mark) for name, mark in tail.marks.items()}
        if not tail.gone and marks != known:
            touched = self.store.ledger(key, minutes[0], minutes[-1] + 1)[0] if minutes else Ledger()
            touched.merge(seen.ledger)
            self.store.keep_ledger(key, touched, minutes, 0, (f"marks.{key}", marks))
        elif tail.gone:
            marks = known  # what was read of it counts for this run only: it is read again
        kept.replace(Ledger(), [UNTIMED])
        kept.merge(seen.ledger)
        self._loaded[key] = (None if tail.gone else marks, _recent(kept, span))
        return _total(kept, seen.tally, wanted, span)

    def _key(self, wanted: Mapping[str, Signal], options: SignalOptions) -> str:
        text = "\x1f".join((self.what, __version__, ",".join(sorted(wanted)), repr(options)))
        return hashlib.sha256(text.encode()).hexdigest()[:40]


def _total(kept: Ledger, tally: Tally, wanted: Mapping[str, Signal], span: Window) -> Observation:
    """Kept counts as if all of it had been read now; the tally says how much was not."""
    start, end = span.first_minute, span.end_minute
    fresh, requests = tally.requests, kept.requests_in(start, end)
    visible = {name: int(kept.panel(name, (), start, end, end - start).requests.sum()) for name in wanted}
    if requests > fresh:
        tally.notes[KEPT] += requests - fresh
        tally.records += requests - fresh
    tally.requests = requests
    return Observation(kept, tally, {name: requests - count for name, count in visible.items()})


def _recent(kept: Ledger, span: Window) -> Ledger:
    """The counts without days that no window looks at any more: a worker's memory must not grow."""
    reached = kept.span()
    oldest = reached[0] if reached is not None else UNTIMED
    if UNTIMED < oldest < span.first_minute - DAY:
        kept.replace(Ledger(), range(oldest, span.first_minute))
    return kept
