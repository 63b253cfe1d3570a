"""SGLang's request log as JSON lines: request.received, request.finished, request.received.openai."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from detector.formats.base import Document, Format, Json, Outcome
from detector.formats.sglang_calls import Event, Requests
from detector.formats.values import mapping, text

_KINDS = {"request.received": "received", "request.finished": "finished", "request.received.openai": "openai"}


def _recognise(body: Json) -> str | None:
    event = body.get("event") if isinstance(body, dict) else None
    if isinstance(event, str) and event in _KINDS and ("rid" in body or "obj" in body):
        return f"event {event}"
    return None


def _event(body: Json) -> Event:
    kind = _KINDS.get(str(body.get("event"))) if isinstance(body, dict) else None
    if kind is None:
        return Event("other")
    obj = mapping(body.get("obj"))
    out = body.get("out")
    out = out if isinstance(out, list) else mapping(out)
    rid = text(body.get("rid")) or text(obj.get("rid"))
    if rid is None and isinstance(out, Mapping):
        rid = text(mapping(out.get("meta_info")).get("id"))
    return Event(kind, rid, obj, out)


def _text(body: Json) -> str:
    return body if isinstance(body, str) else ""


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    requests = Requests(_event, _text)
    for document in documents:
        yield from requests.feed(document)
    yield from requests.finish()


FORMAT = Format(
    name="sglang_json",
    view="engine",
    title="SGLang request log, JSON",
    sees=("reason, token counts, latency of every finished request", "text before the reasoning parser at levels 2 and 3", "aborts with their message"),
    blind=(
        "text at levels 0 and 1, and the middle of long texts at level 2",
        "what the reasoning and tool parsers made of the text: reasoning, tool calls, leaks",
        "model name, unless only one call was open",
        "with SGLANG_LOG_REQUEST_EXCEEDED_MS only slow requests are in the log: rates from it are biased",
    ),
    recognise=_recognise,
    read=_read,
    rank=20,
    keys=frozenset(("event",)),
    lines=False,
    other_lines=True,
    joiner=lambda: Requests(_event, _text),
    trust="all reasons are the engine's own",
    units="latencies in seconds; timestamp is local time without a zone: no timestamp but request_received_ts or the shipper's",
    raw_text=True,
    off=("think_leak", "special_token_leak"),
)
