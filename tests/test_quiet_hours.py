"""Quiet hours: when they hold, across midnight and changing clocks; what they hold back is told when they end."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from detector.notify.choice import audience_of
from detector.notify.quiet_hours import quiet_at
from detector.scheduled import run_once
from detector.settings.notify import QuietHours
from tests.config_texts import faults_of, loaded
from tests.desk import Desk, at, at_a_desk
from tests.incident_cases import RULES, T0, report


def hours(start: str, end: str, *days: str, timezone: str | None = None) -> QuietHours:
    return QuietHours.model_validate({"match": "severity=warning", "from": start, "to": end, "days": days, "timezone": timezone})


def holds(entry: QuietHours, when: str, zone: str = "Europe/Berlin") -> bool:
    """At an instant in UTC."""
    return bool(quiet_at([entry], zone, datetime.fromisoformat(when).replace(tzinfo=UTC).timestamp()))


@pytest.mark.parametrize(
    ("entry", "when", "expected"),
    [
        (hours("09:00", "17:00"), "2026-11-30T07:59", False),  # 08:59 in Berlin
        (hours("09:00", "17:00"), "2026-11-30T08:00", True),
        (hours("09:00", "17:00"), "2026-11-30T15:59", True),
        (hours("09:00", "17:00"), "2026-11-30T16:00", False),
        (hours("22:00", "07:00"), "2026-11-30T21:00", True),
        (hours("22:00", "07:00"), "2026-11-30T05:59", True),
        (hours("22:00", "07:00"), "2026-11-30T06:00", False),
        (hours("00:00", "00:00", "sun"), "2026-11-29T12:00", True),  # a Sunday, all of it
        (hours("00:00", "00:00", "sun"), "2026-11-30T12:00", False),
        (hours("22:00", "07:00", "sun"), "2026-11-30T03:00", True),  # Monday morning: it began on Sunday
        (hours("22:00", "07:00", "mon"), "2026-11-30T03:00", False),
        (hours("22:00", "07:00", timezone="Asia/Seoul"), "2026-11-30T13:00", True),
        (hours("22:00", "07:00", timezone="Asia/Seoul"), "2026-11-30T22:00", False),
        # clocks go back at 03:00 on 25 October: 02:30 comes twice, and is within both times
        (hours("02:00", "03:00"), "2026-10-25T00:30", True),
        (hours("02:00", "03:00"), "2026-10-25T01:30", True),
        (hours("02:00", "03:00"), "2026-10-25T02:00", False),
        # and forward on 29 March: 02:00 to 03:00 does not exist
        (hours("02:00", "03:00"), "2026-03-29T00:59", False),
        (hours("02:00", "03:00"), "2026-03-29T01:00", False),
    ],
)
def test_when_they_hold(entry: QuietHours, when: str, *, expected: bool) -> None:
    assert holds(entry, when) is expected


def test_what_is_wrong_with_them_is_told(tmp_path: Path) -> None:
    """Hours without quotes are what YAML makes a number of, and meant all the same."""
    base = "notify: {{quiet: [{{match: severity=warning, {}}}]}}\n"
    assert "is no time of day" in faults_of(tmp_path, base.format("from: '25:00', to: '07:00'"))[0]
    assert "days" in faults_of(tmp_path, base.format("from: '22:00', to: '07:00', days: [someday]"))[0]
    assert "from: is missing" in faults_of(tmp_path, base.format("to: '07:00'"))[0]
    assert "no label of an incident" in faults_of(tmp_path, "notify: {quiet: [{match: colour=red, from: '22:00', to: '07:00'}]}")[0]
    (entry,) = loaded(tmp_path, base.format("from: 22:00, to: 07:00, days: sat")).notify.quiet
    assert (entry.start, entry.end, entry.days) == ("22:00", "07:00", ("sat",))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with at_a_desk(tmp_path) as found:
        yield found


def test_what_they_held_back_is_told_when_they_end(desk: Desk, tmp_path: Path) -> None:
    """T0 is 08:00 UTC. Until 08:30 warnings are quiet; critical ones are not."""
    text = "notify: {file: {path: out}, quiet: [{match: severity=warning, from: '22:00', to: '08:30', comment: sleep}]}\n"
    audience = audience_of(loaded(tmp_path, text))

    def run(minute: float, *findings: object) -> list[str]:
        now = T0 + 60 * minute
        run_once(lambda: report(now, *findings), list(RULES.values()), desk.store, audience, lambda: now)  # type: ignore[arg-type]
        out = tmp_path / "out"
        return [line.split()[3] for line in out.read_text().splitlines()] if out.exists() else []

    assert run(0, at(0)) == []
    assert run(15, at(15)) == []
    assert run(20, at(20), at(20, deployment="voice", incident="v", severity="critical")) == ["fired"]
    assert run(30, at(30), at(30, deployment="voice", incident="v", severity="critical")) == ["fired", "fired"]
