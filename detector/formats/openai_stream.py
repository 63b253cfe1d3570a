"""Streams of the OpenAI-shaped APIs: SSE text to events, events or chunk documents to one merged body.

Chunks are joined per choice index; the last finish reason that is not null wins; usage may come in a last chunk without choices. A stream that brings
no finish reason and no `[DONE]` was cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats import anthropic_body
from detector.formats.values import decoded

_TEXT_KEYS = ("content", "reasoning_content", "reasoning", "refusal")
_CLOSING = ("response.completed", "response.incomplete", "response.failed", "response.cancelled")


def is_sse(value: str) -> bool:
    """The text is a recorded event stream."""
    head = value.lstrip()[:16]
    if head.startswith((": ", ":\n", ":\r")):  # a comment, as servers send to keep a connection open
        return "\ndata:" in value or "\nevent:" in value
    return head.startswith(("data:", "event:"))


def events(sse: str) -> tuple[list[Any], bool]:
    """Payloads of an event stream in order, and whether `[DONE]` was seen. Payloads that are no JSON are left out: the stream was cut there."""
    found: list[Any] = []
    done = False
    pending: list[str] = []
    for line in [*sse.splitlines(), ""]:
        if line.startswith("data:"):
            pending.append(line[5:].strip())
        elif not line.strip() and pending:
            for payload in _payloads(pending):
                if payload == "[DONE]":
                    done = True
                else:
                    value = decoded(payload)
                    if isinstance(value, (dict, list)):
                        found.append(value)
            pending = []
    return found, done


def _payloads(lines: list[str]) -> list[str]:
    """Data lines of one event. By the standard they form one payload; loggers that drop blank lines put several payloads under one another."""
    if len(lines) == 1 or not isinstance(decoded("\n".join(lines)), str):
        return ["\n".join(lines)]
    return lines


def is_chunk(body: Any) -> bool:
    """A chunk of a streamed answer."""
    if not isinstance(body, dict):
        return False
    if body.get("object") == "chat.completion.chunk":
        return True
    choices = body.get("choices")
    return isinstance(choices, list) and bool(choices) and all(isinstance(choice, dict) and "delta" in choice and "message" not in choice for choice in choices)


def merged(chunks: Sequence[Any], *, done: bool) -> dict[str, Any]:
    """One body out of a stream's payloads: chat chunks, completion chunks or events of the Responses API; an `error` payload is kept.

    `stream_done` in the result says whether the end was seen: `[DONE]`, a closing event, or a finish reason.
    """
    payloads = [chunk for chunk in chunks if isinstance(chunk, dict)]
    if any(str(payload.get("type", "")).startswith("response.") for payload in payloads):
        return _merged_events(payloads)
    if any(payload.get("type") in anthropic_body.EVENTS for payload in payloads):
        return anthropic_body.merged_events(payloads)
    body: dict[str, Any] = {"object": "chat.completion", "choices": []}
    choices: dict[int, dict[str, Any]] = {}
    for payload in payloads:
        body.update({key: value for key, value in payload.items() if key not in ("choices", "object") and value is not None})
        for position, choice in enumerate(payload.get("choices") or ()):
            if isinstance(choice, dict):
                index = choice.get("index")
                _extend(choices, index if isinstance(index, int) else position, choice)
    for choice in choices.values():
        if "message" in choice:
            _join(choice["message"])
        if "text" in choice:
            choice["text"] = "".join(choice["text"])
    body["choices"] = [choices[index] for index in sorted(choices)]
    body["stream_done"] = done or (bool(choices) and all(choice.get("finish_reason") for choice in choices.values()))
    return body


def _extend(choices: dict[int, dict[str, Any]], index: int, chunk: Mapping[str, Any]) -> None:
    choice = choices.setdefault(index, {"index": index, "finish_reason": None})
    for key, value in chunk.items():
        if key in ("delta", "message"):
            if isinstance(value, dict):
                _add_delta(choice.setdefault("message", {}), value)
        elif key == "text":
            choice.setdefault("text", []).append(value if isinstance(value, str) else "")
        elif value is not None and key != "index":
            choice[key] = value


def _add_delta(message: dict[str, Any], delta: Mapping[str, Any]) -> None:
    """Texts are collected in lists and joined at the end (`_join`): adding strings would be quadratic."""
    message.setdefault("content", [])
    for key, value in delta.items():
        if key in _TEXT_KEYS and isinstance(value, str):
            message.setdefault(key, []).append(value)
        elif key == "content" and isinstance(value, list):
            message.setdefault("parts", []).extend(value)
        elif key == "tool_calls" and isinstance(value, list):
            calls = message.setdefault("calls", {})
            for position, call in enumerate(value):
                if isinstance(call, dict):
                    at = call.get("index")
                    _add_call(calls.setdefault(at if isinstance(at, int) else position, {"name": "", "arguments": []}), call.get("function", call))
        elif key == "function_call" and isinstance(value, dict):
            _add_call(message.setdefault("old_call", {"name": "", "arguments": []}), value)
        elif key in ("role", "tool_calls"):
            pass  # null tool_calls, or the role chunk: nothing to add
        elif value is not None and key not in _TEXT_KEYS:
            message[key] = value


def _add_call(call: dict[str, Any], delta: Any) -> None:
    if isinstance(delta, dict):
        if isinstance(delta.get("name"), str):
            call["name"] += delta["name"]
        if isinstance(delta.get("arguments"), str):
            call["arguments"].append(delta["arguments"])


def _join(message: dict[str, Any]) -> None:
    parts = message.pop("parts", None)
    for key in _TEXT_KEYS:
        if isinstance(message.get(key), list):
            message[key] = "".join(message[key])
    if parts:
        message["content"] = [*([{"type": "text", "text": message["content"]}] if message["content"] else []), *parts]
    calls = message.pop("calls", None)
    if calls:
        message["tool_calls"] = [{"function": {"name": calls[at]["name"], "arguments": "".join(calls[at]["arguments"])}} for at in sorted(calls)]
    old = message.pop("old_call", None)
    if old:
        message["function_call"] = {"name": old["name"], "arguments": "".join(old["arguments"])}


def _merged_events(payloads: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The body of a Responses API stream: the closing event carries it whole; a stream without one is rebuilt from its deltas."""
    body: dict[str, Any] = {"object": "response"}
    content: list[str] = []
    thought: list[str] = []
    calls: dict[Any, dict[str, Any]] = {}
    for payload in payloads:
        kind = str(payload.get("type", ""))
        response = payload.get("response")
        if isinstance(response, dict):
            body.update(response)
        if kind in _CLOSING and isinstance(response, dict):
            return {**response, "object": "response", "stream_done": True}
        delta = payload.get("delta")
        if kind == "response.output_text.delta" and isinstance(delta, str):
            content.append(delta)
        elif kind.startswith("response.reasoning") and kind.endswith(".delta") and isinstance(delta, str):
            thought.append(delta)
        elif kind == "response.output_item.added" and isinstance(payload.get("item"), dict) and payload["item"].get("type") == "function_call":
            calls[payload["item"].get("id")] = {"type": "function_call", "name": payload["item"].get("name"), "arguments": ""}
        elif kind == "response.function_call_arguments.delta" and payload.get("item_id") in calls and isinstance(delta, str):
            calls[payload["item_id"]]["arguments"] += delta
        elif kind in ("error", "response.error"):
            body["error"] = payload.get("error") or {key: payload.get(key) for key in ("code", "message", "param")}
    output: list[dict[str, Any]] = []
    if thought:
        output.append({"type": "reasoning", "content": [{"type": "reasoning_text", "text": "".join(thought)}]})
    if content:
        output.append({"type": "message", "content": [{"type": "output_text", "text": "".join(content)}]})
    return {**body, "output": [*output, *calls.values()], "status": "in_progress", "stream_done": False}
