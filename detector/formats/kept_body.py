"""Response bodies that gateways and tracers keep beside a call: whole, streamed, or cut at their limit."""

from __future__ import annotations

from typing import Any

from detector.formats.cut_json import repaired
from detector.formats.genai_messages import mark_cut
from detector.formats.openai import is_body
from detector.formats.openai_stream import events, is_chunk, is_sse
from detector.formats.packed_body import PRINTED, is_whole, unpacked
from detector.formats.values import decoded
from detector.record import Record

_STATES = ("content_state", "reasoning_state", "tool_calls")


def kept_body(value: Any) -> tuple[Any, bool]:
    """The response body, and whether it was cut; None for what is no body of these APIs (an error page)."""
    body = unpacked(decoded(value))
    if isinstance(value, str) and value.startswith(PRINTED) and is_body(body):
        return body, not is_whole(value)
    if isinstance(body, str):
        if is_sse(body):
            return body, False
        whole = repaired(body)
        if isinstance(whole, dict) and whole.get("type") == "message" and whole.get("role") == "assistant":
            whole.setdefault("stop_reason", None)  # a body of the Messages API, whose reason stands behind the text
        return (whole, True) if is_body(whole) else (None, False)
    if isinstance(body, list) and body and all(is_chunk(entry) for entry in body):
        return body, False
    return (body, False) if is_body(body) else (None, False)


def recorded(value: Any) -> Any:
    """A body that is no plain object: packed in base64, a recorded stream as text, a list of its chunks; None where the value is none of these."""
    body = unpacked(value)
    if isinstance(body, str):
        return body if is_sse(body) and any(isinstance(event, dict) for event in events(body)[0][:3]) else None
    if isinstance(body, list):
        return body if body and all(is_chunk(entry) for entry in body) else None
    return body if body is not value and is_body(body) else None


def mark_cut_record(record: Record) -> None:
    """`genai_messages.mark_cut` for a record: its text is not whole."""
    states = {name: getattr(record, name) for name in _STATES}
    mark_cut(states)
    record.content_state, record.reasoning_state = states["content_state"], states["reasoning_state"]
