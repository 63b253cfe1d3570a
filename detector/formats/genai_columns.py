"""Attributes of a GenAI span or event as columns of the record: both generations of names, those of the engines' own spans, and of instrumentations.

Names: open-telemetry/semantic-conventions v1.26 to v1.42 and semantic-conventions-genai (attributes gen_ai.*), vllm/tracing (gen_ai.latency.*,
gen_ai.usage.prompt_tokens), traceloop/openllmetry semconv-ai (llm.*). In code they stand with underscores for dots, as `telemetry` gives them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.finish_reason import Reason, infer_length, reason, reasons
from detector.formats.genai_messages import Messages, entries
from detector.formats.openai_request import request_columns
from detector.formats.paths import as_list
from detector.formats.telemetry import Telemetry
from detector.formats.values import count, decoded, flag, number, seconds, text
from detector.record import Record

_ENGINES = {"vllm": "vllm", "hosted_vllm": "vllm", "sglang": "sglang", "tgi": "tgi", "text_generation_inference": "tgi"}
_STATUS = range(400, 600)
_CHILD = re.compile(r"(\d{1,4})_((?:chatcmpl|cmpl)-.+)")  # vLLM's inner id of one choice of several
_SHAPES = {"json": "json_object"}

NOTHING = Reason(None, None)
EMPTY = Reason("unknown", "")  # an empty list: the instrumentation did not learn the reason


def call_columns(call: Telemetry) -> dict[str, Any]:
    """Columns that all choices of one call share."""
    first = call.first
    provider = text(first("gen_ai_provider_name", "gen_ai_system", "llm_vendor", "llm_system")) or ""
    request_id = text(first("gen_ai_response_id", "gen_ai_request_id"))
    child = _CHILD.fullmatch(request_id) if request_id else None
    columns: dict[str, Any] = {
        **_request(call),
        "request_id": child[2] if child else request_id,
        "choice_index": int(child[1]) if child else None,
        "trace_id": call.trace_id,
        "timestamp": call.start,
        "model": text(first("gen_ai_response_model", "gen_ai_request_model", "llm_response_model", "llm_request_model")),
        "engine": _ENGINES.get(provider.lower()) or _engine_of_scope(call.scope),
        "stream": flag(first("gen_ai_request_stream", "llm_is_streaming", "gen_ai_request_is_stream", "gen_ai_is_streaming", "llm_request_is_streaming")),
        "prompt_tokens": _tokens(call, "input_tokens", "prompt_tokens"),
        "completion_tokens": _tokens(call, "output_tokens", "completion_tokens"),
        "reasoning_tokens": count(
            first("gen_ai_usage_reasoning_output_tokens", "gen_ai_usage_reasoning_tokens", "gen_ai_usage_output_tokens_reasoning", "llm_usage_reasoning_tokens")
        ),
        "cached_tokens": count(
            first("gen_ai_usage_cache_read_input_tokens", "gen_ai_usage_cached_tokens", "gen_ai_usage_input_tokens_cached", "llm_usage_cache_read_input_tokens")
        ),
        "latency_seconds": seconds(first("gen_ai_latency_e2e")),
        "ttft_seconds": seconds(
            first("gen_ai_response_time_to_first_chunk", "gen_ai_latency_time_to_first_token", "gen_ai_server_time_to_first_token", "gen_ai_server_ttft")
        ),
        "queue_seconds": seconds(first("gen_ai_latency_time_in_queue")),
        "status_code": count(first("http_response_status_code", "http_status_code", "http_response_status")),
        "endpoint": text(first("url_path", "http_target", "http_route")),
        "user": text(first("enduser_id", "user_id", "gen_ai_user", "llm_user")),
        "session": text(first("gen_ai_conversation_id", "session_id", "traceloop_association_properties_session_id")),
        **_error(call),
    }
    if columns["latency_seconds"] is None:
        columns["latency_seconds"] = call.duration
    return {name: value for name, value in columns.items() if value is not None}


def _request(call: Telemetry) -> dict[str, Any]:
    first = call.first
    shape = text(first("gen_ai_output_type", "gen_ai_openai_request_response_format", "gen_ai_request_response_format", "llm_request_response_format"))
    stops = first("gen_ai_request_stop_sequences", "llm_chat_stop_sequences", "llm_request_stop_sequences")
    cap = first("gen_ai_request_max_tokens", "gen_ai_request_max_completion_tokens", "gen_ai_request_max_output_tokens", "llm_request_max_tokens")
    tools = first("gen_ai_tool_definitions", "llm_request_functions", "gen_ai_request_tools")
    columns: dict[str, Any] = {
        "max_tokens": count(cap),
        "temperature": number(first("gen_ai_request_temperature", "llm_temperature", "llm_request_temperature")),
        "n": count(first("gen_ai_request_choice_count", "gen_ai_request_n", "llm_request_n")),
        "response_format": _SHAPES.get(shape or "", shape),
        "stop": tuple(entry for entry in as_list(stops) if isinstance(entry, str)) if stops is not None else None,
        "has_tools": bool(decoded(tools)) if tools is not None else True if _has(call, "llm_request_functions_") else None,
    }
    turns = list(conversation(call.attributes))
    if turns:
        columns.update(request_columns({"messages": turns}))
    return {name: value for name, value in columns.items() if value is not None}


def _has(call: Telemetry, start: str) -> bool:
    return any(name.startswith(start) for name in call.attributes)


def conversation(attributes: Mapping[str, Any]) -> Iterable[dict[str, Any]]:
    """The request's messages as plain role and text."""
    instructions = decoded(attributes.get("gen_ai_system_instructions"))
    if instructions:
        yield {"role": "system", "content": spoken(instructions)}
    for name in ("gen_ai_input_messages", "gen_ai_prompt"):
        listed = decoded(attributes.get(name))
        for turn in listed if isinstance(listed, list) else ():
            if isinstance(turn, dict):
                yield {"role": turn.get("role"), "content": spoken(turn.get("parts", turn.get("content")))}
    for name in ("gen_ai_prompt", "gen_ai_input_messages"):
        for _, turn in entries(attributes, name):
            yield {"role": turn.get("role"), "content": spoken(turn.get("content"))}


def spoken(parts: Any) -> str:
    """The text of typed parts, of a list of them, or a text as it is."""
    value = decoded(parts)
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [value]
    found = []
    for part in value if isinstance(value, list) else ():
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, dict):
            inner = part.get("content", part.get("text"))
            found.append(inner if isinstance(inner, str) else "")
    return "".join(found)


def _tokens(call: Telemetry, new: str, old: str) -> int | None:
    return count(call.first(f"gen_ai_usage_{new}", f"gen_ai_usage_{old}", f"llm_usage_{old}", f"llm_usage_{new}"))


def _engine_of_scope(scope: str) -> str | None:
    return next((engine for engine in ("vllm", "sglang") if scope.lower().startswith(engine)), None)


def _error(call: Telemetry) -> dict[str, Any]:
    """What went wrong: `error.type`, the exception that the span recorded, or a failed status without either."""
    kind = text(call.first("error_type", "exception_type"))
    message = text(call.first("error_message", "exception_message"))
    for event in call.events:
        if event.name == "exception" or "exception_type" in event.attributes:
            kind = kind or text(event.attributes.get("exception_type"))
            message = message or text(event.attributes.get("exception_message"))
    if kind is None and not call.failed:
        return {}
    status = count(kind)
    columns: dict[str, Any] = {"error_type": kind or "error", "error_message": call.message or message}
    if status is not None and status in _STATUS:
        columns["status_code"] = status
    return {name: value for name, value in columns.items() if value is not None}


def choice_reasons(call: Telemetry, messages: Messages | None) -> list[Reason]:
    """One reason per choice: the choice's own, else the one at its place in the list of the response. Lists of other length are not paired."""
    given = call.first("gen_ai_response_finish_reasons", "gen_ai_response_finish_reason", "gen_ai_finish_reason", "llm_response_finish_reason")
    given = call.first("llm_response_stop_reason", "gen_ai_response_stop_reason") if given is None else given
    if given is None:  # lists of objects (ECS declares them nested) whose fields a store gives one by one
        given = call.first(*(f"gen_ai_response_finish_reasons_{name}" for name in ("value", "reason", "finish_reason", "type", "name")))
    listed = reasons(given)
    if given is not None and not listed:
        listed = [EMPTY]
    asked = count(call.first("gen_ai_request_choice_count", "gen_ai_request_n")) or 1
    own = [reason(raw) for raw in messages.reasons] if messages is not None else []
    size = len(own) if messages is not None else max(len(listed), min(asked, 128) if len(listed) == 1 else 1)
    found = []
    for place in range(size):
        mine = own[place] if own else NOTHING
        if mine.canonical in (None, "unknown"):
            at_place = listed[place] if len(listed) == size else listed[0] if len(listed) == 1 else NOTHING
            mine = at_place if at_place.canonical is not None else mine
        found.append(mine)
    return found


def records(base: Mapping[str, Any], choices: Sequence[Mapping[str, Any]], found: Sequence[Reason], source: str = "engine") -> list[Record]:
    """One record per choice. `source`: who said the reasons (engine, or a gateway that may rewrite them)."""
    made = []
    for place, columns in enumerate(choices):
        given = {"choice_index": place, **base, **columns}
        stated = found[place] if place < len(found) else NOTHING
        given["finish_reason"], given["finish_reason_raw"] = stated.canonical, stated.raw
        if stated.raw:
            given["finish_reason_source"] = source
        if given.get("content_state", "not_captured") != "not_captured":
            given.setdefault("content_is_raw", False)
        record = Record(**given)
        if record.stream and record.stream_done is None and stated.canonical not in (None, "unknown"):
            record.stream_done = True
        if len(choices) == 1:
            infer_length(record)
        made.append(record)
    return made
