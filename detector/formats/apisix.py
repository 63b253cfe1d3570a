"""APISIX ai-proxy: log entries with `llm_summary` and `llm_response_text`, formats of the site's own with the llm_* variables, and plain access lines.

Sources: apache/apisix apisix/plugins/ai-proxy/base.lua, apisix/utils/log-util.lua, docs of ai-proxy (access log variables); apisix#12042 (quotes as \\x22).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.finish_reason import infer_length
from detector.formats.gateway_values import first, flat_names, given, header, last_of_list, stated_text, status, trace_of
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.log_lines import asks_for_other, is_generation
from detector.formats.nesting import nested
from detector.formats.openai import records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.values import count, decoded, flag, instant, mapping, seconds, text
from detector.record import Record

_OWN = (
    "llm_summary",
    "llm_response_text",
    "llm_request",
    "llm_time_to_first_token",
    "llm_prompt_tokens",
    "llm_completion_tokens",
    "request_llm_model",
    "llm_model",
)
_LATENCIES = ("apisix_latency", "upstream_latency")
_STREAMS = {"ai_stream": True, "ai_chat": False}
# $remote_addr - $remote_user [$time_local] $http_host "$request_line" $status … "$request_type" "$llm_time_to_first_token" "$llm_model" "$request_llm_model"
# "$llm_prompt_tokens" "$llm_completion_tokens" (APISIX docs, ai-proxy, "Include LLM Information in Access Log")
_LINE = re.compile(
    r'\S+ - \S+ \[(?P<at>[^\]]{20,40})\] \S+ "(?P<method>[A-Z]+) (?P<path>\S+) HTTP/[\d.]+" (?P<status>\d{3}) \d+ (?P<took>[\d.]+|-) .{0,20000}?'
    r'"(?P<id>[^"]*)" "(?P<kind>traditional_http|ai_chat|ai_stream)" "(?P<ttft>[\d.]*|-)" '
    r'"(?P<model>[^"]*)" "(?P<asked>[^"]*)" +"(?P<input>\d*|-)" "(?P<output>\d*|-)"',
    re.DOTALL,
)

NO_LLM = "request that no language model served"


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        return "APISIX access line with the llm variables" if '"ai_' in body and _LINE.match(body) else None
    if not isinstance(body, dict):
        return None
    found = next((key for key in _OWN if key in body), None)
    if found is not None and (
        found == "llm_summary" or body.keys() & {"status", "response", "request", "start_time", "timestamp", "@timestamp", "time", "latency"}
    ):
        return f"APISIX's {found}"
    if any(key in body for key in _LATENCIES) and "route_id" in body:
        return "APISIX's latencies and route_id"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        if isinstance(document.body, str):
            record = _of_line(document.body)
            yield record if record is not None else Rejected(document, NO_LLM, ignored=True)
        elif isinstance(document.body, dict) and _asks(nested(document.body)):
            yield from _records(nested(document.body), document.envelope)
        else:
            yield Rejected(document, NO_LLM, ignored=True)


def _asks(body: Mapping[str, Any]) -> bool:
    """A language model's figures stand there, or the path asks for an answer."""
    if body.get("request_type") == "traditional_http" or asks_for_other(_path(body)):
        return False
    if any(given(body.get(key)) not in (None, "0", 0, {}) for key in _OWN):
        return True
    return is_generation(_path(body).rstrip("/"))


def _path(body: Mapping[str, Any]) -> str:
    names = mapping(body.get("request"))
    found = text(names.get("uri")) or text(body.get("http_path")) or text(body.get("uri")) or text(body.get("request_uri")) or ""
    return found.partition("?")[0]


def _records(body: Mapping[str, Any], envelope: Mapping[str, Any]) -> list[Record]:
    summary, request, response = mapping(body.get("llm_summary")), mapping(body.get("request")), mapping(body.get("response"))
    names = flat_names(body)
    headers = request.get("headers")
    stream = flag(summary.get("stream", first(names, "llm_stream")))
    asked = mapping(body.get("llm_request")) or mapping(request.get("body"))
    columns: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **request_columns(asked),
        "request_id": text(first(names, "request_id")) or header(headers, "x-request-id") or text(first(names, "x_request_id", "apisix_request_id")),
        "trace_id": trace_of(first(names, "opentelemetry_trace_id", "trace_id"), header(headers, "traceparent")),
        "timestamp": _time(body, names),
        "deployment": text(first(names, "service_name", "service_id", "route_name", "route_id")),
        "pod": last_of_list(first(names, "upstream", "upstream_addr", "balancer_ip")),
        "client": header(headers, "user-agent") or text(first(names, "http_user_agent")),
        "endpoint": _path(body) or None,
        "status_code": status(response["status"]) if "status" in response else status(first(names, "status")),
        "model": text(first(names, "llm_model")) or text(first(names, "request_llm_model")),
        "prompt_tokens": _counted(summary, names, "prompt_tokens"),
        "completion_tokens": _counted(summary, names, "completion_tokens"),
        "reasoning_tokens": _counted(summary, names, "reasoning_tokens"),
        "cached_tokens": count(summary.get("cached_tokens", first(names, "llm_summary_cache_read_input_tokens", "llm_cache_read_input_tokens"))),
        "latency_seconds": seconds(body.get("latency"), "ms"),
        "ttft_seconds": seconds(summary.get("duration"), "ms"),
        "stream": _STREAMS.get(str(body.get("request_type"))) if stream is None else stream,
    }
    if columns["ttft_seconds"] is None:
        columns["ttft_seconds"] = seconds(first(names, "llm_time_to_first_token"), "ms")
    if columns["latency_seconds"] is None:
        columns["latency_seconds"] = seconds(last_of_list(first(names, "request_time")))
    model = text(summary.get("model")) or text(summary.get("request_model"))
    if model is not None:
        columns["model"] = model
    known = {name: value for name, value in columns.items() if value is not None}
    kept, cut = kept_body(response.get("body", response.get("resp_body", body.get("resp_body"))))
    records = records_of_body(kept, known) if kept is not None else [_of_text(body, summary, known)]
    for record in records:
        record.model = model or record.model
        if cut:
            mark_cut_record(record)
    return records


def _of_text(body: Mapping[str, Any], summary: Mapping[str, Any], known: Mapping[str, Any]) -> Record:
    columns: dict[str, Any] = {}
    spoken = decoded(body.get("llm_response_text"))
    if isinstance(spoken, dict) and ("content" in spoken or not isinstance(body.get("llm_response_text"), str)):
        stated_text(columns, "content", spoken.get("content"))
        stated_text(columns, "reasoning", spoken.get("reasoning_content", spoken.get("reasoning")))
    else:
        stated_text(columns, "content", body.get("llm_response_text"))
    if columns.get("content_state") == "empty" and flag(summary.get("has_tool_calls")):
        columns["content_state"] = "not_captured"  # a tool call, whose text was not what was recorded
    if columns.get("content_state") not in (None, "not_captured"):
        columns["content_is_raw"] = False
    record = Record(**{**known, **{name: value for name, value in columns.items() if value is not None}})
    infer_length(record)
    return record


def _counted(summary: Mapping[str, Any], names: Mapping[str, Any], name: str) -> int | None:
    found = count(summary.get(name))
    return count(first(names, f"llm_{name}")) if found is None else found


def _time(body: Mapping[str, Any], names: Mapping[str, Any]) -> float | None:
    start = instant(body.get("start_time"), "ms") if not isinstance(body.get("start_time"), str) else instant(body["start_time"])
    for key in ("@timestamp", "timestamp", "time_iso8601", "time", "msec"):
        start = instant(body.get(key)) if start is None else start
    return start


def _of_line(line: str) -> Record | None:
    match = _LINE.match(line)
    if match is None or match["kind"] == "traditional_http":
        return None
    try:
        at = datetime.strptime(match["at"], "%d/%b/%Y:%H:%M:%S %z").timestamp()
    except ValueError:
        at = None
    record = Record(
        timestamp=at,
        request_id=text(given(match["id"])),
        status_code=count(match["status"]),
        endpoint=match["path"].partition("?")[0],
        model=text(given(match["model"])) or text(given(match["asked"])),
        latency_seconds=seconds(given(match["took"])),
        ttft_seconds=seconds(given(match["ttft"]), "ms"),
        prompt_tokens=count(given(match["input"])),
        completion_tokens=count(given(match["output"])),
        stream=_STREAMS.get(match["kind"]),
    )
    infer_length(record)
    return record


FORMAT = Format(
    name="apisix",
    view="gateway",
    title="APISIX ai-proxy log",
    sees=("status, duration and time to the first token", "model and token counts (logging.summaries)", "text (logging.payloads)"),
    blind=("finish reasons, unless the response body is kept", "text without logging.payloads", "caps without logging.payloads"),
    recognise=_recognise,
    read=_read,
    rank=25,
    trust="none is logged; inferred from token counts where the request is kept",
    units="latency and llm_summary.duration (the first token) in milliseconds, request_time in seconds, start_time in milliseconds since 1970",
    raw_text=False,
    inferred=("length_cutoff",),
)
