"""Quiet hours of the configuration as silences: nights, weekends, maintenance that comes every week. Pure; local time, so that clocks may change."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from detector.settings.notify import DAYS, QuietHours
from detector.storage.silences import Silence, matcher


def quiet_at(hours: Sequence[QuietHours], zone: str, at: float) -> list[Silence]:
    """The quiet hours that are in force at an instant (seconds since 1970 UTC), as silences; `zone`: of those that name none."""
    return [
        Silence(0, tuple(matcher(text) for text in entry.match), entry.comment, "detector.yml", at, at, at + 1)
        for entry in hours
        if is_quiet_hour(entry, datetime.fromtimestamp(at, UTC).astimezone(ZoneInfo(entry.timezone or zone)))
    ]


def is_quiet_hour(entry: QuietHours, local: datetime) -> bool:
    """True from `from` until before `to`; where `to` is not later, it is that of the next day. `days` are those on which it begins."""
    now = f"{local:%H:%M}"
    today, yesterday = (not entry.days or DAYS[day.weekday()] in entry.days for day in (local, local - timedelta(days=1)))
    if entry.start < entry.end:
        return today and entry.start <= now < entry.end
    return (today and now >= entry.start) or (yesterday and now < entry.end)
