"""The worker: when it runs, what it shows, what it says, and how it ends. Processes are real, with a real Slack protocol behind a socket."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from prometheus_client.parser import text_string_to_metric_families

from detector import scoring, worker
from detector.cli import main
from detector.config import load_settings
from detector.errors import ConfigError, NotifyError, StoreError
from detector.findings import Finding
from detector.looking import Looking
from detector.notify.choice import audience_of
from detector.notify.delivery import Delivered
from detector.report import Report
from detector.rules import Rule, load_rules
from detector.scheduled import Run
from detector.settings.schedule import ScheduleSettings
from detector.sources.base import CouldNot, Tally
from detector.storage.store import Store
from detector.window import Window, iso
from detector.worker import Group, Worker, exit_code, groups_of
from detector.worker_pages import listen
from tests.answers import START, days, envelope, leak, write
from tests.servers.slack import CHANNEL, TOKEN
from tests.worker_site import Site, asked, free_port, site, until

SPIKE, LEAK = "finish_reason_length_spike", "think_tag_leak"


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules([])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        yield made


def just_judged() -> datetime:
    """A time that the next run judges: runs judge whole minutes."""
    return datetime.now(UTC) - timedelta(seconds=61)


# -- when ------------------------------------------------------------------------------------------------------------------------------------------
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


# -- the loop, with real threads -------------------------------------------------------------------------------------------------------------------
def report(*could_not: CouldNot, findings: tuple[Finding, ...] = ()) -> Report:
    return Report(Window(0, 60), Tally(), findings, could_not)


def group_of(rules: list[Rule], **schedule: Any) -> Group:
    return groups_of(rules, ScheduleSettings.model_validate({"jitter": "0s", **schedule}))[0]


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
    with serving(Worker([group_of(rules, every="1s")], look, time.time, lambda _: None, jitter=2.0)):
        until(lambda: len(ran) >= 2, "two runs")
    assert ran[0] - begun < 1.5
    assert ran[1] - ran[0] >= 2.0


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
        assert began.wait(10)
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


# -- what it says ----------------------------------------------------------------------------------------------------------------------------------
def told(rules: list[Rule], runs: list[Run]) -> tuple[list[str], int, Worker]:
    """Lines of log and heartbeats after these runs, a minute apart."""
    said: list[str] = []
    beats: list[float] = []
    now = 0.0

    def clock() -> float:
        return now

    made = Worker([group_of(rules)], lambda _: runs.pop(0), clock, said.append, lambda: beats.append(now))
    for _ in range(len(runs)):
        now += 60
        made.run_group(made.groups[0])
    return said, len(beats), made


def blind(what: str, why: str = "it is down") -> Run:
    return Run(report(CouldNot(what, why, "")))


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


# -- over a socket ---------------------------------------------------------------------------------------------------------------------------------
def test_metrics_and_health_over_a_socket(rules: list[Rule]) -> None:
    now = 1000.0

    def clock() -> float:
        return now

    tally = Tally(requests=40, documents=41)
    tally.unreadable["broken JSON"] = 1
    runs = [Run(Report(Window(0, 900), tally, (), ())), blind("the log")]
    made = Worker([group_of(rules, every="5m")], lambda _: runs.pop(0), clock, lambda _: None, started_at=1000.0)
    port = free_port()
    server = listen(made, f"127.0.0.1:{port}")
    try:
        assert asked(f"http://127.0.0.1:{port}/healthz") == (200, "ok\n")
        made.run_group(made.groups[0])
        status, page = asked(f"http://127.0.0.1:{port}/metrics")
        samples = {(one.name, *one.labels.values()): one.value for family in text_string_to_metric_families(page) for one in family.samples}
        assert status == 200
        assert samples["detector_runs_total", "default", "quiet"] == 1
        assert samples["detector_requests_observed_total", "default"] == 40
        assert samples["detector_documents_unreadable_total", "default"] == 1
        assert samples["detector_window_lag_seconds", "default"] == 100
        assert samples["detector_last_run_timestamp_seconds", "default"] == 1000
        assert samples["detector_blind_since_timestamp_seconds", "default"] == 0
        assert samples["process_resident_memory_bytes",] > 1e6
        now = 1300.0
        made.run_group(made.groups[0])
        page = asked(f"http://127.0.0.1:{port}/metrics")[1]
        assert 'detector_blind_since_timestamp_seconds{group="default"} 1300.0' in page
        assert asked(f"http://127.0.0.1:{port}/healthz")[0] == 200  # it looked and said that it saw nothing: alive
        now = 1300.0 + 3 * 300 + 61
        assert asked(f"http://127.0.0.1:{port}/healthz") == (503, "group default has not finished a run for 961 s\n")
        assert asked(f"http://127.0.0.1:{port}/other")[0] == 404
        with pytest.raises(ConfigError, match=rf"schedule\.listen: 127\.0\.0\.1:{port} can't be taken"):
            listen(made, f"127.0.0.1:{port}")
    finally:
        server.shutdown()
        server.server_close()


def test_a_worker_that_another_one_stands_in_for_is_healthy(rules: list[Rule]) -> None:
    made = told(rules, [Run(report(CouldNot("this run", "another worker is at work", "")), skipped=True)])[2]
    made.started_at = -10_000.0
    assert made.healthy() == (True, "ok")


# -- a slow rule -----------------------------------------------------------------------------------------------------------------------------------
def test_a_slow_rule_is_told_and_delays_no_other(rules: list[Rule], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(tmp_path) as place:
        place.append(20, just_judged(), leaks=True)
        place.configure("every: 1m, deadline: 1s")
        monkeypatch.setenv("DETECTOR_SLACK_TOKEN", TOKEN)
        (tmp_path / "detector.yml").write_text((tmp_path / "detector.yml").read_text().replace("'LISTEN'", "''"))
        settings = load_settings(tmp_path / "detector.yml", {"DETECTOR_SLACK_TOKEN": TOKEN})
        store = Store(settings.store)
        looking = Looking(settings, rules, store, audience_of(settings), lambda: time.time() + 60, lambda _: None)
        group = groups_of(rules, settings.schedule)[0]
        looking.run(group)  # compiled code is loaded by now
        real, calls, let_go = scoring.score_rule, Counter[str](), threading.Event()

        def slow(rule: Rule, *rest: Any) -> Any:
            calls[rule.id] += 1
            if rule.id == SPIKE:
                let_go.wait(60)
            return real(rule, *rest)

        monkeypatch.setattr(scoring, "score_rule", slow)
        begun = time.monotonic()
        runs = [looking.run(group), looking.run(group)]
        took = time.monotonic() - begun
        let_go.set()
        store.close()
    for run in runs:
        assert [entry.why for entry in run.report.could_not if entry.what == f"rule {SPIKE}"] == ["it took longer than 1 s; the other rules were judged"]
        assert LEAK in {finding.rule for finding in run.report.findings}
    assert calls[SPIKE] == 1  # the second run found it still at work: no thread is left behind twice
    assert calls[LEAK] == 2
    assert took < 30


# -- processes -------------------------------------------------------------------------------------------------------------------------------------
def test_faults_of_the_configuration_are_told_at_start_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DETECTOR_SLACK_TOKEN", raising=False)
    config = tmp_path / "detector.yml"
    config.write_text(
        f"source: {{format: no_such_format}}\nnotify: {{slack: {{channel: {CHANNEL}}}}}\nschedule: {{groups: {{a: {{rules: [nothing], every: 1m}}}}}}\n"
    )
    assert main(["run", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    for part in ("source: no log is named", "no_such_format", "there is no rule nothing", "DETECTOR_SLACK_TOKEN"):
        assert part in said
    assert not (tmp_path / "detector.db").exists()


def test_an_address_that_is_taken_is_told_at_start(place: Site) -> None:
    first = place.start()
    until(lambda: first.runs() >= 1, "the first run")
    taken = place.folder / "taken.yml"
    taken.write_text((place.folder / "detector.yml").read_text().replace("LISTEN", f"127.0.0.1:{first.port}"))
    assert main(["run", "--config", str(taken)]) == 2


def test_term_ends_after_the_run_in_progress_with_code_0(place: Site) -> None:
    place.workspace.faults.append(("chat.postMessage", "429"))  # the run waits a second for Slack
    place.append(20, just_judged(), leaks=True)
    running = place.start()
    until(lambda: any(method == "chat.postMessage" for method, _ in place.workspace.calls), "a message that is refused")
    assert running.end() == 0
    assert len(place.workspace.parents()) == 1  # what it had begun, it finished
    assert running.said.rstrip().endswith("ended")


def test_interrupted_by_hand_it_ends_as_well(place: Site) -> None:
    running = place.start()
    until(lambda: running.runs() >= 1, "a run")
    assert running.end(signal.SIGINT) == 0


def test_runs_missed_while_it_was_stopped_are_made_up_for_once(place: Site) -> None:
    running = place.start()
    until(lambda: running.runs() >= 2, "two runs")
    running.child.send_signal(signal.SIGSTOP)
    time.sleep(8)
    running.child.send_signal(signal.SIGCONT)
    woken = time.monotonic()
    until(lambda: asked(f"http://127.0.0.1:{running.port}/healthz")[0] == 200, "an answer")
    first = running.runs()
    time.sleep(2)
    more = running.runs() - first
    assert more <= (time.monotonic() - woken) + 2, "the eight runs that were missed were made up for one by one"


def test_killed_and_started_again_it_tells_each_incident_once(place: Site) -> None:
    first = place.start()
    until(lambda: first.runs() >= 1, "a run")
    place.append(20, just_judged(), leaks=True)
    until(lambda: any(method == "chat.postMessage" for method, _ in place.workspace.calls), "the first call")
    first.end(signal.SIGKILL)
    place.append(5, just_judged(), leaks=True)
    second = place.start()
    until(lambda: second.runs("firing") >= 2, "runs after the restart")
    assert second.end() == 0
    assert len(place.workspace.parents()) == 1
    assert len(set(place.keys())) == len(place.keys())


def test_two_workers_on_one_store_tell_each_incident_once(place: Site) -> None:
    both = [place.start(), place.start()]
    until(lambda: all(one.runs() >= 1 for one in both), "a run of each")
    for number in range(3):
        place.append(10, just_judged(), leaks=True, deployment=f"dep-{number}")
        time.sleep(1)
    until(lambda: len(place.workspace.parents()) == 3, "three messages")
    goal = [one.runs("firing") + 2 for one in both]
    until(lambda: all(one.runs("firing") >= wanted for one, wanted in zip(both, goal, strict=True)), "two more runs of each")
    assert [one.end() for one in both] == [0, 0]
    assert len(place.workspace.parents()) == 3
    assert len(set(place.keys())) == len(place.keys())
    assert sorted(message.metadata["event_payload"]["deployment"] for message in place.workspace.parents()) == ["dep-0", "dep-1", "dep-2"]


def test_the_heartbeat_address_is_asked_over_the_network(place: Site) -> None:
    asked_for: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked_for.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        place.configure(f"every: 1s, jitter: 0s, heartbeat: 'http://127.0.0.1:{server.server_address[1]}/ping/abc'")
        running = place.start()
        until(lambda: len(asked_for) >= 2, "two beats")
        (place.folder / "log.jsonl").rename(place.folder / "gone.jsonl")
        until(lambda: running.runs("blind") >= 2, "two blind runs")
        beats = len(asked_for)
        until(lambda: running.runs("blind") >= 4, "two more")
        assert len(asked_for) == beats
        (place.folder / "gone.jsonl").rename(place.folder / "log.jsonl")
        until(lambda: len(asked_for) > beats, "another beat")
        assert running.end() == 0
    finally:
        server.shutdown()
        server.server_close()
    assert set(asked_for) == {"/ping/abc"}
    assert running.said.count("could not look") == 1
    assert running.said.count("looks again") == 1


def test_once_runs_every_group_and_ends_with_the_code_of_check(place: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETECTOR_SLACK_TOKEN", TOKEN)
    config = str(place.folder / "detector.yml")
    (place.folder / "detector.yml").write_text((place.folder / "detector.yml").read_text().replace("LISTEN", ""))
    monkeypatch.setattr(time, "time", lambda real=time.time: real() + 60)
    assert main(["run", "--once", "--config", config]) == 0
    place.append(20, just_judged(), leaks=True)
    assert main(["run", "--once", "--config", config]) == 1
    assert len(place.workspace.parents()) == 1
    place.workspace.revoked = True
    place.append(20, just_judged(), leaks=True, deployment="other")
    assert main(["run", "--once", "--config", config]) == 3


# -- after an outage -------------------------------------------------------------------------------------------------------------------------------
def test_an_outage_is_made_up_for_in_one_message(tmp_path: Path, rules: list[Rule], monkeypatch: pytest.MonkeyPatch) -> None:
    """Four hours nobody looked, in which eight deployments leaked one after the other: one summary, nothing lost."""
    begun = START + timedelta(days=2)
    rows = days(2, 60)
    rows += [leak(50_000 + 10 * d + i, begun + timedelta(minutes=20 + 25 * d, seconds=i), deployment=f"dep-{d}") for d in range(8) for i in range(5)]
    rows += [envelope(70_000 + i, begun + timedelta(minutes=i)) for i in range(245)]
    with site(tmp_path) as place:
        rows.sort(key=lambda row: str(row["timestamp"]))
        told_at = iso(begun.timestamp())
        write(tmp_path / "log.jsonl", [row for row in rows if row["timestamp"] < told_at])
        place.configure("every: 5m, window: 30m, catch_up: 6h")
        text = (tmp_path / "detector.yml").read_text().replace("'LISTEN'", "''")
        (tmp_path / "detector.yml").write_text(text)
        settings = load_settings(tmp_path / "detector.yml", {"DETECTOR_SLACK_TOKEN": TOKEN})
        now, said = begun.timestamp(), []
        store = Store(settings.store)
        looking = Looking(settings, rules, store, audience_of(settings), lambda: now, said.append)
        group = groups_of(rules, settings.schedule)[0]
        assert looking.run(group).incidents == ()
        with (tmp_path / "log.jsonl").open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows if row["timestamp"] >= told_at))
        now += 4 * 3600
        run = looking.run(group)
        assert run.report.window is not None
        assert run.report.window.end - run.report.window.start == 4 * 3600
        (summary,) = place.workspace.parents()
        assert [d for d in range(8) if f"dep-{d}" not in json.dumps(summary.attachments)] == []
        now += 300
        looking.run(group)
        assert len(place.workspace.parents()) == 1
        now += 9 * 3600
        looking.run(group)
        store.close()
    assert said == [f"group default: nobody looked for {9 * 3600:.0f} s; only the last 21600 s are made up for (schedule.catch_up)"]
