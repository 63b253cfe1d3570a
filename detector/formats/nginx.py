"""nginx access logs as JSON, in front of an engine. Names are the site's own choice among nginx's variables; every number is a text.

Source: ngx_http_log_module, ngx_http_upstream_module (lists after a retry, "-" for what is missing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.log_lines import is_generation
from detector.formats.values import count, instant, seconds, text
from detector.record import Record

_URIS = ("request_uri", "uri", "document_uri")
_INGRESS = ("vhost", "request_proto", "request_query", "bytes_sent")  # ingress-nginx's documented JSON format: the path is in `path`
_OWN = (
    "request_time",
    "upstream_response_time",
    "upstream_status",
    "upstream_addr",
    "body_bytes_sent",
    "time_iso8601",
    "time_local",
    "msec",
    "http_user_agent",
)

NO_GENERATION = "request that asks for no answer"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict) or "status" not in body:
        return None
    named = [key for key in _OWN if key in body]
    uri = next((key for key in _URIS if isinstance(body.get(key), str)), "request" if _request_line(body) else None)
    if uri is None and isinstance(body.get("path"), str):
        ingress = [key for key in _INGRESS if key in body]
        uri, named = ("path", named + ingress) if len(ingress) >= 2 else (None, named)
    if uri is None or len(named) < 2 or not ("request_time" in body or "upstream_response_time" in body):
        return None
    return f"nginx's variables {', '.join(named[:3])} beside {uri} and status"


def _request_parts(body: Mapping[str, Any]) -> list[str]:
    """Method, path and protocol in `$request` ("POST /v1/… HTTP/1.1")."""
    line = body.get("request")
    parts = line.split(" ") if isinstance(line, str) and len(line) < 8192 else []
    return parts if len(parts) == 3 and parts[2].startswith("HTTP/") else []


def _request_line(body: Mapping[str, Any]) -> str | None:
    parts = _request_parts(body)
    return parts[1] if parts else None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body
        path = _path(body) if isinstance(body, dict) else None
        if path is None or not is_generation(path.partition("?")[0]) or _method(body) not in (None, "POST"):
            yield Rejected(document, NO_GENERATION, ignored=True)
        else:
            yield _record(body, path.partition("?")[0])


def _path(body: Mapping[str, Any]) -> str | None:
    return next((body[key] for key in _URIS if isinstance(body.get(key), str)), None) or _request_line(body) or text(body.get("path"))


def _time(body: Mapping[str, Any]) -> float | None:
    found = instant(body.get("time_iso8601")) or instant(body.get("msec"), "s")
    found = found or next((moment for key in ("@timestamp", "time", "timestamp") if (moment := instant(body.get(key))) is not None), None)
    local = body.get("time_local")
    if found is None and isinstance(local, str):
        try:
            found = datetime.strptime(local.strip("[] "), "%d/%b/%Y:%H:%M:%S %z").timestamp()
        except (ValueError, OverflowError):
            return None
    return found


def _method(body: Mapping[str, Any]) -> str | None:
    return text(body.get("request_method")) or text(body.get("method")) or next(iter(_request_parts(body)), None)


def _record(body: Mapping[str, Any], path: str) -> Record:
    record = Record(
        timestamp=_time(body),
        request_id=_given(body.get("request_id")) or _given(body.get("http_x_request_id")),
        status_code=count(_given(body.get("status"))),
        endpoint=path,
        client=_given(body.get("http_user_agent")),
        pod=_last(body.get("upstream_addr")),
        latency_seconds=seconds(_given(body.get("request_time"))),
    )
    if record.latency_seconds is None:
        record.latency_seconds = seconds(_last(body.get("upstream_response_time")))
    return record


def _given(value: Any) -> str | None:
    """A variable's value; "-" and "" are nginx's words for none."""
    found = text(value)
    return None if found in (None, "-", "") else found


def _last(value: Any) -> str | None:
    """The last attempt's value of an upstream variable: after retries it is a list in one text ("502, 200"; " : " between server groups)."""
    found = _given(value)
    if found is None:
        return None
    return _given(found.replace(" : ", ", ").split(", ")[-1].strip())


FORMAT = Format(
    name="nginx",
    view="gateway",
    title="nginx access log, JSON",
    sees=("status as the client saw it, time-outs, clients that went away", "latency", "which upstream answered last"),
    blind=("text", "finish reasons", "token counts", "model"),
    recognise=_recognise,
    read=_read,
    rank=60,
    keys=frozenset((*_URIS, "request", "path")),
    lines=False,
    trust="none is logged",
    units="seconds; time_iso8601 with its offset, msec since 1970; the time is that of the end of the request",
    off=("length_cutoff", "think_leak", "special_token_leak", "empty_content", "repetition", "garbage"),
)
