"""Lines that engines, routers and their web servers write beside answers: access lines, periodic statistics, start-up and progress."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from detector.record import Record

_ACCESS = re.compile(r'([\w.:\[\]-]+) - "([A-Z]{3,7}) (\S+) HTTP/[\d.]+" (\d{3})(?: (\w[\w -]*))?')
_RAY_ACCESS = re.compile(r"(?:^|-- )([A-Z]{3,7}) (/\S*) (\d{3}) (\d{1,9}(?:\.\d{1,6})?)ms$")  # ray-project/ray#48819
_STATISTICS = re.compile(r"throughput(?: \(token/s\))?[:=]|Running: \d+ reqs|Decode batch|Prefill batch|KV cache usage|SpecDecoding metrics|cache hit rate")
# The prefix that Ray puts in front of what an actor writes.
RAY_ACTOR = re.compile(
    r"\((?:ServeReplica:[^)\s]{1,200}|ServeController|ProxyActor|HTTPProxyActor|RayWorkerWrapper|EngineCore_DP\d+|_EngineBackgroundProcess|\w*Actor\w*) "
    r"pid=\d+(?:, ip=[\w.:]+)?\) "
)
GENERATION_PATHS = (
    *("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages", "/chat/completions"),
    *("/generate", "/generate_stream", "/api/chat", "/api/generate", "/invocations"),
)
_OTHER_PATHS = (
    *("/embeddings", "/embed", "/rerank", "/score", "/classify", "/pooling", "/moderations", "/models", "/tokenize", "/detokenize", "/mcp", "/metrics"),
    *("/images/generations", "/images/edits", "/audio/transcriptions", "/audio/translations", "/audio/speech", "/health", "/healthz", "/ping", "/files"),
)
_FAILED = frozenset((408, *range(500, 600)))


class Access(NamedTuple):
    """One line of an access log: `path` without its query; `seconds`: how long it took, where the line says so."""

    client: str
    method: str
    path: str
    status: int
    seconds: float | None = None


def line_of(body: Any) -> str:
    """A document that is a line of text, as that text; others hold none."""
    return body if isinstance(body, str) else ""


def access(line: str) -> Access | None:
    """The access line (uvicorn, gunicorn, Ray Serve) in this text, if it is one."""
    if " HTTP/" not in line:
        found = _RAY_ACCESS.search(line, 0, 2000) if line[-2:] == "ms" else None
        return Access("", found[1], found[2].partition("?")[0], int(found[3]), float(found[4]) / 1e3) if found else None
    match = _ACCESS.search(line, 0, 2000)
    return Access(match[1], match[2], match[3].partition("?")[0], int(match[4])) if match else None


def is_generation(path: str) -> bool:
    """The path asks for an answer."""
    return path.endswith(GENERATION_PATHS)


def asks_for_other(path: str) -> bool:
    """The path asks a model, or a server, for something that is no text: embeddings, scores, images, speech, lists, its health."""
    return path.rstrip("/").endswith(_OTHER_PATHS)


def failed_generation(line: Access) -> bool:
    """A request for an answer that the server could not serve: a closed outcome even where no other line tells of it."""
    return line.status in _FAILED and is_generation(line.path)


def failed_access(line: str) -> Record | None:
    """The outcome that an access line tells by itself: a request for an answer, and a status that says there was none."""
    found = access(line)
    if found is None or not failed_generation(found):
        return None
    return Record(status_code=found.status, endpoint=found.path, latency_seconds=found.seconds)


def is_statistics(line: str) -> bool:
    """A periodic line of figures."""
    return _STATISTICS.search(line, 0, 2000) is not None
