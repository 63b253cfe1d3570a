"""Elastic Common Schema: HTTP exchanges with their bodies (`http.response.body.content`), and its beta fields `gen_ai.*` at the root.

Sources: elastic/ecs schemas http, event, error, gen_ai (finish_reasons declared nested, so plain words come as objects).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.gateway_values import status
from detector.formats.genai_columns import call_columns, choice_reasons, records
from detector.formats.genai_messages import output_messages
from detector.formats.kept_body import kept_body, mark_cut_record
from detector.formats.log_lines import is_generation
from detector.formats.openai import records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.paths import get, scalar
from detector.formats.telemetry import attributes, telemetry
from detector.formats.values import instant, seconds, text
from detector.record import Record

_BODIES = ("http.response.body.content", "http.response.body.text")
_ASKED = ("http.request.body.content", "http.request.body.text")

NO_GENERATION = "exchange that is no answer of a model"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    if ("http" in body or any(key.startswith("http.") for key in body)) and get(body, *_BODIES, *_ASKED) is not None:
        return "http.response.body.content or http.request.body.content"
    if ("ecs" in body or "ecs.version" in body) and not body.keys() & {"processor", "observer", "labels", "numeric_labels"}:
        if any(key == "gen_ai" or key.startswith("gen_ai.") for key in body) and get(body, "span.id") is None:  # else a span in the exporter's mode ecs
            return "fields gen_ai.* beside ecs.version"
        path, code = get(body, "url.path", "url.original"), get(body, "http.response.status_code")
        if isinstance(path, str) and is_generation(path.partition("?")[0]) and code is not None and "message" not in body:
            return "an HTTP exchange with a path that asks for an answer"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        made = _records(document.body, document.envelope) if isinstance(document.body, dict) else []
        if not made:
            yield Rejected(document, NO_GENERATION, ignored=True)
        yield from made


def _records(body: Mapping[str, Any], envelope: Mapping[str, Any]) -> list[Record]:
    call = telemetry(body)
    path, code = text(get(body, "url.path", "url.original")), status(scalar(get(body, "http.response.status_code")))
    answer, cut = kept_body(scalar(get(body, *_BODIES)))
    has_fields = any(name.startswith("gen_ai_") for name in attributes(body))
    asked = request_columns(scalar(get(body, *_ASKED)))
    if not has_fields and answer is None and not (path is not None and is_generation(path.partition("?")[0])):
        return []
    start = instant(scalar(get(body, "event.start")))
    columns: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **asked,
        **{name: value for name, value in call_columns(call).items() if name not in ("timestamp", "endpoint")},
        "timestamp": call.start if start is None else start,
        "latency_seconds": seconds(scalar(get(body, "event.duration")), "ns"),
        "status_code": code,
        "endpoint": path.partition("?")[0] if path else None,
        "client": text(scalar(get(body, "user_agent.original"))),
        "pod": text(scalar(get(body, "kubernetes.pod.name"))) or envelope.get("pod"),
    }
    kind = text(scalar(get(body, "error.type", "error.code")))
    if kind is not None and "error_type" not in columns:
        columns["error_type"], columns["error_message"] = kind, text(scalar(get(body, "error.message")))
    http_id = text(scalar(get(body, "http.request.id")))
    known = {name: value for name, value in columns.items() if value is not None}
    if answer is not None:
        made = records_of_body(answer, known)
        if cut and made:
            mark_cut_record(made[-1])
    else:
        messages = output_messages(call.attributes)
        found = choice_reasons(call, messages)
        made = records(known, messages.choices if messages is not None else [{} for _ in found], found)
    for record in made:
        record.request_id = record.request_id or http_id
    return made


FORMAT = Format(
    name="ecs",
    view="gateway",
    title="Elastic Common Schema: HTTP exchanges with bodies, fields gen_ai.*",
    sees=("status, duration and pod", "everything that recorded bodies hold", "reasons, tokens and messages of gen_ai.*"),
    blind=("text where bodies are not recorded", "time to the first token", "answers over 32 kB, which an index with flattened messages rejects"),
    recognise=_recognise,
    read=_read,
    rank=42,
    shape=lambda keys: any(key.partition(".")[0] in ("http", "ecs") for key in keys),
    lines=False,
    trust="as the recorded body or the instrumentation says; finish_reasons may come as objects",
    units="event.duration in nanoseconds; times ISO 8601 UTC",
    raw_text=False,
    inferred=("length_cutoff",),
)
