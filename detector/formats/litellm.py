"""LiteLLM proxy: StandardLoggingPayload as callbacks deliver it (one object, arrays, inside a callback's arguments), its OpenTelemetry spans, its own app log.

Sources: BerriAI/litellm types/utils.py, integrations/generic_api, integrations/opentelemetry.py, _logging.py (json_logs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.litellm_payload import answer_records, asked_columns, is_answer_call, request_id, shared_columns
from detector.formats.nesting import nested
from detector.formats.openllmetry import is_answer, read_span
from detector.formats.telemetry import attributes, telemetry
from detector.formats.values import decoded, flag, mapping, text
from detector.record import Record

_HOLDERS = ("standard_logging_object", "standard_logging_payload", "standardLoggingPayload")
_OWN = ("litellm_call_id", "model_parameters", "hidden_params", "error_information", "status_fields", "response_cost_failure_debug_info", "completionStartTime")
_FLAT_HOLDERS = tuple(f"{key}." for key in _HOLDERS)
_TEXT_LINE = re.compile(r"\d\d:\d\d:\d\d - LiteLLM(?: \w+)?:[A-Z]+: ")
_LOGGER = re.compile(r"[\w./-]+\.py:\d+$")
_RAW_SPAN = "raw_gen_ai_request"  # the provider's request and answer once more, as attributes of their own

APP_LOG = "LiteLLM's application log, no answer"
OTHER_CALL = "call that asks for no text (embeddings, images, lists …)"


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        return "line of LiteLLM's application log" if _TEXT_LINE.match(body) else None
    if not isinstance(body, dict):
        return None
    if _payload(body) is not None:
        return "StandardLoggingPayload (call_type, startTime, endTime)"
    if _is_app_log(body):
        return "LiteLLM's application log as JSON"
    scope = body.get("scope", body.get("instrumentationScope"))
    if str(scope.get("name", "") if isinstance(scope, dict) else body.get("scope.name", "")).lower() == "litellm":
        return "a span of LiteLLM's OpenTelemetry callback"
    return None


def _payload(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The payload: the object itself, or inside a callback's arguments."""
    for key in _HOLDERS:
        inner = decoded(body.get(key))
        if isinstance(inner, dict) and "call_type" in inner:
            return nested(inner)
    if any(key.startswith(_FLAT_HOLDERS) for key in body):
        return _payload(nested(body))
    flat = next((key for key in body if ".standard_logging_" in key), None)  # a callback's arguments, flattened by a store
    if flat is not None:
        inner = nested(body).get(flat.partition(".")[0])
        return _payload(inner) if isinstance(inner, dict) else None
    if "call_type" in body and "startTime" in body and "spend" not in body and any(key.partition(".")[0] in _OWN for key in body):
        return nested(body)
    return None


def _is_app_log(body: Mapping[str, Any]) -> bool:
    message = body.get("message")
    if not isinstance(message, str) or not isinstance(body.get("level"), str) or "timestamp" not in body or message.lstrip()[:1] == "{":
        return False
    component, logger = body.get("component"), body.get("logger")
    if isinstance(component, str) and component.startswith("LiteLLM"):
        return True
    return (
        "litellm" in message[:2000].lower()
        and (body.keys() <= {"message", "level", "timestamp", "stacktrace", "logger", "component"})
        and (logger is None or _LOGGER.search(str(logger)) is not None)
    )


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body
        payload = _payload(body) if isinstance(body, dict) else None
        if payload is None:
            yield from _other(document)
        elif not is_answer_call(payload.get("call_type")):
            yield Rejected(document, OTHER_CALL, ignored=True)
        else:
            records = _records(payload, document.envelope)
            if not records:
                yield Rejected(document, OTHER_CALL, ignored=True)
            yield from records


def _other(document: Document) -> Iterable[Outcome]:
    body = document.body
    if isinstance(body, dict) and attributes(body):
        call = telemetry(body)
        if is_answer(call) and call.name != _RAW_SPAN:
            yield from read_span(call, document.envelope, "gateway")
            return
    yield Rejected(document, APP_LOG, ignored=True)


def _records(payload: Mapping[str, Any], envelope: Mapping[str, Any]) -> list[Record]:
    metadata = mapping(payload.get("metadata"))
    base: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **asked_columns(payload.get("model_parameters"), payload.get("messages")),
        **shared_columns(payload, metadata),
        "record_id": text(payload.get("litellm_call_id")),
        "request_id": request_id(payload.get("id")) or text(payload.get("litellm_call_id")),
        "trace_id": text(payload.get("trace_id")),
    }
    stream = flag(payload.get("stream"))
    if stream is not None:
        base["stream"] = stream
    return answer_records(payload.get("response"), base)


FORMAT = Format(
    name="litellm",
    view="gateway",
    title="LiteLLM proxy (StandardLoggingPayload, application log)",
    sees=(
        "text, reasoning, tool calls, finish reason and token counts",
        "failures with class and code",
        "duration, and time to the first token of streams",
        "cache hits",
    ),
    blind=(
        "finish reasons that LiteLLM does not know: abort, repetition and error become stop, unless native_finish_reason is kept",
        "text where message logging is off (redacted-by-litellm)",
        "which pod answered",
    ),
    recognise=_recognise,
    read=_read,
    rank=20,
    other_lines=True,
    trust="rewritten by the gateway unless native_finish_reason is there; a stop that used up its cap is taken as length",
    units="startTime, endTime, completionStartTime: seconds since 1970; response_time of a stream is the time to its first token and is not used",
    raw_text=False,
    inferred=("length_cutoff",),
)
