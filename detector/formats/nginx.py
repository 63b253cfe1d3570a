"""nginx access logs as JSON, in front of an engine. Names are the site's own choice among nginx's variables; every number is a text.

Source: ngx_http_log_module, ngx_http_upstream_module (lists after a retry, "-" for what is missing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.log_lines import is_generation
from detector.formats.openai import records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.values import count, instant, seconds, text
from detector.record import COLUMNS, DEFAULTS, Record

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
_TIMES = (("time_iso8601", None), ("msec", "s"), ("@timestamp", None), ("time", None), ("timestamp", None), ("time_local", None))
_ASKED = ("request_body", "req_body")
_ANSWERED = ("resp_body", "response_body", "upstream_response_body", "body")

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
            yield from _records(body, path.partition("?")[0])


def _path(body: Mapping[str, Any]) -> str | None:
    return next((body[key] for key in _URIS if isinstance(body.get(key), str)), None) or _request_line(body) or text(body.get("path"))


def _time(body: Mapping[str, Any]) -> float | None:
    return next((at for key, unit in _TIMES if (at := instant(body.get(key), unit)) is not None), None)


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


def _records(body: Mapping[str, Any], path: str) -> list[Record]:
    """With the bodies, where the site's format has variables for them (`$request_body`, and one that a script sets from the response)."""
    line = _record(body, path)
    asked = request_columns(next((body[key] for key in _ASKED if body.get(key)), None))
    answer, cut = kept_body(next((body[key] for key in _ANSWERED if body.get(key)), None))
    if answer is None and not asked:
        return [line]
    known = {**asked, **{name: value for name in COLUMNS if (value := getattr(line, name)) is not None and value != DEFAULTS[name]}}
    record_id = known.pop("request_id", None) if answer is not None else None
    records = records_of_body(answer, {**known, "record_id": record_id}) if answer is not None else [Record(**known)]
    for record in records:
        record.request_id = record.request_id or line.request_id
    if cut and records:
        mark_cut_record(records[-1])
    return records


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
