"""What LiteLLM's payloads and spend rows have in common: ids, times, outcome, cut and redacted texts.

Sources: BerriAI/litellm types/utils.py (StandardLoggingPayload), litellm_core_utils/litellm_logging.py, core_helpers.map_finish_reason,
proxy/spend_tracking/spend_tracking_utils.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC
from typing import Any

from detector.formats.cut_json import repaired
from detector.formats.kept_body import kept_body, mark_cut_record, recorded
from detector.formats.nesting import objects
from detector.formats.openai import is_body, records_of_body
from detector.formats.openai_message import is_redacted
from detector.formats.openai_request import request_columns
from detector.formats.packed_body import PRINTED, unpacked
from detector.formats.values import count, decoded, flag, instant, mapping, text
from detector.record import Record

_CACHE_ID = re.compile(r"_cache_hit[\d.]*$")
_CUT = re.compile(r"\.\.\. ?\(litellm_truncated[^)]{0,200}\) ?\.\.\.|litellm_truncated skipped \d+ chars|\.\.\.litellm_truncated")
_OTHER_CALLS = re.compile(
    r"embed|image|transcription|speech|moderation|rerank|search|vector_store|file|batch|ocr|video|list_|assistant|thread|mcp|health", re.IGNORECASE
)
_NO_ROOM = "...truncated by litellm, this logger does not support large content"
_STATUS = range(400, 600)
_ENGINES = {"hosted_vllm": "vllm", "vllm": "vllm", "sglang": "sglang", "huggingface": None}
_AGENT = "User-Agent: "


def is_answer_call(call_type: Any) -> bool:
    """The call asks for text; an unknown or empty type (failures) may."""
    return not (isinstance(call_type, str) and _OTHER_CALLS.search(call_type))


def request_id(value: Any) -> str | None:
    """The API's id without the mark of a cache hit; the word None stands in rows of providers without ids."""
    found = text(value)
    return _CACHE_ID.sub("", found) if found and found != "None" else None


def is_cache_hit(payload: Mapping[str, Any]) -> bool | None:
    """True when no engine was asked. The word None stands for false in spend rows."""
    hit = flag(payload.get("cache_hit"))
    if hit:
        return True
    marked = any(isinstance(payload.get(key), str) and _CACHE_ID.search(payload[key]) for key in ("id", "request_id"))
    return True if marked else hit


def time_columns(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Start, duration and, for streams, time to the first token. A completion start that equals the end was not measured."""
    start, end, first = (instant(payload.get(key), None, UTC) for key in ("startTime", "endTime", "completionStartTime"))
    columns: dict[str, Any] = {"timestamp": start}
    if start is not None and end is not None and end >= start:
        columns["latency_seconds"] = end - start
        streamed = flag(payload.get("stream"))
        if first is not None and start <= first < end and streamed is not False:
            columns["ttft_seconds"] = first - start
    return {name: value for name, value in columns.items() if value is not None}


def outcome_columns(payload: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Status and error. Success bears an error object of empty texts, so the status word decides; without one, an error class does."""
    information = mapping(payload.get("error_information")) or mapping(metadata.get("error_information"))
    kind, message = text(information.get("error_class")), text(information.get("error_message")) or text(payload.get("error_str"))
    status = text(payload.get("status")) or text(metadata.get("status"))
    failed = status == "failure" if status else bool(kind or message)
    if not failed:
        return {"status_code": 200} if status == "success" else {}
    code = count(information.get("error_code"))
    columns: dict[str, Any] = {"error_type": kind or text(information.get("error_code")) or "failure", "error_message": message}
    if code is not None and code in _STATUS:
        columns["status_code"] = code
    return {name: value for name, value in columns.items() if value is not None}


def shared_columns(payload: Mapping[str, Any], metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Columns that payloads and spend rows write under the same names."""
    tags = decoded(payload.get("request_tags"))
    agent = next((tag[len(_AGENT) :] for tag in tags if isinstance(tag, str) and tag.startswith(_AGENT)), None) if isinstance(tags, list) else None
    failure = outcome_columns(payload, metadata)
    used = {name: count(payload.get(name)) for name in ("prompt_tokens", "completion_tokens")}
    columns: dict[str, Any] = {
        **time_columns(payload),
        **failure,
        **{name: value for name, value in used.items() if value or "error_type" not in failure},  # zero tokens of a failure were not counted
        "model": text(payload.get("model")),
        "deployment": text(payload.get("model_group")) or text(payload.get("api_base")),
        "engine": _ENGINES.get(str(payload.get("custom_llm_provider"))),
        "user": text(payload.get("end_user")),
        "session": text(payload.get("session_id")),
        "client": agent,
        "cache_hit": is_cache_hit(payload),
        "finish_reason_source": "gateway",
    }
    return {name: value for name, value in columns.items() if value is not None}


def asked_columns(parameters: Any, messages: Any) -> dict[str, Any]:
    """Columns of the request from its parameters and messages; redacted texts are none."""
    columns = request_columns({**mapping(parameters), "messages": decoded(messages)})
    return {name: value for name, value in columns.items() if not (isinstance(value, str) and is_redacted(value))}


def answer_records(response: Any, base: Mapping[str, Any]) -> list[Record]:
    """Records of the stored response, which may be redacted as a whole, of another API, cut, or missing."""
    body, cut = _unshortened(response)
    records = records_of_body(_opened(body), base)
    if cut and records:
        mark_cut_record(records[-1])
    for record in records:
        record.model = text(base.get("model")) or record.model
        if record.finish_reason_raw is None and record.finish_reason_source == "gateway":
            record.finish_reason_source = None
        for name in ("content", "reasoning"):
            value = getattr(record, name)
            if value is not None and "litellm_truncated" in value and _CUT.search(value):
                setattr(record, f"{name}_state", "truncated")
    return records


def _unshortened(response: Any) -> tuple[Any, bool]:
    """A response that a sink without room turned into the cut text of a Python dict, as far as it goes; True where it was cut."""
    if not isinstance(response, str) or _NO_ROOM not in response[-120:]:
        body, cut = kept_body(response) if isinstance(response, str) and response.startswith(("{", *PRINTED)) else (None, False)
        return (response, False) if body is None else (body, cut)
    shortened = response[: response.rindex(_NO_ROOM)]
    body = unpacked(shortened) if shortened.startswith(PRINTED) else repaired(shortened)
    return (body, True) if isinstance(body, dict) else ({"choices": [{"message": {"content": shortened}}]}, True)


def _opened(response: Any) -> Any:
    body = decoded(response)
    stream = recorded(body)
    if stream is not None:
        return stream
    if isinstance(body, str):
        return None if is_redacted(body) or not body.strip() else {"choices": [{"message": {"content": body}}]}
    if not isinstance(body, dict) or not body:
        return None
    if body.keys() == {"text"}:  # the payload as a whole was redacted, or only its text was stored
        value = body["text"]
        return None if not isinstance(value, str) or is_redacted(value) else {"choices": [{"message": {"content": value}}]}
    if isinstance(body.get("choices"), dict):  # a list of one choice that a store gave back as the choice
        body = {**body, "choices": objects(body["choices"])}
    if not is_body(body) and "object" not in body and "output" not in body:
        return None
    return body
