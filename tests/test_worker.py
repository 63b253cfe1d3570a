"""The worker's loop, with real threads, and what it says."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from detector import worker
from detector.errors import NotifyError, StoreError
from detector.notify.delivery import Delivered
from detector.report import Report
from detector.rules import Rule, load_rules
from detector.scheduled import Run
from detector.settings.schedule import ScheduleSettings
from detector.sources.base import CouldNot, Tally
from detector.worker import Group, Worker, exit_code, groups_of
from tests.worker_site import LEAK, blind, group_of, report, told, until


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules([])


@contextmanager
def serving(made: Worker) -> Iterator[threading.Thread]:
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        yield thread
    finally:
        made.stop()
        thread.join(30)
        assert not thread.is_alive()


def test_a_run_that_takes_too_long_overlaps_nothing_and_is_counted(rules: list[Rule]) -> None:
    at_once, most, starts = 0, 0, []

    def look(_: Group) -> Run:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        starts.append(time.monotonic())
        time.sleep(2.5)
        at_once -= 1
        return Run(report())

    made = Worker([group_of(rules, every="1s")], look, time.time, lambda _: None)
    with serving(made):
        until(lambda: len(starts) >= 3, "three runs")
    assert most == 1
    assert b'detector_runs_total{group="default",outcome="overlapped"}' in made.metrics.page()


def test_two_groups_take_turns(rules: list[Rule]) -> None:
    at_once, most, ran = 0, 0, Counter[str]()
    schedule = ScheduleSettings.model_validate({"every": "1s", "jitter": "0s", "groups": {"leaks": {"rules": [LEAK], "every": "1s"}}})

    def look(group: Group) -> Run:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        time.sleep(0.2)
        ran[group.name] += 1
        at_once -= 1
        return Run(report())

    with serving(Worker(groups_of(rules, schedule), look, time.time, lambda _: None)):
        until(lambda: min(ran["leaks"], ran["default"]) >= 2, "two runs of each group")
    assert most == 1


def test_jitter_delays_all_runs_but_the_first(rules: list[Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker.random, "uniform", lambda low, high: high)
    ran: list[float] = []

    def look(_: Group) -> Run:
        ran.append(time.monotonic())
        return Run(report())

    begun = time.monotonic()
    with serving(Worker([group_of(rules, every="1s")], look, time.time, lambda _: None, jitter=5.0)):
        until(lambda: len(ran) >= 2, "two runs")
    assert ran[0] - begun < 5.0
    assert ran[1] - ran[0] >= 5.0


def test_stopping_ends_the_run_in_progress_and_starts_no_other(rules: list[Rule]) -> None:
    began, done = threading.Event(), []
    schedule = ScheduleSettings.model_validate({"every": "1s", "jitter": "0s", "groups": {"leaks": {"rules": [LEAK], "every": "1s"}}})

    def look(group: Group) -> Run:
        began.set()
        time.sleep(1.5)
        done.append(group.name)
        return Run(report())

    made = Worker(groups_of(rules, schedule), look, time.time, lambda _: None)
    with serving(made):
        assert began.wait(60)
        time.sleep(0.3)  # the other group waits for its turn by now
        made.stop()
    assert len(done) == 1


@pytest.mark.parametrize("jump", [-7200.0, 7200.0])
def test_a_clock_that_was_set_plans_the_runs_anew(rules: list[Rule], monkeypatch: pytest.MonkeyPatch, jump: float) -> None:
    """APScheduler sleeps until a wall-clock time: set back by two hours, it would not look for two hours."""
    monkeypatch.setattr(worker, "LOOK_AT_CLOCK", 0.05)
    moved, ran, said = 0.0, [], []

    def look(_: Group) -> Run:
        ran.append(time.monotonic())
        return Run(report())

    made = Worker([group_of(rules, every="1h")], look, lambda: time.time() + moved, said.append)
    with serving(made):
        until(lambda: len(ran) == 1, "the first run")
        moved = jump
        until(lambda: len(ran) == 2, "a run after the jump")
        time.sleep(0.5)
    assert len(ran) == 2
    assert said == [f"the clock was set by {jump:+.0f} s; runs are planned anew"]


def test_faults_of_a_run_end_nothing(rules: list[Rule]) -> None:
    faults: list[Exception | None] = [StoreError("store: locked"), RuntimeError("secret text of a log"), None]
    said: list[str] = []

    def look(_: Group) -> Run:
        fault = faults.pop(0)
        if fault is not None:
            raise fault
        return Run(report())

    made = Worker([group_of(rules)], look, lambda: 1000.0, said.append)
    runs = [made.run_group(made.groups[0]) for _ in range(3)]
    assert [run is None for run in runs] == [True, True, False]
    assert said == [
        "group default: could not look: this run: store: locked; open incidents are held",
        "group default: looks again, after 0 s",
    ]
    assert "secret" not in " ".join(said)


# -- what it says
def test_blindness_is_said_once_and_its_end_too(rules: list[Rule]) -> None:
    said, beats, made = told(rules, [Run(report()), blind("the log"), blind("the log"), blind("the log"), Run(report()), blind("the log")])
    assert said == [
        "group default: could not look: the log: it is down; open incidents are held",
        "group default: looks again, after 180 s",
        "group default: could not look: the log: it is down; open incidents are held",
    ]
    assert beats == 2
    assert made.groups[0].blind_since == 360.0


def test_another_blindness_is_said_again_but_not_another_count(rules: list[Rule]) -> None:
    said, _, _ = told(rules, [blind("3 of 5 shards"), blind("4 of 5 shards"), blind("rule x")])
    assert [line.split(": ")[2] for line in said] == ["3 of 5 shards", "rule x"]


@pytest.mark.parametrize(
    ("run", "beats"),
    [
        (Run(report()), 1),
        (Run(report(CouldNot("a part", "of no weight", "", blocking=False))), 1),
        (blind("the log"), 0),
        (Run(report(), delivered=Delivered(failures=["slack: message 1 (fired): HTTP 500"])), 0),
        (Run(report(CouldNot("this run", "another worker is at work", "")), skipped=True), 0),
    ],
    ids=["quiet", "not blocking", "blind", "undelivered", "skipped"],
)
def test_the_heart_beats_only_when_everything_was_looked_at_and_delivered(rules: list[Rule], run: Run, beats: int) -> None:
    assert told(rules, [run])[1] == beats


def test_a_heartbeat_that_fails_is_said_and_ends_nothing(rules: list[Rule]) -> None:
    said: list[str] = []

    def beat() -> None:
        raise NotifyError("heartbeat: no answer from http://127.0.0.1:1", retryable=True)

    made = Worker([group_of(rules)], lambda _: Run(report()), lambda: 5.0, said.append, beat)
    assert made.run_group(made.groups[0]) is not None
    assert said == ["heartbeat: no answer from http://127.0.0.1:1"]


@pytest.mark.parametrize(
    ("codes", "expected"),
    [([], 0), ([0, 0], 0), ([0, 2], 2), ([2, 1], 1), ([1, 3], 3), ([None, 0], 2), ([None, 1], 1)],
)
def test_one_exit_code_for_several_groups(codes: list[int | None], expected: int) -> None:
    def run(code: int | None) -> Run | None:
        if code is None:
            return None
        could_not = (CouldNot("x", "y", "z"),) if code == 2 else ()
        delivered = Delivered(failures=["x"] if code == 3 else [])
        findings: Any = ("one",) if code == 1 else ()
        return Run(Report(None, Tally(), findings, could_not), delivered=delivered)

    assert exit_code([run(code) for code in codes]) == expected
