"""How the values of each column look and what it is called: what a guess goes by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC
from statistics import median
from typing import Any

from detector.formats.finish_reason import reason
from detector.formats.values import count, flag, instant, number, seconds


@dataclass(frozen=True)
class ColumnShape:
    """How a column is recognised.

    Args:
        names: last parts of paths, best first.
        fits: a value can be read as this column.
        words: asked where no such name stands: sets of words of a path's last two parts, of which each set has to give one.
        never: words of a path that speak against the column.
        alone: values alone may tell, where no name does and a single place has such values.
    """

    column: str
    names: tuple[str, ...]
    fits: Callable[[Any], bool]
    kind: str
    words: tuple[frozenset[str], ...] = ()
    never: frozenset[str] = frozenset()
    alone: Callable[[Sequence[Any]], bool] | None = None


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 3 < len(value) < 200 and not value.isspace()


def _is_status(value: Any) -> bool:
    read = count(value)
    return read is not None and (read == 0 or 100 <= read < 600)


def _is_time(value: Any) -> bool:
    read = instant(value, zone=UTC)  # a zone can be named in the file; which field it is can be seen without
    return read is not None and 9.4e8 < read < 4.1e9  # years 2000 to 2100


def _is_duration(value: Any) -> bool:
    return seconds(value) is not None


def _is_number(value: Any) -> bool:
    read = number(value)
    return read is not None and read >= 0


def _is_count(value: Any) -> bool:
    return count(value) is not None


def _are_times(values: Sequence[Any]) -> bool:
    return len(set(map(str, values))) > 0.2 * len(values)


def _are_reasons(values: Sequence[Any]) -> bool:
    """Words that producers write, and at least two of them: one word alone could be anything."""
    return len({reason(value).canonical for value in values if isinstance(value, str)} - {"unknown", None}) >= 2


def _are_statuses(values: Sequence[Any]) -> bool:
    return any(count(value) == 200 for value in values) and len({str(value) for value in values}) <= 20


def _are_texts(values: Sequence[Any]) -> bool:
    """Sentences, mostly different ones."""
    return len(set(values)) > 0.5 * len(values) and median(len(value) for value in values) >= 20 and sum(" " in value for value in values) > 0.5 * len(values)


_TOKENS = frozenset(("token", "tokens", "tok", "toks", "tkns", "usage"))
_IN = frozenset(("prompt", "input", "in", "request", "req", "context", "ctx"))
_OUT = frozenset(("completion", "compl", "output", "out", "generated", "generation", "gen", "response", "resp", "answer", "reply", "new"))
_MOST = frozenset(("max", "maximum", "limit", "cap", "budget"))
_THOUGHT = frozenset(("reasoning", "thinking", "thought", "think"))
_FIRST = frozenset(("first", "ttft", "ttfb"))
_WAIT = frozenset(("queue", "queued", "queueing", "queuing", "wait", "waiting", "waited"))
_ASKED = frozenset(("request", "req", "prompt", "input", "question", "query", "messages", "msgs", "history", "args", "params", "system", "user"))
_WRONG = frozenset(("error", "err", "exception", "id", "model", "name", "type", "url", "path", "finish", "reason", "status"))
_LATER = frozenset(("end", "ended", "finish", "finished", "done", "ingest", "ingested", "received", "updated", "expires", "expiry", "deadline", "first"))

SHAPES = (
    ColumnShape(
        "timestamp",
        ("@timestamp", "timestamp", "starttime", "startedat", "start", "time", "ts", "when", "date", "datetime", "createdat", "created"),
        _is_time,
        "time",
        words=(frozenset(("timestamp", "time", "ts", "date", "datetime", "at", "when", "created", "start", "started", "begin", "began", "epoch")),),
        never=_LATER,
        alone=_are_times,
    ),
    ColumnShape(
        "request_id",
        ("requestid", "xrequestid", "reqid", "rid", "responseid", "uuid", "id"),
        _is_id,
        "text",
        words=(frozenset(("id", "uuid", "guid")), frozenset(("request", "req", "call", "response", "resp", "completion", "generation", "gen", "chat"))),
        never=frozenset(("user", "session", "trace", "model", "parent")),
    ),
    ColumnShape("trace_id", ("traceid", "correlationid"), _is_id, "text"),
    ColumnShape(
        "model",
        ("model", "modelname", "modelid", "llm", "engine"),
        _is_text,
        "text",
        words=(frozenset(("model",)),),
        never=frozenset(("version", "path", "revision", "time")),
    ),
    ColumnShape("deployment", ("deployment", "service", "servicename", "svc", "modelgroup", "app", "application", "cluster"), _is_text, "text"),
    ColumnShape("pod", ("pod", "podname", "instance", "host", "hostname", "replica", "node"), _is_text, "text"),
    ColumnShape("client", ("client", "useragent", "caller", "team"), _is_text, "text"),
    ColumnShape("endpoint", ("endpoint", "path", "route", "uri", "url"), _is_text, "text"),
    ColumnShape("stream", ("stream", "streaming", "isstreaming", "streamed"), lambda value: flag(value) is not None, "flag"),
    ColumnShape(
        "status_code",
        ("statuscode", "httpstatus", "responsecode", "status", "code"),
        _is_status,
        "number",
        words=(frozenset(("status", "code", "http")),),
        alone=_are_statuses,
    ),
    ColumnShape("error_type", ("errortype", "errorcode", "errorclass", "exception", "error", "err"), _is_text, "text"),
    ColumnShape(
        "finish_reason",
        ("finishreason", "stopreason", "finish", "why", "reason", "endreason"),
        lambda value: reason(value).canonical is not None,
        "word",
        words=(frozenset(("finish", "finished", "stop", "stopped", "end", "ended", "termination", "terminated", "reason", "why")),),
        never=frozenset(("time", "ts", "at")),
        alone=_are_reasons,
    ),
    ColumnShape(
        "content",
        ("content", "answer", "completion", "outputtext", "responsetext", "output", "reply", "response", "generatedtext", "text", "body"),
        _is_text,
        "text",
        words=(_OUT | {"result", "content", "text", "txt", "assistant", "message", "msg"},),
        never=_ASKED | _WRONG | _THOUGHT,
        alone=_are_texts,
    ),
    ColumnShape(
        "reasoning",
        ("reasoningcontent", "reasoning", "thinking", "thought", "thoughts"),
        _is_text,
        "text",
        words=(_THOUGHT,),
        never=_TOKENS | _ASKED | {"budget", "enabled", "effort"},
    ),
    ColumnShape(
        "user_text",
        ("prompt", "question", "usertext", "input", "query"),
        _is_text,
        "text",
        words=(frozenset(("prompt", "question", "query", "user")),),
        never=_TOKENS | frozenset(("id", "agent", "name", "hash", "type")),
    ),
    ColumnShape(
        "prompt_tokens",
        ("prompttokens", "inputtokens", "tokensin", "promptlen", "ntokensin"),
        _is_count,
        "number",
        words=(_TOKENS, _IN),
        never=_MOST | _OUT | _THOUGHT,
    ),
    ColumnShape(
        "completion_tokens",
        ("completiontokens", "outputtokens", "tokensout", "generatedtokens", "ntokensout", "newtokens"),
        _is_count,
        "number",
        words=(_TOKENS, _OUT),
        never=_MOST | _IN | _THOUGHT,
    ),
    ColumnShape("reasoning_tokens", ("reasoningtokens", "thinkingtokens"), _is_count, "number", words=(_TOKENS, _THOUGHT), never=_MOST),
    ColumnShape("cached_tokens", ("cachedtokens", "cachereadtokens"), _is_count, "number", words=(_TOKENS, frozenset(("cached", "cache"))), never=_MOST),
    ColumnShape(
        "max_tokens",
        ("maxtokens", "maxcompletiontokens", "maxnewtokens", "maxoutputtokens", "tokenlimit", "limit"),
        _is_count,
        "number",
        words=(_TOKENS, _MOST),
        never=_IN | _THOUGHT,
    ),
    ColumnShape("temperature", ("temperature",), _is_number, "number"),
    ColumnShape(
        "latency_seconds",
        ("latency", "duration", "elapsed", "responsetime", "totaltime", "took", "e2elatency", "requesttime"),
        _is_duration,
        "duration",
        words=(frozenset(("latency", "duration", "dur", "elapsed", "took", "taken", "runtime", "total")),),
        never=_FIRST | _WAIT | _TOKENS | {"cost", "count", "prefill", "decode"},
    ),
    ColumnShape(
        "ttft_seconds",
        ("ttft", "timetofirsttoken", "firsttoken", "firsttokenlatency", "timetofirstchunk"),
        _is_duration,
        "duration",
        words=(_FIRST,),
        never=_WAIT | {"at", "ts", "id"},
    ),
    ColumnShape(
        "queue_seconds",
        ("queue", "queuetime", "queued", "waiting", "timeinqueue"),
        _is_duration,
        "duration",
        words=(_WAIT,),
        never=_FIRST | {"length", "len", "size", "depth"},
    ),
    ColumnShape("session", ("session", "sessionid", "conversationid", "threadid"), _is_text, "text"),
    ColumnShape("user", ("user", "userid", "enduser"), _is_text, "text"),
)
SELDOM = ("error_type",)  # what goes wrong is seldom there
