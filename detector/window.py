"""Half-open UTC time windows `[start, end)` and the durations that people type (`15m`, `1h`, `7d`).

Pure: the current time is always an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from detector.errors import ConfigError

MINUTE = 60
LONGEST = 100 * 366 * 86400.0  # seconds; longer ones are slips of the keyboard
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?[smhdw])+")
_PART = re.compile(r"(\d+(?:\.\d+)?)([smhdw])")


def seconds(text: str | float) -> float:
    """Seconds in a duration such as `90s`, `15m`, `1h30m`, `7d`; bare numbers are seconds.

    Raises:
        ConfigError: not a positive duration.
    """
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        value = float(text)
    elif isinstance(text, str) and _DURATION.fullmatch(text.strip()):
        value = sum(float(number) * _UNIT_SECONDS[unit] for number, unit in _PART.findall(text))
    else:
        raise ConfigError(f"'{text}' is not a duration: write a number and one of s, m, h, d, w, such as 90s, 15m, 1h or 7d")
    if not 0 < value <= LONGEST:
        raise ConfigError(f"'{text}' is not a duration: it must be longer than nothing and at most a hundred years")
    return value


def minutes(text: str | float) -> int:
    """Whole minutes in a duration, at least 1. Raises ConfigError as `seconds` does."""
    return max(1, round(seconds(text) / MINUTE))


def instant(text: str) -> float:
    """Seconds since 1970 UTC of an ISO 8601 time; a time without a zone is UTC. Raises ConfigError."""
    try:
        parsed = datetime.fromisoformat(text.strip())
        return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone(UTC).timestamp()
    except (ValueError, OverflowError):  # the latter: a time whose year in UTC no calendar has
        raise ConfigError(f"'{text}' is not a time: write ISO 8601, such as 2026-11-29T13:30:00Z") from None


def iso(at: float) -> str:
    """ISO 8601 UTC text of an instant, with fractions only where there are any."""
    moment = datetime.fromtimestamp(at, UTC)
    return moment.isoformat(timespec="auto" if moment.microsecond else "seconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Window:
    """`[start, end)` in seconds since 1970 UTC."""

    start: float
    end: float

    def __post_init__(self) -> None:
        if not self.start < self.end:
            raise ConfigError(f"the window is empty: it would run from {iso(self.start)} to {iso(self.end)}; --from must be before --to")

    @property
    def first_minute(self) -> int:
        """The minute that holds the start."""
        return int(self.start // MINUTE)

    @property
    def end_minute(self) -> int:
        """One past the last minute that the window touches."""
        return int(-(-self.end // MINUTE))
