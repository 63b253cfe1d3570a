"""Routers in front of engines: vLLM production-stack and semantic router, llm-d's endpoint picker, SGLang's router.

Most of their lines name a request and no outcome.

Sources: vllm-project/production-stack src/vllm_router/log.py, llm-d-router (zap JSON), sgl-project/sglang sgl-router (tracing lines),
vllm-project/semantic-router#375.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.log_lines import failed_access, is_generation
from detector.formats.values import count, instant, mapping, seconds, text
from detector.record import Record

_STACK = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \w+: .*\((?:[\w.-]+\.py:\d+:)?vllm_router\.[\w.]+\)\s*$", re.DOTALL)
_STACK_OLD = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] \w+: (?:Routing request \S+ |No cache hit, )")
_TRACING = re.compile(
    r"(?:(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?Z?)\s+)?(?:TRACE|DEBUG|INFO|WARN|ERROR)\s+"
    r"(?:[\w:]+\{[^{}]*\}: )?(?:sglang_router\w*|smg|sgl_model_gateway)(?:::\w+)*:"
)
_PAIR = re.compile(r'\b([a-z_]+)=("(?:[^"\\]|\\.)*"|[^\s,{}]+)')
_CALLER = re.compile(r"[\w./-]+\.go:\d+$")
_LLM_D = (
    "x-request-id",
    "incomingModelName",
    "targetModelName",
    "modelName",
    "objectiveKey",
    "scored-endpoints",
    "endpoint",
    "plugin",
    "llmResponse",
    "request-id",
)
# The same as text (zap's console encoder, tabs between the parts): time, level, logger, caller, message, fields.
_LLM_D_TEXT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)\t(?:[A-Z]+|LEVEL\(-?\d+\))\t(?:[\w./-]+\t)?(?:[\w.-]+/)*(\w+)/\w+\.go:\d+\t")
_USAGE = "llm_usage"  # the semantic router's event of an answered request
_PACKAGES = (
    "requestcontrol",
    "handlers",
    "scheduling",
    "picker",
    "scorer",
    "saturationdetector",
    "filter",
    "datalayer",
    "flowcontrol",
    "plugins",
    "epp",
    "profile",
)

NO_OUTCOME = "line of a router: a request and where it went, no outcome"


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        head = body[:4000]
        if _STACK.match(head) or _STACK_OLD.match(head):
            return "log line of vLLM production-stack's router"
        console = _LLM_D_TEXT.match(head) if "\t" in head[:64] else None
        if console is not None and console[1] in _PACKAGES:
            return "log line of llm-d's endpoint picker"
        return "log line of SGLang's router" if _TRACING.match(head) else None
    if isinstance(body, dict):
        caller = body.get("caller")
        if isinstance(caller, str) and _CALLER.match(caller) and "msg" in body and "ts" in body:
            if caller.startswith("observability/logging.go:") or (body.get("event") == _USAGE and "request_id" in body):
                return "log record of vLLM's semantic router"
            if any(key in body for key in _LLM_D) or caller.partition("/")[0] in _PACKAGES:
                return "log record of llm-d's endpoint picker"
        target = body.get("target")
        if isinstance(target, str) and target.partition("::")[0] in ("sglang_router_rs", "smg", "sgl_model_gateway"):
            return "tracing record of SGLang's router"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body
        record = _outcome(body) if isinstance(body, str) else _outcome_of_record(body) if isinstance(body, dict) else None
        yield record if record is not None else Rejected(document, NO_OUTCOME, ignored=True)


def _outcome(line: str) -> Record | None:
    """SGLang's router closes a request with its status: that is an outcome."""
    match = _TRACING.match(line)
    if match is None:
        return failed_access(line)
    pairs = {name: value.strip('"') for name, value in _PAIR.findall(line[:4000])}
    return _closed(pairs, instant(match[1]) if match[1] else None)


def _outcome_of_record(body: Mapping[str, Any]) -> Record | None:
    if body.get("event") == _USAGE and "completion_latency_ms" in body:
        return Record(
            timestamp=instant(body.get("ts")),
            request_id=text(body.get("request_id")),
            model=text(body.get("model")),
            prompt_tokens=count(body.get("prompt_tokens")),
            completion_tokens=count(body.get("completion_tokens")),
            latency_seconds=seconds(body.get("completion_latency_ms"), "ms"),
        )
    if "target" not in body:
        return None
    return _closed({**mapping(body.get("span")), **mapping(body.get("fields")), **body}, instant(body.get("timestamp")))


def _closed(pairs: Mapping[str, Any], at: float | None) -> Record | None:
    status = count(pairs.get("status_code", pairs.get("status")))
    path = text(pairs.get("uri")) or text(pairs.get("path"))
    if status is None or not 100 <= status < 600 or (path is not None and not is_generation(path.partition("?")[0])):
        return None
    record = Record(timestamp=at, status_code=status, request_id=text(pairs.get("request_id")), endpoint=path, model=text(pairs.get("model")))
    for key, unit in (("latency", "us"), ("latency_us", "us"), ("duration_us", "us"), ("latency_ms", "ms"), ("duration_ms", "ms"), ("latency_seconds", "s")):
        if record.latency_seconds is None and pairs.get(key) is not None:
            record.latency_seconds = seconds(pairs[key], unit)
    record.error_type = text(pairs.get("error_type")) or text(pairs.get("error_code"))
    return record


FORMAT = Format(
    name="router",
    view="gateway",
    title="router in front of engines (production-stack, llm-d, semantic router, SGLang router)",
    sees=("which engine a request went to", "status and latency where the router writes them (SGLang's router)", "token counts and latency (semantic router)"),
    blind=("text", "finish reasons", "the outcome of a request, in most routers"),
    recognise=_recognise,
    read=_read,
    rank=30,
    keys=frozenset(("caller", "target")),
    other_lines=True,
    trust="none is logged",
    units="SGLang's router: latency in microseconds; production-stack's dates have no zone",
    off=("length_cutoff", "think_leak", "special_token_leak", "empty_content", "repetition", "garbage"),
)
