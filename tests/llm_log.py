"""A request log for tests: envelopes of answers in Korean and English with every kind of failure at known places. Deterministic."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

START = 1_796_000_040.0  # 2026-11-29T22:14:00Z: a whole minute
_WORDS = tuple("모델 은 질문 에 답 을 만들 어 보낸다 서버 로그 를 본다 시간 분포 요청 길이 the answer of a server holds words and load".split())  # noqa: SIM905


def _text(dice: random.Random, words: int) -> str:
    return " ".join(dice.choice(_WORDS) + (str(dice.randrange(1000)) if dice.random() < 0.3 else "") for _ in range(words)) + "."


def document(number: int, dice: random.Random, at: float, long_words: int = 40) -> dict[str, Any]:
    """One envelope."""
    deployment = dice.choice(("chat", "chat", "search"))
    model = {"chat": "qwen3-32b", "search": "llama-3.1-8b"}[deployment]
    tokens = dice.randrange(40, 400)
    message: dict[str, Any] = {"role": "assistant", "content": _text(dice, dice.randrange(8, long_words)), "reasoning": None}
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    request: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": _text(dice, 6)}], "max_tokens": dice.choice((1024, 2048))}
    status: int = 200
    response: dict[str, Any] | None = {
        "id": f"chatcmpl-{number:08d}",
        "object": "chat.completion",
        "created": int(at),
        "model": model,
        "choices": [choice],
        "usage": {"prompt_tokens": 50, "completion_tokens": tokens, "total_tokens": tokens + 50},
    }
    kind = dice.random()
    usage: dict[str, Any] = response["usage"] if response else {}
    if kind < 0.03:
        choice["finish_reason"], usage["completion_tokens"] = "length", request["max_tokens"]
    elif kind < 0.04:
        message["content"] = _text(dice, 10) + "</think>\n\n" + _text(dice, 12)
    elif kind < 0.05:
        message["content"] = dice.choice((None, "", "  \n"))
    elif kind < 0.06:
        message["content"] = "다시 말씀드리면 서버가 같은 답을 되풀이합니다. " * 60
        usage["completion_tokens"] = 900
    elif kind < 0.08:
        status, response = 504, None
    elif kind < 0.085:
        status, response = 500, {"error": {"message": "engine died", "type": "InternalServerError", "code": 500}}
    elif kind < 0.09:
        choice["finish_reason"] = "abort"
    elif kind < 0.095:
        message["content"] = "생각을 적는다. " + "긴 답입니다 " * 2000 + "</think> 끝."  # longer than any ignore_above
        usage["completion_tokens"] = 1000
    envelope: dict[str, Any] = {
        "@timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "id": f"log-{number:08d}",
        "deployment": deployment,
        "pod": f"{deployment}-{dice.randrange(3)}",
        "request": request,
        "response": response,
        "status": status,
        "latency_ms": dice.randrange(300, 9000),
    }
    if status == 504:
        envelope["error"] = "upstream request timeout"
    return envelope


def documents(count: int, *, start: float = START, seconds: float = 3600.0, seed: int = 1, long_words: int = 40) -> list[dict[str, Any]]:
    """`count` envelopes, evenly over `seconds`, oldest first."""
    dice = random.Random(seed)
    return [document(number, dice, start + seconds * number / count, long_words) for number in range(count)]
