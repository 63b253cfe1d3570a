"""Times of many records by array arithmetic."""

from __future__ import annotations

import numpy as np

from detector.formats.values import instant

_DIGITS = tuple(place for place in range(23) if place not in (4, 7, 10, 13, 16, 19))
_SIGNS = ((4, "-"), (7, "-"), (10, "T"), (13, ":"), (16, ":"), (19, "."), (23, "Z"))
_WIDTH = 24
_DAYS_BEFORE_1970 = 719162  # of the Gregorian calendar, from the year 1 on
_DAYS_IN_MONTH = np.array((0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31), np.int64)
_DAYS_BEFORE_MONTH = np.array((0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334), np.int64)


def stamps(texts: list[str | None]) -> list[float | None]:
    """Times as text to seconds since 1970 UTC, as `values.instant` reads them; all at once where all have the usual form (milliseconds and Z)."""
    whole = "" if None in texts else "".join(texts)  # type: ignore[arg-type]  # no None among them
    if texts and len(whole) == _WIDTH * len(texts) and whole.isascii():
        seconds = _usual(np.frombuffer(whole.encode(), np.uint8).reshape(len(texts), _WIDTH))
        if seconds is not None and whole[_WIDTH - 1 :: _WIDTH] == "Z" * len(texts):
            return seconds
    return [instant(text) for text in texts]


def _usual(signs: np.ndarray) -> list[float | None] | None:
    """Seconds since 1970 of times like 2026-11-20T00:00:00.000Z, shape (times, 24) bytes; None unless every one is such a time of 1902 to 2099."""
    if not all((signs[:, place] == ord(sign)).all() for place, sign in _SIGNS):
        return None
    digits = signs.take(_DIGITS, 1) - np.uint8(48)
    if digits.max() > 9:
        return None
    parts = digits.astype(np.float64) @ _PARTS  # exact: whole numbers far below 2**53
    year, month, day, hour, minute, second, milli = parts.T.astype(np.int64)
    if year.min() < 1902 or year.max() > 2099 or month.min() < 1 or month.max() > 12 or hour.max() > 23 or minute.max() > 59 or second.max() > 59:
        return None
    leap = year % 4 == 0  # every fourth year from 1902 to 2099
    if day.min() < 1 or (day > _DAYS_IN_MONTH[month] + (leap & (month == 2))).any():
        return None
    past = year - 1
    days = past * 365 + past // 4 - past // 100 + past // 400 + _DAYS_BEFORE_MONTH[month] + (leap & (month > 2)) + day - 1 - _DAYS_BEFORE_1970
    found: list[float | None] = ((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli).__truediv__(1000).tolist()
    return found


def _parts() -> np.ndarray:
    """What each digit adds to year, month, day, hour, minute, second and thousandths: shape (17, 7)."""
    weights = np.zeros((len(_DIGITS), 7))
    first = 0
    for part, width in enumerate((4, 2, 2, 2, 2, 2, 3)):
        for place in range(width):
            weights[first + place, part] = 10 ** (width - 1 - place)
        first += width
    return weights


_PARTS = _parts()
