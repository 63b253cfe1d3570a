"""Finish reasons of all producers in canonical words, and `length` inferred where a gateway hides it.

The raw word is always kept. Sources: vLLM and SGLang API code, OpenTelemetry GenAI, LiteLLM `map_finish_reason`, TGI, Anthropic and Gemini words that
gateways pass on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, get_args

from detector.formats.values import compact, decoded
from detector.record import FinishReason, Record

_WORDS: dict[str, FinishReason] = {
    **{name: name for name in get_args(FinishReason)},
    "eos_token": "stop",
    "eos": "stop",
    "stop_sequence": "stop",
    "stop_token": "stop",
    "end_turn": "stop",
    "completed": "stop",
    "complete": "stop",
    "finished": "stop",
    "finish_stop": "stop",
    "finish_reason_stop": "stop",
    "word": "stop",  # llama.cpp stop_type
    "max_tokens": "length",
    "max_output_tokens": "length",
    "max_new_tokens": "length",
    "model_length": "length",
    "limit": "length",  # llama.cpp stop_type
    "compaction": "length",
    "tool_call": "tool_calls",
    "tool_use": "tool_calls",
    "function_call": "tool_calls",
    "guardrail_intervened": "content_filter",
    "content_filtered": "content_filter",
    "safety": "content_filter",
    "refusal": "content_filter",
    "aborted": "abort",
    "cancelled": "abort",
    "canceled": "abort",
    "client_disconnected": "abort",
    "failed": "error",
    "repetition_detected": "repetition",
    "streaming_complete": "unknown",  # vLLM's log writes it for every stream
    "": "unknown",
    "null": "unknown",
    "none": "unknown",
}
_KEYS = ("type", "reason", "finish_reason", "value", "name")  # of reasons that are objects: SGLang native {"type": …}, nested exporters
_DEPTH = 4


class Reason(NamedTuple):
    """`canonical` and `raw` word; both None where the log says nothing. `matched`: stop string or token id that a native object carries."""

    canonical: FinishReason | None
    raw: str | None
    matched: str | None = None


NOTHING = Reason(None, None)


def reason(value: Any) -> Reason:
    """One finish reason from a word, an object, a list (its first element), or a text that holds one of these as JSON or as a Python literal."""
    if isinstance(value, str) and value in _WORDS:  # the usual case first
        return Reason(_WORDS[value], value)
    found = reasons(value)
    return found[0] if found else NOTHING


def reasons(value: Any, depth: int = _DEPTH) -> list[Reason]:
    """All finish reasons that a value holds, one per choice, in its order; null elements keep their place as `NOTHING`."""
    if value is None or depth < 0 or isinstance(value, (bool, float)):
        return []
    if isinstance(value, (list, tuple)):
        return [found for entry in value for found in (reasons(entry, depth - 1) or [NOTHING])]
    if isinstance(value, dict):
        for key in _KEYS:
            if isinstance(value.get(key), str):
                matched = value.get("matched")
                return [Reason(_canonical(value[key]), value[key], None if matched is None else compact(matched))]
        return []
    if not isinstance(value, str):
        return [Reason("unknown", str(value))]
    stripped = value.strip()
    if stripped[:1] in ("[", "{"):
        inner = decoded(stripped)
        if isinstance(inner, str):
            inner = decoded(stripped.replace("'", '"').replace("None", "null"))  # Python's repr of a list or a dict
        if not isinstance(inner, str):
            return reasons(inner, depth - 1)
    if ", " in value and len(value) < 200:  # a list that became one text
        words = value.split(", ")
        if all(_canonical(word) != "unknown" for word in words):
            return [Reason(_canonical(word), word) for word in words]
    return [Reason(_canonical(value), value)]


def _canonical(word: str) -> FinishReason:
    """The canonical reason of one word; enum-like spellings (`FinishReason.MAX_TOKENS`, `finish-reason-stop`) are folded."""
    folded = word.strip().strip("'\"").lower().rpartition(".")[2].replace("-", "_").replace(" ", "_")
    return _WORDS.get(folded) or _WORDS.get(folded.removeprefix("finish_reason_")) or "unknown"


def canonical_words(wanted: Iterable[Any]) -> list[str]:
    """Every raw word of the table that means one of these canonical reasons: what a store may have to be asked for."""
    meant = set(wanted)
    return [word for word, canonical in _WORDS.items() if canonical in meant]


def infer_length(record: Record) -> None:
    """Set `length` (source `inferred`) where the answer used up its cap and the log's own reason is missing or may have been rewritten.

    A gateway's `stop` is low in trust, an engine's is not. Caps hold per choice while token counts are sums over choices, so nothing can be inferred
    for n > 1. Answers that failed keep their failure.
    """
    cap, used = record.max_tokens, record.completion_tokens
    if cap is None or used is None or cap <= 0 or used < cap or (record.n or 1) > 1 or record.error_type is not None:
        return
    low_trust = record.finish_reason in ("stop", "unknown") and record.finish_reason_source == "gateway"
    if record.finish_reason is None or record.finish_reason_raw in ("", "unknown", "streaming_complete") or low_trust:
        record.finish_reason, record.finish_reason_source = "length", "inferred"
