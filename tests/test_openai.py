"""OpenAI-shaped bodies, requests and finish reasons: every shape that vLLM, SGLang and gateways return becomes the same columns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.formats import envelope, openai
from detector.formats.base import Document, Rejected
from detector.formats.finish_reason import reason, reasons
from detector.formats.joining import ByKey
from detector.formats.openai import error_columns, records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.values import count, instant, number, seconds
from detector.record import DEFAULTS, Record

DATA = Path(__file__).parent / "data" / "openai"


def chat(message: Any, finish: Any = "stop", **body: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **body}


def only(body: Any, **base: Any) -> Record:
    (record,) = records_of_body(body, base)
    return record


def known(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in DEFAULTS if getattr(record, name) != DEFAULTS[name]}


def chunk(delta: Any, finish: str | None = None, **body: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-2", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **body}


def sse(*payloads: Any, done: bool = True) -> str:
    return "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads) + ("data: [DONE]\n\n" if done else "")


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


# -- streams
STREAM = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning": "so it is tidal"}),
    chunk({"content": "Because </th"}),
    chunk({"content": "ink> of the tide."}, "stop"),
    chunk({}, choices=[], usage={"prompt_tokens": 9, "completion_tokens": 15}),
]


@pytest.mark.parametrize("body", [sse(*STREAM), sse(*STREAM, done=False), STREAM, sse(*STREAM).replace("\n\n", "\n"), sse(*STREAM).replace("\n", "\r\n")])
def test_streams_become_one_answer(body: Any) -> None:
    record = only(body)
    assert (record.content, record.reasoning, record.finish_reason, record.stream, record.stream_done) == (
        "Because </think> of the tide.",
        "so it is tidal",
        "stop",
        True,
        True,
    )
    assert (record.prompt_tokens, record.completion_tokens) == (9, 15)


def test_a_cut_stream_has_no_end() -> None:
    record = only(sse(*STREAM[:3], done=False))
    assert (record.content, record.finish_reason, record.stream_done) == ("Because </th", None, False)
    merged = only(chat({"content": "Because"}, None), stream=True)
    assert (merged.finish_reason, merged.stream_done) == (None, False)


def test_an_error_inside_a_stream() -> None:
    record = only(sse({"error": {"message": "busy", "type": "Service Unavailable", "code": 503}}), status_code=200)
    assert (record.error_type, record.status_code, record.content_state) == ("Service Unavailable", 200, "not_captured")
    late = only(sse(STREAM[2], {"error": {"message": "lost", "type": "Internal"}}, done=False))
    assert (late.content, late.error_type, late.stream_done) == ("Because </th", "Internal", False)


def test_streamed_tool_calls_and_choices() -> None:
    calls = [
        chunk({"tool_calls": [{"index": 0, "function": {"name": "find", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": "{}"}}, {"index": 0, "function": {"arguments": ": 1}"}}]}, "tool_calls"),
    ]
    record = only(calls)
    assert (record.tool_calls, record.tool_arguments, record.content_state) == (("find", "g"), ('{"a": 1}', "{}"), "empty")
    second = {**chunk({"content": "two"}, "length")}
    second["choices"][0]["index"] = 1
    assert [(r.choice_index, r.content, r.finish_reason) for r in records_of_body([*STREAM, second], {})] == [
        (0, "Because </think> of the tide.", "stop"),
        (1, "two", "length"),
    ]


def test_streamed_responses_api() -> None:
    created = {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}}
    deltas = [{"type": "response.output_text.delta", "delta": "Pier "}, {"type": "response.output_text.delta", "delta": "4."}]
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Pier 4."}]}]
    closed = {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "status": "completed", "output": output}}
    whole, cut = only(sse(created, *deltas, closed, done=False)), only(sse(created, *deltas, done=False))
    assert (whole.content, whole.finish_reason, whole.stream_done) == ("Pier 4.", "stop", True)
    assert (cut.content, cut.finish_reason, cut.stream_done) == ("Pier 4.", None, False)


def test_chunk_documents_are_joined_wherever_they_stand() -> None:
    other = {**STREAM[3], "id": "chatcmpl-9"}
    documents = [Document(body, f"f:{at}", {}, at) for at, body in enumerate([*STREAM[:2], other, *STREAM[2:]])]
    records = [record for record in openai.FORMAT.read(documents) if isinstance(record, Record)]
    assert [record.content for record in records] == ["Because </think> of the tide.", "ink> of the tide."]
    assert openai.FORMAT.joiner is not None
    joiner = openai.FORMAT.joiner()
    assert isinstance(joiner, ByKey)
    outcomes = [outcome for document in documents for outcome in joiner.feed(document)] + list(joiner.finish())
    assert len(outcomes) == 2


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


# -- requests
@pytest.mark.parametrize(
    ("request_body", "expected"),
    [
        ({"max_tokens": 5}, {"max_tokens": 5}),
        ({"max_tokens": 5, "max_completion_tokens": 7}, {"max_tokens": 7}),
        ({"n_predict": -1}, {}),
        ({"sampling_params": {"max_new_tokens": 8, "ignore_eos": True}}, {"max_tokens": 8, "ignore_eos": True}),
        ({"thinking_token_budget": 9}, {"thinking_budget": 9}),
        ({"extra_body": {"chat_template_kwargs": {"thinking_budget": 9}}}, {"thinking_budget": 9}),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, {"thinking_budget": 9, "enable_thinking": True}),
        ({"thinking": {"type": "disabled"}}, {"enable_thinking": False}),
        ({"reasoning": {"max_tokens": 9}}, {"thinking_budget": 9}),
        ({"chat_template_kwargs": {"enable_thinking": False}}, {"enable_thinking": False}),
        ({"chat_template_kwargs": {"thinking": True}}, {"enable_thinking": True}),
        ({"tools": []}, {"has_tools": False}),
        ({"tools": [{"type": "function"}]}, {"has_tools": True}),
        ({"tools": [{"type": "function"}], "tool_choice": "none"}, {"has_tools": False}),
        ({"response_format": {"type": "json_object"}}, {"response_format": "json_object"}),
        ({"response_format": {"type": "json_schema", "json_schema": {"schema": {}}}}, {"response_format": "json_schema", "schema_is_empty": True}),
        ({"guided_json": '{"type": "object"}'}, {"response_format": "json_schema", "schema_is_empty": False}),
        ({"structured_outputs": {"regex": "a+"}}, {"response_format": "regex"}),
        ({"text": {"format": {"type": "json_schema"}}}, {"response_format": "json_schema"}),
        ({"stop": "\n"}, {"stop": ("\n",)}),
        ({"stop": ["a", "b"]}, {"stop": ("a", "b")}),
        ({"stop": "{}"}, {"stop": ("{}",)}),
        ({"merge_reasoning_content_in_choices": True}, {"gateway_options": ("merge_reasoning_content_in_choices",)}),
        ({"suffix": "end"}, {"has_suffix": True}),
        ({"prompt": "Once"}, {"user_text": "Once"}),
        ({"input": [{"role": "user", "content": [{"type": "input_text", "text": "a"}]}]}, {"user_text": "a", "last_role": "user"}),
        (
            {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}, {"role": "tool", "content": "t"}]},
            {"user_text": "u", "last_role": "tool", "system_text": "s"},
        ),
        ('{"max_tokens": 5}', {"max_tokens": 5}),
        ("nothing", {}),
        (None, {}),
        ({"max_tokens": None, "temperature": float("nan"), "n": "2"}, {"n": 2}),
    ],
)
def test_requests(request_body: Any, expected: dict[str, Any]) -> None:
    assert request_columns(request_body) == expected


# -- finish reasons
@pytest.mark.parametrize(
    ("raw", "canonical"),
    [
        ("stop", "stop"),
        ("eos_token", "stop"),
        ("end_turn", "stop"),
        ("MAX_TOKENS", "length"),
        ("FinishReason.MAX_TOKENS", "length"),
        ("tool_call", "tool_calls"),
        ("function_call", "tool_calls"),
        (["length"], "length"),
        ('["length"]', "length"),
        ("['length']", "length"),
        ({"type": "abort", "message": "x"}, "abort"),
        ('{"type": "length", "length": 5}', "length"),
        ([{"finish_reason": "content_filter"}], "content_filter"),
        ("streaming_complete", "unknown"),
        ("", "unknown"),
        ("something new", "unknown"),
        (None, None),
        ([], None),
        ([[[[[[["stop"]]]]]]], None),
    ],
)
def test_finish_reasons(raw: Any, canonical: str | None) -> None:
    assert reason(raw).canonical == canonical


def test_lists_of_finish_reasons_keep_their_places() -> None:
    assert [found.canonical for found in reasons(["stop", None, "length"])] == ["stop", None, "length"]


def test_length_is_inferred_only_where_the_reason_can_not_be_trusted() -> None:
    used = {"usage": {"completion_tokens": 64}}
    asked = {"max_tokens": 64}
    gateway = {**asked, "finish_reason_source": "gateway"}
    assert (only(chat({"content": "x"}, **used), **gateway).finish_reason, only(chat({"content": "x"}, **used), **gateway).finish_reason_source) == (
        "length",
        "inferred",
    )
    assert only(chat({"content": "x"}, **used), **asked).finish_reason == "stop"  # an engine's own stop on the last token
    assert only(chat({"content": "x"}, None, **used), **asked).finish_reason == "length"
    assert only(chat({"content": "x"}, None, **used), **asked, n=2).finish_reason is None  # a sum over choices
    assert only(chat({"content": "x"}, None, **used), **asked, error_type="ReadTimeout").finish_reason is None
    native = chat({"content": "x"})
    native["choices"][0]["provider_specific_fields"] = {"native_finish_reason": "abort"}
    assert (only(native, **gateway).finish_reason, only(native, **gateway).finish_reason_source) == ("abort", "engine")


# -- values
def test_numbers_times_and_durations() -> None:
    assert [number(value) for value in (3, "3", "3.5", True, float("nan"), 10**400, "1e5", "abc", None)] == [3, 3, 3.5, None, None, None, 1e5, None, None]
    assert [count(value) for value in (3.0, "7", -1, 3.5, 1 << 63)] == [3, 7, None, None, None]
    assert [seconds(value, "ms") for value in (5, "45.6ms", "2s", "1.5µs", -1)] == pytest.approx([0.005, 0.0456, 2.0, 1.5e-6, None])
    at = 1795921200.0
    iso = ("2026-11-29T03:00:00Z", "2026-11-29 12:00:00+09:00", "2026-11-29T03:00:00.000000000Z")
    assert [instant(value) for value in (*iso, at, at * 1e3, at * 1e6, at * 1e9, str(int(at)))] == [at] * 8
    assert [instant(value) for value in ("2026-11-29T03:00:00", "tomorrow", 0, -5, 1e40, True)] == [None] * 6


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
