"""Logs for tests: envelopes of answers as a gateway would log them, on a time line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

START = datetime(2026, 11, 20, tzinfo=UTC)
TEXT = "The crane lifts the crates before noon, and the clerk writes each one into the ledger of the north quay. Nothing else is due today."


def envelope(
    number: int,
    at: datetime,
    *,
    content: str | None = TEXT,
    finish_reason: str = "stop",
    status: int = 200,
    completion_tokens: int = 40,
    max_tokens: int = 800,
    deployment: str = "harbour",
    model: str = "ship-8b",
    pod: str = "harbour-0",
    **more: Any,
) -> dict[str, Any]:
    """One answered request."""
    response: dict[str, Any] = {
        "id": f"chatcmpl-{number:06d}",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 30, "completion_tokens": completion_tokens, "total_tokens": 30 + completion_tokens},
    }
    if status >= 400:
        response = {"error": {"message": "upstream timed out", "type": "timeout", "code": status}}
    return {
        "timestamp": at.isoformat().replace("+00:00", "Z"),
        "request_id": f"chatcmpl-{number:06d}",
        "deployment": deployment,
        "pod": pod,
        "request": {"model": model, "max_tokens": max_tokens, "messages": [{"role": "user", "content": f"What is due on day {number}?"}]},
        "response": response,
        "status": status,
        "latency_ms": 1200,
        **more,
    }


def leak(number: int, at: datetime, **more: Any) -> dict[str, Any]:
    """An answer that ran into its cap with a closing thinking tag in what the user reads."""
    return envelope(number, at, content=f"So I should add it up.\n</think>\n\n{TEXT}", finish_reason="length", completion_tokens=800, **more)


def days(count: int, per_hour: int, start: datetime = START, first: int = 0) -> list[dict[str, Any]]:
    """Sound answers, evenly over `count` days."""
    gap = timedelta(hours=1) / per_hour
    return [envelope(first + index, start + index * gap) for index in range(int(count * 24 * per_hour))]


def write(path: Path, rows: Iterable[dict[str, Any]]) -> Path:
    """One JSON object a line."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path
