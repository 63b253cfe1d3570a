"""The ledger kept between scheduled runs: each run reads only minutes that are new, not yet settled, or into which documents came late.

A minute is settled once it was read completely, some lag after its end. Counts are kept under a key that changes with all that they depend on (log, mapping,
signals and their options, version of `detector`), so that no run mixes counts made in two ways.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from detector import __version__
from detector.observation import Observation
from detector.signals.base import Signal, SignalOptions
from detector.sources.base import Source
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_looking import time_field
from detector.sources.es_state import late_minutes, settles, unread
from detector.storage.store import Store
from detector.window import Window


@dataclass
class LedgerMemory:
    """Observes a cluster through the kept counts.

    Args:
        what: text that names the log and how it is read (addresses, index, mapping); only its hash is kept.
        lag: seconds that documents may come late.
    """

    store: Store
    what: str
    lag: float

    def observe(self, source: Source, wanted: Mapping[str, Signal], options: SignalOptions, now: float) -> Observation | None:
        """Counts over the source's whole span, of which only a part was read now; None when this source can't be remembered (files, a whole log)."""
        if not isinstance(source, ClusterSource) or source.window is None:
            return None
        span = Window(min(source.baseline_from or source.window.start, source.window.start), source.window.end)
        key = self._key(wanted, options)
        kept, settled = self.store.ledger(key, span.first_minute, span.end_minute)
        last = self.store.fact(f"read.{key}")
        if settled and last is not None:
            settled -= late_minutes(source.cluster, source.fields, time_field(source.fields), span, float(last) - self.lag)
        source.settled = settled
        stretches = unread(span, settled) if settled else [span]
        seen = source.observe(wanted, options)
        complete = not any(entry.blocking for entry in seen.tally.could_not) and not seen.tally.sampled
        read = {minute for stretch in stretches for minute in range(stretch.first_minute, stretch.end_minute)}
        if complete:
            before = min(settles(stretches, now, self.lag) ^ read, default=span.end_minute)
            self.store.keep_ledger(key, seen.ledger, read, before)
            self.store.keep_fact(f"read.{key}", now)
        fresh = seen.tally.requests
        kept.replace(seen.ledger, read)
        total = Observation(kept, seen.tally, seen.invisible)
        total.tally.requests = kept.requests_in(span.first_minute, span.end_minute)
        if total.tally.requests > fresh:
            total.tally.notes["requests judged from kept counts, not read again"] = total.tally.requests - fresh
            total.tally.records += total.tally.requests - fresh
        return total

    def _key(self, wanted: Mapping[str, Signal], options: SignalOptions) -> str:
        text = "\x1f".join((self.what, __version__, ",".join(sorted(wanted)), repr(options)))
        return hashlib.sha256(text.encode()).hexdigest()[:40]
