"""Fields of a span or log record in every spelling that exporters and storages give it: ids, body, start and end."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC
from functools import cache
from typing import Any

from detector.formats.paths import get, otlp_value
from detector.formats.values import decoded, instant

DEPTH = 10  # levels of nesting that are looked into


@cache
def _beginnings(paths: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Each path with every name at the top of a document under which it can begin."""
    return tuple((path, tuple(".".join(path.split(".")[:number]) for number in range(1, path.count(".") + 2))) for path in paths)


def value_at(body: Mapping[str, Any], *paths: str) -> Any:
    """`paths.get` for a whole document: paths that no name at its top begins are passed over at once."""
    for path, names in _beginnings(paths):
        for name in names:
            if name in body:
                found = get(body, path)
                if found is not None:
                    return found
                break
    return None


def word_at(body: Mapping[str, Any], *paths: str) -> str | None:
    """The first of these paths, where it holds a text."""
    value = value_at(body, *paths)
    return value if isinstance(value, str) and value else None


def trace_id_of(body: Mapping[str, Any]) -> str | None:
    """The trace's id."""
    return _hex(value_at(body, "trace_id", "traceId", "trace.id", "TraceId", "traceID", "context.trace_id"))


def span_id_of(body: Mapping[str, Any]) -> str | None:
    """The span's id."""
    return _hex(value_at(body, "span_id", "spanId", "span.id", "SpanId", "spanID", "context.span_id", "transaction.id"))


def _hex(value: Any) -> str | None:
    """An id without the console exporter's `0x`; all zeros are no id."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value:x}"
    if not isinstance(value, str):
        return None
    bare = value.strip().removeprefix("0x")
    return bare if bare.strip("0") else None


def body_of(body: Mapping[str, Any]) -> Any:
    """A log record's own body, decoded; None when it has none."""
    for path in ("body.structured", "body_structured", "body.text", "body_text", "body.value", "body", "Body", "message"):
        value = decoded(value_at(body, path))
        if isinstance(value, dict) and any(key.endswith("Value") for key in value) and len(value) == 1:
            value = decoded(otlp_value(value))
        if value not in (None, {}, ""):
            return value
    return unflattened(body, "body.structured.") or unflattened(body, "body_structured.") or unflattened(body, "body.") or None


def unflattened(body: Mapping[str, Any], start: str) -> dict[str, Any]:
    """The object whose leaves stand under dotted names at the top, as search answers with `fields` give them."""
    found: dict[str, Any] = {}
    for key, value in body.items():
        if key.startswith(start):
            node, parts = found, key[len(start) :].split(".")[:DEPTH]
            for part in parts[:-1]:
                inner = node.setdefault(part, {})
                node = inner if isinstance(inner, dict) else {}
            node[parts[-1]] = value
    return found


def start_of(body: Mapping[str, Any]) -> float | None:
    """When it began, in seconds since 1970 UTC."""
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


def end_of(body: Mapping[str, Any]) -> float | None:
    """When it ended, in seconds since 1970 UTC."""
    for path in ("endTimeUnixNano", "end_time_unix_nano", "end_time", "endTime", "EndTimestamp", "EndTime"):
        at = instant(body.get(path), "ns" if path.lower().endswith("nano") else None, UTC)
        if at is not None:
            return at
    return None
