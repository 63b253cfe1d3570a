"""Langfuse: observations from its API, UI and blob exports, alone, in pages, or inside their trace. Only observations of a model's call are answers.

There is no finish reason of its own: it is looked for in `output` and in `metadata`. Sources: langfuse/langfuse fern definition commons (Observation), blob
storage export (observations, observations_v2), langfuse#6517 (texts that an attribute limit cut).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.finish_reason import Reason
from detector.formats.genai_columns import records
from detector.formats.joining import ByKey
from detector.formats.kept_body import mark_cut_record, recorded
from detector.formats.langfuse_output import messages_of, metadata_reasons, output_of, reasons_of
from detector.formats.nesting import nested, objects
from detector.formats.openai import error_columns, is_body, records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.paths import get
from detector.formats.values import count, decoded, instant, mapping, seconds, text
from detector.record import Record

_TYPES = ("GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
_EVENTS = ("-create", "-update")
_EVENT_KINDS = ("generation", "span", "event", "observation")
_STARTS = ("startTime", "start_time")
_CODE = re.compile(r"\b(?:Error code|status(?: code)?):? ?(\d{3})\b", re.IGNORECASE)

NO_GENERATION = "observation that is no call of a model"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    if _is_ingested(body):
        return f"a Langfuse ingestion event {body['type']}"
    if _is_observation(body):
        return f"a Langfuse observation of type {str(body['type']).upper()}"
    return "Langfuse observations in a page or a trace" if _inside(body) else None


def _is_observation(body: Any) -> bool:
    if not isinstance(body, dict) or str(body.get("type", "")).upper() not in _TYPES or not any(key in body for key in _STARTS):
        return False
    return any(key in body for key in ("traceId", "trace_id", "parentObservationId", "parent_observation_id")) or {"input", "level"} <= {
        key.partition(".")[0] for key in body
    }


def _is_ingested(body: Mapping[str, Any]) -> bool:
    """A raw event as SDKs send it and as the event store keeps it: what it creates or updates stands in `body`."""
    kind = body.get("type")
    if not isinstance(kind, str) or not kind.endswith(_EVENTS) or kind.partition("-")[0] not in (*_EVENT_KINDS, "trace", "score"):
        return False
    return "timestamp" in body and (isinstance(body.get("body"), dict) or "body.id" in body)


def _ingested(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the event creates or updates."""
    return mapping(nested(body).get("body"))


def _event_key(document: Document) -> str | None:
    """What the events of one observation share: its id."""
    body = document.body
    if isinstance(body, dict) and _is_ingested(body) and body["type"].partition("-")[0] in _EVENT_KINDS:
        return text(_ingested(body).get("id"))
    return None


def _of_events(documents: Sequence[Document]) -> dict[str, Any]:
    """The observation that its events add up to; the later word wins."""
    found: dict[str, Any] = {}
    for document in documents:
        event = _ingested(document.body)
        kind = document.body["type"].partition("-")[0].upper()
        found["type"] = text(event.get("type")) or found.get("type") or ("GENERATION" if kind == "OBSERVATION" else kind)
        found.update({name: value for name, value in event.items() if value is not None})
    return found


def _is_ended(documents: Sequence[Document]) -> bool:
    return any("endTime" in _ingested(document.body) for document in documents)


def _inside(body: Mapping[str, Any]) -> list[Any]:
    """Observations of a page of the API, or of a trace."""
    for key in ("observations", "data"):
        listed = decoded(body.get(key)) if key in body else None
        if isinstance(listed, list) and any(_is_observation(entry) for entry in listed[:5]):
            return listed
    return []


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    if len(documents) > 1 and all(_event_key(document) for document in documents):
        observation = _of_events(documents)
        if _is_generation(observation):
            yield from _records(observation, documents[0].envelope, {})
        else:
            yield from (Rejected(document, NO_GENERATION, ignored=True) for document in documents)
        return
    for document in documents:
        if isinstance(document.body, dict) and _is_ingested(document.body):
            observation = _of_events((document,)) if _event_key(document) is not None else {}
            if observation and _is_generation(observation) and observation.keys() & {"output", "endTime"}:
                yield from _records(observation, document.envelope, {})
            else:
                yield Rejected(document, NO_GENERATION, ignored=True)
            continue
        body = document.body if isinstance(document.body, dict) else {}
        for observation in _inside(body) or [nested(body)]:
            if isinstance(observation, dict) and _is_generation(observation):
                yield from _records(observation, document.envelope, body)
            else:
                yield Rejected(document, NO_GENERATION, ignored=True)


def _is_generation(observation: Mapping[str, Any]) -> bool:
    return str(observation.get("type", "GENERATION")).upper() == "GENERATION"


def _first(observation: Mapping[str, Any], *keys: str) -> Any:
    for key in keys:
        value = observation.get(key)
        if value is not None and value != "":
            return value
    return None


def _records(observation: Mapping[str, Any], envelope: Mapping[str, Any], trace: Mapping[str, Any]) -> list[Record]:
    output, cut = output_of(observation)
    metadata = decoded(observation.get("metadata"))
    failure = _failure(observation)
    base: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **_asked(observation),
        **_times(observation),
        **_usage(observation),
        **failure,
        "record_id": text(observation.get("id")),
        "trace_id": text(_first(observation, "traceId", "trace_id")),
        "model": text(_first(observation, "providedModelName", "provided_model_name", "model", "internalModel")),
        "session": text(_first(observation, "sessionId", "session_id")) or text(trace.get("sessionId")),
        "user": text(_first(observation, "userId", "user_id")) or text(trace.get("userId")),
    }
    base = {name: value for name, value in base.items() if value is not None}
    if isinstance(output, dict) and isinstance(output.get("choices"), dict):
        output = {**output, "choices": objects(output["choices"])}
    stream = recorded(output)
    if stream is not None or is_body(output):
        made = records_of_body(output if stream is None else stream, base)
    else:
        messages = messages_of(output, observation, failed=bool(failure))
        made = records(base, messages.choices, reasons_of(messages, metadata))
    for record in made:
        if record.finish_reason is None:
            _take_reason(record, metadata_reasons(metadata), len(made))
        record.request_id = record.request_id or record.record_id
        record.model = base.get("model") or record.model
    if cut and made:
        mark_cut_record(made[-1])
    return made


def _take_reason(record: Record, found: Sequence[Reason], size: int) -> None:
    at = record.choice_index if len(found) == size and 0 <= record.choice_index < size else 0
    if len(found) in (1, size):
        record.finish_reason, record.finish_reason_raw = found[at].canonical, found[at].raw
        record.finish_reason_source = "engine" if found[at].raw else None


def _asked(observation: Mapping[str, Any]) -> dict[str, Any]:
    parameters = mapping(_first(observation, "modelParameters", "model_parameters"))
    asked = decoded(observation.get("input"))
    if isinstance(asked, list):
        asked = {"messages": asked}
    elif isinstance(asked, str):
        asked = {"prompt": asked}
    return request_columns(
        {**(asked if isinstance(asked, dict) else {}), **{key: value for key, value in parameters.items() if value not in ("inf", "Infinity")}}
    )


def _times(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Times without a zone are UTC: blob exports leave it out."""
    start = instant(_first(observation, *_STARTS), None, UTC)
    end = instant(_first(observation, "endTime", "end_time"), None, UTC)
    first = instant(_first(observation, "completionStartTime", "completion_start_time"), None, UTC)
    columns: dict[str, Any] = {"timestamp": start}
    if start is not None and end is not None and end >= start:
        columns["latency_seconds"] = end - start
    else:
        columns["latency_seconds"] = seconds(_first(observation, "latency"))
    if start is not None and first is not None and first >= start:
        columns["ttft_seconds"] = first - start
    else:
        columns["ttft_seconds"] = seconds(_first(observation, "timeToFirstToken", "time_to_first_token"))
    return columns


def _usage(observation: Mapping[str, Any]) -> dict[str, Any]:
    details = mapping(_first(observation, "usageDetails", "usage_details"))
    old = mapping(observation.get("usage"))
    return {
        "prompt_tokens": count(
            _any(details, "input", "prompt_tokens", "input_tokens")
            if details
            else _any(old, "input", "promptTokens", "prompt_tokens", "inputTokens") or _first(observation, "promptTokens", "inputTokens", "inputUsage")
        ),
        "completion_tokens": count(
            _any(details, "output", "completion_tokens", "output_tokens")
            if details
            else _any(old, "output", "completionTokens", "completion_tokens", "outputTokens")
            or _first(observation, "completionTokens", "outputTokens", "outputUsage")
        ),
        "reasoning_tokens": count(
            _any(
                details,
                "output_reasoning_tokens",
                "output_reasoning",
                "reasoning_tokens",
                "reasoning",
                "completion_details.reasoning",
                "completion_tokens_details.reasoning_tokens",
            )
        ),
        "cached_tokens": count(
            _any(details, "input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "cached_tokens", "prompt_details.cache_read")
        ),
    }


def _any(holder: Mapping[str, Any], *names: str) -> Any:
    return get(holder, *names)


def _failure(observation: Mapping[str, Any]) -> dict[str, Any]:
    """Level ERROR with its reason as prose; `DEFAULT` and `WARNING` are no failures."""
    if str(observation.get("level", "")).upper() != "ERROR":
        return {}
    message = text(_first(observation, "statusMessage", "status_message"))
    columns = {"error_type": "error", **error_columns(message)}
    code = _CODE.search(message, 0, 2000) if message else None
    if code is not None and 400 <= int(code[1]) < 600:
        columns["status_code"] = int(code[1])
    return columns


FORMAT = Format(
    name="langfuse",
    view="tracer",
    title="Langfuse observations (API, UI export, blob export)",
    sees=(
        "text, reasoning and tool calls where the SDK recorded them",
        "token counts, duration, time to the first token",
        "errors as prose",
        "caps in modelParameters",
    ),
    blind=("finish reasons, unless output or metadata holds one", "HTTP status", "pod and deployment"),
    recognise=_recognise,
    read=_read,
    rank=25,
    lines=False,
    joiner=lambda: ByKey(_event_key, _read, _is_ended),
    trust="whatever the SDK put into output or metadata; inferred from token counts where there is none",
    units="times ISO 8601 (UTC where no zone stands); latency and timeToFirstToken in seconds",
    raw_text=False,
    inferred=("length_cutoff",),
)
