"""vLLM's server log as text: the Rust front end (main branch since autumn 2026), which writes another log than the Python one."""

from __future__ import annotations

import re

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.log_lines import line_of
from detector.formats.vllm_calls import Calls

_PREFIX = re.compile(r"\(RustFrontend(?:[ \w:.-]*) pid=\d+\) ")
_SPAN = re.compile(r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE) \d\d-\d\d \d\d:\d\d:\d\d \[[\w/.-]+\.rs:\d+\] ")


def recognise(body: Json) -> str | None:
    if not isinstance(body, str):
        return None
    prefix, span = _PREFIX.search(body, 0, 200), _SPAN.search(body, 0, 200)
    found = prefix or span
    if found is None or '{"' in body[: found.start()]:  # inside some JSON
        return None
    if prefix:
        return "vLLM's Rust front end: process name in front"
    if span:
        return "vLLM's Rust front end: level, date without a year, Rust file and line"
    return None


def _joiner() -> Calls:
    return Calls(line_of)


FORMAT = Format(
    name="vllm_rust",
    view="engine",
    title="vLLM server log, text, Rust front end",
    sees=("reason, model and token counts of every call, streamed or not", "parsed text with --enable-log-outputs", "reasoning where it was included"),
    blind=("latency and HTTP status of a request", "empty deltas", "caps of requests"),
    recognise=recognise,
    read=read_by(_joiner),
    rank=35,
    other_lines=True,
    joiner=_joiner,
    trust="the reason on the closing line is the engine's own, also for streams",
    units="dates without year and zone: no timestamp but the shipper's",
    raw_text=False,
    off=("latency",),
)
