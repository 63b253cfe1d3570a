"""What all choices of a response share: ids, token counts, times, engine; and errors in every shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from detector.formats.base import Json
from detector.formats.values import count, decoded, instant, mapping, seconds, text

_FINGERPRINT = re.compile(r"(vllm|sglang)-v?(\d+(?:\.\d+)*[\w.+]*)")
_ERROR_CLASS = re.compile(r"(?:[\w]+\.)*([A-Z]\w*(?:Error|Exception|Timeout|Cancelled|Disconnect\w*|Refused|Reset))\b")
_STATUS = range(400, 600)


def error_columns(error: Json) -> dict[str, Any]:
    """Columns of an error: the object of an error body, the text of a client's exception, or JSON in a text. None and {} give none.

    `status_code` is given where the error carries one; what the client saw may differ (an error inside a stream of status 200).
    """
    value = decoded(error)
    for _ in range(3):
        if not (isinstance(value, dict) and isinstance(value.get("error"), (dict, str))):
            break
        value = decoded(value["error"])
    if isinstance(value, str) and value:
        found = _ERROR_CLASS.match(value)
        return {"error_message": value, **({"error_type": found[1]} if found else {})}
    if not isinstance(value, dict) or not value:
        return {}
    code = value.get("code", value.get("status_code", value.get("status")))
    columns: dict[str, Any] = {
        "error_type": text(value.get("type")) or text(value.get("err_type")) or text(code) or "error",
        "error_message": text(value.get("message")) or text(value.get("detail")),
    }
    number = count(code)
    if number is not None and number in _STATUS:
        columns["status_code"] = number
    return {name: found for name, found in columns.items() if found is not None}


def usage_columns(usage: Json) -> dict[str, Any]:
    """Token counts of a `usage` object in the names of chat, completions or the Responses API."""
    used = mapping(usage)
    prompt_details = mapping(used.get("prompt_tokens_details") or used.get("input_tokens_details"))
    completion_details = mapping(used.get("completion_tokens_details") or used.get("output_tokens_details"))
    columns = {
        "prompt_tokens": count(used.get("prompt_tokens", used.get("input_tokens"))),
        "completion_tokens": count(used.get("completion_tokens", used.get("output_tokens"))),
        "reasoning_tokens": count(completion_details.get("reasoning_tokens", used.get("reasoning_tokens"))),
        "cached_tokens": count(prompt_details.get("cached_tokens", used.get("cached_tokens", used.get("cache_read_input_tokens")))),
    }
    return {name: value for name, value in columns.items() if value is not None}


def engine_of(fingerprint: Json) -> tuple[str | None, str | None]:
    """Engine and version in a `system_fingerprint` such as `vllm-0.32.0-030e4170`; (None, None) for any other."""
    found = _FINGERPRINT.match(fingerprint) if isinstance(fingerprint, str) else None
    return (found[1], found[2]) if found else (None, None)


def shared_columns(body: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that all choices of a response share."""
    meta = mapping(body.get("meta_info"))
    columns: dict[str, Any] = {
        "request_id": text(body.get("id")) or text(meta.get("id")),
        "model": text(body.get("model")) or (text(body.get("model_name")) if "text_output" in body else None),
        "timestamp": instant(body.get("created", body.get("created_at"))),
        **usage_columns(body.get("usage")),
        **_timing(mapping(body.get("metrics"))),
    }
    if meta:
        columns.update(usage_columns(meta))
        columns["latency_seconds"] = seconds(meta.get("e2e_latency"))
        columns["engine"] = "sglang"
    engine, version = engine_of(body.get("system_fingerprint"))
    if engine:
        columns["engine"], columns["engine_version"] = engine, version
    if isinstance(body.get("stream_done"), bool):
        columns["stream"], columns["stream_done"] = True, body["stream_done"]
    if body.get("error"):
        columns.update(error_columns(body["error"]))
    elif body.get("object") == "error" or ("choices" not in body and "output" not in body and isinstance(body.get("message"), str)):
        columns.update(error_columns({"message": body.get("message"), "type": body.get("type"), "code": body.get("code", body.get("status"))}))
    elif "detail" in body and "choices" not in body:  # FastAPI
        columns.update(error_columns({"detail": str(body["detail"]), "type": "detail"}))
    return {name: value for name, value in columns.items() if value is not None}


def _timing(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """vLLM's per-request metrics. Its first-token time is counted from scheduling, so waiting is added."""
    queue, first, rest = (seconds(metrics.get(key), "ms") for key in ("queue_time_ms", "time_to_first_token_ms", "generation_time_ms"))
    columns: dict[str, Any] = {"queue_seconds": queue}
    if queue is not None and first is not None:
        columns["ttft_seconds"] = queue + first
        columns["latency_seconds"] = queue + first + rest if rest is not None else None
    return columns


def text_columns(value: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """A body that is no JSON: a proxy's error page or text. With a status below 400 the text itself is the fault."""
    failed = (known.get("status_code") or 0) >= 400
    columns: dict[str, Any] = {"error_message": value[:2000] or None}
    if not failed:
        columns["error_type"] = "body_is_empty" if not value.strip() else "body_is_not_json"
    return {name: found for name, found in columns.items() if found is not None}
