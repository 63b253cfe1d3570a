"""The worker as a process: signals, missed runs, kills, two on one store, an outage."""

from __future__ import annotations

import json
import signal
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.config import load_settings
from detector.looking import Looking
from detector.notify.choice import audience_of
from detector.rules import Rule, load_rules
from detector.storage.store import Store
from detector.window import iso
from detector.worker import groups_of
from tests.answers import START, days, envelope, leak, write
from tests.servers.slack import CHANNEL, TOKEN
from tests.worker_site import Site, asked, just_judged, site, until


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules([])


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Site]:
    with site(tmp_path) as made:
        yield made


def test_faults_of_the_configuration_are_told_at_start_all_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DETECTOR_SLACK_TOKEN", raising=False)
    config = tmp_path / "detector.yml"
    faults = f"notify: {{slack: {{channel: {CHANNEL}}}}}\nschedule: {{groups: {{a: {{rules: [nothing], every: 1m}}}}}}\nretention: 1d\n"
    # what the file itself gets wrong, each at its line
    config.write_text(f"source: {{format: no_such_format, path: 7}}\n{faults}store: 3\n")
    assert main(["run", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    for part in (":1: source.format: unknown format 'no_such_format'", ":1: source.path: ", ":5: store: "):
        assert part in said
    # what it lacks, and what does not go together
    config.write_text(faults)
    assert main(["run", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    for part in ("source: no log is named", "there is no rule nothing", "DETECTOR_SLACK_TOKEN", "choose at least 8d"):
        assert part in said
    assert not (tmp_path / "detector.db").exists()


def test_an_address_that_is_taken_is_told_at_start(place: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DETECTOR_SLACK_TOKEN", TOKEN)
    first = place.start()
    until(lambda: first.runs() >= 1, "the first run")
    taken = place.folder / "taken.yml"
    taken.write_text((place.folder / "detector.yml").read_text().replace("LISTEN", f"127.0.0.1:{first.port}"))
    assert main(["run", "--config", str(taken)]) == 2
    assert "each worker of a host needs its own" in capsys.readouterr().err


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
