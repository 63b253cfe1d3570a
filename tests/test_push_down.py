"""What signals tell a store about their candidates holds: nothing that `judge` flags is outside of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from detector.reading import ReadingOptions
from detector.record import Record
from detector.signals.base import SignalOptions, Where, signals
from detector.signals.empty_content import has_visible_text
from detector.sources.es_sample import look
from tests.llm_log import documents

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared" / "cases" / "responses.jsonl"


def holds(record: Record, where: Where) -> bool:
    """The condition, decided on a record as a store with every field would decide it."""
    value = getattr(record, where.column)
    wanted = where.value if isinstance(where.value, (tuple, list, set, frozenset)) else (where.value,)
    texts = value if isinstance(value, tuple) else (value,)
    match where.op:
        case "exists":
            return value not in (None, ())
        case "missing":
            return value in (None, ())
        case "in":
            return value in wanted
        case "not_in":
            return value not in wanted
        case "gte":
            return value is not None and value >= where.value
        case "lte":
            return value is not None and value <= where.value
        case "contains":
            return any(text is not None and where.value in text for text in texts)
        case "blank":
            return not has_visible_text(value)
        case "equals_column" | "gte_column":
            other = getattr(record, str(where.value))
            return value is not None and other is not None and (value == other if where.op == "equals_column" else value >= other)
    raise AssertionError(where.op)


def _records(bodies: Iterator[dict[str, object]]) -> list[Record]:
    hits = ({"_index": "i", "_id": str(number), "_source": body} for number, body in enumerate(bodies))
    return [record for one in look(hits, ReadingOptions()) for record in one.records]


def _check(records: list[Record]) -> int:
    flagged = 0
    for name, signal in signals().items():
        for record in records:
            if signal.observable(record) and signal.judge(record, SignalOptions()) is not None:
                flagged += 1
                if signal.push_down.candidates:
                    assert any(all(holds(record, where) for where in option) for option in signal.push_down.candidates), (name, record.record_id)
    return flagged


def test_candidates_cover_the_made_log() -> None:
    assert _check(_records(iter(documents(1500, seed=3)))) > 100


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.jsonl")), ids=lambda path: str(path.relative_to(DATA)))
def test_candidates_cover_the_test_data(path: Path) -> None:
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.startswith("{")]
    _check(_records(line for line in lines if isinstance(line, dict)))


@pytest.mark.shared
def test_candidates_cover_the_labelled_cases() -> None:
    if not SHARED.exists():
        pytest.skip(f"{SHARED.name}: the labelled cases are not beside this checkout")
    lines = [json.loads(line) for line in SHARED.read_text(encoding="utf-8").split("\n") if line]
    assert _check(_records(iter(lines))) > 100
