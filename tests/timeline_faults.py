"""Faults of a site, each for an hour: what happens at its beginning and at its end."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator

from detector import scoring
from detector.storage.silences import matcher
from detector.storage.store import Store
from tests.timeline import Day


def slack_fault(*faults: tuple[str, str]) -> Callable[[Day], Iterator[None]]:
    def during(day: Day) -> Iterator[None]:
        day.workspace.faults.extend(faults)
        yield

    return during


def source_down(day: Day) -> Iterator[None]:
    (day.folder / "logs").rename(day.folder / "away")
    yield
    (day.folder / "away").rename(day.folder / "logs")


def unreadable_part(day: Day) -> Iterator[None]:
    (day.folder / "logs" / "core.bin").write_bytes(b"\x00" * 4096)
    yield
    (day.folder / "logs" / "core.bin").unlink()


def lease_held(day: Day) -> Iterator[None]:
    other = Store(f"sqlite:///{day.folder / 'state.db'}")
    with other.exclusive(1.0) as held:
        assert held
        yield
    other.close()


def clock_ahead(day: Day) -> Iterator[None]:
    day.skew = 6 * 3600.0
    yield
    day.skew = 0.0


def clock_behind(day: Day) -> Iterator[None]:
    day.skew = -6 * 3600.0
    yield
    day.skew = 0.0


def restarted(day: Day) -> Iterator[None]:
    day.restart()
    yield
    day.restart()


def archived(day: Day) -> Iterator[None]:
    day.workspace.archived = True
    yield
    day.workspace.archived = False


def revoked(day: Day) -> Iterator[None]:
    day.workspace.revoked = True
    yield
    day.workspace.revoked = False


def empty_log(day: Day) -> Iterator[None]:
    day.is_writing = False
    yield
    day.is_writing = True


def crashing_rule(day: Day) -> Iterator[None]:
    def crash() -> None:
        raise ZeroDivisionError

    day.broken["empty"] = crash
    yield
    day.broken.clear()


def slow_rule(day: Day) -> Iterator[None]:
    """It hangs all hour: each run gives it up."""
    let_go = threading.Event()
    day.broken["empty"] = lambda: let_go.wait(600)
    yield
    day.broken.clear()
    let_go.set()
    scoring._LEFT_BEHIND["empty"].join()


def rotated(day: Day) -> Iterator[None]:
    day.live.rename(day.folder / "logs" / "llm.jsonl.1")
    yield
    old = day.folder / "logs" / "llm.jsonl.1"
    (day.folder / "logs" / "llm.jsonl.1.gz").write_bytes(gzip.compress(old.read_bytes()))
    old.unlink()


def silenced(day: Day) -> Iterator[None]:
    day.store.silence([matcher("deployment=dep-18")], "planned", "mina", day.now, day.now, day.now + 2400)
    yield


def nothing(day: Day) -> Iterator[None]:
    yield


FAULTS: dict[int, Callable[[Day], Iterator[None]]] = {
    0: nothing,
    1: slack_fault(("chat.postMessage", "500")),
    2: source_down,
    3: slack_fault(("chat.postMessage", "429")),
    4: slack_fault(("chat.postMessage", "lost"), ("chat.update", "lost")),
    5: lease_held,
    6: clock_ahead,
    7: clock_behind,
    8: restarted,
    9: nothing,  # late documents
    10: nothing,  # the parent is deleted
    11: nothing,  # a reaction: ack
    12: nothing,  # a reaction: snooze
    13: nothing,  # the hour that Berlin has twice
    14: archived,
    15: revoked,
    16: empty_log,
    17: crashing_rule,
    18: silenced,
    19: slow_rule,
    20: unreadable_part,
    21: nothing,  # flapping
    22: rotated,
    23: nothing,  # a storm
    24: slack_fault(("chat.postMessage", "500stored"), ("*", "html"), ("reactions.get", "429long")),
}
