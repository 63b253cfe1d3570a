"""Requests that did not get their answer.

What it finds
    Status 408 and 5xx, error objects (also inside a stream of status 200), finish reason `abort` or `error`, streams that broke off, connections that
    failed, and clients that gave up at their own time limit (499, or a client library's time-out).

Why it matters
    The caller got nothing, or half. An engine does not count an aborted request in its own latency metrics, so these failures may show nowhere else.

Not flagged
    A user who cancels within seconds, errors of the caller (4xx but 408 and 499: validation, prompt longer than the window, rate limits, payload too large).

Subtypes
    See `SIGNAL.subtypes`.

Sources
    vllm-project/vllm#57082 (abort with status 200), #46464 (error inside a stream), #17965 (engine death), vllm-project/production-stack#749 (hang behind
    a dead backend), gpustack/gpustack#4419 (proxy 503), 567-labs/instructor#1464 (durations pinned at one value), and for what is the caller's own
    vllm-project/vllm#4667, #20409.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where

CLIENT_CLOSED = 499  # nginx: the client closed the connection
# A person who cancels does so within seconds; who waited this long for the first visible text did not cancel, the service failed.
PATIENCE_SECONDS = 10.0
# Time limits that clients and gateways are configured with (library defaults 60 and 600, nginx 60, load balancers 30 to 300): closing at one is no choice.
USUAL_LIMITS_SECONDS = (10, 15, 20, 25, 30, 40, 45, 50, 60, 75, 90, 100, 120, 150, 180, 200, 240, 300, 360, 400, 480, 500, 600, 900, 1200, 1800, 3600)
SHORT_LIMIT_SECONDS = 5  # an impatient client, where no text had come
LIMIT_EARLY_SECONDS = 0.05
LIMIT_EARLY_SHARE = 0.01
LIMIT_LATE_SHARE = 0.002
LIMIT_LATE_SECONDS = 0.1

_TIMEOUT = re.compile(r"time[-_ ]?d?[-_ ]?out|timed out|deadline|408|504", re.IGNORECASE)
_CONNECTION = re.compile(
    r"connect|refused|reset|unreachable|no route|dns|name resolution|econn|broken pipe|remote ?protocol|server disconnected|"
    r"bad[ _]?gateway|upstream prematurely|no healthy upstream|eof occurred",
    re.IGNORECASE,
)
_LEFT = re.compile(
    r"client (?:has )?(?:disconnect|clos|cancel|left|went)|client_?disconnect|cancel|"
    r"downstream_remote_disconnect|downstream.*disconnect|\bDC\b|http\.disconnect|499",
    re.IGNORECASE,
)
_CALLERS = re.compile(
    r"rate.?limit|too many requests|\b4(?:29|13|00|01|03|04|22)\b|context.?(?:length|window)|maximum context|max_tokens|prompt is too long|invalid.?request|"
    r"validation|unauthori[sz]ed|authentication|permission|forbidden|not.?found|does not exist|content.?(?:policy|filter)|budget.?exceeded|quota",
    re.IGNORECASE,
)
_BAD_REQUEST = re.compile(r"bad.?request", re.IGNORECASE)  # engines also say so of their own faults inside a stream of status 200


def failed(record: Record) -> bool:
    """No finished answer exists, whosever fault it is: signals about finished answers leave the record out of their denominator."""
    return _failed(record.status_code, record.error_type, record.error_message, record.finish_reason, record.stream_done)


def failed_rows(batch: Batch) -> list[bool]:
    """`failed` for every row of a batch."""
    if batch.is_sound:
        return [False] * batch.size
    columns = [batch.column(name) for name in ("status_code", "error_type", "error_message", "finish_reason", "stream_done")]
    return [_failed(*row) for row in zip(*columns, strict=True)]


def _failed(status: int | None, error_type: str | None, error_message: str | None, reason: str | None, stream_done: bool | None) -> bool:
    if status is not None and (status >= 400 or status == 0):
        return True
    if error_type is not None or error_message is not None or reason == "abort" or reason == "error":
        return True
    return stream_done is False and reason is None


def observable(record: Record) -> bool:
    """The log says how the request ended."""
    return _observable(
        record.status_code, record.error_type, record.error_message, record.finish_reason, record.stream_done, record.content_state, record.latency_seconds
    )


def _observable(
    status: int | None,
    error_type: str | None,
    error_message: str | None,
    reason: str | None,
    stream_done: bool | None,
    state: str,
    latency: float | None,
) -> bool:
    if status is not None or error_type is not None or error_message is not None:
        return True
    return reason is not None or stream_done is not None or state != "not_captured" or latency is not None


def _observable_rows(batch: Batch) -> list[bool]:
    if not batch.has("status_code", None):
        return [True] * batch.size
    names = ("status_code", "error_type", "error_message", "finish_reason", "stream_done", "content_state", "latency_seconds")
    return [_observable(*row) for row in zip(*(batch.column(name) for name in names), strict=True)]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags a request that did not get its answer; never raises."""
    status = record.status_code
    if status is not None and 400 <= status < 500 and status not in (408, CLIENT_CLOSED):
        return None
    text = f"{record.error_type or ''} {record.error_message or ''}"
    erred = record.error_type is not None or record.error_message is not None
    if status == CLIENT_CLOSED or status == 0 or (erred and (status or 0) < 400 and _LEFT.search(text) and record.finish_reason != "abort"):
        return _left(record, text)
    if status is not None and (status == 408 or status >= 500):
        return Flag(_of_status(status, text), f"status {status}{_after(record)}")
    if record.finish_reason == "abort":
        return Flag("abort", f"finish reason abort, status {_said(status)}{_after(record)}")
    if erred:
        return _of_error(record, text)
    if record.finish_reason == "error":
        return Flag("server_error", f"finish reason error, status {_said(status)}{_after(record)}")
    if record.stream_done is False and record.finish_reason is None:
        return Flag("broken_stream", f"the stream ended without a finish reason, status {_said(status)}{_after(record)}")
    return None


def _of_status(status: int, text: str) -> str:
    if status in (408, 504):
        return "timeout"
    return "connection" if status in (502, 503) and _CONNECTION.search(text) else "server_error"


def _of_error(record: Record, text: str) -> Flag | None:
    """An error without a failing status: none came, or the stream had begun."""
    callers = _CALLERS.search(text) is not None or (record.status_code is None and _BAD_REQUEST.search(text) is not None)
    if _TIMEOUT.search(text):
        limit = record.client_timeout_seconds
        gave_up = limit is not None and record.latency_seconds is not None and record.latency_seconds >= limit * (1 - LIMIT_EARLY_SHARE)
        if gave_up:
            return Flag("client_gave_up", f"the client's limit of {limit:g} s passed, status {_said(record.status_code)}")
        return Flag("timeout", f"error of a time-out, status {_said(record.status_code)}{_after(record)}")
    if callers:
        return None
    if record.status_code is None and _CONNECTION.search(text):
        return Flag("connection", f"no connection{_after(record)}")
    where = "an error inside an answer of status" if record.status_code is not None else "an error, status"
    return Flag("server_error", f"{where} {_said(record.status_code)}{_after(record)}")


def _left(record: Record, text: str) -> Flag | None:
    """The client closed the connection: a time limit of its own, or a user's choice."""
    after = record.latency_seconds
    if after is None:
        return None
    limit = record.client_timeout_seconds
    if limit is not None and after >= limit * (1 - LIMIT_EARLY_SHARE):
        return Flag("client_gave_up", f"closed by the client after {after:.1f} s, its limit is {limit:g} s")
    saw_text = record.ttft_seconds is not None or bool(record.content and record.content.strip()) or bool(record.completion_tokens)
    if (not saw_text and (after >= PATIENCE_SECONDS or _at_limit(after, SHORT_LIMIT_SECONDS))) or any(
        _at_limit(after, usual) for usual in USUAL_LIMITS_SECONDS
    ):
        return Flag("client_gave_up", f"closed by the client after {after:.1f} s, {'with' if saw_text else 'without'} text so far")
    if _TIMEOUT.search(text):
        return Flag("client_gave_up", f"closed by the client after {after:.1f} s, its log says time-out")
    return None


def _at_limit(after: float, limit: float) -> bool:
    return -LIMIT_EARLY_SECONDS <= after - limit <= max(LIMIT_LATE_SECONDS, limit * LIMIT_LATE_SHARE)


def _said(status: int | None) -> str:
    return "unknown" if status is None else str(status)


def _after(record: Record) -> str:
    return "" if record.latency_seconds is None else f", after {record.latency_seconds:.1f} s"


def _suspect(status: Any, error_type: Any, error_message: Any, reason: Any, stream_done: Any) -> bool:
    if status is not None and (status == 408 or status == CLIENT_CLOSED or status >= 500 or status == 0):
        return True
    return error_type is not None or error_message is not None or reason == "abort" or reason == "error" or (stream_done is False and reason is None)


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows with a failing status, an error, a failing reason or a broken stream."""
    if batch.is_sound:
        return []
    columns = [batch.column(name) for name in ("status_code", "error_type", "error_message", "finish_reason", "stream_done")]
    return [row for row, values in enumerate(zip(*columns, strict=True)) if _suspect(*values)]


SIGNAL = Signal(
    name="request_failure",
    subtypes={
        "timeout": "a gateway, server or client library gave up waiting (408, 504, time-out errors)",
        "server_error": "5xx, an error object, finish reason error",
        "abort": "the engine aborted the request (shutdown, scale-down, sleep, overload)",
        "broken_stream": "a stream ended without a finish reason",
        "client_gave_up": "the client closed the connection at its own time limit",
        "connection": "no connection to the server, or it broke before an answer",
    },
    needs=("status_code", "error_type", "finish_reason", "stream_done"),
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(
        exact=((Where("status_code", "gte", 500),), (Where("status_code", "in", (408,)),)),
        candidates=(
            (Where("status_code", "gte", 500),),
            (Where("status_code", "in", (0, 408, CLIENT_CLOSED)),),
            (Where("error_type", "exists"),),
            (Where("error_message", "exists"),),
            (Where("finish_reason", "in", ("abort", "error")),),
            (Where("stream_done", "in", (False,)),),
        ),
    ),
)
