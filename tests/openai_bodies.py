"""Bodies in the shapes of OpenAI's API, and the records they become."""

from __future__ import annotations

import json
from typing import Any

from detector.formats.openai import records_of_body
from detector.record import DEFAULTS, Record


def chat(message: Any, finish: Any = "stop", **body: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": message, "finish_reason": finish}], **body}


def only(body: Any, **base: Any) -> Record:
    (record,) = records_of_body(body, base)
    return record


def known(record: Record) -> dict[str, Any]:
    return {name: getattr(record, name) for name in DEFAULTS if getattr(record, name) != DEFAULTS[name]}


def chunk(delta: Any, finish: str | None = None, **body: Any) -> dict[str, Any]:
    return {"id": "chatcmpl-2", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **body}


def sse(*payloads: Any, done: bool = True) -> str:
    return "".join(f"data: {json.dumps(payload)}\n\n" for payload in payloads) + ("data: [DONE]\n\n" if done else "")
