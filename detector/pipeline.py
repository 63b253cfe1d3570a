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
from dataclasses import dataclass, replace
from typing import Protocol

from detector.judgement import judge
from detector.observation import UNTIMED, Observation, observe
from detector.render.numbers import several
from detector.report import Report, could_not_look, source_notes
from detector.rules import Rule
from detector.signals.base import Signal, SignalOptions, signals
from detector.sources.base import CouldNot, Source
from detector.window import MINUTE, Window, iso

STALE_SHARE = 0.5  # no request in this share of a scheduled window: the log has probably stopped (as for a cluster, `detector.sources.elasticsearch`)
UNTIMED_WINDOW = Window(0, MINUTE)  # where records stand that bear no time at all
AFTER_LOG = 86400.0  # seconds after the newest record that are still evaluated: what fired then goes on firing for a while
CLOCK_SKEW = 10 * MINUTE  # seconds that a record may be ahead of our clock before it counts as "in the future"


@dataclass(frozen=True)
class Span:
    """Which part of a log to judge: `since` seconds before the newest record, or `[start, end)`, or (all None) the whole log."""

    since: float | None = None
    start: float | None = None
    end: float | None = None


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
        silent = _silence(seen, asked)
        return Report(asked, seen.tally, (), (*could_not_look(seen, rules, why_empty_is_told=bool(silent)), *silent, *could_not), notes)
    if window is None:
        return Report(None, seen.tally, (), (*could_not_look(seen, rules), *could_not), notes)
    if memory is not None:
        could_not = (*could_not, *_silence(seen, window))
    judgement = judge(seen.ledger, rules, _within_log(seen, window), every, deadline)
    findings = tuple(replace(finding, counts=replace(finding.counts, start=window.start, end=window.end)) for finding in judgement.findings)
    return Report(window, seen.tally, findings, (*could_not_look(seen, rules), *could_not, *judgement.could_not), notes)


def _silence(seen: Observation, window: Window) -> list[CouldNot]:
    """A log that fell silent before the end of a window that ends now: nothing was seen since, which is not the same as nothing is wrong."""
    if any(entry.blocking for entry in seen.tally.could_not):
        return []  # a cluster says so itself
    minutes = seen.ledger.minutes()
    before = minutes[(minutes != UNTIMED) & (minutes < window.end_minute)]
    if len(before) and int(before[-1]) * MINUTE >= window.end - STALE_SHARE * (window.end - window.start):
        return []
    since = iso((int(before[-1]) + 1) * MINUTE) if len(before) else iso(window.start)
    return [
        CouldNot(
            "the newest part of the log",
            f"no request came since {since}: the log is not written any more, or no request was made",
            "check that the log is still written where the source looks",
        )
    ]


def _within_log(seen: Observation, window: Window) -> Window:
    """The part of a window that the log can say something about: what lies years before its first record need not be evaluated minute by minute."""
    minutes = seen.ledger.minutes()
    minutes = minutes[minutes != UNTIMED]
    if not len(minutes):
        return window
    start, end = max(window.start, float(minutes[0]) * MINUTE), min(window.end, float(minutes[-1] + 1) * MINUTE + AFTER_LOG)
    return Window(start, end) if start < end else Window(window.end - MINUTE, window.end)


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


def place(seen: Observation, span: Span, now: float) -> tuple[Window | None, tuple[str, ...], tuple[CouldNot, ...]]:
    """The window to judge, with remarks on how it was found; None when there is nothing to judge.

    Records without a time join the end of the log when the whole log is judged, or when no record has one; otherwise they could not be looked at.
    """
    minutes = seen.ledger.minutes()
    timed = minutes[minutes != UNTIMED]
    notes: list[str] = []
    could_not: list[CouldNot] = []
    if not len(minutes):
        return None, (), ()
    untimed = seen.ledger.requests_in(UNTIMED, UNTIMED + 1)
    if not len(timed):
        seen.ledger.move(UNTIMED, 0)
        whole = "no record bears a usable time: the whole log is judged as one minute, without a baseline"
        asked = span.since is not None or span.start is not None
        remedy = "map `timestamp` in detector.yml, say source.timezone where times bear no zone, or judge with --all"
        blind = (CouldNot("the window that was asked for", "no record bears a usable time", remedy),) if asked else ()
        return UNTIMED_WINDOW, (whole,), blind
    usual = timed[timed * MINUTE <= now + CLOCK_SKEW]
    newest = int(usual[-1] if len(usual) else timed[-1])
    ahead = seen.ledger.requests_in(newest + 1, int(timed[-1]) + 1)
    if span.start is not None and span.end is not None:
        window = Window(span.start // MINUTE * MINUTE, -(-span.end // MINUTE) * MINUTE)
        if (window.start, window.end) != (span.start, span.end):
            notes.append("counts are kept per minute: the window was widened to whole minutes")
    elif span.since is not None:
        window = Window((newest + 1) * MINUTE - max(MINUTE, span.since // MINUTE * MINUTE), (newest + 1) * MINUTE)
        notes.append(f"the window ends with the newest record, of {iso(newest * MINUTE)[:16].replace('T', ' ')} UTC")
    else:
        window = Window(int(timed[0]) * MINUTE, (newest + 1) * MINUTE)
    if not seen.ledger.requests_in(window.first_minute, window.end_minute) and not untimed:
        log = f"the log's records are of {iso(int(timed[0]) * MINUTE)} to {iso((int(timed[-1]) + 1) * MINUTE)}"
        could_not.append(CouldNot("the window", f"no request lies in it; {log}", "choose another window, or check that the log is still written"))
    elif window.start < int(timed[0]) * MINUTE:
        notes.append(f"the log begins at {iso(int(timed[0]) * MINUTE)[:16].replace('T', ' ')} UTC, after the window's start")
    if untimed and span.since is None and span.start is None:
        seen.ledger.move(UNTIMED, window.end_minute - 1)
        notes.append(f"requests that bear no time: {untimed:,}; they are counted in the last minute")
    elif untimed:
        could_not.append(
            CouldNot(
                f"{several(untimed, 'request')} without a time", "they can't be placed inside or outside the window", "map `timestamp`, or judge with --all"
            )
        )
    if ahead and window.end_minute <= newest + 1:
        why = f"they bear a time after {iso(round(now))[:16].replace('T', ' ')} UTC, ahead of this machine's clock"
        could_not.append(CouldNot(f"{several(ahead, 'request')} from the future", why, "set the clocks, or name the window with --from and --to"))
    return window, tuple(notes), tuple(could_not)
