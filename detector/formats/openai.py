"""OpenAI-shaped bodies as vLLM, SGLang and gateways return them: chat, completions, Responses API, native engine objects, errors, streams.

`records_of_body` is what every format uses for the body that its producer logged. The format of this file reads logs that hold such bodies bare,
one a line, or the chunks or event lines of recorded streams.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats import anthropic_body, openai_stream
from detector.formats.base import Document, Format, Json, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.joining import ByKey
from detector.formats.openai_fields import error_columns, shared_columns, text_columns, usage_columns
from detector.formats.openai_message import choice_columns, message_columns
from detector.formats.openai_native import native_columns, responses_columns
from detector.formats.packed_body import unpacked
from detector.formats.values import count, decoded, instant, text
from detector.record import Record

__all__ = ["FORMAT", "error_columns", "is_body", "records_of_body", "usage_columns"]

_NO_ANSWER = ("list", "embedding", "model", "file", "batch", "score", "rerank", "classify", "pooling", "transcription")
_BODY_KEYS = ("choices", "output", "error", "detail", "raw_body", "meta_info", "generated_text", "message", "usage", "body")


def records_of_body(body: Json, base: Mapping[str, Any]) -> list[Record]:
    """Records of one response, one per choice; an empty list when the body is no answer at all (embeddings, model lists …).

    Args:
        body: the response as logged: an object, JSON or SSE text, a list of chunks, raw text (an HTML error page), or None where no body came.
        base: canonical columns that the surroundings know: the envelope's, and those of `request_columns`. They win over the body's own, except
            `model`, where the response's own word wins. `finish_reason_source: "gateway"` marks reasons that may have been rewritten.
    """
    known = {name: value for name, value in base.items() if value is not None}
    value = _opened(body, known)
    if isinstance(value, dict) and "choices" not in value and (value.get("object") in _NO_ANSWER or _is_transcription(value)):
        return []
    shared, choices = _answer(value, known)
    model = shared.get("model") or known.get("model")
    records = []
    for position, columns in enumerate(choices or [{}]):
        merged_columns = {**shared, **columns, **known, "model": model}
        if "finish_reason_source" in columns:
            merged_columns["finish_reason_source"] = columns["finish_reason_source"]
        merged_columns.setdefault("choice_index", position)
        record = Record(**merged_columns)
        if record.finish_reason_raw is not None and record.finish_reason_source is None:
            record.finish_reason_source = "engine"
        if record.stream and record.stream_done is None and record.finish_reason is not None:
            record.stream_done = True
        infer_length(record)
        records.append(record)
    return records


def _is_transcription(value: Mapping[str, Any]) -> bool:
    """The text of a recording, as the audio endpoints return it."""
    usage = value.get("usage")
    return isinstance(value.get("text"), str) and "meta_info" not in value and isinstance(usage, dict) and usage.get("type") == "duration"


def is_body(value: Json) -> bool:
    """The object looks like a response body of these APIs."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("choices"), list) or value.get("object") in ("response", "error") or isinstance(value.get("meta_info"), dict):
        return True
    if isinstance(value.get("generated_text"), str) or anthropic_body.is_message(value):
        return True
    error = value.get("error")
    return isinstance(error, dict) and "message" in error and len(value) <= 4


def _opened(body: Json, known: dict[str, Any]) -> Any:
    """The body as an object, or as text where it is none; streams are merged. Puts what the unwrapping says into `known`."""
    value = unpacked(decoded(body))
    for _ in range(3):
        if isinstance(value, dict) and isinstance(value.get("raw_body"), str) and "choices" not in value:
            value = decoded(value["raw_body"])
        elif isinstance(value, dict) and "body" in value and not any(key in value for key in ("choices", "output", "object")):
            status = count(value.get("status_code", value.get("status")))  # {status_code, headers, body}
            known.setdefault("status_code", status) if status is not None else None
            if value["body"] is None and value.get("error"):
                break
            value = unpacked(decoded(value["body"]))
    if isinstance(value, str) and openai_stream.is_sse(value):
        payloads, done = openai_stream.events(value)
        known.setdefault("stream", True)
        return openai_stream.merged(payloads, done=done)
    if isinstance(value, list) and value and all(openai_stream.is_chunk(entry) or (isinstance(entry, dict) and "error" in entry) for entry in value):
        known.setdefault("stream", True)
        return openai_stream.merged(value, done=False)
    return anthropic_body.as_chat(value) if anthropic_body.is_message(value) else value


def _answer(value: Any, known: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Columns of the response as a whole, and those of each choice."""
    if isinstance(value, str):
        return text_columns(value, known), []
    if isinstance(value, list):  # SGLang native: one object per prompt or sample
        natives = [entry for entry in value if isinstance(entry, dict)]
        if not natives:
            return {}, []
        return {}, [{**shared_columns(entry), **native_columns(entry)} for entry in natives]
    if not isinstance(value, dict):
        return {}, []
    shared = shared_columns(value)
    if value.get("object") == "response" or ("output" in value and isinstance(value["output"], list) and "choices" not in value):
        return shared, [responses_columns(value)]
    choices = value.get("choices")
    if isinstance(choices, list):
        return shared, _choices(value, [choice for choice in choices if isinstance(choice, dict)], known)
    if "meta_info" in value or "generated_text" in value or "text_output" in value or ("text" in value and "object" not in value):
        return shared, [native_columns(value)]
    if isinstance(value.get("message"), dict) and "error_type" not in shared:  # Ollama
        found = reason(value.get("done_reason"))
        return shared, [{**message_columns(value["message"]), "finish_reason": found.canonical, "finish_reason_raw": found.raw, "content_is_raw": False}]
    return shared, []


def _choices(body: Mapping[str, Any], choices: list[dict[str, Any]], known: Mapping[str, Any]) -> list[dict[str, Any]]:
    fragment = openai_stream.is_chunk(body)
    failed = body.get("error") or known.get("error_type") or known.get("error_message") or (known.get("status_code") or 0) >= 400
    if not choices:  # a usage chunk is a fragment of an answer; elsewhere an empty list is an answer without text
        return [{"stream": True}] if fragment else [] if failed else [{"content_state": "empty"}]
    rows = []
    for choice in choices:
        columns = choice_columns(choice)
        index = choice.get("index")
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < 1 << 31:
            columns["choice_index"] = index
        if fragment:  # one chunk alone: what it lacks is in the others
            columns["stream"] = True
            for name in ("content", "reasoning"):
                if columns.get(f"{name}_state") == "empty":
                    columns[f"{name}_state"] = "not_captured"
            if not columns.get("tool_calls"):
                columns.pop("tool_calls", None)
        elif known.get("stream") and "finish_reason" not in columns:
            columns["stream_done"] = False
        rows.append(columns)
    return rows


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        return "a recorded event stream (data: …)" if openai_stream.is_sse(body) else None
    if isinstance(body, list):
        return "a list of stream chunks" if body and all(openai_stream.is_chunk(entry) for entry in body) else None
    if is_body(body):
        return f"a response body (object: {body['object']})" if isinstance(body.get("object"), str) else "a response body (choices, output or meta_info)"
    return None


def _chunk_id(document: Document) -> str | None:
    """The id that chunks of one answer share; None for a document that stands alone."""
    if openai_stream.is_chunk(document.body):
        found = document.body.get("id")
        return found if isinstance(found, str) else None
    return None


def _is_closed(documents: Sequence[Document]) -> bool:
    """The usage chunk (no choices) is the last of a stream; without it only time tells, because n choices end one by one."""
    return not documents[-1].body.get("choices") and len(documents) > 1


def _read(documents: Sequence[Document]) -> Iterable[Record | Rejected]:
    """Records of documents; chunks of one id become one answer in the place of the first, wherever they stand in the group."""
    chunks: dict[str, list[Document]] = {}
    for document in documents:
        found = _chunk_id(document)
        if found is not None:
            chunks.setdefault(found, []).append(document)
    for document in documents:
        found = _chunk_id(document)
        parts = chunks[found] if found is not None else [document]
        if parts[0] is document:
            yield from _records(document, document.body if len(parts) == 1 else openai_stream.merged([part.body for part in parts], done=False))


def _records(document: Document, body: Json) -> Iterable[Record | Rejected]:
    base = dict(document.envelope)
    if isinstance(body, dict):
        for key in ("@timestamp", "timestamp"):
            if base.get("timestamp") is None:
                base["timestamp"] = instant(body.get(key))
        if base.get("request_id") is None:
            base["request_id"] = text(body.get("request_id"))
    if not is_body(body) and not isinstance(body, (str, list)):
        yield Rejected(document, "no response body: none of " + ", ".join(_BODY_KEYS), ignored=True)
        return
    records = records_of_body(body, base)
    if not records:
        yield Rejected(document, "no answer of a chat or completion", ignored=True)
    yield from records


FORMAT = Format(
    name="openai",
    title="response bodies of OpenAI-shaped APIs (vLLM, SGLang), bare, and recorded streams",
    sees=("content, reasoning, tool calls, finish reason, token counts",),
    blind=("the request (caps, tools, thinking switches)", "latency, HTTP status, pod"),
    recognise=_recognise,
    read=_read,
    rank=80,
    joiner=lambda: ByKey(_chunk_id, _read, _is_closed),
    trust="the engine's own reasons",
    units="created: seconds since 1970 UTC; metrics in milliseconds",
    raw_text=None,
)
