"""vLLM's server log as text: the Python front end's request, answer and abort lines, from 0.6 to the newest."""

from __future__ import annotations

import re

from detector.formats.base import Format, Json
from detector.formats.joining import read_by
from detector.formats.log_lines import RAY_ACTOR, line_of
from detector.formats.vllm_calls import Calls
from detector.formats.vllm_lines import LOG_PREFIX

_PROCESS = re.compile(r"\((?:APIServer|EngineCore|ApiServer|VllmWorker|DPCoordinator)[\w:.-]* (?:[\w=]+ )?pid=\d+\) ")
_EVENT = re.compile(
    r"(?:Received request \S{1,400}: (?:prompt|params)|Generated response \S{1,400}(?: \(streaming \w+\))?: output: |Aborted request(?:\(s\))? \S|"
    r"Added request \S|Finished request \S|Request \S{1,400} (?:aborted|failed|details: )|response_body=\{)"
)
_FRONT = 160
_WORDS = {"Received": "a request line", "Generated": "an answer line", "Aborted": "an abort line", "response_body=": "a logged response body"}
SEES = (
    "text, reason and token count of answers that were not streamed",
    "text of streams before the reasoning parser",
    "aborts",
    "caps of requests",
)  # of the text and the JSON log
BLIND = (
    "streamed finish reasons: the complete line always says streaming_complete",
    "empty answers that were not streamed: no line is written for them",
    "latency, model and HTTP status of a request",
    "reasoning",
)


def recognise(body: Json) -> str | None:
    if not isinstance(body, str):
        return None
    head = body[:1500]
    if "RustFrontend" in head[:200] or (head[:1] == "(" and RAY_ACTOR.match(head)):
        return None
    prefix = LOG_PREFIX.search(head, 0, _FRONT)  # sites put words of their own in front (VLLM_LOGGING_PREFIX)
    match = _EVENT.search(head)
    if match and (prefix or match.start() < 400) and '{"' not in head[: match.start()]:  # not inside some JSON
        word = next((text for start, text in _WORDS.items() if match[0].startswith(start)), "a line about a request")
        return f"vLLM's log: {word}"
    if prefix and '{"' not in head[: prefix.start()]:
        return "vLLM's log: level, date without a year, file and line"
    process = _PROCESS.search(head, 0, _FRONT)
    if process and '{"' not in head[: process.start()]:
        return "vLLM's log: process name in front"
    return None


def _joiner() -> Calls:
    return Calls(line_of)


FORMAT = Format(
    name="vllm_text",
    view="engine",
    title="vLLM server log, text",
    sees=SEES,
    blind=BLIND,
    recognise=recognise,
    read=read_by(_joiner),
    rank=40,
    joiner=_joiner,
    trust="the engine's own on lines that are not streamed, and on the last delta; never streaming_complete",
    units="dates without year and zone: no timestamp but the shipper's; tokens are counted from output_token_ids (up to 0.20)",
    raw_text=None,
    off=("latency",),
    inferred=("length_cutoff", "empty_content"),
    other_lines=True,
)
