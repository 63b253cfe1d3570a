"""When the worker runs which rules: groups, cron, intervals, daylight saving."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from detector.errors import ConfigError
from detector.rules import Rule, load_rules
from detector.settings.schedule import ScheduleSettings
from detector.worker import Group, groups_of
from tests.worker_site import LEAK, SPIKE


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules([])


def test_rules_that_no_group_names_run_together(rules: list[Rule]) -> None:
    schedule = ScheduleSettings.model_validate(
        {"every": "5m", "groups": {"fast": {"rules": [LEAK], "every": "30s"}, "nightly": {"rules": SPIKE, "cron": "0 3 * * *"}}}
    )
    fast, nightly, rest = groups_of(rules, schedule)
    assert ([rule.id for rule in fast.rules], fast.every) == ([LEAK], 30.0)
    assert ([rule.id for rule in nightly.rules], nightly.every) == ([SPIKE], 86400.0)
    assert (rest.name, rest.every, len(rest.rules)) == ("default", 300.0, len(rules) - 2)
    assert not {LEAK, SPIKE} & {rule.id for rule in rest.rules}


def test_a_rule_that_does_not_exist_is_named(rules: list[Rule]) -> None:
    schedule = ScheduleSettings.model_validate({"groups": {"g": {"rules": ["no_such_rule", LEAK], "every": "1m"}}})
    with pytest.raises(ConfigError, match=r"schedule\.groups: there is no rule no_such_rule"):
        groups_of(rules, schedule)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"cron": "61 * * * *"}, "is no cron expression"),
        ({"timezone": "Mars/Olympus"}, "is no time zone"),
        ({"listen": "9464"}, "must be HOST:PORT"),
        ({"groups": {"a": {"rules": [LEAK]}}}, "needs exactly one of every and cron"),
        ({"groups": {"a": {"rules": [LEAK], "every": "1m", "cron": "* * * * *"}}}, "needs exactly one of every and cron"),
        ({"groups": {"a": {"rules": [LEAK], "every": "1m"}, "b": {"rules": [LEAK], "every": "2m"}}}, "twice"),
    ],
)
def test_wrong_schedules_are_refused(given: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        ScheduleSettings.model_validate(given)


def fired(group: Group, start: datetime, count: int, zone: str = "Europe/Berlin") -> list[str]:
    """The next times that APScheduler would run a group at, as it asks for them: each from the one before."""
    now, before, times = start.astimezone(ZoneInfo(zone)), None, []
    for _ in range(count):
        before = group.trigger.get_next_fire_time(before, now)
        assert before is not None
        times.append(before.astimezone(UTC).strftime("%d %H:%M"))
        now = before
    return times


@pytest.mark.parametrize(
    ("cron", "start", "expected"),
    [
        # 02:00 to 03:00 does not exist on 29 March: what was due at 02:30 runs at 03:30 local time (01:30 UTC), once
        ("30 2 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), ["29 01:30", "30 00:30", "31 00:30"]),
        # 02:00 to 03:00 comes twice on 25 October: 02:30 runs in both
        ("30 2 * * *", datetime(2026, 10, 24, 12, tzinfo=UTC), ["25 00:30", "25 01:30", "26 01:30"]),
        # a rhythm within the hour goes on evenly through both
        ("*/30 * * * *", datetime(2026, 3, 29, 0, 15, tzinfo=UTC), ["29 00:30", "29 01:00", "29 01:30", "29 02:00"]),
        ("*/30 * * * *", datetime(2026, 10, 25, 0, 15, tzinfo=UTC), ["25 00:30", "25 01:00", "25 01:30", "25 02:00", "25 02:30"]),
        ("0 9 * * *", datetime(2026, 3, 28, 12, tzinfo=UTC), ["29 07:00", "30 07:00"]),
    ],
)
def test_daylight_saving_moves_cron_as_documented(rules: list[Rule], cron: str, start: datetime, expected: list[str]) -> None:
    """With jitter set: APScheduler's own would plan the repeated hour for ever."""
    schedule = ScheduleSettings.model_validate({"cron": cron, "timezone": "Europe/Berlin", "jitter": "10s"})
    (group,) = groups_of(rules, schedule)
    assert fired(group, start, len(expected)) == expected


def test_intervals_do_not_care_for_daylight_saving(rules: list[Rule]) -> None:
    schedule = ScheduleSettings.model_validate({"every": "20m", "timezone": "Europe/Berlin"})
    (group,) = groups_of(rules, schedule)
    before = datetime(2026, 10, 25, 0, 30, tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin"))
    gaps = []
    for _ in range(6):
        after = group.trigger.get_next_fire_time(before, before)
        assert after is not None
        gaps.append(after.timestamp() - before.timestamp())
        before = after
    assert gaps == [1200.0] * 6
