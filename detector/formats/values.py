"""Readers of single JSON values: numbers, times, durations, texts that hold JSON. Total functions: what they can't read is None.

Producers write the same value as a number, as a string with a number in it, with an unbelievable size or as NaN; canonical columns take none of that.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import datetime, tzinfo
from typing import Any

import orjson

_INT64 = 1 << 63
# Epoch units by magnitude, the last resort where nothing names the unit: seconds up to the year 5138, then ms, µs, ns (facts on logs, rule 9).
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6), (1e20, 1e9))
_UNIT_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)\s*(ns|us|µs|ms|s|m|h)\s*")
_NUMBER = re.compile(r"\s*[-+]?(?:\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:[eE][-+]?\d{1,3})?\s*")
_ISO = re.compile(r"\s*\d{4}-\d\d-\d\d[T ]\d\d:\d\d")
_ZONE_WORD = re.compile(r"\s*(\S{10}[T ]\S{5,18}?) ?(?:([+-]\d\d:?\d\d)(?: [A-Z]{2,5})?|UTC|GMT|Z)\s*")  # BigQuery, Go's time.String()
_LOG_TIME = re.compile(r"(\d\d)/([A-Z][a-z]{2})/(\d{4}):(\d\d:\d\d:\d\d) ([-+]\d{4})")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_FRACTION = re.compile(r"([.,]\d{6})\d+")  # nanoseconds: more digits than a datetime holds


def number(value: Any) -> float | int | None:
    """A finite number of 64-bit size, from a number or a text that holds one; booleans, NaN, infinities and monsters are None."""
    if value is None:
        return None
    if isinstance(value, str):
        if not _NUMBER.fullmatch(value):
            return None
        value = float(value) if any(mark in value for mark in ".eE") else int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if isinstance(value, int):
        return value if -_INT64 <= value < _INT64 else None
    return value if math.isfinite(value) and abs(value) < _INT64 else None


def integer(value: Any) -> int | None:
    """A whole number; 3.0 and "3" are 3, 3.5 is None."""
    read = number(value)
    if read is None or read != int(read):
        return None
    return int(read)


def count(value: Any) -> int | None:
    """A whole number that is not negative."""
    if value is None:
        return None
    if value.__class__ is int:
        return int(value) if 0 <= value < _INT64 else None
    read = integer(value)
    return read if read is not None and read >= 0 else None


def flag(value: Any) -> bool | None:
    """A boolean, also from the texts true and false."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return None


def text(value: Any) -> str | None:
    """A text that is not empty; numbers become text, everything else is None."""
    if value is None:
        return None
    if isinstance(value, str):
        return value or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def seconds(value: Any, unit: str = "s") -> float | None:
    """A duration in seconds from a number in `unit` (s, ms, us, ns, m, h) or a text with a unit of its own such as "45.6ms"; None if negative."""
    if isinstance(value, str):
        match = _DURATION.fullmatch(value)
        if match:
            return float(match[1]) * _UNIT_SECONDS[match[2]]
    read = number(value)
    if read is None or read < 0:
        return None
    return float(read) * _UNIT_SECONDS[unit]


_assumed_zone: ContextVar[tzinfo | None] = ContextVar("assumed_zone", default=None)


def assume_zone(zone: tzinfo | None) -> None:
    """From now on (in this thread of control) a time that bears no zone is one of `zone`; None: it gives no time. The configuration's `source.timezone`."""
    _assumed_zone.set(zone)


def instant(value: Any, unit: str | None = None, zone: tzinfo | None = None) -> float | None:
    """Seconds since 1970 UTC of an ISO 8601 text or an epoch number.

    Args:
        unit: unit of an epoch number; None: by magnitude.
        zone: of a text that bears none; None: the zone that was assumed, and without one such a text gives no time, because it could mean any of 24 hours.
    """
    if isinstance(value, str) and value[2:3] == "/":
        return _log_time(value)
    if isinstance(value, str) and _ISO.match(value):
        try:
            moment = _moment(value.strip())
            if moment.tzinfo is None:
                zone = zone or _assumed_zone.get()
                return None if zone is None else moment.replace(tzinfo=zone).timestamp()
            return moment.timestamp()
        except (ValueError, OverflowError):
            return None
    read = number(value)
    if read is None or read <= 0:
        return None
    if unit is not None:
        return float(read) * _UNIT_SECONDS[unit]
    for limit, divisor in _EPOCH_UNITS:
        if read < limit:
            return float(read) / divisor
    return None


def _moment(written: str) -> datetime:
    try:
        return datetime.fromisoformat(_FRACTION.sub(r"\1", written))
    except ValueError:
        spelled = _ZONE_WORD.fullmatch(written)
        if spelled is None:
            raise
        return datetime.fromisoformat(_FRACTION.sub(r"\1", spelled[1]) + (spelled[2] or "Z"))


def _log_time(value: str) -> float | None:
    """Seconds since 1970 UTC of the time of web servers' access lines (`29/Nov/2026:12:00:00 +0900`)."""
    match = _LOG_TIME.fullmatch(value.strip("[] "))
    month = _MONTHS.find(match[2]) if match else -1
    if match is None or month < 0:
        return None
    try:
        return datetime.fromisoformat(f"{match[3]}-{month // 3 + 1:02}-{match[1]}T{match[4]}{match[5]}").timestamp()
    except (ValueError, OverflowError):
        return None


def decoded(value: Any) -> Any:
    """The JSON value inside a text that begins like an object or a list; any other value as it is. Text that can't be read stays text."""
    if isinstance(value, (str, bytes)):
        stripped = value.strip()
        if stripped[:1] in ("{", "[", b"{", b"["):
            try:
                return orjson.loads(stripped)
            except orjson.JSONDecodeError:
                try:
                    return json.loads(stripped)  # NaN, huge numbers, lone surrogates: not JSON by the letter, but met in logs
                except (ValueError, RecursionError):
                    return value  # also nginx's \\x22: what a backslash meant can't be told for certain, so such a line is counted as unreadable
    return value


def mapping(value: Any) -> Mapping[str, Any]:
    """The value if it is an object (also one inside a text), else an empty one."""
    found = decoded(value) if isinstance(value, (str, bytes)) else value
    return found if isinstance(found, dict) else {}


def compact(value: Any) -> str:
    """JSON text of a value; a text is left as it is."""
    if isinstance(value, str):
        return value
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError, RecursionError):
        return json.dumps(value, ensure_ascii=False, default=str)
