"""OpenAI-shaped bodies: every shape that vLLM, SGLang and gateways return becomes the same columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.formats import envelope, openai
from detector.formats.base import Document, Rejected
from detector.formats.openai import error_columns, records_of_body
from detector.formats.openai_request import request_columns
from detector.record import Record
from tests.openai_bodies import chat, chunk, known, only

DATA = Path(__file__).parent / "data" / "openai"


# -- content and its states
@pytest.mark.parametrize(
    ("message", "content", "state"),
    [
        ({"content": "Pier 4."}, "Pier 4.", "present"),
        ({"content": ""}, None, "empty"),
        ({"content": None}, None, "empty"),
        ({"role": "assistant"}, None, "not_captured"),
        ({"content": "redacted-by-litellm"}, None, "not_captured"),
        ({"content": "The tide is ...[truncated]"}, "The tide is ...[truncated]", "truncated"),
        ({"content": "An answer about the word truncated"}, "An answer about the word truncated", "present"),
        ({"content": [{"type": "text", "text": "Pier "}, {"type": "text", "text": "4."}]}, "Pier 4.", "present"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]}, None, "empty"),
        ({"reasoning": "all of it"}, None, "empty"),
        ({"tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]}, None, "empty"),
        (None, None, "empty"),
    ],
)
def test_content_has_states(message: Any, content: str | None, state: str) -> None:
    record = only(chat(message))
    assert (record.content, record.content_state) == (content, state)


@pytest.mark.parametrize(
    ("message", "reasoning", "state"),
    [
        ({"content": "x", "reasoning": "new"}, "new", "present"),
        ({"content": "x", "reasoning_content": "old"}, "old", "present"),
        ({"content": "x", "reasoning": "both", "reasoning_content": "both"}, "both", "present"),
        ({"content": "x", "reasoning": None, "reasoning_content": "old"}, "old", "present"),
        ({"content": "x", "reasoning": None}, None, "empty"),
        ({"content": "x", "reasoning_content": ""}, None, "empty"),
        ({"content": "x"}, None, "not_captured"),
        ({"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "part"}]}, {"type": "text", "text": "x"}]}, "part", "present"),
        ({"content": "x", "thinking_blocks": [{"type": "thinking", "thinking": "block"}]}, "block", "present"),
    ],
)
def test_reasoning_under_all_its_names(message: Any, reasoning: str | None, state: str) -> None:
    record = only(chat(message))
    assert (record.reasoning, record.reasoning_state) == (reasoning, state)


@pytest.mark.parametrize(
    ("message", "names", "arguments"),
    [
        ({"content": "x", "tool_calls": []}, (), None),
        ({"content": "x", "tool_calls": None}, (), None),
        ({"content": "x"}, (), None),
        (
            {"content": None, "tool_calls": [{"function": {"name": "a", "arguments": '{"x": 1}'}}, {"function": {"name": "b", "arguments": None}}]},
            ("a", "b"),
            ('{"x": 1}', ""),
        ),
        ({"content": None, "tool_calls": [{"function": {"name": "a", "arguments": {"x": 1}}}]}, ("a",), ('{"x":1}',)),
        ({"content": None, "function_call": {"name": "old", "arguments": "{}"}}, ("old",), ("{}",)),
        ({"content": [{"type": "tool_use", "name": "a", "input": {}}]}, ("a",), ("{}",)),
    ],
)
def test_tool_calls(message: Any, names: tuple[str, ...], arguments: tuple[str, ...] | None) -> None:
    record = only(chat(message))
    assert (record.tool_calls, record.tool_arguments) == (names, arguments)


def test_choices_are_records_of_one_request() -> None:
    body = chat({"content": "a"}, usage={"completion_tokens": 9})
    body["choices"].append({"index": 1, "message": {"content": ""}, "finish_reason": "length"})
    first, second = records_of_body(body, {"n": 2, "max_tokens": 4})
    assert (first.request_id, first.choice_index, first.content, first.finish_reason) == ("chatcmpl-1", 0, "a", "stop")
    assert (second.request_id, second.choice_index, second.content_state, second.finish_reason) == ("chatcmpl-1", 1, "empty", "length")
    assert first.completion_tokens == second.completion_tokens == 9


def test_no_choices() -> None:
    assert only(chat({}, choices=[]), status_code=200).content_state == "empty"
    assert only(chat({}, choices=[]), status_code=200, error_type="ReadTimeout").content_state == "not_captured"
    usage_chunk = only(chunk({}, choices=[], usage={"completion_tokens": 3}), status_code=200)
    assert (usage_chunk.content_state, usage_chunk.stream, usage_chunk.stream_done, usage_chunk.completion_tokens) == ("not_captured", True, None, 3)
    role_chunk = only(chunk({"role": "assistant", "content": ""}), stream=True)
    assert (role_chunk.content_state, role_chunk.stream_done, role_chunk.tool_calls) == ("not_captured", None, None)


def test_completions_are_text_from_before_a_reasoning_parser() -> None:
    record = only({"object": "text_completion", "choices": [{"text": "</think> ok", "finish_reason": "stop", "stop_reason": 151645}]})
    assert (record.content, record.content_is_raw, record.stop_reason) == ("</think> ok", True, "151645")
    assert only(chat({"content": "x"})).content_is_raw is False


def test_responses_api() -> None:
    body = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1795921200,
        "status": "incomplete",
        "incomplete_details": {"reason": "max_output_tokens"},
        "max_output_tokens": 40,
        "output": [
            {"type": "reasoning", "content": [{"type": "reasoning_text", "text": "List."}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Pier one, pier"}]},
            {"type": "function_call", "name": "f", "arguments": "{}"},
        ],
        "usage": {"input_tokens": 2, "output_tokens": 40, "output_tokens_details": {"reasoning_tokens": 3}},
    }
    record = only(body)
    assert (record.finish_reason, record.finish_reason_raw, record.content, record.reasoning, record.tool_calls) == (
        "length",
        "max_output_tokens",
        "Pier one, pier",
        "List.",
        ("f",),
    )
    assert (record.prompt_tokens, record.completion_tokens, record.reasoning_tokens, record.max_tokens, record.timestamp) == (2, 40, 3, 40, 1795921200.0)
    assert only({**body, "status": "completed"}).finish_reason == "tool_calls"
    assert only({**body, "status": "completed", "output": []}).content_state == "empty"
    assert only({**body, "status": "failed", "output": [], "error": {"code": "server_error", "message": "x"}}).error_type == "server_error"


def test_native_objects() -> None:
    meta = {"id": "a1", "finish_reason": {"type": "length", "length": 8}, "prompt_tokens": 3, "completion_tokens": 8, "cached_tokens": 2, "e2e_latency": 0.5}
    record = only({"text": "x y", "meta_info": meta})
    assert (record.content, record.content_is_raw, record.finish_reason, record.engine, record.cached_tokens) == ("x y", True, "length", "sglang", 2)
    assert record.latency_seconds == 0.5
    aborted = only({"text": "", "meta_info": {"finish_reason": {"type": "abort", "message": "gone", "status_code": 503, "err_type": "Busy"}}})
    assert (aborted.finish_reason, aborted.error_type, aborted.error_message, aborted.status_code) == ("abort", "Busy", "gone", 503)
    assert only({"text": "x", "meta_info": {"finish_reason": {"type": "stop", "matched": 128009}}}).stop_reason == "128009"
    assert only({"generated_text": "x", "details": {"finish_reason": "eos_token", "generated_tokens": 4}}).completion_tokens == 4
    assert len(records_of_body([{"text": "a", "meta_info": {}}, {"text": "b", "meta_info": {}}], {})) == 2


# -- errors
@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        ({"error": {"message": "no", "type": "BadRequestError", "code": 400}}, "BadRequestError", "no"),
        ({"object": "error", "message": "no", "type": "BadRequestError", "code": 400}, "BadRequestError", "no"),
        ({"error": {"error": {"message": "no", "type": "Inner"}}}, "Inner", "no"),
        ({"error": "no"}, None, "no"),
        ({"detail": "Not Found"}, "detail", "Not Found"),
        ({"raw_body": "Internal Server Error"}, None, "Internal Server Error"),
        ("<html>504 Gateway Time-out</html>", None, "<html>504 Gateway Time-out</html>"),
        ({"raw_body": ""}, None, None),
    ],
)
def test_error_bodies(body: Any, kind: str | None, message: str | None) -> None:
    record = only(body, status_code=504)
    assert (record.error_type, record.error_message, record.status_code, record.content_state) == (kind, message, 504, "not_captured")


def test_a_page_with_status_200_is_an_error() -> None:
    assert only("<html>Log in</html>", status_code=200).error_type == "body_is_not_json"
    assert only({"raw_body": ""}, status_code=200).error_type == "body_is_empty"


def test_errors_of_clients() -> None:
    assert error_columns("ReadTimeout: client gave up after 1.5s")["error_type"] == "ReadTimeout"
    assert error_columns("httpx.ConnectError: All connection attempts failed")["error_type"] == "ConnectError"
    assert error_columns('{"message": "busy", "type": "x", "code": 503}') == {"error_type": "x", "error_message": "busy", "status_code": 503}
    assert error_columns(None) == error_columns({}) == error_columns("") == {}


def test_what_is_no_answer_gives_no_record() -> None:
    assert records_of_body({"object": "list", "data": [{"object": "embedding"}]}, {"status_code": 200}) == []
    (outcome,) = envelope.FORMAT.read([Document({"request": {"input": "x"}, "response": {"object": "list", "data": []}}, "f:1")])
    assert isinstance(outcome, Rejected)
    assert outcome.ignored


# -- whole envelopes
def test_real_answers() -> None:
    lines = [json.loads(line) for line in (DATA / "vllm.jsonl").read_text().splitlines()]
    for line in lines:
        assert envelope.FORMAT.recognise(line)
        (record,) = envelope.FORMAT.read([Document(line, "f:1")])
        assert isinstance(record, Record)
        assert (record.record_id, record.pod, record.stream, record.status_code) == (line["record_id"], line["pod"], line["stream"], line["http_status"])
        assert record.latency_seconds == pytest.approx(line["latency_ms"] / 1000)
        choices = (line["response"] or {}).get("choices")
        if choices:
            assert record.content == (choices[0]["message"]["content"] or None)
            assert record.finish_reason == choices[0]["finish_reason"]
        if line["error"]:
            assert record.error_message or record.status_code is None
        if line["stream"] and line["sse"]:
            again = only(line["sse"], **request_columns(line["request"]))
            if choices:
                assert (again.content, again.reasoning, again.finish_reason, again.completion_tokens) == (
                    record.content,
                    record.reasoning,
                    record.finish_reason,
                    record.completion_tokens,
                )
    assert len(lines) >= 12


KEYS = (
    "choices message delta content reasoning tool_calls function name arguments finish_reason usage error object output text meta_info "
    "type index prompt_tokens completion_tokens messages role stop max_tokens response_format chat_template_kwargs tools body raw_body id created status"
)
anything = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=12)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(KEYS.split()),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=25,
)


@given(anything, anything)
def test_nothing_breaks_the_readers(body: Any, request_body: Any) -> None:
    first = records_of_body(body, request_columns(request_body))
    assert list(map(known, first)) == list(map(known, records_of_body(body, request_columns(request_body)))) or "nan" in repr(first)
    document = Document({"request": request_body, "response": body, "status": body}, "f:1")
    envelope.FORMAT.recognise(document.body)
    openai.FORMAT.recognise(body)
    for outcome in envelope.FORMAT.read([document]):
        assert isinstance(outcome, (Record, Rejected))
