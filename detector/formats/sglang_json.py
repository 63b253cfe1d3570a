"""SGLang's request log as JSON lines: request.received, request.finished, request.received.openai."""

from __future__ import annotations

from collections.abc import Mapping

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.log_lines import line_of
from detector.formats.sglang_calls import BLIND, SEES, SLOW_ONLY, Event, Requests
from detector.formats.values import mapping, text

_METRICS = ("request_parameters", "id", "e2e_latency")  # a line of --export-metrics-to-file (observability/request_metrics_exporter.py)
_KINDS = {"request.received": "received", "request.finished": "finished", "request.received.openai": "openai"}


def _recognise(body: Json) -> str | None:
    event = body.get("event") if isinstance(body, dict) else None
    if isinstance(event, str) and event in _KINDS and ("rid" in body or "obj" in body):
        return f"event {event}"
    if isinstance(body, dict) and all(key in body for key in _METRICS):
        return "request_parameters beside id and e2e_latency, as SGLang's metrics file has them"
    return None


def _event(body: Json) -> Event:
    kind = _KINDS.get(str(body.get("event"))) if isinstance(body, dict) else None
    if kind is None and isinstance(body, dict) and "request_parameters" in body:
        return Event("finished", text(body.get("id")), mapping(body["request_parameters"]), {"meta_info": body})
    if kind is None:
        return Event("other")
    obj = mapping(body.get("obj"))
    out = body.get("out")
    out = out if isinstance(out, list) else mapping(out)
    rid = text(body.get("rid")) or text(obj.get("rid"))
    if rid is None and isinstance(out, Mapping):
        rid = text(mapping(out.get("meta_info")).get("id"))
    return Event(kind, rid, obj, out)


def _joiner() -> Requests:
    return Requests(_event, line_of)


FORMAT = Format(
    name="sglang_json",
    view="engine",
    title="SGLang request log, JSON",
    sees=SEES,
    blind=(*BLIND, "model name, unless only one call was open", SLOW_ONLY),
    recognise=_recognise,
    read=read_by(_joiner),
    rank=20,
    keys=frozenset(("event", "request_parameters")),
    lines=False,
    other_lines=True,
    joiner=_joiner,
    trust="all reasons are the engine's own",
    units="latencies in seconds; timestamp is local time without a zone: no timestamp but request_received_ts or the shipper's",
    raw_text=True,
    off=("think_leak", "special_token_leak"),
)
