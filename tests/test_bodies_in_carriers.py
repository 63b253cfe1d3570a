"""Every shape of a response body is read alike beside every gateway, tracer and store that keeps bodies."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.test_formats import read

TIME = "2026-11-29T03:00:00Z"
MODEL, CONTENT, THOUGHT = "ship-8b", "Ahoy there.", "Hm."


def _events(*events: dict[str, Any]) -> str:
    return "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)


def _chunk(delta: dict[str, Any], finish_reason: str | None = None) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish_reason}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1795921200, "model": MODEL, "choices": [choice]}


CHUNKS = [
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"reasoning": THOUGHT}),
    _chunk({"content": "Ahoy"}),
    _chunk({"content": " there."}, "length"),
    {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": MODEL, "choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 30}},
]
MESSAGE = {"role": "assistant", "content": CONTENT, "reasoning_content": THOUGHT}
CHAT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1795921200,
    "model": MODEL,
    "choices": [{"index": 0, "message": MESSAGE, "logprobs": None, "finish_reason": "length"}],
    "usage": {"prompt_tokens": 4, "completion_tokens": 30, "total_tokens": 34},
}
STREAM = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in CHUNKS) + "data: [DONE]\n\n"
BLOCKS = [{"type": "thinking", "thinking": THOUGHT}, {"type": "text", "text": CONTENT}]
MESSAGES_API = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": MODEL, "content": BLOCKS, "stop_reason": "max_tokens"},
    "usage": {"input_tokens": 4, "output_tokens": 30},
}
MESSAGES_STREAM = _events(
    {"type": "message_start", "message": {**MESSAGES_API, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": THOUGHT}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": CONTENT}},
    {"type": "message_delta", "delta": {"stop_reason": "max_tokens"}, "usage": {"output_tokens": 30}},
    {"type": "message_stop"},
)
RESPONSES_API = {
    **{"id": "resp_1", "object": "response", "created_at": 1795921200, "model": MODEL, "status": "incomplete"},
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [
        {"type": "reasoning", "id": "r", "content": [{"type": "reasoning_text", "text": THOUGHT}]},
        {"type": "message", "id": "m", "role": "assistant", "content": [{"type": "output_text", "text": CONTENT}]},
    ],
    "usage": {"input_tokens": 4, "output_tokens": 30},
}
RESPONSES_STREAM = _events(
    {"type": "response.created", "response": {**RESPONSES_API, "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "delta": CONTENT},
    {"type": "response.incomplete", "response": RESPONSES_API},
)
PRINTED = (
    f"ModelResponse(id='chatcmpl-1', created=1795921200, model={MODEL!r}, object='chat.completion', choices=[Choices(finish_reason='length', index=0, "
    f"message=Message(content={CONTENT!r}, role='assistant', tool_calls=None, reasoning_content={THOUGHT!r}))], "
    "usage=Usage(completion_tokens=30, prompt_tokens=4, total_tokens=34))"
)
BODIES: dict[str, Any] = {
    "object": CHAT,
    "text": json.dumps(CHAT),
    "pretty text": json.dumps(CHAT, indent=2),
    "stream": STREAM,
    "stream with carriage returns": STREAM.replace("\n", "\r\n"),
    "chunks": CHUNKS,
    "messages": MESSAGES_API,
    "messages stream": MESSAGES_STREAM,
    "responses": RESPONSES_API,
    "responses stream": RESPONSES_STREAM,
    "base64": base64.b64encode(json.dumps(CHAT).encode()).decode(),
    "gzip": base64.b64encode(gzip.compress(STREAM.encode())).decode(),
    "printed dict": str(CHAT),
    "printed object": PRINTED,
    "escaped": json.dumps(json.dumps(CHAT))[1:-1],
    "escaped stream": json.dumps(STREAM)[1:-1],
}


def _as_text(body: Any) -> str:
    return body if isinstance(body, str) else json.dumps(body)


def _kong(body: Any) -> dict[str, Any]:
    request = {"id": "k", "method": "POST", "uri": "/v1/chat/completions"}
    ai = {"proxy": {"meta": {"request_model": MODEL}, "usage": {}, "payload": {"response": body}}}
    return {"started_at": 1795921200000, "latencies": {"request": 9}, "request": request, "response": {"status": 200}, "ai": ai}


def _apisix(body: Any) -> dict[str, Any]:
    request = {"method": "POST", "uri": "/v1/chat/completions"}
    summary = {"model": MODEL, "duration": 1}
    return {"start_time": 1795921200000, "latency": 9, "request": request, "response": {"status": 200, "body": body}, "llm_summary": summary}


def _openinference(body: Any) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "LLM", "llm.model_name": MODEL, "output.mime_type": "application/json", "output.value": _as_text(body)}
    return {"@timestamp": TIME, "trace_id": "0d" * 16, "attributes": attributes}


def _langfuse(body: Any) -> dict[str, Any]:
    return {"id": "o", "traceId": "t", "type": "GENERATION", "startTime": TIME, "model": MODEL, "input": [], "output": body, "level": "DEFAULT"}


def _litellm(body: Any) -> dict[str, Any]:
    times = {"startTime": 1795921200.0, "endTime": 1795921201.0}
    return {"id": "x", "call_type": "acompletion", "status": "success", **times, "model": MODEL, "response": body, "model_parameters": {}, "hidden_params": {}}


def _spend(body: Any) -> dict[str, Any]:
    row = {"request_id": "x", "call_type": "acompletion", "api_key": "f", "spend": 0.1, "startTime": TIME, "endTime": TIME, "cache_key": ""}
    return {**row, "model": MODEL, "response": _as_text(body)}


def _kserve(body: Any) -> dict[str, Any]:
    return {"specversion": "1.0", "type": "org.kubeflow.serving.inference.response", "id": "k", "time": TIME, "data": body}


def _batch(body: Any) -> dict[str, Any]:
    return {"id": "b", "custom_id": "c", "response": {"status_code": 200, "request_id": "r", "body": body}, "error": None}


def _nginx(body: Any) -> dict[str, Any]:
    line = {"time_iso8601": TIME, "request_id": "n", "request_method": "POST", "request_uri": "/v1/chat/completions", "status": "200", "request_time": "1"}
    return {**line, "upstream_status": "200", "resp_body": _as_text(body)}


def _ecs(body: Any) -> dict[str, Any]:
    return {"@timestamp": TIME, "http": {"response": {"status_code": 200, "body": {"content": _as_text(body)}}}, "url": {"path": "/v1/chat/completions"}}


def _exchange(body: Any) -> dict[str, Any]:
    return {"timestamp": TIME, "status": 200, "latency_ms": 5, "request": {"model": MODEL, "messages": []}, "response": body}


def _http_messages(body: Any) -> dict[str, Any]:
    request = {"method": "POST", "url": "/v1/chat/completions", "headers": {}, "body": json.dumps({"model": MODEL, "messages": []})}
    return {"ts": TIME, "request": request, "response": {"status": 200, "headers": {}, "body": body}}


CARRIERS = (_kong, _apisix, _openinference, _langfuse, _litellm, _spend, _kserve, _batch, _nginx, _ecs, _exchange, _http_messages)


@pytest.mark.parametrize("carrier", CARRIERS, ids=lambda carrier: carrier.__name__.strip("_"))
@pytest.mark.parametrize("shape", BODIES)
def test_a_body_is_read_alike_wherever_it_is_kept(shape: str, carrier: Callable[[Any], dict[str, Any]]) -> None:
    records, rejected, _ = read({"input": json.dumps(carrier(BODIES[shape])) + "\n"})
    assert rejected == []
    (record,) = records
    assert (record.content, record.content_state, record.finish_reason, record.reasoning) == (CONTENT, "present", "length", THOUGHT)
    assert record.completion_tokens == 30


@pytest.mark.parametrize("carrier", [_kong, _apisix, _openinference, _langfuse, _litellm, _spend, _kserve, _nginx, _ecs, _exchange, _http_messages])
@pytest.mark.parametrize("body", [CHAT, MESSAGES_API, RESPONSES_API], ids=["chat", "messages", "responses"])
def test_a_body_that_a_logger_cut_is_truncated_and_neither_missing_nor_an_error(body: dict[str, Any], carrier: Callable[[Any], dict[str, Any]]) -> None:
    text = json.dumps(body)
    records, rejected, _ = read({"input": json.dumps(carrier(text[: text.index(CONTENT) + 6])) + "\n"})
    assert rejected == []
    (record,) = records
    assert (record.content_state, record.error_type) == ("truncated", None)
