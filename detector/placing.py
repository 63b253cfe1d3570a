"""Placing: which window of a log is judged, and what of the log lies outside it. Pure; the present time is an argument."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from detector.observation import UNTIMED, Observation
from detector.render.numbers import several
from detector.sources.base import CouldNot
from detector.window import MINUTE, Window, iso

STALE_SHARE = 0.5  # no request in this share of a scheduled window: the log has probably stopped (as for a cluster, `detector.sources.elasticsearch`)
UNTIMED_WINDOW = Window(0, MINUTE)  # where records stand that bear no time at all
AFTER_LOG = 86400.0  # seconds after the newest record that are still evaluated: what fired then goes on firing for a while
LONGEST_PAUSE = 400 * 86400 // MINUTE  # minutes without any request after which, in a log that is judged as a whole, another log begins
CLOCK_SKEW = 10 * MINUTE  # seconds that a record may be ahead of our clock before it counts as "in the future"


@dataclass(frozen=True)
class Span:
    """Which part of a log to judge: `since` seconds before the newest record, or `[start, end)`, or (all None) the whole log."""

    since: float | None = None
    start: float | None = None
    end: float | None = None


def silence(seen: Observation, window: Window) -> list[CouldNot]:
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


def within_log(seen: Observation, window: Window) -> Window:
    """The part of a window that the log can say something about: what lies years before its first record need not be evaluated minute by minute."""
    minutes = seen.ledger.minutes()
    minutes = minutes[minutes != UNTIMED]
    if not len(minutes):
        return window
    start, end = max(window.start, float(minutes[0]) * MINUTE), min(window.end, float(minutes[-1] + 1) * MINUTE + AFTER_LOG)
    return Window(start, end) if start < end else Window(window.end - MINUTE, window.end)


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
        first, last = _main_stretch(seen, timed[timed <= newest])
        window = Window(first * MINUTE, (last + 1) * MINUTE)
        elsewhere = seen.ledger.requests_in(int(timed[0]), newest + 1) - seen.ledger.requests_in(first, last + 1)
        if elsewhere:
            reach = f"{iso(int(timed[0]) * MINUTE)} to {iso((newest + 1) * MINUTE)}"
            why = f"the log reaches from {reach} with more than a year without a request; its fuller part is judged"
            remedy = "mend their times, or name their window with --from and --to"
            could_not.append(CouldNot(f"{several(elsewhere, 'request')} beyond a long pause", why, remedy))
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
    if not len(usual):
        notes.append(f"every record bears a time after {iso(round(now))[:16].replace('T', ' ')} UTC, ahead of this machine's clock: set the clocks")
    if ahead and window.end_minute <= newest + 1:
        why = f"they bear a time after {iso(round(now))[:16].replace('T', ' ')} UTC, ahead of this machine's clock"
        could_not.append(CouldNot(f"{several(ahead, 'request')} from the future", why, "set the clocks, or name the window with --from and --to"))
    return window, tuple(notes), tuple(could_not)


def _main_stretch(seen: Observation, minutes: np.ndarray) -> tuple[int, int]:
    """First and last minute of the stretch with most requests, among those that `LONGEST_PAUSE` parts: one wrong clock must not stretch the window over
    decades."""
    stretches = np.split(minutes, np.flatnonzero(np.diff(minutes) > LONGEST_PAUSE) + 1)
    _, first, last = max((seen.ledger.requests_in(int(one[0]), int(one[-1]) + 1), int(one[0]), int(one[-1])) for one in stretches)
    return first, last
