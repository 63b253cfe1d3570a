"""Spans and log events of OpenTelemetry, whatever exporter and store wrote them: attributes, ids, times, status and span events in one shape.

Storages met: OTLP JSON (key/value lists, unpacked by the wrappings), console exporter, Elasticsearch in the exporter's modes otel, ecs, none and raw, APM
Server (`labels.*` and `numeric_labels.*` with underscores), Jaeger's tag lists, columns of ClickHouse, Phoenix rows; dotted, nested or as JSON in a text.
Sources: collector-contrib exporter/elasticsearchexporter README and its encoders, opentelemetry-sdk console exporters, Elastic APM "Attributes and labels".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC
from functools import cache
from typing import Any

from detector.formats.paths import get, otlp_attributes, otlp_value
from detector.formats.values import decoded, flag, instant, number, seconds, text

_ROOTS = ("attributes", "Attributes", "SpanAttributes", "LogAttributes", "span_attributes", "labels", "numeric_labels", "tags", "tag", "Tags")
_FLAT_ROOTS = tuple(f"{root}." for root in _ROOTS)
_NAMESPACES = ("gen_ai", "llm", "openinference", "traceloop")  # attributes that make a document one of ours
_BESIDE = ("input", "output", "error", "exception", "http", "server", "session", "user", "enduser", "event", "metadata", "hidden_params", "langfuse", "stream")
SPAN_KEYS = frozenset(("trace_id", "traceId", "TraceId", "traceID", "context"))  # one of them is in every span and record, whatever it is about
_DEPTH = 10
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
            _add(found, "", _unpacked(value), _DEPTH)
        elif key.startswith(_NAMESPACES):
            _add(found, key, value, _DEPTH)
        elif key.startswith(_FLAT_ROOTS):
            _add(found, key.partition(".")[2], value, _DEPTH)
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
    trace, span = _trace_id(body), _span_id(body)
    return f"{trace}/{span}" if trace and span else None


def telemetry(body: Mapping[str, Any]) -> Telemetry:
    """The document in one shape. Never raises; what is not there is None."""
    found = Telemetry(dict(attributes(body)))
    given = found.attributes
    found.name = _word(body, "name", "Name", "span.name", "transaction.name", "operationName", "SpanName") or ""
    found.event = _word(body, "event_name", "eventName", "EventName") or text(given.get("event_name")) or None
    found.scope = (
        _word(body, "scope.name", "instrumentationScope.name", "instrumentation_scope.name", "InstrumentationScope.name", "Scope.name", "ScopeName") or ""
    )
    found.trace_id, found.span_id = _trace_id(body), _span_id(body)
    found.body = _body(body)
    found.start, found.end = _start(body), _end(body)
    found.duration = _duration(body, found)
    code = _at(body, "status.code", "status.status_code", "StatusCode", "TraceStatus", "statusCode", "event.outcome")
    if code is None and isinstance(body.get("status_code"), str):  # Phoenix
        code = body["status_code"]
    found.failed = str(code).rpartition(".")[2].strip().lower() in _FAILED or given.get("otel_status_code") == "ERROR" or flag(given.get("error")) is True
    found.message = _word(body, "status.message", "status.description", "status_message", "StatusMessage", "TraceStatusDescription", "error.message") or None
    found.events = list(_events(body))
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


@cache
def _beginnings(paths: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each path with every name at the top of a document under which it can begin."""
    return tuple((path, tuple(".".join(path.split(".")[:number]) for number in range(1, path.count(".") + 2))) for path in paths)


def _at(body: Mapping[str, Any], *paths: str) -> Any:
    """`paths.get` for a whole document: paths that no name at its top begins are passed over at once."""
    for path, names in _beginnings(paths):
        for name in names:
            if name in body:
                found = get(body, path)
                if found is not None:
                    return found
                break
    return None


def _word(body: Mapping[str, Any], *paths: str) -> str | None:
    value = _at(body, *paths)
    return value if isinstance(value, str) and value else None


def _trace_id(body: Mapping[str, Any]) -> str | None:
    return _hex(_at(body, "trace_id", "traceId", "trace.id", "TraceId", "traceID", "context.trace_id"))


def _span_id(body: Mapping[str, Any]) -> str | None:
    return _hex(_at(body, "span_id", "spanId", "span.id", "SpanId", "spanID", "context.span_id", "transaction.id"))


def _hex(value: Any) -> str | None:
    """An id without the console exporter's `0x`; all zeros are no id."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:x}"
    if not isinstance(value, str):
        return None
    bare = value.strip().removeprefix("0x")
    return bare if bare.strip("0") else None


def _body(body: Mapping[str, Any]) -> Any:
    for path in ("body.structured", "body_structured", "body.text", "body_text", "body.value", "body", "Body", "message"):
        value = decoded(_at(body, path))
        if isinstance(value, dict) and any(key.endswith("Value") for key in value) and len(value) == 1:
            value = decoded(otlp_value(value))
        if value not in (None, {}, ""):
            return value
    return _unflattened(body, "body.structured.") or _unflattened(body, "body.") or None


def _unflattened(body: Mapping[str, Any], start: str) -> dict[str, Any]:
    """The object whose leaves stand under dotted names at the top, as search answers with `fields` give them."""
    found: dict[str, Any] = {}
    for key, value in body.items():
        if key.startswith(start):
            node, parts = found, key[len(start) :].split(".")[:_DEPTH]
            for part in parts[:-1]:
                inner = node.setdefault(part, {})
                node = inner if isinstance(inner, dict) else {}
            node[parts[-1]] = value
    return found


def _start(body: Mapping[str, Any]) -> float | None:
    for path, unit in (("startTimeUnixNano", "ns"), ("start_time_unix_nano", "ns"), ("timeUnixNano", "ns"), ("time_unix_nano", "ns")):
        at = instant(body.get(path), unit)
        if at is not None:
            return at
    for path in ("start_time", "startTime", "StartTimestamp", "StartTime", "Timestamp", "@timestamp"):
        at = instant(body.get(path), None, UTC)  # OpenTelemetry writes UTC, some exporters without saying so
        if at is not None:
            return at
    stamp = body.get("timestamp")
    at = instant(stamp.get("us"), "us") if isinstance(stamp, dict) else instant(stamp, None, UTC)
    if at is not None:
        return at
    for path in ("observedTimeUnixNano", "observed_timestamp"):  # a log record may have no time of its own
        at = instant(body.get(path), None, UTC)
        if at is not None:
            return at
    return None


def _end(body: Mapping[str, Any]) -> float | None:
    for path in ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "EndTimestamp", "EndTime"):
        at = instant(body.get(path), "ns" if path.lower().endswith("nano") else None, UTC)
        if at is not None:
            return at
    return None


def _duration(body: Mapping[str, Any], found: Telemetry) -> float | None:
    if found.start is not None and found.end is not None and found.end >= found.start:
        return found.end - found.start
    micro = _at(body, "span.duration.us", "transaction.duration.us", "duration.us")
    if micro is not None:
        return seconds(micro, "us")
    nano = _at(body, "event.duration")
    if nano is not None:
        return seconds(nano, "ns")
    for key, unit in (("duration_ms", "ms"), ("durationMs", "ms"), ("latency_ms", "ms"), ("duration_nano", "ns"), ("durationNano", "ns")):
        if number(body.get(key)) is not None:
            return seconds(body[key], unit)
    raw = body.get("duration", body.get("Duration"))
    if isinstance(raw, (int, float, str)):
        jaeger = "operationName" in body or "startTimeMillis" in body
        none_mode = "Duration" in body and "SpanAttributes" not in body and "duration" not in body
        return seconds(raw, "us" if jaeger or none_mode else "ns")
    return None


def _events(body: Mapping[str, Any]) -> Iterator[SpanEvent]:
    listed = decoded(_at(body, "events", "Events", "logs"))
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
    _add(found, "", _unpacked(event.get("attributes", event.get("fields", event))), _DEPTH)
    return found
