"""Anthropic's Messages API, which vLLM, SGLang and gateways serve too: its bodies and event streams as bodies with one choice.

Sources: vllm-project/vllm vllm/entrypoints/anthropic/protocol.py; Anthropic API reference, messages and streaming messages.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

EVENTS = ("message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop")
_TEXT_OF_DELTA = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "partial_json"}


def is_message(value: Any) -> bool:
    """A response body of the Messages API; items of the Responses API have the same type, but no `stop_reason`."""
    return isinstance(value, dict) and value.get("type") == "message" and "stop_reason" in value and isinstance(value.get("content"), list)


def as_chat(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a message in the shape of a chat completion."""
    found = {name: value for name, value in body.items() if name not in ("type", "role", "content", "stop_reason", "stop_sequence")}
    message = {"role": "assistant", "content": body.get("content")}
    choice = {"index": 0, "message": message, "finish_reason": body.get("stop_reason"), "stop_reason": body.get("stop_sequence")}
    return {"object": "chat.completion", **found, "choices": [choice]}


def merged_events(payloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The body that a stream's events add up to, in the shape of a chat completion; `stream_done` where its end was seen."""
    body: dict[str, Any] = {"stop_reason": None}
    blocks: dict[Any, dict[str, Any]] = {}
    pieces: dict[Any, list[str]] = {}
    done = False
    for payload in payloads:
        kind = payload.get("type")
        index = payload.get("index")
        index = index if isinstance(index, int) else 0
        if kind == "message_start" and isinstance(payload.get("message"), dict):
            body.update(payload["message"])
        elif kind == "content_block_start" and isinstance(payload.get("content_block"), dict):
            blocks[index] = dict(payload["content_block"])
        elif kind == "content_block_delta" and isinstance(payload.get("delta"), dict):
            delta = payload["delta"]
            piece = delta.get(_TEXT_OF_DELTA.get(str(delta.get("type")), ""))
            if isinstance(piece, str):
                blocks.setdefault(index, {"type": str(delta.get("type")).partition("_")[0]})
                pieces.setdefault(index, []).append(piece)
        elif kind == "message_delta":
            delta = payload.get("delta")
            body.update({name: value for name, value in (delta if isinstance(delta, dict) else {}).items() if value is not None})
            if isinstance(payload.get("usage"), dict):
                known = body.get("usage")
                body["usage"] = {**(known if isinstance(known, dict) else {}), **payload["usage"]}
        elif kind == "message_stop":
            done = True
        elif kind == "error":
            body["error"] = payload.get("error") or {"message": "error"}
    for index, block in blocks.items():
        text = "".join(pieces.get(index, ()))
        if block.get("type") == "tool_use":
            block["input"] = text or block.get("input") or {}
        else:
            name = "thinking" if block.get("type") == "thinking" else "text"
            block[name] = str(block.get(name) or "") + text
    body["content"] = [blocks[index] for index in sorted(blocks)]
    return {**as_chat(body), "stream_done": done or body.get("stop_reason") is not None}
