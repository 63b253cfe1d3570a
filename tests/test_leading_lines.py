"""Lines around answers that no format claims by themselves: whose they are, and what is said of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from detector.formats.base import Rejected
from detector.record import Record
from tests import test_formats

TIME = "2026-11-29T08:00:00Z"
REFUSED = 'INFO:     10.0.0.1:4242 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error'
SERVED = REFUSED.replace("500 Internal Server Error", "200 OK")
ENGINE = "(APIServer pid=7) INFO 11-29 12:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 1.0 tokens/s, Running: 0 reqs"
MESSAGE = {
    **{"messageId": "m1", "conversationId": "c1", "sender": "vLLM", "isCreatedByUser": False, "model": "m", "text": "It is noon.", "createdAt": TIME},
    "finish_reason": "stop",
}


def read(text: str) -> tuple[list[Record], list[Rejected]]:
    records, rejected, _ = test_formats.read({"input": text})
    return records, rejected


def _text(*lines: str) -> str:
    return "".join(line + "\n" for line in lines)


def test_a_log_that_begins_with_a_failed_call() -> None:
    records, rejected = read(_text(REFUSED, SERVED, REFUSED, ENGINE, REFUSED))
    assert [(record.status_code, record.engine, record.doc_id) for record in records] == [(500, "vllm", "1"), (500, "vllm", "3"), (500, "vllm", "5")]
    assert all(entry.ignored for entry in rejected)


def test_failed_calls_of_nobody_known_are_no_answers() -> None:
    records, rejected = read(_text(REFUSED, '{"msec": 1795939200.0, "request_uri": "/v1/chat/completions", "status": "200", "request_time": "0.5"}', ENGINE))
    assert [record.status_code for record in records] == [200]
    assert "access line" in [entry.reason for entry in rejected]
    assert not read(_text(REFUSED, REFUSED))[0]


def test_action_lines_that_a_shipper_wrapped_one_by_one() -> None:
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [{"index": 0, "message": {"content": "At noon."}, "finish_reason": "stop"}]}
    lines: list[dict[str, Any]] = [{"index": {"_index": "llm", "_id": "a"}}, answer, {"delete": {"_index": "llm", "_id": "b"}}]
    records, rejected = read(_text(*(json.dumps({"@timestamp": TIME, "message": json.dumps(line)}) for line in lines)))
    assert [record.content for record in records] == ["At noon."]
    assert [(entry.reason, entry.ignored) for entry in rejected] == [("action line of a bulk request, no answer", True)] * 2


@pytest.mark.parametrize(
    "carrier",
    [
        {"body": MESSAGE, "@timestamp": TIME, "attributes": {"log.file.name": "x"}, "resource": {}},
        {"body": {"structured": MESSAGE}, "@timestamp": TIME, "attributes": {}, "resource": {}},
        {"body": {"structured": json.dumps(MESSAGE)}, "@timestamp": TIME, "attributes": {}, "resource": {}},
        {"body": {"text": json.dumps(MESSAGE), "kind": "line"}, "@timestamp": TIME, "attributes": {}, "resource": {}},
        {"body": {"flattened": MESSAGE}, "@timestamp": TIME, "attributes": {}, "resource": {}},
        {"body": {"text": json.dumps(MESSAGE)}, "@timestamp": TIME, "attributes": {}, "resource": {}},
        {"body": json.dumps(MESSAGE), "timeUnixNano": "1795939200000000000"},
    ],
    ids=["object", "structured", "structured text", "text beside others", "flattened", "text", "OTLP"],
)
def test_an_object_in_a_log_record_is_not_taken_for_the_records_text(carrier: dict[str, Any]) -> None:
    (record,), rejected = read(_text(json.dumps(carrier)))
    assert (record.record_id, record.content, record.timestamp) == ("m1", "It is noon.", 1795939200.0)
    assert not rejected


def test_an_exported_rating_holds_the_chat_that_was_rated() -> None:
    answer = {"id": "a1", "parentId": "u1", "role": "assistant", "content": "At noon.", "model": "m", "done": True, "timestamp": 1795939200}
    history = {"currentId": "a1", "messages": {"u1": {"id": "u1", "role": "user", "content": "When?"}, "a1": answer}}
    rating = {
        **{"id": "f1", "user_id": "u7", "type": "rating", "data": {"rating": -1, "model_id": "m"}, "meta": {"chat_id": "c9"}},
        "snapshot": {"chat": {"id": "c9", "user_id": "u7", "chat": {"models": ["m"], "history": history}}},
    }
    (record,), rejected = read(json.dumps([rating]))
    assert (record.record_id, record.content, record.session, record.user, record.user_text) == ("a1", "At noon.", "c9", "u7", "When?")
    assert not rejected
    assert not read(json.dumps([{**rating, "snapshot": None}]))[0]


def test_text_lines_of_llm_d() -> None:
    director = 'INFO\trequestcontrol/director.go:123\tRequest handled\t{"x-request-id": "a", "model": "m"}'
    scheduler = "LEVEL(-2)\tscheduler\tgithub.com/llm-d/pkg/epp/scheduling/scheduler.go:12\tScheduling"
    records, rejected = read(_text(f"2026-11-29T08:00:00Z\t{director}", f"2026-11-29T08:00:00.123+0900\t{scheduler}"))
    assert not records
    assert [entry.ignored for entry in rejected] == [True, True]
    _, rejected = read(_text("2026-11-29T08:00:00Z\tINFO\tmyapp/main.go:12\tStarted"))
    assert [entry.ignored for entry in rejected] == [False], "any program in Go writes such lines"
