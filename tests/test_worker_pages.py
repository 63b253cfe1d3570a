"""The worker's pages over a socket, and a rule that is too slow."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from detector import scoring
from detector.config import load_settings
from detector.errors import ConfigError
from detector.looking import Looking
from detector.notify.choice import audience_of
from detector.report import Report
from detector.rules import Rule, load_rules
from detector.scheduled import Run
from detector.sources.base import CouldNot, Tally
from detector.storage.store import Store
from detector.window import Window
from detector.worker import Worker, groups_of
from detector.worker_pages import listen
from tests.servers.slack import TOKEN
from tests.worker_site import LEAK, SPIKE, asked, blind, free_port, group_of, just_judged, report, site, told


@pytest.fixture(scope="module")
def rules() -> list[Rule]:
    return load_rules([])


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


def test_a_slow_rule_is_told_and_delays_no_other(rules: list[Rule], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with site(tmp_path) as place:
        place.append(20, just_judged(), leaks=True)
        place.configure("every: 1m, deadline: 5s")
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
        assert [entry.why for entry in run.report.could_not if entry.what == f"rule {SPIKE}"] == ["it took longer than 5 s; the other rules were judged"]
        assert LEAK in {finding.rule for finding in run.report.findings}
    assert calls[SPIKE] == 1  # the second run found it still at work: no thread is left behind twice
    assert calls[LEAK] == 2
    assert took < 50
