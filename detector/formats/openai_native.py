"""Bodies that are no list of choices: the Responses API, and the engines' own objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detector.formats.finish_reason import reason
from detector.formats.openai_fields import error_columns
from detector.formats.openai_message import message_columns, set_text
from detector.formats.paths import as_list
from detector.formats.values import count, mapping, text


def responses_columns(body: Mapping[str, Any]) -> dict[str, Any]:
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


def native_columns(body: Mapping[str, Any]) -> dict[str, Any]:
    """An engine's own object: SGLang `/generate` (`text`, `meta_info`), TGI (`generated_text`, `details`), Triton's generate endpoint (`text_output`).

    Its text is from before any parser.
    """
    meta = mapping(body.get("meta_info")) or mapping(body.get("details"))
    found = reason(meta.get("finish_reason"))
    value = body.get("text", body.get("generated_text", body.get("text_output")))
    columns: dict[str, Any] = {"finish_reason": found.canonical, "finish_reason_raw": found.raw, "stop_reason": found.matched, "content_is_raw": True}
    if isinstance(value, list):
        value = "".join(part for part in value if isinstance(part, str))
    if "text" in body or "generated_text" in body or "text_output" in body:
        set_text(columns, "content", value if isinstance(value, str) else None)
        columns["tool_calls"] = ()
    raw_reason = meta.get("finish_reason")
    if isinstance(raw_reason, dict) and found.canonical in ("abort", "error"):
        columns.update({name: entry for name, entry in error_columns({**raw_reason, "type": raw_reason.get("err_type")}).items() if raw_reason.get("message")})
    generated = count(meta.get("generated_tokens"))
    columns["completion_tokens"] = generated
    return {name: entry for name, entry in columns.items() if entry is not None}
