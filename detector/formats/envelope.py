"""Any envelope that holds a request and its response in one document: `{request, response, status, latency_ms, timestamp, …}`.

That is what proxies, SDK hooks and test drivers of one's own write. Keys are met under several names; all are optional beside a request or a response.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Rejected
from detector.formats.gateway_values import header
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.log_lines import asks_for_other
from detector.formats.openai import error_columns, is_body, records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.openai_stream import is_sse
from detector.formats.packed_body import unpacked
from detector.formats.values import count, decoded, flag, instant, seconds, text
from detector.record import Record

_REQUEST = ("request", "request_body", "req", "requestBody")
_RESPONSE = ("response", "response_body", "res", "resp", "responseBody")
_REQUEST_KEYS = ("messages", "prompt", "input", "inputs", "max_tokens", "model", "sampling_params", "input_ids")
_BODIES = ("body", "content", "text", "payload", "data")
_TIMES = ("timestamp", "@timestamp", "time", "ts", "start_time", "started_at", "created_at", "datetime")
_TEXTS = {
    "request_id": ("request_id", "x_request_id", "x-request-id", "requestId"),
    "trace_id": ("trace_id", "traceId"),
    "deployment": ("deployment", "deployment_name"),
    "model": ("model", "model_name"),
    "engine": ("engine",),
    "engine_version": ("engine_version",),
    "pod": ("pod", "pod_name", "instance", "replica"),
    "client": ("client", "user_agent", "caller"),
    "endpoint": ("endpoint", "path", "url"),
    "session": ("session", "session_id", "conversation_id"),
    "user": ("user", "user_id"),
    "prompt_hash": ("prompt_hash",),
}
_DURATIONS = {
    "latency_seconds": (("latency_ms", "ms"), ("latency_seconds", "s"), ("latency_s", "s"), ("duration_ms", "ms"), ("duration_s", "s"), ("elapsed_ms", "ms")),
    "ttft_seconds": (("ttft_ms", "ms"), ("ttft_seconds", "s"), ("ttft_s", "s"), ("time_to_first_token_ms", "ms")),
    "queue_seconds": (("queue_ms", "ms"), ("queue_seconds", "s"), ("queue_time_ms", "ms")),
    "client_timeout_seconds": (("client_timeout_s", "s"), ("client_timeout_seconds", "s"), ("client_timeout_ms", "ms"), ("timeout_s", "s")),
}
_FLAGS = ("stream", "stream_done", "cache_hit", "is_probe", "speculative")
_STATUSES = ("http_status", "status_code", "status")


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    request, response = _request(body), decoded(_answer(body))
    response = unpacked(decoded(response["body"]) if isinstance(response, dict) and "body" in response and not is_body(response) else response)
    looks_asked = isinstance(request, dict) and any(key in request for key in _REQUEST_KEYS)
    looks_answered = (
        is_body(response) or _is_cut(response) or (isinstance(response, dict) and "raw_body" in response) or (isinstance(response, str) and is_sse(response))
    )
    if not (looks_asked or looks_answered):
        return None
    beside = [key for key in (*_STATUSES, *_TIMES, "latency_ms", "error", "sse") if key in body]
    if looks_asked and any(key in body for key in _RESPONSE):
        return "a request and its response in one document"
    if beside:
        return f"a {'request' if looks_asked else 'response'} with {', '.join(beside)} beside it"
    return None


def _first(document: Mapping[str, Any], keys: Sequence[str]) -> Any:
    for key in keys:
        value = document.get(key)
        if value is not None:
            return value
    return None


def _is_cut(response: Json) -> bool:
    """A response body as text, which a logger cut at its limit."""
    return isinstance(response, str) and response[:1] == "{" and '"choices"' in response[:600]


def _request(document: Mapping[str, Any]) -> Any:
    """The request's body: what stands under one of its names, or the body inside an HTTP request that stands there."""
    request = decoded(_first(document, _REQUEST))
    if isinstance(request, dict) and not any(key in request for key in _REQUEST_KEYS):
        inner = unpacked(decoded(_first(request, _BODIES)))
        return inner if isinstance(inner, dict) else request
    return request


def _answer(document: Mapping[str, Any]) -> Any:
    """The response's body, likewise; one under `body` is opened with its status (`records_of_body`)."""
    response = _first(document, _RESPONSE)
    opened = decoded(response)
    if isinstance(opened, dict) and "headers" in opened and "body" not in opened and not is_body(opened):
        return _first(opened, _BODIES)
    return response


def _http(document: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of an exchange whose request and response are HTTP messages."""
    request, response = decoded(_first(document, _REQUEST)), decoded(_first(document, _RESPONSE))
    columns: dict[str, Any] = {}
    if isinstance(request, dict) and not any(key in request for key in _REQUEST_KEYS):
        columns["endpoint"] = text(_first(request, ("path", "uri", "url")))
        columns["request_id"] = header(request.get("headers"), "x-request-id")
        columns["client"] = header(request.get("headers"), "user-agent")
    if isinstance(response, dict) and not is_body(response):
        columns["status_code"] = count(_first(response, ("status", "status_code", "statusCode")))
    return {name: value for name, value in columns.items() if value is not None}


def envelope_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that stand beside request and response in an envelope; keys that are absent, null or unreadable are left out."""
    columns: dict[str, Any] = {"record_id": text(_first(document, ("record_id", "id", "log_id"))), "timestamp": _timestamp(document)}
    for name, keys in _TEXTS.items():
        for key in keys:
            value = document.get(key)
            if value is not None:
                columns[name] = text(value)
                break
    for name, units in _DURATIONS.items():
        for key, unit in units:
            if columns.get(name) is None and document.get(key) is not None:
                columns[name] = seconds(document[key], unit)
    for name in _FLAGS:
        columns[name] = flag(document.get(name))
    for key in _STATUSES:
        if columns.get("status_code") is None:
            columns["status_code"] = count(document.get(key))
    columns["concurrency"] = count(document.get("concurrency"))
    columns["n"] = count(document.get("n"))
    return {name: value for name, value in columns.items() if value is not None}


def _timestamp(document: Mapping[str, Any]) -> float | None:
    for key in _TIMES:
        at = instant(document.get(key))
        if at is not None:
            return at
    return None


def read_envelope(document: Document) -> list[Record]:
    """Records of one envelope; empty when its response is no answer of a chat or completion."""
    body = document.body
    request, response = _request(body), _answer(body)
    base = {
        **request_columns(request),
        **_http(body),
        **envelope_columns(body),
        **_shipped(document),
    }
    failure = error_columns(body.get("error"))
    sent = failure.pop("status_code", None)
    if "status_code" not in base and sent is not None:
        base["status_code"] = sent
    base.update(failure)
    events = body.get("sse")
    if isinstance(events, str) and events and not _has_choices(response):
        response = events  # the merged object is a client's reading of it; where that is empty, the stream itself says what came
    if asks_for_other((base.get("endpoint") or "").partition("?")[0]) and not _has_choices(decoded(response)):
        return []
    inner = response.get("body") if isinstance(response, dict) and "choices" not in response else response
    kept, cut = kept_body(inner) if isinstance(inner, str) and inner.lstrip()[:1] == "{" else (None, False)
    records = records_of_body(kept if cut else response, base)
    if cut and records:
        mark_cut_record(records[-1])
    return records


def _shipped(document: Document) -> dict[str, Any]:
    """What the wrapping knew; the time that the exchange itself bears goes before the one at which a shipper read it."""
    known = {name: value for name, value in document.envelope.items() if value is not None}
    if "timestamp" in known and "@timestamp" not in document.body and _timestamp(document.body) is not None:
        del known["timestamp"]
    return known


def _has_choices(response: Json) -> bool:
    return isinstance(response, dict) and bool(response.get("choices") or response.get("output"))


def _read(documents: Sequence[Document]) -> Iterable[Record | Rejected]:
    for document in documents:
        if not isinstance(document.body, dict):
            yield Rejected(document, "not an object with a request and a response")
            continue
        records = read_envelope(document)
        if not records:
            yield Rejected(document, "no answer of a chat or completion", ignored=True)
        yield from records


FORMAT = Format(
    name="envelope",
    title="request and response in one document, with status and times beside them",
    sees=("everything that request and response bodies hold", "status, latency, pod and client where the envelope has them"),
    blind=(),
    recognise=_recognise,
    read=_read,
    rank=70,
    trust="the reasons in the response body, as the engine's own",
    units="the unit is in the key (latency_ms, ttft_s …); times with a zone, or seconds since 1970",
    raw_text=None,
)
