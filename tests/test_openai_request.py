"""Requests of OpenAI's API, finish reasons, and values in every spelling."""

from __future__ import annotations

from typing import Any

import pytest

from detector.formats.finish_reason import reason, reasons
from detector.formats.openai_request import request_columns
from detector.formats.values import count, instant, number, seconds
from tests.openai_bodies import chat, only


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


def test_numbers_times_and_durations() -> None:
    assert [number(value) for value in (3, "3", "3.5", True, float("nan"), 10**400, "1e5", "abc", None)] == [3, 3, 3.5, None, None, None, 1e5, None, None]
    assert [count(value) for value in (3.0, "7", -1, 3.5, 1 << 63)] == [3, 7, None, None, None]
    assert [seconds(value, "ms") for value in (5, "45.6ms", "2s", "1.5µs", -1)] == pytest.approx([0.005, 0.0456, 2.0, 1.5e-6, None])
    at = 1795921200.0
    iso = ("2026-11-29T03:00:00Z", "2026-11-29 12:00:00+09:00", "2026-11-29T03:00:00.000000000Z")
    assert [instant(value) for value in (*iso, at, at * 1e3, at * 1e6, at * 1e9, str(int(at)))] == [at] * 8
    assert [instant(value) for value in ("2026-11-29T03:00:00", "tomorrow", 0, -5, 1e40, True)] == [None] * 6
