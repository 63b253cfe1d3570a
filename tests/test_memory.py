"""The ledger kept between scheduled runs on a real cluster: what a run does not read again is what it already knows. Files: tests/test_tail.py."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from detector.ledger import Ledger
from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.storage.memory import KEPT, LedgerMemory
from detector.storage.store import Store
from detector.window import Window, instant
from tests.es_index import create, fill, own, source
from tests.llm_log import START, documents
from tests.nodes.nodes import Node

WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure")}
PROPERTIES = {"@timestamp": {"type": "date"}, "event": {"properties": {"ingested": {"type": "date"}}}}
LAG = 120.0


class Log:
    """An index that fills, and a memory over it."""

    def __init__(self, node: Node, folder: Path) -> None:
        self.node, self.index, self.count = node, own("llm-memory"), 0
        create(node, self.index, PROPERTIES)
        self.store = Store(f"sqlite:///{folder / 'state.db'}")

    def add(self, rows: list[dict[str, Any]], at: float | None = None) -> None:
        """Index documents that the cluster received at a time; a second after their own when it is left out."""
        for row in rows:
            received = at if at is not None else instant(row["@timestamp"]) + 1
            row["event"] = {"ingested": int(received * 1000)}
        assert fill(self.node, self.index, rows, first=self.count) == []
        self.count += len(rows)

    def run(self, end: float) -> Observation:
        window = Window(max(START, end - 1800), end)
        made = source(self.node, self.index, window=window)
        made.baseline_from = START
        seen = LedgerMemory(self.store, "log", LAG).observe(made, window, WANTED, SignalOptions(), end + LAG)
        assert seen is not None
        return seen

    def whole(self, end: float) -> Ledger:
        return observe(source(self.node, self.index, window=Window(START, end)), WANTED, SignalOptions()).ledger


@pytest.fixture
def log(node: Node, tmp_path: Path) -> Iterator[Log]:
    made = Log(node, tmp_path)
    yield made
    made.store.close()


def rows(ledger: Ledger) -> list[Any]:
    return [row for row in ledger.rows() if row[3] or row[4]]


def test_runs_that_read_only_what_is_new_know_what_one_run_over_everything_knows(log: Log) -> None:
    all_rows = documents(720)
    late = all_rows[5:200:40]
    on_time = [row for row in all_rows if row not in late]
    read = []
    for step in range(1, 7):
        end = START + 600 * step
        part = [row for number, row in enumerate(on_time) if (step - 1) * 600 <= 3600 * number / len(on_time) < step * 600]
        log.add(part)
        if step == 4:
            log.add(late, end + 60)
        seen = log.run(end)
        assert rows(seen.ledger) == rows(log.whole(end))
        read.append(seen.tally.requests - seen.tally.notes[KEPT])
    assert read[1] < read[0] * 1.6  # ten new minutes and those not settled, not everything so far
    assert sum(read) < 2 * len(all_rows)


def test_minutes_that_come_late_in_many_places_lose_no_counts(log: Log) -> None:
    """More stretches than are asked for apart are joined: what is joined is read, so nothing that was known may go."""
    all_rows = documents(900)
    late = [row for number, row in enumerate(all_rows) if (3600 * number / 900 // 60) % 2 == 0 and number % 5 == 0]
    log.add([row for row in all_rows if row not in late])
    log.run(START + 3600)
    log.add(late, START + 3700)
    assert rows(log.run(START + 3660).ledger) == rows(log.whole(START + 3660))


def test_what_could_not_be_read_completely_is_read_again(log: Log) -> None:
    log.add(documents(300))
    made = source(log.node, log.index, window=Window(START, START + 3600))
    memory = LedgerMemory(log.store, "log", LAG)
    made.cluster.gaps.append(_gap())
    first = memory.observe(made, made.window, WANTED, SignalOptions(), START + 3720)
    assert first is not None
    again = log.run(START + 3600)
    assert again.tally.notes[KEPT] == 0
    assert log.run(START + 3600).tally.notes[KEPT] > 0


def _gap() -> Any:
    from detector.sources.base import CouldNot

    return CouldNot("the documents", "1 of 2 shards did not answer", "look at the cluster")
