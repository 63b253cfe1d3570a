"""Every fixture of `tests/data/formats`: detection, records, labels and the count of lines that are no answer."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from detector.formats.base import Rejected, formats
from detector.formats.detect import Detector, format_named
from detector.formats.reader import FAULT, Reader
from detector.formats.values import instant
from detector.formats.wrapping import Peeler
from detector.formats.wrapping_lines import raw_documents
from detector.record import COLUMNS, Record
from detector.signals.base import SignalOptions, signals

DATA = Path(__file__).parent / "data" / "formats"
FIXTURES: list[dict[str, Any]] = [json.loads(line) for path in sorted(DATA.glob("*.jsonl")) for line in path.read_text(encoding="utf-8").splitlines()]
ENOUGH = 8  # fixtures per format in all

# Which formats may be found in a producer's own files. Wrapped files and dumps hold documents of any producer.
OF_PRODUCER = {
    "vllm-text": {"vllm_text", "vllm_rust"},
    "vllm-json": {"vllm_json", "vllm_text"},
    "sglang-text": {"sglang_text"},
    "sglang-json": {"sglang_json", "sglang_text"},
    "tgi": {"tgi"},
    "triton": {"triton", "vllm_text"},
    "ray-serve": {"ray_serve", "vllm_text"},
    "router": {"router"},
    "otel-new": {"otel"},
    "otel-old": {"otel"},
    "openinference": {"openinference"},
    "openllmetry": {"openllmetry"},
    "litellm": {"litellm"},
    "litellm-spend": {"litellm_spend"},
    "kserve": {"kserve"},
    "envoy": {"envoy"},
    "higress": {"higress"},
    "kong": {"kong"},
    "apisix": {"apisix"},
    "langfuse": {"langfuse"},
    "openai-json": {"openai", "envelope"},
    "batch": {"batch"},
    "nginx": {"nginx"},
    "openwebui": {"openwebui"},
    "librechat": {"librechat"},
    "ecs": {"ecs"},
}
OVER_TIME = {"latency", "silence"}  # signals of a series, which no single record shows
KNOWN = {fmt.name for fmt in formats()}


def read(fixture: dict[str, Any]) -> tuple[list[Record], list[Rejected], Reader]:
    reader = Reader()
    outcomes = list(reader.read(raw_documents(fixture["input"].splitlines(keepends=True), "log")))
    return [found for found in outcomes if isinstance(found, Record)], [found for found in outcomes if isinstance(found, Rejected)], reader


def same(column: str, expected: Any, found: Any) -> bool:
    if column in ("timestamp", "ingested_at"):
        moment = instant(expected)
        return found is None if moment is None else found is not None and abs(moment - found) < 1e-3
    if column == "finish_reason" and expected is None:
        return found in (None, "unknown")
    if column == "content" and expected in (None, ""):
        return found in (None, "")
    if isinstance(expected, float):
        return found is not None and abs(expected - found) <= 1e-6 * max(1.0, abs(expected))
    return bool(expected == (list(found) if isinstance(found, tuple) else found))


@pytest.mark.parametrize("fixture", FIXTURES, ids=lambda fixture: f"{fixture['producer']}-{fixture['id']}")
def test_fixture(fixture: dict[str, Any]) -> None:
    records, rejected, _ = read(fixture)
    faults = [outcome.reason for outcome in rejected if outcome.reason.startswith(FAULT)]
    assert faults == []
    differences = [
        f"[{at}].{column}: expected {value!r}, found {getattr(record, column)!r}"
        for at, (expected, record) in enumerate(zip(fixture["expect"], records, strict=False))
        for column, value in expected.items()
        if not same(column, value, getattr(record, column))
    ]
    assert differences == []
    assert len(records) == len(fixture["expect"]), [outcome.reason for outcome in rejected]
    if fixture["ignored_lines"] is not None:
        assert len(rejected) == fixture["ignored_lines"], [outcome.reason for outcome in rejected]
    found = [sorted(name for name, signal in signals().items() if signal.judge(record, SignalOptions()) is not None) for record in records]
    assert found == [sorted(labels) for labels in fixture["labels"]]


@pytest.mark.parametrize(
    "fixture", [found for found in FIXTURES if found["producer"] in OF_PRODUCER], ids=lambda fixture: f"{fixture['producer']}-{fixture['id']}"
)
def test_no_document_is_taken_for_another_producers(fixture: dict[str, Any]) -> None:
    _, _, reader = read(fixture)
    assert set(reader.found) <= OF_PRODUCER[fixture["producer"]], reader.evidence
    assert reader.found, "no document was recognised"


def test_a_format_is_asked_for_every_document_that_it_recognises() -> None:
    """`keys` and `shape` only spare questions; they must not rule out a document of the format itself."""
    detector = Detector()
    peeler = Peeler(detector.detect)
    for fixture in FIXTURES:
        for raw in raw_documents(fixture["input"].splitlines(keepends=True), "log"):
            for document in peeler.feed(raw):
                if isinstance(document.body, dict):
                    asked = {fmt.name for fmt in detector.candidates(document.body)}
                    assert {fmt.name for fmt in formats() if fmt.recognise(document.body) is not None} <= asked, fixture["id"]


def test_fixtures_name_canonical_columns() -> None:
    unknown = {column for fixture in FIXTURES for expected in fixture["expect"] for column in expected} - set(COLUMNS)
    assert unknown == set()


def test_every_producer_has_enough_fixtures() -> None:
    counts = Counter(fixture["producer"] for fixture in FIXTURES)
    few = {producer: count for producer, count in counts.items() if count < ENOUGH and OF_PRODUCER.get(producer, KNOWN) & KNOWN}
    assert few == {}


def test_ids_are_unique() -> None:
    assert [fixture for fixture, count in Counter(fixture["id"] for fixture in FIXTURES).items() if count > 1] == []


@pytest.mark.parametrize("fmt", formats(), ids=lambda fmt: fmt.name)
def test_every_format_says_what_it_is_good_for(fmt: Any) -> None:
    assert fmt.title
    assert fmt.sees
    assert fmt.trust, "which finish reasons to trust"
    assert fmt.units, "units of times and durations"
    assert set(fmt.off) <= set(signals()) | OVER_TIME
    assert set(fmt.inferred) <= set(signals())
    assert format_named(fmt.name.replace("_", "-").upper()) is fmt


def test_reading_in_two_halves_gives_the_same_records() -> None:
    """A joiner keeps its open answers between two feeds, whatever the size of the pieces in which a source reads."""
    for fixture in FIXTURES:
        documents = list(raw_documents(fixture["input"].splitlines(keepends=True), "log"))
        whole, pieces = Reader(), Reader()
        at_once = list(whole.read(documents))
        one_by_one = [outcome for document in documents for outcome in pieces.feed([document])] + list(pieces.finish())
        assert [type(outcome) for outcome in one_by_one] == [type(outcome) for outcome in at_once], fixture["id"]
        assert [found for found in one_by_one if isinstance(found, Record)] == [found for found in at_once if isinstance(found, Record)], fixture["id"]
