"""Ray Serve LLM: replica lines of Ray around vLLM's own log, as text with an actor prefix or as Ray's JSON log records."""

from __future__ import annotations

import re

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.log_lines import RAY_ACTOR
from detector.formats.vllm_calls import Calls

_REPLICA = re.compile(r"(?:DEBUG|INFO|WARNING|ERROR) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \w+ \w{8} (?:[\w-]{8,40} )?(?:/\S* )?(?:--|[\w.]+:\d+ -)")
_RECORD_KEYS = frozenset(("replica", "component_name", "component_id", "deployment", "actor_name", "serve_access_log"))


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        if RAY_ACTOR.match(body):
            return "Ray's actor prefix"
        return "replica line of Ray Serve" if _REPLICA.match(body) else None
    if isinstance(body, dict) and len(body.keys() & _RECORD_KEYS) >= 2 and isinstance(body.get("message"), str):
        return "log record of Ray Serve: " + ", ".join(sorted(body.keys() & _RECORD_KEYS))
    return None


def _text(body: Json) -> str:
    if isinstance(body, dict):
        message = body.get("message")
        return message if isinstance(message, str) else ""
    return RAY_ACTOR.sub("", body, count=1) if isinstance(body, str) else ""


def _joiner() -> Calls:
    return Calls(_text)


FORMAT = Format(
    name="ray_serve",
    view="engine",
    title="Ray Serve LLM log",
    sees=(
        "what vLLM's own log shows, with Ray's actor in front",
        "reason, token counts, latency and waiting time on the closing line of Ray's own engine (to 2.48)",
    ),
    blind=("streamed finish reasons, as in vLLM's text log", "outcome of a replica's call: OK says that it returned", "latency, in newer versions"),
    recognise=_recognise,
    read=read_by(_joiner),
    rank=30,
    keys=_RECORD_KEYS,
    other_lines=True,
    joiner=_joiner,
    trust="as vLLM's text log: the engine's own on lines that are not streamed",
    units="vLLM's dates have no year, Ray's no zone: no timestamp but the shipper's",
    raw_text=None,
    inferred=("length_cutoff", "empty_content"),
)
