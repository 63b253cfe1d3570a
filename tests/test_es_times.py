"""Times in a cluster that are not what they should be: documents of the future, indices without the time field, logs that stopped behind them."""

from __future__ import annotations

import copy
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from detector.checkups.base import Asked, examine_all
from detector.config import Settings, load_settings
from detector.discovery.sample import sample_cluster
from detector.observation import observe
from detector.signals.base import SignalOptions, signals
from detector.sources import es_state
from detector.sources.base import CouldNot
from detector.sources.choice import cluster_address
from detector.sources.es_state import late_minutes
from detector.window import Window
from tests.es_index import create, create_mapped, fill, own, reach, source
from tests.llm_log import START, documents
from tests.nodes.nodes import Node

WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure")}
TIME = {"@timestamp": {"type": "date"}}
NOW = START + 7200


def _at(document: dict[str, Any], at: float) -> dict[str, Any]:
    moved = copy.deepcopy(document)
    moved["@timestamp"] = datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    moved["id"] = f"log-{at:.0f}"
    return moved


def _could_not(node: Node, index: str, window: Window, now: float | None = NOW) -> list[CouldNot]:
    return observe(source(node, index, window=window, now=now), WANTED, SignalOptions()).tally.could_not


@pytest.mark.parametrize("ahead", [3600.0, 20 * 365 * 86_400.0])
def test_a_document_of_the_future_does_not_hide_that_the_log_stopped(node: Node, ahead: float) -> None:
    index = own("llm-stopped")
    create(node, index, TIME)
    log = documents(120, seconds=2400)
    assert fill(node, index, [*log, _at(log[0], NOW + ahead)]) == []
    window = Window(START, NOW - 120)
    said = _could_not(node, index, window)
    assert any("no document came since" in entry.why for entry in said)
    future = next(entry for entry in said if "ahead of this machine's clock" in entry.why)
    assert future.blocking is (ahead < 86_400)  # one of another year holds no answer of today, and would block for years
    assert future.lasting
    assert future.what.startswith("1 document ")
    empty = _could_not(node, index, Window(NOW - 3000, NOW - 120))
    assert any("ingestion stopped" in entry.why for entry in empty)


def test_documents_just_written_are_not_from_the_future(node: Node) -> None:
    index = own("llm-present")
    create(node, index, TIME)
    assert fill(node, index, documents(120)) == []
    assert _could_not(node, index, Window(START, START + 3480), now=START + 3600 - 30) == []


def test_an_index_without_the_time_field_is_told(node: Node) -> None:
    """No window holds its documents. One that is still empty is no gap."""
    timed, other, empty = own("llm-timed"), own("llm-other-time"), own("llm-no-time-yet")
    create(node, timed, TIME)
    create(node, other, {"ts": {"type": "date"}})
    create_mapped(node, empty, {"properties": {}})
    log = documents(120)
    assert fill(node, timed, log[::2]) == []
    assert fill(node, other, [{"ts" if name == "@timestamp" else name: value for name, value in one.items()} for one in log[1::2]]) == []
    window = Window(START, START + 3600)
    found = _could_not(node, f"{timed},{other},{empty}", window)
    assert [entry.what for entry in found] == [f"60 documents of {other}"]
    assert found[0].blocking
    assert "@timestamp" in found[0].remedy
    assert _could_not(node, f"{timed},{empty}", window) == []


def test_an_index_that_maps_nothing_yet_stops_no_reading(node: Node) -> None:
    """Neither paging nor the sample of `init`: an unmapped field to sort by makes a search fail as a whole."""
    timed, empty = own("llm-timed-first"), own("llm-mapped-never")
    create(node, timed, TIME)
    create_mapped(node, empty, {"properties": {}})
    log = documents(60)
    assert fill(node, timed, log) == []
    seen = observe(source(node, f"{timed},{empty}"), WANTED, SignalOptions())
    assert seen.tally.could_not == []
    assert seen.tally.requests == 60
    settings = Settings.model_validate({"source": {"url": node.url, "index": f"{timed},{empty}"}})
    assert sample_cluster(settings).documents


def test_doctor_tells_both(node: Node, tmp_path: Path) -> None:
    index = own("llm-doctor-times")
    create(node, index, TIME)
    now = time.time()
    log = documents(60, start=now - 9000, seconds=1800)
    assert fill(node, index, [*log, _at(log[0], now + 3600)]) == []
    config = tmp_path / "detector.yml"
    config.write_text(f"source: {{url: '{node.url}', index: {index}}}\n")
    problems = {line.what: line.seen for line in examine_all(load_settings(str(config), {}), Asked(), now) if line.state == "problem"}
    assert "and 1 document more than 60 s" in problems["clock"]
    assert "none in the last 3600 s" in problems["documents"]


def test_late_minutes_of_more_than_one_answer(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es_state, "MOST_LATE", 7)
    index = own("llm-late")
    create(node, index, {**TIME, "event": {"properties": {"ingested": {"type": "date"}}}})
    log = documents(60)
    for document in log:
        document["event"] = {"ingested": int(NOW * 1000)}
    assert fill(node, index, log) == []
    fields = source(node, index).fields
    found = late_minutes(reach(node, index), fields, "@timestamp", Window(START, START + 3600), NOW - 60)
    assert found == {int(START // 60) + minute for minute in range(60)}


def test_date_math_holds_a_slash() -> None:
    assert cluster_address("http://es:9200/<llm-{now/d}>", "--source") == ("http://es:9200", "<llm-{now/d}>")
    assert cluster_address("http://es:9200/path/llm-a,<llm-{now/d{yyyy.MM|+09:00}}>", "--source") == (
        "http://es:9200/path",
        "llm-a,<llm-{now/d{yyyy.MM|+09:00}}>",
    )
