"""Finished answers without visible text.

What it finds
    Content null, empty, blank or made of invisible characters only, on an answer that finished, with no tool call, refusal or function call beside it.

Why it matters
    The user sees nothing although the server says 200. Where the text sits in the reasoning field a parser took the answer for thinking: then all answers
    of one deployment are blank at once.

Not flagged
    Chunks of a stream and streams that broke, failed requests, `content_filter`, tool calls, refusals, content that the log does not hold, probes and
    warm-up calls of one token.

Subtypes
    See `SIGNAL.subtypes`. What happened to the answer comes before what the empty text is made of.

Sources
    QwenLM/Qwen3#1297 and vllm-project/vllm#48863 (answer taken for reasoning), #14550 (stop string inside reasoning), #11089 (stop string at the first
    token), nugget/thane-ai-agent#167 (immediate end after tool results), NVIDIA/TensorRT-LLM#2133 (tokens without text), vllm-project/vllm#52640 (cap
    before the answer). Benign shapes: QwenLM/Qwen3#1755, vllm-project/vllm#35705, #19650.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.request_failure import failed, failed_rows

# Characters that show nothing: Unicode Default_Ignorable_Code_Point, Zs, controls, the blank braille pattern (facts on response failures, "Empty").
_INVISIBLE = (
    r"\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_VISIBLE = re.compile(f"[^{_INVISIBLE}]")
END_AT_ONCE_TOKENS = 2  # an end token and at most one more, such as an end-of-turn pair
_OPEN_REASONS = frozenset({"content_filter", "abort", "error"})
# A stop_reason that is a token id, or the name of an end token, is the model's own end, not a stop string of the caller.
_END_TOKEN = re.compile(r"\d+|<.*>|eos|stop|end_turn|None", re.IGNORECASE | re.DOTALL)


def has_visible_text(text: str | None) -> bool:
    """The text has at least one character that shows something."""
    return text is not None and _VISIBLE.search(text) is not None


def observable(record: Record) -> bool:
    """The answer finished and the log holds what its text was (also: that there was none)."""
    if failed(record) or record.content_state == "not_captured" or record.finish_reason in _OPEN_REASONS:
        return False
    return record.finish_reason is not None or record.stream_done is True or has_visible_text(record.content) or _ended(record)


def _ended(record: Record) -> bool:
    """A log without reasons (gateways, tracers) that has the duration of a call which did not fail has seen the call's end."""
    return record.latency_seconds is not None and record.stream_done is None


def _observable_rows(batch: Batch) -> list[bool]:
    if batch.is_sound and not batch.has("content_state", "not_captured") and not batch.has("finish_reason", *_OPEN_REASONS):
        return [True] * batch.size
    columns = (batch.column(name) for name in ("content_state", "finish_reason", "stream_done", "content", "latency_seconds"))
    return [
        not bad
        and state != "not_captured"
        and reason not in _OPEN_REASONS
        and (reason is not None or done is True or has_visible_text(content) or (done is None and duration is not None))
        for bad, state, reason, done, content, duration in zip(failed_rows(batch), *columns, strict=True)
    ]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags a finished answer without visible text; never raises."""
    if not observable(record) or has_visible_text(record.content) or record.content_state == "truncated":
        return None
    if record.tool_calls or record.is_probe or has_visible_text(record.refusal):
        return None
    if record.finish_reason == "tool_calls" and record.tool_calls is None:  # the log does not hold the calls
        return None
    thought = has_visible_text(record.reasoning)
    if record.max_tokens == 1 and not thought:  # probe, warm-up or prefill leg: its text was never meant for anyone
        return None
    subtype = _subtype(record, thought=thought)
    tokens = "unknown" if record.completion_tokens is None else str(record.completion_tokens)
    reasoning = f"{len(record.reasoning or '')} characters of reasoning" if thought else "no reasoning"
    return Flag(subtype, f"no visible text: {_kind(record.content)}, {tokens} completion tokens, {reasoning}, finish reason {record.finish_reason}")


def _kind(content: str | None) -> str:
    if not content:
        return "null or empty"
    return "white space only" if content.isspace() else "invisible characters only"


def _subtype(record: Record, *, thought: bool) -> str:
    tokens = record.completion_tokens
    if record.finish_reason == "stop" and record.stop_reason and _is_stop_string(record):
        return "stopped_by_stop_string"
    if thought:
        return "thinking_ate_budget" if record.finish_reason == "length" else "answer_in_reasoning"
    if record.content and not record.content.isspace():
        return "invisible_characters"
    if record.finish_reason == "stop" and tokens is not None and tokens <= END_AT_ONCE_TOKENS and (record.n or 1) == 1:
        return "end_token_only"
    if record.content:
        return "blank"
    if tokens is not None and tokens > END_AT_ONCE_TOKENS and (record.n or 1) == 1:
        return "tokens_but_no_text"
    return "null"


def _is_stop_string(record: Record) -> bool:
    matched = record.stop_reason or ""
    if record.stop is not None:
        return matched in record.stop
    return _END_TOKEN.fullmatch(matched) is None


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows without visible content and without a tool call whose log says what the content was."""
    states, calls = batch.column("content_state"), batch.column("tool_calls")
    return [row for row in batch.text.blank.nonzero()[0].tolist() if states[row] != "not_captured" and not calls[row]]


SIGNAL = Signal(
    name="empty_content",
    subtypes={
        "stopped_by_stop_string": "a stop string of the request matched before any visible text, or inside the reasoning",
        "thinking_ate_budget": "reasoning is there, the cap came before the answer",
        "answer_in_reasoning": "the reasoning field holds text, the answer holds none, and the model stopped by itself",
        "invisible_characters": "zero-width, filler or braille-blank characters only",
        "end_token_only": "the model ended at once: two tokens or fewer",
        "blank": "white space only",
        "tokens_but_no_text": "tokens were made and no text at all came out",
        "null": "content is null or empty, and token counts tell nothing more",
    },
    needs=("content",),
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(candidates=((Where("content", "blank"), Where("tool_calls", "missing")),)),
)
