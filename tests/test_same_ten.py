"""The same ten answers, rendered into every log that can carry them, come out as equal records and equal labels.

A log carries some columns and not others; those that it carries must not differ from the answer's, and every label that they can show must be there.
"""

from __future__ import annotations

from typing import Any

import pytest

from detector.formats.base import Rejected, formats
from detector.formats.reader import Reader
from detector.formats.wrapping_lines import raw_documents
from detector.record import Record
from detector.signals.base import SignalOptions, signals
from tests.producers import engines, gateways, tracers
from tests.producers.answers import ANSWERS, NEEDS, Answer, Choice, Producer

PRODUCERS: tuple[Producer, ...] = (*engines.PRODUCERS, *gateways.PRODUCERS, *tracers.PRODUCERS)
CARRIED = [(producer, answer) for producer in PRODUCERS for answer in ANSWERS if producer.render(answer) is not None]


def _name(pair: tuple[Producer, Answer]) -> str:
    return f"{pair[0].name or pair[0].format}-{pair[1].name}"


def read(text: str) -> tuple[list[Record], Reader]:
    reader = Reader()
    outcomes = list(reader.read(raw_documents(text.splitlines(keepends=True), "log")))
    assert [found.reason for found in outcomes if isinstance(found, Rejected) and not found.ignored] == []
    return sorted((found for found in outcomes if isinstance(found, Record)), key=lambda record: record.choice_index), reader


def equal(column: str, expected: Any, found: Any) -> bool:
    if column == "finish_reason" and expected is None:
        return True  # the engine's own word for a call that a gateway gave up (abort)
    if isinstance(expected, float):
        return found is not None and abs(expected - found) < 1e-6 * max(1.0, expected)
    if column == "tool_calls" and expected is None:
        return found in (None, ())  # a message was there, and no call in it
    return bool(expected == found)


@pytest.mark.parametrize(("producer", "answer"), CARRIED, ids=[_name(pair) for pair in CARRIED])
def test_equal_records_and_labels(producer: Producer, answer: Answer) -> None:
    text = producer.render(answer)
    assert text is not None
    records, reader = read(text)
    assert set(reader.found) == {producer.format}, reader.evidence
    assert len(records) == len(answer.choices)
    for place, record in enumerate(records):
        wanted = answer.columns(place)
        columns = producer.columns & wanted.keys()
        if answer.failed:
            columns -= producer.lost
        if not answer.captured:
            columns -= producer.with_text
        found = {column: getattr(record, column) for column in sorted(columns)}
        assert {column: value for column, value in found.items() if not equal(column, wanted[column], value)} == {}
        assert labels(record) == _visible(producer, answer, place)


def _visible(producer: Producer, answer: Answer, place: int) -> list[str]:
    if not answer.captured:
        return []
    wanted = [label for label in answer.choices[place].labels if NEEDS[label] <= producer.columns or label in producer.shows]
    return sorted(label for label in wanted if not (producer.raw and label == "think_leak"))


@pytest.mark.parametrize(
    "text", ['{"gate": 4,  "open": true}', '[{"gate": 4}, {"gate": 5}]', "[1, 2, 3]", '"noon"', "[see the map]", '{"gate": [4, 5', "null", "\u00a0at noon "]
)
def test_an_answer_that_looks_like_json_stays_as_it_was(text: str) -> None:
    answer = Answer("json", (Choice(text, "stop"),))
    different = []
    for producer in PRODUCERS:
        log = producer.render(answer)
        if log is None or "content" not in producer.columns:
            continue
        records, _ = read(log)
        found = [(record.content, record.content_state) for record in records]
        if found != [(text, "present")]:
            different.append((producer.name or producer.format, found))
    assert different == []


def labels(record: Record) -> list[str]:
    return sorted(name for name, signal in signals().items() if signal.judge(record, SignalOptions()) is not None)


def test_every_format_is_compared() -> None:
    assert {fmt.name for fmt in formats()} == {producer.format for producer in PRODUCERS}


def test_every_answer_is_carried_by_several_producers() -> None:
    for answer in ANSWERS:
        assert sum(carried is answer for _, carried in CARRIED) >= 10, answer.name
