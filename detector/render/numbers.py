"""Numbers as people read them: counts with denominator, interval and baseline; times in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from detector.findings import Counted, Finding


def percent(share: float | None) -> str:
    """A share (0 to 1) as percent with two significant digits, never as a bare 0 or 100 % when it is neither: `2.1 %`, `0.02 %`, `99.7 %`."""
    if share is None:
        return "unknown"
    value = share * 100
    if value == 0 or value == 100:
        return f"{value:.0f} %"
    if value < 0.001:
        return "under 0.001 %"
    if value > 99.5:
        return f"{min(value, 99.99):.2f} %".replace(".00", "")
    digits = 0 if value >= 10 else 1 if value >= 1 else 2 if value >= 0.1 else 3
    text = f"{value:.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def percents(low: float, high: float) -> str:
    """Both ends of an interval: `1.4–3.0 %`, as exact at one end as at the other."""
    ends = [percent(low).removesuffix(" %"), percent(high).removesuffix(" %")]
    if any("." in end for end in ends):
        ends = [f"{end}.0" if len(end) == 1 and end != "0" else end for end in ends]
    return f"{ends[0]}–{ends[1]} %"


def several(number: int, noun: str) -> str:
    """`1 request`, `1,204 requests`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def of(counted: Counted) -> str:
    """`25 of 1,204`."""
    return f"{counted.flagged:,} of {counted.requests:,}"


def rate_line(finding: Finding) -> str:
    """`25 of 1,204 requests (2.1 %, 95 % interval 1.4–3.0 %), usually 0.2 % (18 of 9,021)`."""
    low, high = finding.interval
    text = f"{of(finding.counts)} requests ({percent(finding.counts.rate)}, 95 % interval {percents(low, high)})"
    if finding.baseline is not None:
        return f"{text}, usually {percent(finding.baseline.rate)} ({of(finding.baseline)})"
    return f"{text}, no baseline: the log holds nothing of this series before"


def clock(at: float, *, day: bool = True, seconds: bool = False) -> str:
    """`2026-11-29 13:29` (or with seconds, or without the day), UTC."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.strftime(("%Y-%m-%d " if day else "") + ("%H:%M:%S" if seconds else "%H:%M"))


def span(start: float, end: float, *, seconds: bool = False) -> str:
    """`2026-11-29 12:30–13:30 UTC`, with both days where they differ."""
    same_day = clock(start)[:10] == clock(end)[:10]
    return f"{clock(start, seconds=seconds)}–{clock(end, day=not same_day, seconds=seconds)} UTC"
