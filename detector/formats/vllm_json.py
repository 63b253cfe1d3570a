"""vLLM's server log through a JSON formatter: the same messages as in the text log, one object a line.

Sources: vLLM 0.33's bundled JSON profile (asctime, levelname, name, processName, process, message), python-json-logger's default (message alone), NIM.
"""

from __future__ import annotations

import re

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.values import instant
from detector.formats.vllm_calls import Calls
from detector.formats.vllm_text import BLIND, SEES
from detector.formats.vllm_text import recognise as recognise_text

_KEYS = ("message", "msg", "event")
_FORMATTER = frozenset(
    (
        *("asctime", "levelname", "name", "vllm_process_name", "processName", "process", "message", "msg", "event", "level", "logger", "timestamp", "time"),
        *("filename", "fileinfo", "lineno", "line", "module", "funcName", "pathname", "thread", "threadName", "process_name", "severity", "exc_info"),
        *("taskName", "exc_text", "stack_info", "created", "msecs", "relativeCreated", "file_name", "file_path", "line_number"),
    )
)
_STATISTICS = re.compile(r"(?:Engine \d+: )?Avg prompt throughput: ")
_LOGGER = ("vllm", "nim_llm", "uvicorn")


def _message(body: Json) -> str:
    if isinstance(body, dict):
        return next((body[key] for key in _KEYS if isinstance(body.get(key), str)), "")
    return body if isinstance(body, str) else ""


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict) or not body.keys() <= _FORMATTER:
        return None
    message = _message(body)
    if not message:
        return None
    name = body.get("name", body.get("logger"))
    if (
        isinstance(name, str)
        and name.partition(".")[0] in _LOGGER
        and body.keys() & {"asctime", "levelname", "vllm_process_name", "level", "time", "timestamp"}
    ):
        return f"a log record of logger {name.partition('.')[0]} with {', '.join(sorted(body.keys() & {'asctime', 'levelname', 'level', 'message'}))}"
    if recognise_text(message) is not None or _STATISTICS.match(message):
        return "vLLM's message inside a JSON log record"
    return None


def _time(body: Json) -> float | None:
    """The formatter's time, where it has a zone."""
    if not isinstance(body, dict):
        return None
    return next((moment for key in ("timestamp", "time", "asctime") if (moment := instant(body.get(key))) is not None), None)


def _joiner() -> Calls:
    return Calls(_message, _time)


FORMAT = Format(
    name="vllm_json",
    view="engine",
    title="vLLM server log, JSON formatter",
    sees=SEES,
    blind=BLIND,
    recognise=_recognise,
    read=read_by(_joiner),
    rank=40,
    keys=frozenset(_KEYS),
    lines=False,
    other_lines=True,
    joiner=_joiner,
    trust="the engine's own on lines that are not streamed, and on the last delta; never streaming_complete",
    units="asctime has no zone: no timestamp but the shipper's",
    raw_text=None,
    off=("latency",),
    inferred=("length_cutoff", "empty_content"),
)
