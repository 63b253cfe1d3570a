"""KServe's payload logger: CloudEvents of request and response with one id, and the JSON that it writes to a blob store.

A response is recorded only when its status is 200, so a failed call is a request without a response. Sources: kserve/kserve pkg/logger/{handler,worker,
types,marshaller_json}.go. The batch of a blob store is an array; its names are Go's (`Id`, `ReqType`, `Bytes` in base64) and it bears no time.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from detector.formats.base import Document, Format, Json, Outcome, Placed, Rejected
from detector.formats.gateway_values import header, trace_of
from detector.formats.joining import ByKey
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.nesting import nested, objects
from detector.formats.openai import is_body, records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.openai_stream import is_chunk, is_sse
from detector.formats.packed_body import unpacked
from detector.formats.values import decoded, instant, mapping, text

_REQUEST, _RESPONSE = "org.kubeflow.serving.inference.request", "org.kubeflow.serving.inference.response"
_KINDS = (_REQUEST, _RESPONSE)
_HEADERS = ("headers", "http_headers", "attributes", "cloudevent", "context", "extensions")

NO_RESPONSE = "request without a response: only answers of status 200 are recorded"
NO_ANSWER = "payload that is no answer of a language model"
NO_EVENT = "no inference event"


class Event(NamedTuple):
    """One payload event. `kind`: request or response."""

    kind: str
    id: str | None
    at: float | None
    names: dict[str, Any]
    data: Any


_REMEMBERED = 64  # documents: a pair is asked for its events some five times each while it is recognised, joined and read
_recent: dict[int, tuple[Json, Event | None]] = {}  # by identity; the document is kept, so that no other can have its number


def event(body: Json) -> Event | None:
    """The event in a document: structured CloudEvents, binary mode with `ce-` names, or the blob store's Go names; None if it is none."""
    if not isinstance(body, dict):
        return None
    known = _recent.get(id(body))
    if known is not None and known[0] is body:
        return known[1]
    found = _event(body)
    if found is not None:
        if len(_recent) >= _REMEMBERED:
            _recent.pop(next(iter(_recent)), None)
        _recent[id(body)] = (body, found)
    return found


def _event(body: Mapping[str, Any]) -> Event | None:
    if not _names_an_event(body):
        return None
    names = _names(body)
    kind = names.get("type", names.get("reqtype"))
    if kind not in (_REQUEST, _RESPONSE):
        return None
    at = instant(names.get("time"))
    at = instant(names.get("recordedtime")) if at is None else at
    return Event("request" if kind == _REQUEST else "response", text(names.get("id")), at, names, _data(body, names))


def _names_an_event(body: Mapping[str, Any]) -> bool:
    """One of the two event types stands in the object or among its headers: asked of every document, so it looks at values only."""
    if any(value in _KINDS for value in body.values() if isinstance(value, str)):
        return True
    for key in _HEADERS:
        inner = _headers(body.get(key)) if key in body else {}
        if any((value[0] if isinstance(value, list) and value else value) in _KINDS for value in inner.values()):
            return True
    return False


def _headers(value: Any) -> Mapping[str, Any]:
    """Headers that a sink kept: an object, a list of keys and values in turn (kcat), or of objects with `key` and `value`."""
    if isinstance(value, list) and value:
        if all(isinstance(entry, str) for entry in value):
            return dict(zip(value[::2], value[1::2], strict=False))
        return {str(entry["key"]): entry.get("value") for entry in value if isinstance(entry, dict) and "key" in entry}
    return value if isinstance(value, dict) else {}


def _names(body: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by lower-case name without `ce-`, from the top and from the objects that sinks put headers into."""
    found: dict[str, Any] = {}
    for key, value in body.items():
        holder, _, name = key.partition(".")
        found.setdefault(_bare(name if name and holder in _HEADERS else key), value)
    for key in _HEADERS:
        for name, value in _headers(body.get(key)).items():
            bare = _bare(name)
            if bare != name.lower() or bare not in found:
                found[bare] = value[0] if isinstance(value, list) and value else value
    return found


def _bare(name: str) -> str:
    bare = name.lower().replace("_", "-").removeprefix("http-")
    return bare.removeprefix("ce-")


def _data(body: Mapping[str, Any], names: Mapping[str, Any]) -> Any:
    for key in ("data-base64", "bytes"):
        packed = names.get(key)
        if isinstance(packed, str):
            try:
                data = base64.b64decode(packed, validate=True)
                return unpacked(packed) if data[:2] == b"\x1f\x8b" else decoded(data.decode("utf-8", "replace"))
            except (binascii.Error, ValueError):
                return decoded(packed)
    for key in ("data", "body", "payload", "message", "value"):
        if body.get(key) is not None:
            return unpacked(decoded(body[key]))
    return nested(body).get("data")  # a store's flat names


def _recognise(body: Json) -> str | None:
    found = event(body)
    return (
        None
        if found is None
        else f"CloudEvent {found.kind} of the inference logger"
        if "specversion" in found.names
        else f"{found.kind} of the inference logger"
    )


def _key(document: Document) -> str | None:
    found = event(document.body)
    return None if found is None or found.id is None else f"{found.id}/{found.names.get('component') or ''}"


def _complete(group: Sequence[Document]) -> bool:
    kinds = {found.kind for document in group if (found := event(document.body)) is not None}
    return len(kinds) == 2


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    groups: dict[str | int, list[tuple[Document, Event]]] = {}
    for place, document in enumerate(documents):
        found = event(document.body)
        if found is None:
            yield Rejected(document, NO_EVENT, ignored=True)
        else:
            groups.setdefault(_key(document) or place, []).append((document, found))
    for group in groups.values():
        yield from _call(group)


def _call(group: Sequence[tuple[Document, Event]]) -> Iterable[Outcome]:
    asked = next(((document, found) for document, found in group if found.kind == "request"), None)
    answered = next(((document, found) for document, found in reversed(group) if found.kind == "response"), None)
    if answered is not None and isinstance(answered[1].data, dict) and isinstance(answered[1].data.get("choices"), dict):
        found = answered[1]  # a list of one choice that a store gave back as the choice
        answered = (answered[0], found._replace(data={**found.data, "choices": objects(found.data["choices"])}))
    if answered is None:
        for document, found in group:
            yield Rejected(document, NO_RESPONSE if _asks(found.data) else NO_ANSWER, ignored=True)
        return
    document, response = answered
    cut = False
    if isinstance(response.data, str) and not is_sse(response.data):  # a shipper's limit cut the body
        kept, cut = kept_body(response.data)
        response = response._replace(data=kept if cut else response.data)
    if not _is_answer(response.data):
        for other, _ in group:
            yield Rejected(other, NO_ANSWER, ignored=True)
        return
    records = records_of_body(response.data, _columns(asked[1] if asked else None, response, document))
    if not records:
        for other, _ in group:
            yield Rejected(other, NO_ANSWER, ignored=True)
    if cut and records:
        mark_cut_record(records[-1])
    for record in records:
        if record.request_id is None:
            record.request_id = response.id
        yield Placed(record, document)


def _asks(data: Any) -> bool:
    return isinstance(data, dict) and any(key in data for key in ("messages", "prompt", "input", "text", "input_ids"))


def _is_answer(data: Any) -> bool:
    if isinstance(data, str):
        return is_sse(data)
    if isinstance(data, list):
        return bool(data) and all(is_chunk(entry) for entry in data)
    return is_body(data)


def _columns(request: Event | None, response: Event, document: Document) -> dict[str, Any]:
    names = {**(request.names if request else {}), **{name: value for name, value in response.names.items() if value not in (None, "", "{}")}}
    headers = mapping(request.names.get("metadata")) if request else mapping(response.names.get("metadata"))
    columns: dict[str, Any] = {
        **{name: value for name, value in document.envelope.items() if value is not None},
        **(request_columns(request.data) if request else {}),
        "record_id": response.id,
        "status_code": 200,
        "deployment": text(names.get("inferenceservicename")) or text(names.get("inferenceservice")),
        "trace_id": trace_of(header(headers, "traceparent"), header(headers, "x-b3-traceid")),
        "client": header(headers, "user-agent"),
    }
    start = request.at if request is not None else None
    if start is not None and response.at is not None and response.at >= start:
        columns["latency_seconds"] = response.at - start
    if start is not None or response.at is not None:
        columns["timestamp"] = start if start is not None else response.at
    return {name: value for name, value in columns.items() if value is not None}


FORMAT = Format(
    name="kserve",
    view="gateway",
    title="KServe inference logger (CloudEvents, blob store)",
    sees=("request and response bodies whole, also streams", "approximate duration: the difference of the two events' times"),
    blind=(
        "failed calls: only answers of status 200 are recorded, a failure is a request without a response",
        "pod, HTTP status, time to the first token",
        "time and duration in the blob store's JSON",
        "events that the logger's queue lost",
    ),
    recognise=_recognise,
    read=_read,
    rank=20,
    shape=lambda keys: any(_bare(key) in ("type", "reqtype") for key in keys) or any(key.partition(".")[0] in _HEADERS for key in keys),
    lines=False,
    joiner=lambda: ByKey(_key, _read, _complete),
    trust="the engine's own reasons in the recorded body",
    units="event times ISO 8601 UTC; created in seconds since 1970",
    raw_text=None,
)
