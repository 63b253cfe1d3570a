"""Answers that had to be JSON and are not."""

from __future__ import annotations

import json
import re

from detector.record import Record

REQUIRED = frozenset({"json_object", "json_schema", "json"})
# Thinking or special tokens before or after the document are other signals' findings: the document itself is judged without them.
_WRAPPED = re.compile(r"^\s*<(?:\w*:?)think(?:ing)?>.*?</(?:\w*:?)think(?:ing)?>|<[|｜][^<>\n]{1,40}[|｜]>|</?s>", re.DOTALL)
_OPENS = re.compile(r"<\w*:?think|\[THINK\]|◁think▷|</\w*:?think", re.IGNORECASE)

_ENDLESS_NUMBER = re.compile(r"\s*[\[{]?\s*-?\d[\d.]{64,}\s*\Z")


def endless_number(record: Record) -> bool:
    """An answer of digits alone that its cap cut off: a schema that allows anything lets a number go on for ever (vllm-project/vllm#52011)."""
    return (
        record.response_format in REQUIRED
        and record.finish_reason == "length"
        and record.content_state == "present"
        and record.content is not None
        and _ENDLESS_NUMBER.match(record.content) is not None
    )


def json_fault(record: Record) -> str | None:
    """Why the content is no JSON although the request demanded it; None where it is, where nothing was demanded, or where it was cut off. Never raises."""
    if record.response_format not in REQUIRED or record.content_state != "present" or record.content is None or record.tool_calls or record.refusal:
        return None
    if record.finish_reason not in ("stop", None, "unknown") or record.stream_done is False:
        return None
    text = record.content.strip()
    if not text or _is_at_cap(record):
        return None
    place = _first_fault(text)
    if place is None:
        return None
    stripped = _WRAPPED.sub("", text).strip()
    if stripped != text and (not stripped or _first_fault(stripped) is None):
        return None
    if _OPENS.search(text):
        return None
    kind = "text before the document" if text[0] not in '{["-0123456789tfn' else "text after the document" if _has_document(text) else "the document is broken"
    return f"JSON was required ({record.response_format}); {kind}, first fault at character {place} of {len(text)}"


def _is_at_cap(record: Record) -> bool:
    return record.max_tokens is not None and record.completion_tokens is not None and (record.n or 1) == 1 and record.completion_tokens >= record.max_tokens > 0


def _first_fault(text: str) -> int | None:
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.pos
    except RecursionError:
        return None  # nested deeper than Python's parser goes: not known to be broken
    except ValueError:
        return None  # an integer with more digits than Python converts
    return None


def _has_document(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return False
    return True
