"""Hypothesis strategies: records of any shape, hostile texts included."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from detector.batch import Batch
from detector.record import FinishReason, Record
from detector.signals.base import Signal, SignalOptions

OPTIONS = SignalOptions()
_SENTENCES = ("예약은 화요일입니다.", "您好，请确认设置。", "ご予約を承りました。", "The pump is primed", "Заказ отправлен", "สวัสดี", "नमस्ते", "مرحبا")
_BROKEN = ("\ufffd", "Ã©", "í•œ", "锟斤拷", "\x00", "\x1b[0m", "\x85", "\u200b", "\u2800", "\ud800")
_SIGNS = ("<think>", "```", "`", '"', "(", ")", "{", "}", "[", ",", ":", "\n", " ", "\t", "U+FFFD", "😀", "1234", "the", "的", "は", "가")
_PIECES = (*_SENTENCES, *_BROKEN, *_SIGNS)
_pieces = st.lists(st.sampled_from(_PIECES), max_size=30)
texts = st.one_of(st.none(), st.text(max_size=60), _pieces.map("".join), _pieces.map(" ".join))
_numbers = st.one_of(st.none(), st.integers(-1, 40), st.sampled_from([16, 100, 128, 256, 4096, 32768, 2**62]))
_reasons: st.SearchStrategy[FinishReason | None] = st.sampled_from([None, *get_args(FinishReason)])
_flags = st.sampled_from([None, True, False])


@st.composite
def any_record(draw: st.DrawFn) -> Record:
    """A record with any mix of columns that the four signals read."""
    calls = draw(st.one_of(st.none(), st.just(()), st.just(("search",))))
    return Record(
        status_code=draw(st.sampled_from([None, 0, 200, 400, 408, 429, 499, 500, 503, 504])),
        error_type=draw(st.sampled_from([None, None, "Timeout", "BadRequestError", "ConnectError", "client_disconnected"])),
        error_message=draw(st.one_of(st.none(), st.none(), texts)),
        finish_reason=draw(_reasons),
        finish_reason_source=draw(st.sampled_from([None, "engine", "gateway", "inferred"])),
        stop_reason=draw(st.sampled_from([None, "\n", "151645"])),
        stop=draw(st.sampled_from([None, ("\n",)])),
        stream_done=draw(_flags),
        content=draw(texts),
        content_state=draw(st.sampled_from(["present", "empty", "not_captured", "truncated"])),
        reasoning=draw(texts),
        reasoning_state=draw(st.sampled_from(["present", "empty", "not_captured", "truncated"])),
        tool_calls=calls,
        tool_arguments=draw(st.sampled_from([None, ("{}",), ('{"a": [1, 2',), ("",)])) if calls else None,
        refusal=draw(texts),
        prompt_tokens=draw(_numbers),
        completion_tokens=draw(_numbers),
        reasoning_tokens=draw(_numbers),
        max_tokens=draw(_numbers),
        n=draw(st.sampled_from([None, 1, 3])),
        response_format=draw(st.sampled_from([None, "text", "json_object", "json_schema", "regex"])),
        ignore_eos=draw(_flags),
        has_suffix=draw(st.sampled_from([None, True])),
        is_probe=draw(_flags),
        user_text=draw(texts),
        latency_seconds=draw(st.sampled_from([None, 0.0, 1.9, 30.0, 60.001, 120.0, 1e9])),
        ttft_seconds=draw(st.sampled_from([None, 0.2])),
        client_timeout_seconds=draw(st.sampled_from([None, 2.0, 60.0])),
    )


def hold(signal: Signal, answers: list[Record]) -> None:
    """Never raises, gives the same answer twice, agrees with its fast paths, and its reasons hold no content."""
    batch = Batch.from_records(answers)
    visible = signal.visible(batch)
    candidates = set(signal.candidates(batch, OPTIONS))
    for row, answer in enumerate(answers):
        assert visible[row] == signal.observable(answer)
        flag = signal.judge(answer, OPTIONS)
        assert flag == signal.judge(answer, OPTIONS)
        if flag is not None:
            assert row in candidates
            assert visible[row]
            assert flag.subtype in signal.subtypes
            assert flag.reason.isascii()
