"""Envoy and Envoy AI Gateway access logs as JSON: one line per request of a client, its attempts included. Names are chosen by the operator.

Sources: Envoy "Access logging" (command operators, response flags), envoyproxy/ai-gateway docs "accesslogs" and examples/access-log, Istio's default JSON.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.gateway_values import first, flat_names, status, trace_of
from detector.formats.log_lines import is_generation
from detector.formats.values import count, decoded, instant, seconds, text
from detector.record import Record

_PATHS = ("x_envoy_origin_path", "x_envoy_original_path", "path", "request_path", "uri", "url_path", "req_path")
_MODELS = (
    "gen_ai_response_model",
    "genai_response_model",
    "response_model",
    "gen_ai_request_model",
    "genai_model_name",
    "genai_request_model",
    "request_model",
    "model_name_override",
    "model",
)
_IN = ("gen_ai_usage_input_tokens", "genai_tokens_input", "genai_input_tokens", "llm_input_token", "input_tokens", "prompt_tokens", "input_token")
_OUT = ("gen_ai_usage_output_tokens", "genai_tokens_output", "genai_output_tokens", "llm_output_token", "output_tokens", "completion_tokens", "output_token")
_REASONING = ("gen_ai_usage_reasoning_tokens", "gen_ai_usage_reasoning_output_tokens", "genai_tokens_reasoning", "reasoning_tokens")
_CACHED = (
    "gen_ai_usage_cached_input_tokens",
    "gen_ai_usage_cache_read_input_tokens",
    "gen_ai_usage_cached_tokens",
    "genai_tokens_cached_input",
    "genai_tokens_cached",
    "cached_tokens",
)
_METADATA = "io_envoy_ai_gateway_"  # the gateway's dynamic metadata, where a format logs it as an object
_AI = (*_MODELS[:-2], *_IN[:4], *_OUT[:4])

# Envoy's default text format (docs "Access logging", default format string); Istio puts details, termination and transport failure behind the flags.
_LINE = re.compile(
    r'\[(?P<start_time>\d{4}-\d\d-\d\dT[\d:.]+Z)\] "(?P<method>[A-Z]+) (?P<path>\S+) (?:HTTP/[\d.]+|-)" '
    r"(?P<response_code>\d{1,3}) (?P<response_flags>[A-Z,-]+) "
    r'(?:(?P<response_code_details>\S+) \S+ "[^"]*" )?(?P<bytes_received>\d+) (?P<bytes_sent>\d+) (?P<duration>\d+) (?:\d+|-) '
    r'"[^"]*" "(?P<user_agent>[^"]*)" "(?P<request_id>[^"]*)" "[^"]*" "(?P<upstream_host>[^"]*)"(?: (?P<upstream_cluster>\S+))?'
)

NO_GENERATION = "request that asks for no answer of a model"


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        return "Envoy's default access line" if body[:1] == "[" and _LINE.match(body) else None
    if not isinstance(body, dict):
        return None
    line = access_line(body)
    if "response_flags" in line and ("response_code" in line or "duration" in line or "response_code_details" in line):
        return "Envoy's response_flags beside response_code or duration"
    if "response_code_details" in line and "response_code" in line:
        return "Envoy's response_code_details"
    if any(key.startswith("x-envoy-") for key in line) and ("response_code" in line or "duration" in line):
        return "x-envoy-* headers beside duration"
    return None


def access_line(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The line's fields: at the top, or as attributes of a log record (OpenTelemetry access log)."""
    if "response_flags" in body or "response_code" in body:
        return body
    inner = decoded(body.get("attributes"))
    return inner if isinstance(inner, dict) and ("response_flags" in inner or "response_code" in inner) else body


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body if isinstance(document.body, dict) else {}
        line = _LINE.match(document.body) if isinstance(document.body, str) else None
        names = flat_names(line.groupdict() if line else access_line(body))
        for name in [name for name in names if _METADATA in name]:
            names.setdefault(name.rpartition(_METADATA)[2], names[name])
        if not asks_for_answer(names, body):
            yield Rejected(document, NO_GENERATION, ignored=True)
        else:
            yield Record(**access_columns(names))


def asks_for_answer(names: Mapping[str, Any], body: Mapping[str, Any]) -> bool:
    """By its path; without one, by a model or a token count."""
    path = first(names, *_PATHS)
    if isinstance(path, str):
        return is_generation(path.partition("?")[0].rstrip("/")) and str(first(names, "method", "request_method") or "POST").upper() == "POST"
    return any(names.get(key) is not None for key in _AI)


def access_columns(names: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of one access line with normalised names."""
    code = status(first(names, "response_code", "status", "response_status", "status_code", "code"))
    flags, details = text(first(names, "response_flags", "flags")), text(first(names, "response_code_details"))
    columns: dict[str, Any] = {
        "timestamp": instant(first(names, "start_time", "timestamp", "time")),
        "request_id": text(first(names, "x_request_id", "request_id", "requestid")),
        "trace_id": trace_of(first(names, "trace_id", "traceid", "traceparent", "x_b3_traceid")),
        "model": text(first(names, *_MODELS)),
        "deployment": text(first(names, "upstream_cluster", "route_name", "genai_backend_name", "gen_ai_provider_name")),
        "pod": text(first(names, "upstream_host")),
        "client": text(first(names, "user_agent")),
        "endpoint": _path(names),
        "status_code": code,
        "prompt_tokens": count(first(names, *_IN)),
        "completion_tokens": count(first(names, *_OUT)),
        "reasoning_tokens": count(first(names, *_REASONING)),
        "cached_tokens": count(first(names, *_CACHED)),
        "latency_seconds": seconds(first(names, "duration", "duration_ms", "request_duration"), "ms"),
        "session": text(first(names, "session_id", "agent_session_id")),
    }
    if flags is not None:  # whatever the status says: a 200 with DC or UC broke off on its way
        columns["error_type"], columns["error_message"] = flags, details
    return {name: value for name, value in columns.items() if value is not None}


def _path(names: Mapping[str, Any]) -> str | None:
    path = text(first(names, *_PATHS))
    return path.partition("?")[0] if path else None


FORMAT = Format(
    name="envoy",
    view="gateway",
    title="Envoy and Envoy AI Gateway access log, JSON",
    sees=(
        "status, response flags and duration as the client saw them: time-outs, resets, clients that went away",
        "model and token counts (AI Gateway)",
        "which upstream answered last",
    ),
    blind=("text and finish reasons", "caps", "time to the first token (x-envoy-upstream-service-time ends at the headers)"),
    recognise=_recognise,
    read=_read,
    rank=30,
    trust="none is logged",
    units="duration in milliseconds, start_time ISO 8601 UTC; a token count of 0 may mean that nothing was counted",
    off=("length_cutoff", "think_leak", "special_token_leak", "empty_content", "repetition", "garbage"),
)
