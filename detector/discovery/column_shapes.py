"""How the values of each column look and what it is called: what a guess goes by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from detector.formats.finish_reason import reason
from detector.formats.values import count, flag, instant, number


@dataclass(frozen=True)
class ColumnShape:
    """How a column is recognised: `names` are last parts of paths, best first."""

    column: str
    names: tuple[str, ...]
    fits: Callable[[Any], bool]
    kind: str


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and 3 < len(value) < 200 and not value.isspace()


def _is_status(value: Any) -> bool:
    read = count(value)
    return read is not None and (read == 0 or 100 <= read < 600)


def _is_time(value: Any) -> bool:
    read = instant(value)
    return read is not None and 9.4e8 < read < 4.1e9  # years 2000 to 2100


def _is_duration(value: Any) -> bool:
    read = number(value)
    return read is not None and read >= 0


def _is_count(value: Any) -> bool:
    return count(value) is not None


SHAPES = (
    ColumnShape(
        "timestamp",
        ("@timestamp", "timestamp", "starttime", "startedat", "start", "time", "ts", "when", "date", "datetime", "createdat", "created"),
        _is_time,
        "time",
    ),
    ColumnShape("request_id", ("requestid", "xrequestid", "reqid", "rid", "responseid", "uuid", "id"), _is_id, "text"),
    ColumnShape("trace_id", ("traceid", "correlationid"), _is_id, "text"),
    ColumnShape("model", ("model", "modelname", "modelid", "llm", "engine"), _is_text, "text"),
    ColumnShape("deployment", ("deployment", "service", "servicename", "svc", "modelgroup", "app", "application", "cluster"), _is_text, "text"),
    ColumnShape("pod", ("pod", "podname", "instance", "host", "hostname", "replica", "node"), _is_text, "text"),
    ColumnShape("client", ("client", "useragent", "caller", "team"), _is_text, "text"),
    ColumnShape("endpoint", ("endpoint", "path", "route", "uri", "url"), _is_text, "text"),
    ColumnShape("stream", ("stream", "streaming", "isstreaming", "streamed"), lambda value: flag(value) is not None, "flag"),
    ColumnShape("status_code", ("statuscode", "httpstatus", "responsecode", "status", "code"), _is_status, "number"),
    ColumnShape("error_type", ("errortype", "errorcode", "errorclass", "exception", "error", "err"), _is_text, "text"),
    ColumnShape(
        "finish_reason", ("finishreason", "stopreason", "finish", "why", "reason", "endreason"), lambda value: reason(value).canonical is not None, "word"
    ),
    ColumnShape(
        "content",
        ("content", "answer", "completion", "outputtext", "responsetext", "output", "reply", "response", "generatedtext", "text", "body"),
        _is_text,
        "text",
    ),
    ColumnShape("reasoning", ("reasoningcontent", "reasoning", "thinking", "thought", "thoughts"), _is_text, "text"),
    ColumnShape("user_text", ("prompt", "question", "usertext", "input", "query"), _is_text, "text"),
    ColumnShape("prompt_tokens", ("prompttokens", "inputtokens", "tokensin", "promptlen", "ntokensin"), _is_count, "number"),
    ColumnShape("completion_tokens", ("completiontokens", "outputtokens", "tokensout", "generatedtokens", "ntokensout", "newtokens"), _is_count, "number"),
    ColumnShape("reasoning_tokens", ("reasoningtokens", "thinkingtokens"), _is_count, "number"),
    ColumnShape("cached_tokens", ("cachedtokens", "cachereadtokens"), _is_count, "number"),
    ColumnShape("max_tokens", ("maxtokens", "maxcompletiontokens", "maxnewtokens", "maxoutputtokens", "tokenlimit", "limit"), _is_count, "number"),
    ColumnShape("temperature", ("temperature",), _is_duration, "number"),
    ColumnShape(
        "latency_seconds", ("latency", "duration", "elapsed", "responsetime", "totaltime", "took", "e2elatency", "requesttime"), _is_duration, "duration"
    ),
    ColumnShape("ttft_seconds", ("ttft", "timetofirsttoken", "firsttoken", "firsttokenlatency", "timetofirstchunk"), _is_duration, "duration"),
    ColumnShape("queue_seconds", ("queue", "queuetime", "queued", "waiting", "timeinqueue"), _is_duration, "duration"),
    ColumnShape("session", ("session", "sessionid", "conversationid", "threadid"), _is_text, "text"),
    ColumnShape("user", ("user", "userid", "enduser"), _is_text, "text"),
)
SELDOM = ("error_type",)  # what goes wrong is seldom there
