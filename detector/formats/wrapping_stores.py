"""Answers and dumps that hold many documents in one: Elasticsearch searches, ES|QL tables, Loki, CloudWatch, Azure, OTLP, Jaeger, HTTP archives.

Sources: Elasticsearch "Search API", "Multi search", "ES|QL REST", "Bulk API"; Loki HTTP API; CloudWatch Logs API; Azure Monitor query API; OTLP/JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from detector.formats.paths import otlp_attributes, otlp_value, scalar
from detector.formats.values import instant, text
from detector.formats.wrapping_metadata import labels

# Without one of these at the top an object is no container of documents.
CONTAINER_KEYS = frozenset(
    (
        *("hits", "_source", "fields", "responses", "docs", "response", "columns", "tables", "data", "streams", "logEvents", "events", "results", "records"),
        *("entries", "logs", "items", "document", "resourceSpans", "resourceLogs", "batches", "rawResponse", "spans", "log"),
    )
)
_ACTIONS = ("index", "create", "update", "delete")
_ACTION_OPTIONS = frozenset(("routing", "pipeline", "require_alias", "retry_on_conflict", "version", "version_type", "dynamic_templates"))

Inner = tuple[Any, dict[str, Any]]


def explode(body: Mapping[str, Any]) -> list[Inner] | None:
    """The documents inside, each with what the store knows about it, in the order of the answer; None if this is no such container."""
    for reader in _READERS:
        found = reader(body)
        if found is not None:
            return found
    return None


def bulk_action(body: Any) -> tuple[str, dict[str, Any]] | None:
    """(action, envelope of the document that follows) if this is an action line of the Bulk API."""
    if not isinstance(body, dict) or len(body) != 1:
        return None
    action, options = next(iter(body.items()))
    if action not in _ACTIONS or not isinstance(options, dict):
        return None
    if not all(key.startswith("_") or key in _ACTION_OPTIONS for key in options):
        return None
    return action, _where(options)


def _where(hit: Mapping[str, Any]) -> dict[str, Any]:
    named = (("doc_index", text(hit.get("_index"))), ("doc_id", text(hit.get("_id"))))
    return {column: value for column, value in named if value is not None}


def _hit(hit: Any) -> Inner | None:
    """A search hit: `_source`, else `fields` whose values are all lists; highlights hold markers and are no text of the log."""
    if not isinstance(hit, dict) or not hit.keys() & {"_source", "fields"} or not hit.keys() & {"_index", "_id", "_score", "_type", "sort"}:
        return None
    source, fields = hit.get("_source"), hit.get("fields")
    if isinstance(source, (dict, str)) and source:
        return _regrouped(source), _where(hit)
    if isinstance(fields, dict):
        flat = {key: scalar(value) for key, value in fields.items()}
        return (_regrouped(_nested(flat)) if any("choices" in key.split(".") for key in flat) else flat), _where(hit)
    return {}, _where(hit)


def _regrouped(source: Any, depth: int = 3) -> Any:
    """Synthetic `_source` gives a list of one object as that object; several become an object of lists, whose pairing is lost."""
    if not isinstance(source, dict):
        return source
    choices = source.get("choices")
    if isinstance(choices, dict) and choices.keys() & {"message", "text", "delta"} and not isinstance(choices.get("finish_reason"), list):
        return {**source, "choices": [choices]}
    if depth:
        inner = {key: _regrouped(source[key], depth - 1) for key in ("response", "body", "llm") if isinstance(source.get(key), dict)}
        return {**source, **inner} if inner else source
    return source


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Fields with dots in their names as objects again; multi-fields of a text are no fields of the document."""
    found: dict[str, Any] = {}
    for key, value in flat.items():
        *path, last = key.split(".")
        if last in ("keyword", "text") and ".".join(path) in flat:
            continue
        into = found
        for name in path:
            into = into.setdefault(name, {})
            if not isinstance(into, dict):
                break
        else:
            if isinstance(value, list):
                value = [_nested({name: scalar(entry) for name, entry in element.items()}) if isinstance(element, dict) else element for element in value]
            elif isinstance(value, dict):  # the only element of a nested field
                value = [_nested({name: scalar(entry) for name, entry in value.items()})] if last == "choices" else value
            into[last] = value
    return found


def _search(body: Mapping[str, Any]) -> list[Inner] | None:
    single = _hit(body)
    if single is not None:
        return [single]
    hits = body.get("hits")
    if isinstance(hits, dict) and isinstance(hits.get("hits"), list):
        return [_hit(hit) or (hit, {}) for hit in hits["hits"]]
    if isinstance(hits, dict) and (isinstance(hits.get("events"), list) or isinstance(hits.get("sequences"), list)):  # EQL
        groups = [hits.get("events"), *(sequence.get("events") for sequence in _objects(hits.get("sequences")))]
        return [_hit(hit) or (hit, {}) for group in groups if isinstance(group, list) for hit in group]
    refused = body.get("document")  # the failure store keeps what an index refused, and why
    if isinstance(refused, dict) and isinstance(refused.get("source"), dict) and "error" in body:
        named = (("doc_index", text(refused.get("index"))), ("doc_id", text(refused.get("id"))), ("timestamp", instant(body.get("@timestamp"))))
        return [(refused["source"], {column: value for column, value in named if value is not None})]
    for key in ("responses", "docs"):  # multi search, multi get
        if isinstance(body.get(key), list) and any(isinstance(entry, dict) and entry.keys() & {"hits", "_source"} for entry in body[key]):
            return [(entry, {}) for entry in body[key]]
    for key in ("response", "rawResponse"):  # asynchronous search, and what Kibana shows of its own
        inner = body.get(key)
        if isinstance(inner, dict) and (key == "rawResponse" or body.keys() & {"is_partial", "is_running"}) and isinstance(inner.get("hits"), dict):
            return _search(inner)
    return None


def _table(body: Mapping[str, Any]) -> list[Inner] | None:
    """ES|QL and SQL answers, and Azure's tables: column names once, then rows of values."""
    columns, rows = body.get("columns"), body.get("values", body.get("rows"))
    if isinstance(columns, list) and isinstance(rows, list) and all(isinstance(column, dict) and isinstance(column.get("name"), str) for column in columns):
        names = [column["name"] for column in columns]
        return [(dict(zip(names, row, strict=False)) if isinstance(row, list) else row, {}) for row in rows]
    tables = body.get("tables")
    if isinstance(tables, list) and tables and all(isinstance(table, dict) and "rows" in table for table in tables):
        return [(table, {}) for table in tables]
    return None


def _loki(body: Mapping[str, Any]) -> list[Inner] | None:
    data = body.get("data")
    streams = data.get("result") if isinstance(data, dict) and data.get("resultType") == "streams" else body.get("streams")
    if not isinstance(streams, list) or not all(isinstance(stream, dict) and isinstance(stream.get("values"), list) for stream in streams):
        return None
    found: list[Inner] = []
    for stream in streams:
        known = labels(stream.get("stream"))
        for row in stream["values"]:
            if isinstance(row, list) and len(row) >= 2:
                moment = instant(row[0], "ns")
                beside = row[2] if len(row) > 2 and isinstance(row[2], dict) else {}
                own = {**labels(beside), **labels(beside.get("structuredMetadata")), **labels(beside.get("parsed"))}
                found.append((row[1], {**own, **known, **({"timestamp": moment} if moment is not None else {})}))
    return found


def _cloud_watch(body: Mapping[str, Any]) -> list[Inner] | None:
    for key in ("logEvents", "events"):
        listed = body.get(key)
        if isinstance(listed, list) and listed and all(isinstance(event, dict) and "message" in event for event in listed):
            return [(event["message"], _event_time(event)) for event in listed]
    results = body.get("results")
    if (
        isinstance(results, list)
        and results
        and all(isinstance(row, list) and all(isinstance(cell, dict) and isinstance(cell.get("field"), str) for cell in row) for row in results)
    ):
        return [({cell["field"]: cell.get("value") for cell in row}, {}) for row in results]
    return None


def _event_time(event: Mapping[str, Any]) -> dict[str, Any]:
    named = (("timestamp", instant(event.get("timestamp"))), ("ingested_at", instant(event.get("ingestionTime"))))
    return {column: value for column, value in named if value is not None}


def _lists(body: Mapping[str, Any]) -> list[Inner] | None:
    """Lists under one well-known key: Azure `records`, Datadog `data`, Google `entries`, collections `items`."""
    for key in ("records", "entries", "logs", "items"):
        listed = body.get(key)
        if isinstance(listed, list) and listed and all(isinstance(entry, dict) for entry in listed) and len(body) <= 3:
            return [(entry, {}) for entry in listed]
    listed = body.get("data")
    if isinstance(listed, list) and listed and all(isinstance(entry, dict) and entry.get("type") == "log" for entry in listed):
        return [(entry, {}) for entry in listed]
    return None


def _otlp(body: Mapping[str, Any]) -> list[Inner] | None:
    """OTLP/JSON batches: one document per span or log record, attributes as objects, resource and scope beside them."""
    for batches, scopes, entries in (
        ("resourceSpans", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),
        ("batches", ("scopeSpans", "instrumentationLibrarySpans"), "spans"),  # Tempo's API
        ("resourceLogs", ("scopeLogs", "instrumentationLibraryLogs"), "logRecords"),
    ):
        if isinstance(body.get(batches), list):
            return list(_otlp_entries(body[batches], scopes, entries))
    return None


def _otlp_entries(batches: list[Any], scopes: tuple[str, ...], entries: str) -> Iterator[Inner]:
    for batch in batches:
        if not isinstance(batch, dict):
            continue
        resource = batch.get("resource")
        attributes = otlp_attributes(resource.get("attributes")) if isinstance(resource, dict) else {}
        for scope in (scope for key in scopes for scope in _objects(batch.get(key))):
            for entry in _objects(scope.get(entries)):
                yield (
                    {
                        **entry,
                        "attributes": otlp_attributes(entry.get("attributes")),
                        **({"body": otlp_value(entry["body"])} if "body" in entry else {}),
                        **({"events": [_otlp_event(event) for event in entry["events"]]} if isinstance(entry.get("events"), list) else {}),
                        "resource": {"attributes": attributes},
                        "scope": scope.get("scope") or {},
                    },
                    {},
                )


def _objects(listed: Any) -> list[dict[str, Any]]:
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def _otlp_event(event: Any) -> Any:
    return {**event, "attributes": otlp_attributes(event.get("attributes"))} if isinstance(event, dict) else event


def _jaeger(body: Mapping[str, Any]) -> list[Inner] | None:
    """Traces of Jaeger's query API: spans, and the processes that they name."""
    listed = body.get("data")
    traces = [body] if isinstance(body.get("spans"), list) and isinstance(body.get("processes"), dict) else listed if isinstance(listed, list) else []
    if not traces or not all(isinstance(trace, dict) and isinstance(trace.get("spans"), list) for trace in traces):
        return None
    found: list[Inner] = []
    for trace in traces:
        processes = trace.get("processes")
        for span in _objects(trace["spans"]):
            process = processes.get(str(span.get("processID"))) if isinstance(processes, dict) else None
            service = text(process.get("serviceName")) if isinstance(process, dict) else None
            found.append((span, {"deployment": service} if service else {}))
    return found


def _har(body: Mapping[str, Any]) -> list[Inner] | None:
    """An HTTP archive (HAR 1.2), as browsers and mitmproxy save it: each entry as an exchange with its bodies."""
    log = body.get("log")
    if not isinstance(log, dict) or not isinstance(log.get("entries"), list) or "creator" not in log:
        return None
    return [(_exchange(entry), {}) for entry in _objects(log["entries"])]


def _exchange(entry: Mapping[str, Any]) -> dict[str, Any]:
    request, response = (entry[name] if isinstance(entry.get(name), dict) else {} for name in ("request", "response"))
    asked = request.get("postData")
    answered = response.get("content")
    exchange = {
        "timestamp": entry.get("startedDateTime"),
        "latency_ms": entry.get("time"),
        "method": request.get("method"),
        "url": request.get("url"),
        "status": response.get("status"),
        "request": asked.get("text") if isinstance(asked, dict) else None,
        "response": answered.get("text") if isinstance(answered, dict) else None,
    }
    return {name: value for name, value in exchange.items() if value is not None}


_READERS = (_search, _table, _loki, _cloud_watch, _otlp, _jaeger, _har, _lists)
