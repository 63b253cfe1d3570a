"""Higress access logs: Envoy's line with the AI statistics as JSON in the text field `ai_log`, every number a text.

Sources: higress-group/higress plugins ai-statistics (attributes question, answer, reasoning, tool_calls …), ai-proxy; issue 2857.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.cut_json import repaired
from detector.formats.envoy import NO_GENERATION, access_columns, asks_for_answer
from detector.formats.finish_reason import infer_length, reason
from detector.formats.gateway_values import first, flat_names, given, stated_text, tool_names
from detector.formats.log_lines import asks_for_other
from detector.formats.nesting import nested
from detector.formats.values import count, decoded, flag, seconds, text
from detector.record import Record

_FIRST_VERSION = frozenset(("model", "input_token", "output_token", "response_code"))  # its figures stood beside the line's own fields


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict) or not body.keys() & {"response_code", "response_flags", "start_time", "duration", "route_name"}:
        return None
    if any(key.partition(".")[0] == "ai_log" for key in body):
        return "ai_log in an access line"
    return "model, input_token and output_token in an access line" if body.keys() >= _FIRST_VERSION else None


def ai_log(value: Any) -> dict[str, Any]:
    """The statistics; quoted once or twice, possibly cut."""
    value = decoded(given(value))
    if isinstance(value, str) and value[:1] == '"':
        value = decoded(value[1:-1])
    if isinstance(value, str) and '\\"' in value:
        value = decoded(value.replace('\\"', '"'))
    if isinstance(value, str):
        value = repaired(value)
        if isinstance(value, dict) and value:
            value.popitem()  # where it was cut: a number there may have lost digits
    return value if isinstance(value, dict) else {}


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body if isinstance(document.body, dict) else {}
        figures, names = ai_log(nested(body).get("ai_log")), flat_names(body)
        if (not figures and not asks_for_answer(names, body)) or asks_for_other(str(first(names, "path") or "").partition("?")[0]):
            yield Rejected(document, NO_GENERATION, ignored=True)
        else:
            yield _record(figures, names)


def _record(figures: Mapping[str, Any], names: Mapping[str, Any]) -> Record:
    known = flat_names(figures)
    columns = access_columns(names)
    found: dict[str, Any] = {
        "model": text(first(known, "model", "response_model")),
        "prompt_tokens": count(first(known, "input_token", "input_tokens", "prompt_tokens")),
        "completion_tokens": count(first(known, "output_token", "output_tokens", "completion_tokens")),
        "reasoning_tokens": count(first(known, "reasoning_tokens", "reasoning_token")),
        "cached_tokens": count(first(known, "cached_tokens", "input_cached_tokens")),
        "ttft_seconds": seconds(first(known, "llm_first_token_duration"), "ms"),
        "stream": {"stream": True, "normal": False}.get(str(first(known, "response_type"))),
        "session": text(first(known, "session_id")),
        "client": text(first(known, "consumer")),
        "user_text": text(first(known, "question")),
        "system_text": text(first(known, "system")),
        "cache_hit": True if str(first(known, "cache_status")).lower() == "hit" else flag(first(known, "cache_hit")),
        "max_tokens": count(first(known, "max_tokens")),
    }
    if "latency_seconds" not in columns:
        found["latency_seconds"] = seconds(first(known, "llm_service_duration"), "ms")
    said = reason(first(known, "finish_reason", "finish_reasons"))
    found["finish_reason"], found["finish_reason_raw"] = said.canonical, said.raw
    found["finish_reason_source"] = "gateway" if said.raw else None
    answer = figures.get("answer", figures.get("answer_streaming"))
    stated_text(found, "content", answer)
    stated_text(found, "reasoning", figures.get("reasoning"))
    calls = tool_names(figures.get("tool_calls"))
    if calls is not None:
        found["tool_calls"], found["tool_arguments"] = calls[0], calls[1] or None
    if answer is not None:
        found["content_is_raw"] = False
    columns.update({name: value for name, value in found.items() if value is not None})
    record = Record(**columns)
    infer_length(record)
    return record


FORMAT = Format(
    name="higress",
    view="gateway",
    title="Higress access log with ai_log",
    sees=(
        "status, flags and duration as the client saw them",
        "model, token counts and time to the first token",
        "question and answer where ai-statistics is told to record them",
    ),
    blind=("finish reasons", "text, unless the plugin's attributes record it", "caps"),
    recognise=_recognise,
    read=_read,
    rank=25,
    shape=lambda keys: keys >= _FIRST_VERSION or any(key.partition(".")[0] == "ai_log" for key in keys),
    lines=False,
    trust="none is logged, unless the operator adds one",
    units="durations in milliseconds as texts; start_time ISO 8601 UTC",
    raw_text=False,
    off=("length_cutoff",),
)
