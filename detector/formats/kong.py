"""Kong AI Gateway: serialised log entries of its logging plugins with the AI plugins' figures under `ai`.

Names changed with versions: `ai.proxy.{meta,usage,payload}` today, the plugin's own name as key before, `payload` one level higher, singular token names in
3.8. Sources: Kong/kong serialize-analytics.lua; Kong/developer.konghq.com "AI Gateway audit log reference"; Kong/kong#14535 (zero counts of streams).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.gateway_values import header, status, trace_of
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.log_lines import asks_for_other, is_generation
from detector.formats.nesting import nested, objects
from detector.formats.openai import records_of_body, usage_columns
from detector.formats.openai_request import request_columns
from detector.formats.values import count, decoded, instant, mapping, seconds, text
from detector.record import Record

_PARTS = ("meta", "usage", "payload", "cache")
_STREAMS = {"stream": True, "oneshot": False}

NO_AI = "request that no AI plugin served"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    body = _whole(body)
    latencies = body.get("latencies")
    if isinstance(latencies, dict) and "started_at" in body and isinstance(body.get("request"), dict):
        return "Kong's latencies and started_at"
    if "ai" in body and _figures(mapping(body["ai"])) and ("started_at" in body or "response" in body or "latencies" in body):
        return "Kong's ai object"
    return None


def _whole(body: Mapping[str, Any]) -> Mapping[str, Any]:
    return nested(body) if any(key.startswith(("latencies.", "ai.")) for key in body) else body


def _figures(ai: Mapping[str, Any]) -> dict[str, Any]:
    """meta, usage, payload and cache, wherever the version puts them; a proxy plugin's before those of others."""
    found: dict[str, Any] = {}
    ordered = sorted((name for name, inner in ai.items() if isinstance(inner, dict) and name not in _PARTS), key=lambda name: "proxy" not in name)
    for holder in [*(ai[name] for name in ordered), ai]:
        for part in _PARTS:
            inner = mapping(holder.get(part))
            if inner:
                found[part] = {**inner, **found.get(part, {})}
    return found


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = _whole(document.body) if isinstance(document.body, dict) else {}
        figures = _figures(mapping(body.get("ai")))
        request, response = mapping(body.get("request")), mapping(body.get("response"))
        path = (text(request.get("uri")) or text(request.get("url")) or "").partition("?")[0]
        failed = (status(response.get("status")) or 0) >= 500
        if (not figures and not (failed and is_generation(path))) or asks_for_other(path):
            yield Rejected(document, NO_AI, ignored=True)
        else:
            yield from _records(body, figures, path, document.envelope)


def _records(body: Mapping[str, Any], figures: Mapping[str, Any], path: str, envelope: Mapping[str, Any]) -> list[Record]:
    meta, usage, payload, cache = (mapping(figures.get(part)) for part in _PARTS)
    request, response, latencies = mapping(body.get("request")), mapping(body.get("response")), mapping(body.get("latencies"))
    stream = _STREAMS.get(str(meta.get("request_mode")))
    code = status(response.get("status"))
    columns: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **request_columns(payload.get("request")),
        "record_id": text(request.get("id")),
        "timestamp": instant(body.get("started_at"), "ms"),
        "deployment": text(mapping(body.get("service")).get("name")) or text(mapping(body.get("route")).get("name")),
        "pod": _last_try(body.get("tries")),
        "client": header(request.get("headers"), "user-agent"),
        "endpoint": path or None,
        "trace_id": trace_of(body.get("trace_id"), header(request.get("headers"), "traceparent")),
        "status_code": status(body.get("upstream_status")) if code is None else code,
        "latency_seconds": seconds(latencies.get("request"), "ms"),
        "ttft_seconds": seconds(usage.get("time_to_first_token"), "ms"),
        **_used(usage, stream=stream),
    }
    if stream is not None:
        columns["stream"] = stream
    if str(cache.get("cache_status")).lower() == "hit":
        columns["cache_hit"] = True
    answer, cut = _answer(payload.get("response"))
    records = records_of_body(answer, {name: value for name, value in columns.items() if value is not None})
    for record in records:
        record.request_id = record.request_id or record.record_id
        record.model = record.model or text(meta.get("response_model")) or text(meta.get("request_model"))
    if cut and records:
        mark_cut_record(records[-1])
    return records


def _answer(value: Any) -> tuple[Any, bool]:
    """`kept_body`, and what failed."""
    body = decoded(value)
    return (body, False) if isinstance(body, list) or (isinstance(body, dict) and "error" in body) else kept_body(value)


def _used(usage: Mapping[str, Any], *, stream: bool | None) -> dict[str, Any]:
    columns = usage_columns(usage)
    for name, old in (("prompt_tokens", "prompt_token"), ("completion_tokens", "completion_token")):
        if name not in columns:
            columns[name] = count(usage.get(old))
    if stream and not columns.get("completion_tokens"):
        columns.pop("completion_tokens", None)  # streams that the plugin did not count
    if not columns.get("prompt_tokens") and not columns.get("completion_tokens"):
        columns.pop("prompt_tokens", None)
    return columns


def _last_try(tries: Any) -> str | None:
    """Address of the upstream that was tried last: one line holds all attempts of a request."""
    last = (objects(tries) or [{}])[-1]
    address, port = text(last.get("ip")), count(last.get("port"))
    return f"{address}:{port}" if address and port else address


FORMAT = Format(
    name="kong",
    view="gateway",
    title="Kong AI Gateway log",
    sees=(
        "status and duration as the client saw them, retries",
        "model, token counts and time to the first token (log_statistics)",
        "text and finish reasons where log_payloads is on",
    ),
    blind=(
        "text and finish reasons without log_payloads",
        "prompts that nginx spilled to disk",
        "token counts of some streams (written as 0, taken as not counted)",
        "the engine's pod name: upstream addresses only",
    ),
    recognise=_recognise,
    read=_read,
    rank=20,
    shape=lambda keys: any(key.partition(".")[0] in ("latencies", "ai") for key in keys),
    lines=False,
    trust="as the upstream's body says",
    units="started_at, latencies and usage times in milliseconds",
    raw_text=False,
)
