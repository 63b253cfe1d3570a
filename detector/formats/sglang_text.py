"""SGLang's request log as text: `Receive: obj=…` and `Finish: obj=…, out={…}` in Python's repr."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.log_lines import line_of
from detector.formats.repr_values import Call, value
from detector.formats.sglang_calls import BLIND, SEES, SLOW_ONLY, Event, Requests
from detector.formats.values import text

_EVENT = re.compile(r"(Receive|Finish): obj=(?=\w+\()")
_PREFIX = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[ A-Z_0-9]*\b(?:TP|PP|DP|EP)\d+[ A-Z_0-9]*)?\] ")
_OWN = re.compile(r"(?:Decode batch|Prefill batch)[ .,]|server_args=ServerArgs\(|max_total_num_tokens=|INFO:     |Abort request|Capture cuda graph|Load weight")
_HEAD = 400


def _recognise(body: Json) -> str | None:
    if not isinstance(body, str):
        return None
    match = _EVENT.search(body, 0, _HEAD)
    if match and '{"' not in body[: match.start()]:  # not inside some JSON
        return f"SGLang's request log: {match[1]} line"
    prefix = _PREFIX.match(body)
    if prefix and body[prefix.end() : prefix.end() + 1] != "{" and (re.search(r"(?:TP|PP|DP)\d", prefix[0]) or _OWN.match(body, prefix.end())):
        return "SGLang's server log: date in brackets"
    return None


def _event(body: Json) -> Event:
    if not isinstance(body, str):
        return Event("other")
    match = _EVENT.search(body, 0, _HEAD)
    if match is None:
        return Event("other")
    obj, end = value(body, match.end())
    obj = obj if isinstance(obj, Call) else Call()
    rid = obj.get("rid")
    if isinstance(rid, list):
        rid = rid[0] if len(rid) == 1 else None
    if match[1] == "Receive":
        return Event("received", text(rid), obj)
    out: Any = None
    start = body.find(", out=", end)
    if start >= 0:
        out, _ = value(body, start + len(", out="))
    if rid is None and isinstance(out, Mapping) and isinstance(out.get("meta_info"), Mapping):
        rid = out["meta_info"].get("id")
    return Event("finished", text(rid), obj, out)


def _joiner() -> Requests:
    return Requests(_event, line_of)


FORMAT = Format(
    name="sglang_text",
    view="engine",
    title="SGLang request log, text",
    sees=SEES,
    blind=(*BLIND, "model name", SLOW_ONLY),
    recognise=_recognise,
    read=read_by(_joiner),
    rank=40,
    other_lines=True,
    joiner=_joiner,
    trust="all reasons are the engine's own",
    units="latencies in seconds; dates have no zone: no timestamp but received_time or the shipper's",
    raw_text=True,
    off=("think_leak", "special_token_leak"),
)
