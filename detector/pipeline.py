"""THE FLOW. Read this first.

    source ──► records ──► signals ──► ledger ──► detectors ──► findings ──► report
    documents  (columns)   booleans    counts     scores        what fired    text, JSON, messages
    └───────── observe ────────────────┘└──────── judge ────────────────┘└─── tell ──┘

`observe` turns documents into counts, `judge` turns counts into findings, and whoever called tells them. Time comes in as an argument.
"""

from __future__ import annotations

import multiprocessing
import signal
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Protocol

from detector.judgement import judge
from detector.observation import Observation, observe
from detector.placing import Span, place, silence, within_log
from detector.report import Report, could_not_look, source_notes
from detector.rules import Rule
from detector.signals.base import Signal, SignalOptions, signals
from detector.sources.base import Source
from detector.window import Window


class Memory(Protocol):
    """Counts kept between runs (`detector.storage.memory`): observes a source by reading only what is new; None when it can't remember this source."""

    def observe(self, source: Source, window: Window | None, wanted: Mapping[str, Signal], options: SignalOptions, now: float) -> Observation | None: ...


def check(
    partitions: Sequence[Source],
    rules: Sequence[Rule],
    options: SignalOptions,
    span: Span,
    now: float,
    every: int = 5,
    *,
    memory: Memory | None = None,
    deadline: float | None = None,
) -> Report:
    """Observe a log, judge it, and report. `partitions` are read by one process each; findings are equal for any number of them.

    Args:
        now: seconds since 1970 UTC, to tell records from the future.
        every: minutes between evaluations inside the window.
        deadline: seconds that one rule may take to be judged; None: as long as it takes.

    Raises:
        SourceError: nothing can be read at all.
    """
    named = {rule.signal for rule in rules}
    wanted = {name: signal for name, signal in signals().items() if name in named}
    remembered = None
    asked = Window(span.start, span.end) if span.start is not None and span.end is not None else None
    if memory is not None and len(partitions) == 1:
        remembered = memory.observe(partitions[0], asked, wanted, options, now)
    seen = remembered if remembered is not None else observe_all(partitions, wanted, options)
    window, notes, could_not = place(seen, _own_window(partitions, span), now)
    notes = (*notes, *source_notes(seen.tally.formats, wanted))
    if window is None and memory is not None and asked is not None:  # nothing in what rules look at: an old log, or none yet
        silent = silence(seen, asked)
        return Report(asked, seen.tally, (), (*could_not_look(seen, rules, why_empty_is_told=bool(silent)), *silent, *could_not), notes)
    if window is None:
        return Report(None, seen.tally, (), (*could_not_look(seen, rules), *could_not), notes)
    if memory is not None:
        could_not = (*could_not, *silence(seen, window))
    judgement = judge(seen.ledger, rules, within_log(seen, window), every, deadline)
    findings = tuple(replace(finding, counts=replace(finding.counts, start=window.start, end=window.end)) for finding in judgement.findings)
    return Report(window, seen.tally, findings, (*could_not_look(seen, rules), *could_not, *judgement.could_not), notes)


def _own_window(partitions: Sequence[Source], span: Span) -> Span:
    """The window that a source cut out itself: a cluster's `--since` ends some lag before now, not with the newest record, or a silent log would look alive."""
    own: Window | None = getattr(partitions[0], "window", None)
    return span if own is None else Span(start=own.start, end=own.end)


def observe_all(partitions: Sequence[Source], wanted: Mapping[str, Signal], options: SignalOptions) -> Observation:
    """Observe every partition, in as many processes, and add up what they saw (in the partitions' order)."""
    if len(partitions) == 1:
        return observe(partitions[0], wanted, options)
    total = Observation()
    # forking spares each child the start-up; elsewhere than on Linux it is not safe
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with ProcessPoolExecutor(len(partitions), mp_context=context, initializer=_end_when_interrupted) as pool:
        jobs = [pool.submit(_observe_named, part, tuple(wanted), options) for part in partitions]
        for job in jobs:
            total.add(job.result())
    return total


def _end_when_interrupted() -> None:
    """Ctrl-C reaches every process; the first one says so, the others just end. A worker that handles it by itself, or ignores it, goes on."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def _observe_named(part: Source, names: tuple[str, ...], options: SignalOptions) -> Observation:
    """`observe` with signals by name, since functions do not travel between processes as cheaply as names."""
    return observe(part, {name: signals()[name] for name in names}, options)
