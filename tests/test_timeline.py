"""A day and more of a worker on a fake clock, with a fault at every hour, against the real Slack protocol: nothing lost, doubled, or resolved while blind.

Each hour one deployment (`dep-0` …) leaks thinking markers for a few minutes. What the hour's fault does to that is what the tests look at.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from detector import scoring
from detector.rules import Rule
from detector.scheduled import Run
from tests.servers.slack import slack
from tests.timeline import BEGIN, HOURS, STEP, Day
from tests.timeline_faults import (
    FAULTS,
    nothing,
)


def acted(day: Day, hour: int, minute: int) -> None:
    """What people and the log do at a time, before the run."""
    at = BEGIN + timedelta(hours=hour, minutes=minute)
    name = f"dep-{hour}"
    if hour in FAULTS and minute == 10 and hour not in (9, 23):
        day.leak(name, at - timedelta(minutes=8))
    if hour == 9 and minute == 30:
        day.leak(name, at - timedelta(minutes=28))  # came 20 minutes late: that minute was judged three times by then
    if hour == 10 and minute == 20:
        (parent,) = day.parents(name)
        parent.deleted = True
        day.leak(name, at - timedelta(minutes=3))
    if hour in (11, 12) and minute == 20:
        (parent,) = day.parents(name)
        parent.reactions.append({"name": {11: "eyes", 12: "no_bell"}[hour], "users": ["U0MINA"], "count": 1})
    if hour == 18 and minute in (30, 50):  # it goes on when its silence ends
        day.leak(name, at - timedelta(minutes=5))
    if hour == 21 and minute in (10, 30, 50):
        day.leak(name, at - timedelta(minutes=5))
    if hour == 23 and minute == 10:
        for number in range(7):
            day.leak(f"storm-{number}", at - timedelta(minutes=8))


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """The whole timeline, run once."""
    real = scoring.score_rule

    with slack() as (url, workspace), pytest.MonkeyPatch.context() as patch:
        made = Day(tmp_path_factory.mktemp("day"), workspace, url)

        def scored(rule: Rule, *rest: Any) -> Any:
            if rule.id in made.broken:
                made.broken[rule.id]()
            return real(rule, *rest)

        patch.setattr(scoring, "score_rule", scored)
        trigger = made.worker.groups[0].trigger
        due = BEGIN.astimezone(ZoneInfo("Europe/Berlin"))
        open_fault: Iterator[None] = iter(())
        hour = -1
        while due.timestamp() <= (BEGIN + timedelta(hours=HOURS)).timestamp():
            elapsed = timedelta(seconds=due.timestamp() - BEGIN.timestamp())
            due_hour, minute = divmod(int(elapsed.total_seconds() // 60) - 1, 60)
            if due_hour != hour:
                next(open_fault, None)
                hour = due_hour
                made.now = due.timestamp() - 540
                open_fault = FAULTS.get(hour, nothing)(made)
                next(open_fault)
            acted(made, hour, minute + 1)
            made.traffic(due.astimezone(UTC))
            made.now = max(made.now, due.timestamp() + 1)
            made.runs.append((due.astimezone(UTC), made.worker.run_group(made.worker.groups[0])))
            made.visible.append({one.metadata["event_payload"]["deployment"] for one in workspace.parents()})
            due = trigger.get_next_fire_time(due, due)
        next(open_fault, None)
        yield made
        made.store.close()


# -- what must be true of all of it ------------------------------------------------------------------------------------------------------------------
def test_runs_came_every_ten_minutes_through_the_hour_that_comes_twice(day: Day) -> None:
    gaps = {(later - earlier) for (earlier, _), (later, _) in zip(day.runs, day.runs[1:], strict=False)}
    assert gaps == {STEP}
    assert len(day.runs) == HOURS * 6 + 1


def test_each_incident_is_told_once_and_none_is_lost(day: Day) -> None:
    told = Counter(one.metadata["event_payload"]["deployment"] for one in day.workspace.parents())
    expected = {f"dep-{hour}" for hour in FAULTS if hour not in (23,)}
    singles = {name: count for name, count in told.items() if name.startswith("dep-")}
    assert singles == dict.fromkeys(expected, 1)


def test_no_message_came_twice(day: Day) -> None:
    keys = Counter(one.metadata["event_payload"]["key"] for one in day.workspace.messages if not one.deleted)
    assert [key for key, count in keys.items() if count > 1] == []


def test_nothing_is_left_in_the_outbox(day: Day) -> None:
    assert day.store.waiting() == []


def test_nothing_resolved_in_a_run_that_could_not_look(day: Day) -> None:
    for _, run in day.runs:
        if run is not None and any(entry.blocking and not entry.what.startswith("rule ") for entry in run.report.could_not):
            assert [change for change in run.changes if change.kind == "resolved"] == []


def test_everything_ended_in_the_end_and_turned_green(day: Day) -> None:
    assert [incident.id for incident in day.store.incidents(only_open=True)] == []
    states = {one.metadata["event_payload"]["deployment"]: one.metadata["event_payload"]["state"] for one in day.workspace.parents()}
    assert {name: state for name, state in states.items() if name.startswith("dep-")} == dict.fromkeys((f"dep-{h}" for h in FAULTS if h != 23), "resolved")


def test_no_incident_is_longer_than_its_trouble_and_its_blindness(day: Day) -> None:
    """Twenty minutes of the rule's window, the judged half hour, half an hour of calm, and what could not be looked at."""
    for at, change in day.changes("resolved"):
        blind = sum(1 for when, run in day.runs if change.incident.since < when.timestamp() <= at.timestamp() and (run is None or _is_blind(run)))
        assert at.timestamp() - change.incident.since <= (20 + 30 + 30 + 40) * 60 + 2 * blind * 600, change.incident.deployment


def _is_blind(run: Run) -> bool:
    return run.skipped or any(entry.blocking for entry in run.report.could_not)


def test_metrics_agree_with_what_happened(day: Day) -> None:
    page = day.worker.metrics.page().decode()
    since = next(index for index, (at, _) in enumerate(day.runs) if at > BEGIN + timedelta(hours=9))  # the last restart
    outcomes = Counter(
        "failed" if run is None else "skipped" if run.skipped else {0: "quiet", 1: "firing", 2: "blind", 3: "undelivered"}[run.exit_code]
        for _, run in day.runs[since:]
    )
    for outcome, count in outcomes.items():
        assert f'detector_runs_total{{group="default",outcome="{outcome}"}} {count:.1f}' in page
    assert 'detector_incidents_open{severity="warning"} 0.0' in page
    assert "detector_messages_waiting 0.0" in page
    assert 'detector_blind_since_timestamp_seconds{group="default"} 0.0' in page


def test_blindness_was_said_once_each_time_and_its_end_too(day: Day) -> None:
    lost = [line for line in day.said if "could not look" in line]
    found = [line for line in day.said if "looks again" in line]
    stretches = sum(1 for (_, one), (_, other) in zip(day.runs, day.runs[1:], strict=False) if not _blind_now(one) and _blind_now(other))
    assert len(found) >= 3
    assert stretches <= len(lost) <= stretches + 4  # another reason within one stretch is said as well


def _blind_now(run: Run | None) -> bool:
    return run is None or (not run.skipped and any(entry.blocking for entry in run.report.could_not))


def test_the_heart_did_not_beat_while_blind_or_undelivered(day: Day) -> None:
    calm = sum(1 for _, run in day.runs if run is not None and not run.skipped and not _blind_now(run) and not run.delivered.failures)
    assert day.beats == calm


# -- what is true of one hour -------------------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("hour", "what"),
    [(2, "the log"), (6, "the newest part of the log"), (16, "the newest part of the log"), (17, "rule empty"), (19, "rule empty"), (20, "core.bin")],
    ids=["source down", "clock ahead", "empty log", "rule crashes", "rule is slow", "a file is no log"],
)
def test_what_could_not_be_looked_at_is_told(day: Day, hour: int, what: str) -> None:
    entries = [entry.what for run in day.went(hour) if run is not None for entry in run.report.could_not]
    assert [entry for entry in entries if what in entry]


@pytest.mark.parametrize("hour", [17, 19])
def test_the_other_rule_was_judged_meanwhile(day: Day, hour: int) -> None:
    assert {finding.rule for run in day.went(hour) if run is not None for finding in run.report.findings} == {"leaks"}


@pytest.mark.parametrize("hour", [1, 14, 15])
def test_what_could_not_be_delivered_was_loud(day: Day, hour: int) -> None:
    assert [run.exit_code for run in day.went(hour) if run is not None and run.delivered.failures] != []


def test_another_worker_held_the_lease(day: Day) -> None:
    assert [run.skipped for run in day.went(5) if run is not None] == [True] * 6


def test_late_documents_were_found(day: Day) -> None:
    fired = [at for at, change in day.changes("fired") if change.incident.deployment == "dep-9"]
    assert fired == [BEGIN + timedelta(hours=9, minutes=30)]


def test_a_deleted_parent_was_posted_anew(day: Day) -> None:
    gone = [one for one in day.workspace.messages if one.deleted]
    assert len(gone) == 1
    assert len(day.parents("dep-10")) == 1


def test_reactions_were_heard(day: Day) -> None:
    by_name = {incident.deployment: incident for incident in day.store.incidents()}
    assert by_name["dep-11"].acked_by == "U0MINA"
    assert by_name["dep-12"].snoozed_until is not None


def test_the_silenced_incident_was_told_when_its_silence_ended(day: Day) -> None:
    (fired_at,) = [at for at, change in day.changes("fired") if change.incident.deployment == "dep-18"]
    assert fired_at == BEGIN + timedelta(hours=18, minutes=10)
    first_seen = next(at for (at, _), names in zip(day.runs, day.visible, strict=True) if "dep-18" in names)
    assert first_seen == BEGIN + timedelta(hours=18, minutes=50)  # the first run after 40 minutes of silence


def test_flapping_is_one_incident(day: Day) -> None:
    assert len([change for _, change in day.changes("fired") if change.incident.deployment == "dep-21"]) == 1
    assert [change for _, change in day.changes("reopened") if change.incident.deployment == "dep-21"] == []


def test_a_storm_is_one_message(day: Day) -> None:
    storms = [one for one in day.workspace.parents() if "storm-6" in json.dumps(one.attachments) + one.text]
    assert len(storms) == 1
    assert all(f"storm-{number}" in json.dumps(storms[0].attachments) + storms[0].text for number in range(7))
