"""Hits as bytes give the batches that decoded hits give; what is no plain JSON is read all the same."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import msgspec
import pytest

from detector.batch import Batch
from detector.reading import JOINED, ReadingOptions
from detector.sources.base import Tally
from detector.sources.es_hits import HitBatches, records_of
from detector.sources.es_json import answer_of, raw_sources, source_of
from tests.llm_log import documents

LOG = documents(300)


def _page(log: list[dict[str, Any]]) -> bytes:
    hits = [{"_index": f"llm-{number % 2}", "_id": str(number), "_score": None, "_source": source, "sort": [number]} for number, source in enumerate(log)]
    return json.dumps({"took": 3, "timed_out": False, "pit_id": "p", "_shards": {"total": 1, "failed": 0}, "hits": {"hits": hits}}).encode()


def _rows(batches: list[Batch]) -> list[dict[str, Any]]:
    found = [dataclasses.asdict(batch.record(row)) for batch in batches for row in range(batch.size)]
    return sorted(found, key=lambda row: int(row["doc_id"]))


def _read(page: bytes, options: ReadingOptions, *, raw: bool) -> tuple[list[dict[str, Any]], Tally]:
    if raw:
        with raw_sources():
            answer = answer_of(page)
    else:
        answer = answer_of(page)
    tally = Tally()
    hits = answer["hits"]["hits"]
    assert all(isinstance(hit["_source"], msgspec.Raw) for hit in hits) is raw
    return _rows(list(HitBatches(options, tally).of([hits[:100], hits[100:]]))), tally


@pytest.mark.parametrize("options", [ReadingOptions(), ReadingOptions(only="envelope"), ReadingOptions(in_order=True), ReadingOptions(keep_duplicates=True)])
def test_bytes_and_objects_give_the_same_rows(options: ReadingOptions) -> None:
    log = [*LOG, LOG[7], {"note": "no answer"}, {}]
    fast, seen = _read(_page(log), options, raw=True)
    slow, known = _read(_page(log), options, raw=False)
    assert fast == slow
    assert len(fast) >= len(LOG)
    assert (seen.documents, seen.formats, seen.notes, seen.unreadable) == (known.documents, known.formats, known.notes, known.unreadable)
    assert {row["doc_index"] for row in fast} == {"llm-0", "llm-1"}


def test_an_index_of_several_logs_is_read_by_the_general_path() -> None:
    """Views of one request by engine and client are joined there, so nothing may pass it by: neither after the first other document nor before it."""
    answered = [document for document in LOG if document["response"] is not None][:60]
    spoken = []
    for document in answered:
        name = document["response"]["id"]
        lines = (
            f"Received request {name}: params: SamplingParams(n=1, max_tokens=64), lora_request: None.",
            f"Generated response {name}: output: 'Pier 4.', finish_reason: stop",
        )
        spoken += [{"@timestamp": document["@timestamp"], "message": f"INFO 11-30 01:00:00 [logger.py:63] {line}"} for line in lines]
    for log in ([*answered, *spoken], [*answered[:30], *spoken, *answered[30:]]):
        fast, seen = _read(_page(log), ReadingOptions(), raw=True)
        slow, _ = _read(_page(log), ReadingOptions(), raw=False)
        assert [row["request_id"] for row in fast] == [row["request_id"] for row in slow]
        assert len(fast) == len(answered)
        assert seen.notes[JOINED] == len(answered)


def test_half_an_emoji_costs_no_page() -> None:
    """A lone surrogate is no JSON by the letter; Elasticsearch stores it, and so must we read it."""
    log = json.loads(json.dumps(LOG[:5]))
    log[2]["request"]["messages"][0]["content"] = "\ud83d"
    with raw_sources():
        hits = answer_of(_page(log))["hits"]["hits"]
    assert [source_of(hit) for hit in hits] == log
    assert len(list(records_of(hits, ReadingOptions(), Tally()))) == 5


@pytest.mark.parametrize("answer", [b'{"error":{"type":"x"},"status":400}', b'{"id":"pit"}', b"[]", b'{"hits":7}'])
def test_answers_without_hits_stay_what_they_are(answer: bytes) -> None:
    with raw_sources():
        assert answer_of(answer) == json.loads(answer)


@pytest.mark.parametrize("answer", [b"<html>", b'{"hits":{"hits":[', b"", b'{"a":"\xff"}'])
def test_what_is_no_json_is_said(answer: bytes) -> None:
    with pytest.raises((json.JSONDecodeError, UnicodeDecodeError)):
        answer_of(answer)
