"""OpenAI-shaped bodies as vLLM, SGLang and gateways return them: chat, completions, Responses API, native engine objects, errors, streams.

`records_of_body` is what every format uses for the body that its producer logged. The format of this file reads logs that hold such bodies bare,
one a line, or the chunks or event lines of recorded streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats import openai_stream
from detector.formats.base import Document, Format, Json, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.joining import ByKey
from detector.formats.openai_message import choice_columns, message_columns, set_text
from detector.formats.paths import as_list
from detector.formats.values import count, decoded, instant, mapping, seconds, text
from detector.record import Record

_FINGERPRINT = re.compile(r"(vllm|sglang)-v?(\d+(?:\.\d+)*[\w.+]*)")
_ERROR_CLASS = re.compile(r"(?:[\w]+\.)*([A-Z]\w*(?:Error|Exception|Timeout|Cancelled|Disconnect\w*|Refused|Reset))\b")
_NO_ANSWER = ("list", "embedding", "model", "file", "batch", "score", "rerank", "classify", "pooling", "transcription")
_BODY_KEYS = ("choices", "output", "error", "detail", "raw_body", "meta_info", "generated_text", "message", "usage", "body")
_STATUS = range(400, 600)


def records_of_body(body: Json, base: Mapping[str, Any]) -> list[Record]:
    """Records of one response, one per choice; an empty list when the body is no answer at all (embeddings, model lists …).

    Args:
        body: the response as logged: an object, JSON or SSE text, a list of chunks, raw text (an HTML error page), or None where no body came.
        base: canonical columns that the surroundings know: the envelope's, and those of `request_columns`. They win over the body's own, except
            `model`, where the response's own word wins. `finish_reason_source: "gateway"` marks reasons that may have been rewritten.
    """
    known = {name: value for name, value in base.items() if value is not None}
    value = _opened(body, known)
    if isinstance(value, dict) and value.get("object") in _NO_ANSWER and "choices" not in value:
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


def error_columns(error: Json) -> dict[str, Any]:
    """Columns of an error: the object of an error body, the text of a client's exception, or JSON in a text. None and {} give none.

    `status_code` is given where the error carries one; what the client saw may differ (an error inside a stream of status 200).
    """
    value = decoded(error)
    for _ in range(3):
        if not (isinstance(value, dict) and isinstance(value.get("error"), (dict, str))):
            break
        value = decoded(value["error"])
    if isinstance(value, str) and value:
        found = _ERROR_CLASS.match(value)
        return {"error_message": value, **({"error_type": found[1]} if found else {})}
    if not isinstance(value, dict) or not value:
        return {}
    code = value.get("code", value.get("status_code", value.get("status")))
    columns: dict[str, Any] = {
        "error_type": text(value.get("type")) or text(value.get("err_type")) or text(code) or "error",
        "error_message": text(value.get("message")) or text(value.get("detail")),
    }
    number = count(code)
    if number is not None and number in _STATUS:
        columns["status_code"] = number
    return {name: found for name, found in columns.items() if found is not None}


def usage_columns(usage: Json) -> dict[str, Any]:
    """Token counts of a `usage` object in the names of chat, completions or the Responses API."""
    used = mapping(usage)
    prompt_details = mapping(used.get("prompt_tokens_details") or used.get("input_tokens_details"))
    completion_details = mapping(used.get("completion_tokens_details") or used.get("output_tokens_details"))
    columns = {
        "prompt_tokens": count(used.get("prompt_tokens", used.get("input_tokens"))),
        "completion_tokens": count(used.get("completion_tokens", used.get("output_tokens"))),
        "reasoning_tokens": count(completion_details.get("reasoning_tokens", used.get("reasoning_tokens"))),
        "cached_tokens": count(prompt_details.get("cached_tokens", used.get("cached_tokens"))),
    }
    return {name: value for name, value in columns.items() if value is not None}


def engine_of(fingerprint: Json) -> tuple[str | None, str | None]:
    """Engine and version in a `system_fingerprint` such as `vllm-0.32.0-030e4170`; (None, None) for any other."""
    found = _FINGERPRINT.match(fingerprint) if isinstance(fingerprint, str) else None
    return (found[1], found[2]) if found else (None, None)


def is_body(value: Json) -> bool:
    """The object looks like a response body of these APIs."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("choices"), list) or value.get("object") in ("response", "error") or isinstance(value.get("meta_info"), dict):
        return True
    if isinstance(value.get("generated_text"), str):
        return True
    error = value.get("error")
    return isinstance(error, dict) and "message" in error and len(value) <= 4


def _opened(body: Json, known: dict[str, Any]) -> Any:
    """The body as an object, or as text where it is none; streams are merged. Puts what the unwrapping says into `known`."""
    value = decoded(body)
    for _ in range(3):
        if isinstance(value, dict) and isinstance(value.get("raw_body"), str) and "choices" not in value:
            value = decoded(value["raw_body"])
        elif isinstance(value, dict) and "body" in value and not any(key in value for key in ("choices", "output", "object")):
            status = count(value.get("status_code", value.get("status")))  # {status_code, headers, body}
            known.setdefault("status_code", status) if status is not None else None
            if value["body"] is None and value.get("error"):
                break
            value = decoded(value["body"])
    if isinstance(value, str) and openai_stream.is_sse(value):
        payloads, done = openai_stream.events(value)
        known.setdefault("stream", True)
        return openai_stream.merged(payloads, done=done)
    if isinstance(value, list) and value and all(openai_stream.is_chunk(entry) or (isinstance(entry, dict) and "error" in entry) for entry in value):
        known.setdefault("stream", True)
        return openai_stream.merged(value, done=False)
    return value


def _answer(value: Any, known: Mapping[str, Any]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Columns of the response as a whole, and those of each choice."""
    if isinstance(value, str):
        return _no_json(value, known), []
    if isinstance(value, list):  # SGLang native: one object per prompt or sample
        natives = [entry for entry in value if isinstance(entry, dict)]
        if not natives:
            return {}, []
        return {}, [{**_shared(entry), **_native(entry)} for entry in natives]
    if not isinstance(value, dict):
        return {}, []
    shared = _shared(value)
    if value.get("object") == "response" or ("output" in value and isinstance(value["output"], list) and "choices" not in value):
        return shared, [_response_api(value)]
    choices = value.get("choices")
    if isinstance(choices, list):
        return shared, _choices(value, [choice for choice in choices if isinstance(choice, dict)], known)
    if "meta_info" in value or "generated_text" in value or ("text" in value and "object" not in value):
        return shared, [_native(value)]
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


def _shared(body: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that all choices of a response share."""
    meta = mapping(body.get("meta_info"))
    columns: dict[str, Any] = {
        "request_id": text(body.get("id")) or text(meta.get("id")),
        "model": text(body.get("model")),
        "timestamp": instant(body.get("created", body.get("created_at"))),
        **usage_columns(body.get("usage")),
        **_timing(mapping(body.get("metrics"))),
    }
    if meta:
        columns.update(usage_columns(meta))
        columns["latency_seconds"] = seconds(meta.get("e2e_latency"))
        columns["engine"] = "sglang"
    engine, version = engine_of(body.get("system_fingerprint"))
    if engine:
        columns["engine"], columns["engine_version"] = engine, version
    if isinstance(body.get("stream_done"), bool):
        columns["stream"], columns["stream_done"] = True, body["stream_done"]
    if body.get("error"):
        columns.update(error_columns(body["error"]))
    elif body.get("object") == "error" or ("choices" not in body and "output" not in body and isinstance(body.get("message"), str)):
        columns.update(error_columns({"message": body.get("message"), "type": body.get("type"), "code": body.get("code", body.get("status"))}))
    elif "detail" in body and "choices" not in body:  # FastAPI
        columns.update(error_columns({"detail": str(body["detail"]), "type": "detail"}))
    return {name: value for name, value in columns.items() if value is not None}


def _timing(metrics: Mapping[str, Any]) -> dict[str, Any]:
    """vLLM's per-request metrics. Its first-token time is counted from scheduling, so waiting is added."""
    queue, first, rest = (seconds(metrics.get(key), "ms") for key in ("queue_time_ms", "time_to_first_token_ms", "generation_time_ms"))
    columns: dict[str, Any] = {"queue_seconds": queue}
    if queue is not None and first is not None:
        columns["ttft_seconds"] = queue + first
        columns["latency_seconds"] = queue + first + rest if rest is not None else None
    return columns


def _no_json(value: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """A body that is no JSON: a proxy's error page or text. With a status below 400 the text itself is the fault."""
    failed = (known.get("status_code") or 0) >= 400
    columns: dict[str, Any] = {"error_message": value[:2000] or None}
    if not failed:
        columns["error_type"] = "body_is_empty" if not value.strip() else "body_is_not_json"
    return {name: found for name, found in columns.items() if found is not None}


def _response_api(body: Mapping[str, Any]) -> dict[str, Any]:
    """The one choice of a Responses API body. It has no finish reason: status and details stand for it."""
    content: list[Any] = []
    thought: list[str] = []
    calls: list[Any] = []
    for item in (entry for entry in as_list(body.get("output")) if isinstance(entry, dict)):
        kind = item.get("type")
        if kind == "reasoning":
            parts = as_list(item.get("content") or item.get("summary"))
            thought.extend(str(part.get("text") or "") for part in parts if isinstance(part, dict))
        elif kind == "function_call":
            calls.append(item)
        elif kind == "message" or "content" in item:
            inner = item.get("content")
            content.extend(inner if isinstance(inner, list) else [inner] if isinstance(inner, str) else [])
    columns = message_columns({"content": content, "tool_calls": calls, **({"reasoning": "".join(thought)} if thought else {})})
    status, details = body.get("status"), mapping(body.get("incomplete_details")).get("reason")
    word = details if status == "incomplete" else status
    if status == "completed":
        word = "tool_calls" if columns["tool_calls"] else "completed"
    if status not in ("in_progress", "queued", None):
        found = reason(word or "incomplete")
        columns["finish_reason"], columns["finish_reason_raw"] = found.canonical, text(word) or "incomplete"
    columns["max_tokens"] = count(body.get("max_output_tokens"))
    columns["content_is_raw"] = False
    if body.get("status") == "failed" and not body.get("error"):
        columns["error_type"] = "failed"
    if columns["content_state"] == "empty" and body.get("error"):
        columns["content_state"] = "not_captured"
    return {name: value for name, value in columns.items() if value is not None}


def _native(body: Mapping[str, Any]) -> dict[str, Any]:
    """An engine's own object: SGLang `/generate` (`text`, `meta_info`), TGI (`generated_text`, `details`). Its text is from before any parser."""
    meta = mapping(body.get("meta_info")) or mapping(body.get("details"))
    found = reason(meta.get("finish_reason"))
    value = body.get("text", body.get("generated_text"))
    columns: dict[str, Any] = {"finish_reason": found.canonical, "finish_reason_raw": found.raw, "stop_reason": found.matched, "content_is_raw": True}
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    if "text" in body or "generated_text" in body:
        set_text(columns, "content", value if isinstance(value, str) else None)
        columns["tool_calls"] = ()
    raw_reason = meta.get("finish_reason")
    if isinstance(raw_reason, dict) and found.canonical in ("abort", "error"):
        columns.update({name: entry for name, entry in error_columns({**raw_reason, "type": raw_reason.get("err_type")}).items() if raw_reason.get("message")})
    generated = count(meta.get("generated_tokens"))
    columns["completion_tokens"] = generated
    return {name: entry for name, entry in columns.items() if entry is not None}


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
