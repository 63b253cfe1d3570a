"""Spans and log events of OpenTelemetry, whatever exporter and store wrote them: attributes, ids, times, status and span events in one shape.

Storages met: OTLP JSON (key/value lists, unpacked by the wrappings), console exporter, Elasticsearch in the exporter's modes otel, ecs, none and raw, APM
Server (`labels.*` and `numeric_labels.*` with underscores), Jaeger's tag lists, columns of ClickHouse, Phoenix rows; dotted, nested or as JSON in a text.
Sources: collector-contrib exporter/elasticsearchexporter README and its encoders, opentelemetry-sdk console exporters, Elastic APM "Attributes and labels".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from detector.formats.paths import otlp_attributes
from detector.formats.span_fields import DEPTH, body_of, end_of, span_id_of, start_of, trace_id_of, value_at, word_at
from detector.formats.values import decoded, flag, instant, number, seconds, text

_ROOTS = ("attributes", "Attributes", "SpanAttributes", "LogAttributes", "span_attributes", "labels", "numeric_labels", "tags", "tag", "Tags")
_FLAT_ROOTS = tuple(f"{root}." for root in _ROOTS)
_NAMESPACES = ("gen_ai", "llm", "openinference", "traceloop")  # attributes that make a document one of ours
_BESIDE = ("input", "output", "error", "exception", "http", "server", "session", "user", "enduser", "event", "metadata", "hidden_params", "langfuse", "stream")
SPAN_KEYS = frozenset(("trace_id", "traceId", "TraceId", "traceID", "context"))  # one of them is in every span and record, whatever it is about
_FAILED = ("error", "status_code_error", "failure", "failed", "2")


@dataclass(slots=True)
class SpanEvent:
    """An event inside a span; attribute names with underscores for dots."""

    name: str
    at: float | None
    attributes: dict[str, Any]


@dataclass(slots=True)
class Telemetry:
    """One span or log event.

    Args:
        attributes: values by name, with underscores where the convention writes dots (APM Server does the same): `gen_ai_request_model`.
        event: name of a log event; None for a span.
        body: body of a log event.
        start / end: seconds since 1970 UTC, where the document says them apart from `@timestamp`.
        duration: seconds.
        failed: the span's status, or the event's outcome, is an error.
    """

    attributes: dict[str, Any]
    name: str = ""
    event: str | None = None
    body: Any = None
    scope: str = ""
    trace_id: str | None = None
    span_id: str | None = None
    start: float | None = None
    end: float | None = None
    duration: float | None = None
    failed: bool = False
    message: str | None = None
    events: list[SpanEvent] = field(default_factory=list)

    def first(self, *names: str) -> Any:
        """The first of these attributes that is there and not null."""
        for name in names:
            value = self.attributes.get(name)
            if value is not None:
                return value
        return None


def may_hold_attributes(keys: Set[str]) -> bool:
    """An object with these top-level keys can have attributes of the known kind (`Format.shape`)."""
    return any(key in _ROOTS or key.startswith(_FLAT_ROOTS) or key.startswith(_NAMESPACES) for key in keys)


_last: tuple[Any, dict[str, Any]] = (None, {})  # formats are asked about one document one after the other


def attributes(body: Any) -> Mapping[str, Any]:
    """All attributes of a document by underscored name; empty where it has none of the known kind."""
    global _last
    document, found = _last
    if document is not body or body is None:
        found = _attributes(body) if isinstance(body, dict) else {}
        _last = (body, found)
    return found


def _attributes(body: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in body.items():
        if key in _ROOTS:
            _add(found, "", _unpacked(value), DEPTH)
        elif key.startswith(_NAMESPACES):
            _add(found, key, value, DEPTH)
        elif key.startswith(_FLAT_ROOTS):
            _add(found, key.partition(".")[2], value, DEPTH)
    if any(name.startswith(_NAMESPACES) for name in found):
        for key, value in body.items():
            if key.partition(".")[0] in _BESIDE:
                _add(found, key, value, 4)
    return found


def is_telemetry(body: Mapping[str, Any]) -> bool:
    """A span or log record of OpenTelemetry by its structure, whatever it is about."""
    ids = body.keys() & {"trace_id", "traceId", "TraceId", "traceID"} and body.keys() & {"span_id", "spanId", "SpanId", "spanID"}
    parts = body.keys() & {"attributes", "Attributes", "SpanAttributes", "LogAttributes", "resource", "Resource", "scope", "instrumentationScope"}
    context = body.get("context")
    return bool(ids and parts) or (isinstance(context, dict) and "trace_id" in context and "attributes" in body)


def span_key(body: Mapping[str, Any]) -> str | None:
    """Trace and span id in one text: what the documents of one call share."""
    trace, span = trace_id_of(body), span_id_of(body)
    return f"{trace}/{span}" if trace and span else None


def telemetry(body: Mapping[str, Any]) -> Telemetry:
    """The document in one shape. Never raises; what is not there is None."""
    found = Telemetry(dict(attributes(body)))
    given = found.attributes
    found.name = word_at(body, "name", "Name", "span.name", "transaction.name", "operationName", "SpanName") or ""
    found.event = word_at(body, "event_name", "eventName", "EventName") or text(given.get("event_name")) or None
    found.scope = (
        word_at(body, "scope.name", "instrumentationScope.name", "instrumentation_scope.name", "InstrumentationScope.name", "Scope.name", "ScopeName") or ""
    )
    found.trace_id, found.span_id = trace_id_of(body), span_id_of(body)
    found.body = body_of(body)
    found.start, found.end = start_of(body), end_of(body)
    found.duration = _duration(body, found)
    code = value_at(body, "status.code", "status.status_code", "StatusCode", "TraceStatus", "statusCode", "event.outcome")
    if code is None and isinstance(body.get("status_code"), str):  # Phoenix
        code = body["status_code"]
    found.failed = str(code).rpartition(".")[2].strip().lower() in _FAILED or given.get("otel_status_code") == "ERROR" or flag(given.get("error")) is True
    found.message = word_at(body, "status.message", "status.description", "status_message", "StatusMessage", "TraceStatusDescription", "error.message") or None
    found.events = list(_events(value_at(body, "events", "Events", "logs"))) + list(_events(given.get("events")))  # pydantic-ai: an attribute
    return found


def _add(found: dict[str, Any], name: str, value: Any, depth: int) -> None:
    if isinstance(value, dict) and depth and (value or not name):
        for key, inner in value.items():
            _add(found, f"{name}.{key}" if name else key, inner, depth - 1)
    else:
        found[name.replace(".", "_").replace("@", "_")] = value


def _unpacked(value: Any) -> Any:
    """Attributes as an object: also from a key/value list (OTLP, Jaeger) and from JSON in a text."""
    value = decoded(value)
    if isinstance(value, list):
        if any(isinstance(entry, dict) and isinstance(entry.get("value"), dict) for entry in value):
            return otlp_attributes(value)
        return {entry["key"]: entry.get("value") for entry in value if isinstance(entry, dict) and isinstance(entry.get("key"), str)}
    return value if isinstance(value, dict) else {}


def _duration(body: Mapping[str, Any], found: Telemetry) -> float | None:
    if found.start is not None and found.end is not None and found.end >= found.start:
        return found.end - found.start
    micro = value_at(body, "span.duration.us", "transaction.duration.us", "duration.us")
    if micro is not None:
        return seconds(micro, "us")
    nano = value_at(body, "event.duration")
    if nano is not None:
        return seconds(nano, "ns")
    for key, unit in (("duration_ms", "ms"), ("durationMs", "ms"), ("latency_ms", "ms"), ("duration_nano", "ns"), ("durationNano", "ns")):
        if number(body.get(key)) is not None:
            return seconds(body[key], unit)
    raw = body.get("duration", body.get("Duration"))
    if isinstance(raw, (int, float, str)):
        jaeger = "operationName" in body or "startTimeMillis" in body or any(key.startswith("localEndpoint") for key in body)  # the last is Zipkin's
        none_mode = "Duration" in body and "SpanName" not in body and "SpanAttributes" not in body and "duration" not in body
        return seconds(raw, "us" if jaeger or none_mode else "ns")
    return None


def _events(value: Any) -> Iterator[SpanEvent]:
    listed = decoded(value)
    if isinstance(listed, dict):  # mode none: event name → {attribute …, time}
        listed = [{"name": name, **(inner if isinstance(inner, dict) else {})} for name, inner in listed.items()]
    for event in listed if isinstance(listed, list) else ():
        if not isinstance(event, dict):
            continue
        given = attributes_of_event(event)
        name = text(event.get("name")) or text(given.get("event_name")) or text(given.get("event")) or ""
        at = instant(event.get("timeUnixNano", event.get("time_unix_nano")), "ns") or instant(event.get("timestamp", event.get("time")), None, UTC)
        yield SpanEvent(name, at, given)


def attributes_of_event(event: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of a span event by underscored name: under `attributes`, as Jaeger's `fields`, or beside its name."""
    found: dict[str, Any] = {}
    _add(found, "", _unpacked(event.get("attributes", event.get("fields", event))), DEPTH)
    return found
