"""Log files followed between scheduled runs: only new lines are read, and the counts are those of reading everything."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from detector.ledger import Ledger
from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources import tail as tail_module
from detector.sources.files import Files
from detector.storage.memory import KEPT, LedgerMemory
from detector.storage.store import Store
from detector.window import MINUTE, Window
from tests.answers import START, envelope, leak

NAMES = ("think_leak", "length_cutoff", "empty_content")
WANTED = {name: signals()[name] for name in NAMES}
SPAN = Window(START.timestamp(), START.timestamp() + 3600)


class Log:
    """A folder of log files and a memory over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "logs"
        self.folder.mkdir()
        self.store = Store(f"sqlite:///{folder / 'state.db'}")
        self.memory = self.fresh_memory()
        self.number = 0

    def fresh_memory(self) -> LedgerMemory:
        """As after a restart: nothing but the store is remembered."""
        return LedgerMemory(self.store, "log", 120.0, reach=86400.0)

    def lines(self, count: int) -> str:
        """The next answers of the log, one a second; every seventh leaks."""
        rows = []
        for _ in range(count):
            self.number += 1
            at = START + timedelta(seconds=self.number)
            rows.append((leak if self.number % 7 == 0 else envelope)(self.number, at))
        return "".join(json.dumps(row) + "\n" for row in rows)

    def append(self, name: str, text: str) -> None:
        with (self.folder / name).open("a") as file:
            file.write(text)

    def run(self) -> Observation | None:
        return self.memory.observe(Files([str(self.folder)]), SPAN, WANTED, SignalOptions(), SPAN.end)

    def looked(self) -> Observation:
        seen = self.run()
        assert seen is not None
        return seen

    def whole(self) -> Observation:
        return observe(Files([str(self.folder)]), WANTED, SignalOptions())


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    made = Log(tmp_path)
    yield made
    made.store.close()


def counts(ledger: Ledger) -> tuple[list[Any], Any]:
    """All rows and evidence without places of documents, which change when a file is renamed."""
    evidence = {key: (found.subtypes, found.also, [(e.timestamp, e.request_id, e.reason) for e in found.examples]) for key, found in ledger.evidence.items()}
    return [row for row in ledger.rows() if row[3] or row[4]], evidence


def fresh(seen: Observation) -> int:
    """Requests that were read in this run."""
    return seen.tally.requests - seen.tally.notes[KEPT]


def test_only_new_lines_are_read(log: Log) -> None:
    log.append("a.jsonl", log.lines(70))
    assert fresh(log.looked()) == 70
    assert log.looked().tally.documents == 0
    log.append("a.jsonl", log.lines(7))
    seen = log.looked()
    assert (seen.tally.documents, fresh(seen), seen.tally.requests) == (7, 7, 77)
    assert counts(seen.ledger) == counts(log.whole().ledger)


def test_a_line_without_its_end_waits_until_it_is_whole(log: Log) -> None:
    text = log.lines(3)
    log.append("a.jsonl", text[:-200])
    assert log.looked().tally.requests == 2
    log.append("a.jsonl", text[-200:])
    assert log.looked().tally.requests == 3
    assert not log.looked().tally.unreadable


def test_a_last_line_that_never_ends_is_read_once_the_file_stands_still(log: Log) -> None:
    log.append("a.jsonl", log.lines(3).rstrip("\n"))
    assert [log.looked().tally.requests for _ in range(3)] == [2, 3, 3]


def rename(log: Log) -> None:
    (log.folder / "a.jsonl").rename(log.folder / "a.jsonl.1")
    log.append("a.jsonl", log.lines(10))


def copy_and_cut(log: Log) -> None:
    shutil.copy(log.folder / "a.jsonl", log.folder / "a.jsonl.1")
    (log.folder / "a.jsonl").write_text("")
    log.looked()  # empty at this moment
    log.append("a.jsonl", log.lines(10))


def while_copied(log: Log) -> None:
    shutil.copy(log.folder / "a.jsonl", log.folder / "a.jsonl.1")
    log.looked()
    (log.folder / "a.jsonl").write_text(log.lines(10))


def packed(log: Log) -> None:
    data = (log.folder / "a.jsonl").read_bytes()
    (log.folder / "a.jsonl.1.gz").write_bytes(gzip.compress(data))
    (log.folder / "a.jsonl").unlink()
    log.append("a.jsonl", log.lines(10))


def packed_with_an_unread_end(log: Log) -> None:
    log.append("a.jsonl", log.lines(13))
    packed(log)


@pytest.mark.parametrize("rotate", [rename, copy_and_cut, while_copied, packed, packed_with_an_unread_end])
@pytest.mark.parametrize("restarted", [False, True], ids=["going on", "restarted"])
def test_rotation_neither_loses_nor_doubles(log: Log, rotate: Callable[[Log], None], restarted: bool) -> None:
    log.append("a.jsonl", log.lines(50))
    log.looked()
    rotate(log)
    if restarted:
        log.memory = log.fresh_memory()
    assert counts(log.looked().ledger) == counts(log.whole().ledger)
    assert log.looked().tally.documents == 0


def test_what_is_deleted_stays_counted(log: Log) -> None:
    log.append("a.jsonl", log.lines(50))
    log.looked()
    (log.folder / "a.jsonl").unlink()
    log.append("b.jsonl", log.lines(5))
    assert log.looked().tally.requests == 55


def test_a_file_written_anew_with_the_same_first_line_is_read_from_its_start(log: Log) -> None:
    head = log.lines(1)
    log.append("a.jsonl", head + log.lines(9))
    log.looked()
    (log.folder / "a.jsonl").write_text(head + log.lines(30))
    assert fresh(log.looked()) == 31


def test_two_files_that_begin_alike_but_differ_are_read_whole(log: Log) -> None:
    head = log.lines(1)
    log.append("a.jsonl", head + log.lines(5))
    log.append("b.jsonl", head + log.lines(5))
    assert log.run() is None


@pytest.mark.parametrize("text", ["not JSON at all\n" * 20, "[{}]\n", '{\n "a": 1\n}\n'])
def test_what_can_not_be_followed_is_read_whole(log: Log, text: str) -> None:
    log.append("a.jsonl", log.lines(5))
    log.append("b.log", text)
    assert log.run() is None


def test_a_crash_between_reading_and_keeping_changes_nothing(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts and marks are kept in one transaction: without it, lines would be read again and counted twice, or never."""
    log.append("a.jsonl", log.lines(20))
    log.looked()
    log.append("a.jsonl", log.lines(20))
    with monkeypatch.context() as broken:
        broken.setattr("detector.storage.counts._keep_fact", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            log.run()
    log.memory = log.fresh_memory()
    assert counts(log.looked().ledger) == counts(log.whole().ledger)


def test_a_file_that_stops_being_readable_is_told_and_read_again(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    log.append("a.jsonl", log.lines(20))
    log.looked()
    log.append("a.jsonl", log.lines(20))

    def broken(unit: Any) -> Iterator[bytes]:
        yield (log.folder / "a.jsonl").read_bytes()[unit.start :][:900]
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as fault:
        fault.setattr("detector.sources.unit.range_blocks", broken)
        assert [entry.why for entry in log.looked().tally.could_not] == ["reading stopped: Input/output error"]
    assert counts(log.looked().ledger) == counts(log.whole().ledger)


def test_a_signal_that_no_line_shows_stays_invisible_when_nothing_is_new(log: Log) -> None:
    row = envelope(1, START)
    del row["response"]["choices"][0]["message"]["content"]
    log.append("a.jsonl", json.dumps(row) + "\n")
    first = log.looked().invisible
    assert first["think_leak"] == 1
    assert log.looked().invisible == first


def test_answers_without_a_time_are_told_once(log: Log) -> None:
    row = envelope(1, START)
    del row["timestamp"]
    log.append("a.jsonl", log.lines(2) + json.dumps(row) + "\n")
    assert [-1 in log.looked().ledger.minutes().tolist() for _ in range(2)] == [True, False]


def test_two_workers_on_one_store_read_each_line_once(log: Log) -> None:
    other = log.fresh_memory()
    for _ in range(4):
        log.append("a.jsonl", log.lines(9))
        log.looked()
        log.memory, other = other, log.memory
        log.append("a.jsonl", log.lines(4))
    assert counts(log.looked().ledger) == counts(log.whole().ledger)


def test_counts_that_no_window_looks_at_are_let_go(log: Log) -> None:
    log.append("a.jsonl", log.lines(100))
    log.looked()
    late = Window(SPAN.start + 4 * 86400, SPAN.end + 4 * 86400)
    seen = log.memory.observe(Files([str(log.folder)]), late, WANTED, SignalOptions(), late.end)
    assert seen is not None
    assert seen.ledger.span() is None


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_writing_rotating_and_looking_counts_everything_once(log: Log, seed: int) -> None:
    dice = random.Random(seed)
    rotations = 0
    for _ in range(25):
        step = dice.choice(["write", "write", "look", "look", "rename", "pack", "cut", "restart"])
        live = log.folder / "a.jsonl"
        if step == "write" or not live.exists():
            log.append("a.jsonl", log.lines(dice.randrange(1, 12)))
        elif step == "look":
            log.looked()
        elif step == "restart":
            log.memory = log.fresh_memory()
        elif live.stat().st_size:
            rotations += 1
            old = log.folder / f"a.jsonl.{rotations}"
            if step == "rename":
                live.rename(old)
            elif step == "pack":
                old.with_suffix(f".{rotations}.gz").write_bytes(gzip.compress(live.read_bytes()))
                live.unlink()
            else:
                shutil.copy(live, old)
                live.write_text("")
    log.append("a.jsonl", log.lines(1))
    assert counts(log.looked().ledger) == counts(log.whole().ledger)


def test_what_a_run_reads_does_not_grow_with_the_log(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bytes asked of the files in a run, for a log that is ten times as long."""
    read: list[int] = []
    real = tail_module.UnitReading

    def counted(unit: Any, *rest: Any) -> Any:
        read.append(unit.size)
        return real(unit, *rest)

    log.append("a.jsonl", log.lines(200))
    log.looked()
    monkeypatch.setattr(tail_module, "UnitReading", counted)
    log.append("a.jsonl", log.lines(5))
    log.looked()
    log.append("a.jsonl", log.lines(2000))
    log.looked()
    log.append("a.jsonl", log.lines(5))
    log.looked()
    assert abs(read[2] - read[0]) < 200


def test_minutes_are_whole(log: Log) -> None:
    """A minute that two runs read parts of adds up."""
    for _ in range(30):
        log.append("a.jsonl", log.lines(4))
        log.looked()
    ledger = log.fresh_memory().store.ledger(next(iter(log.memory._loaded)), 0, 1 << 40)[0]
    panel = ledger.panel("think_leak", (), int(START.timestamp() // MINUTE), int(START.timestamp() // MINUTE) + 3)
    assert panel.requests[0].tolist() == [59, 60, 1]
    assert isinstance(START, datetime)
