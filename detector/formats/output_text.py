"""Raw output text of a model, as vLLM logs it: tool calls in brackets, reasoning in front of the answer."""

from __future__ import annotations

import json
import re

_CALL = re.compile(r"([\w.-]+)\(")


def bracketed_calls(text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]] | None:
    """(text before, names, arguments) where the logger appended tool calls as `[tool_calls: name(arguments), …]`; None if this is no such text."""
    start = text.rfind("[tool_calls: ")
    if start < 0 or not text.endswith("]"):
        return None
    first = text.find("[tool_calls: ")
    names: list[str] = []
    arguments: list[str] = []
    at = first
    while text.startswith("[tool_calls: ", at):
        at += len("[tool_calls: ")
        while True:
            call = _CALL.match(text, at)
            end = _arguments_end(text, call.end()) if call else None
            if call is None or end is None or text[end : end + 1] != ")":
                return None
            names.append(call[1])
            arguments.append(text[call.end() : end])
            at = end + 1
            if not text.startswith(", ", at):
                break
            at += 2
        if text[at : at + 1] != "]":
            return None
        at += 1
    return (text[:first], tuple(names), tuple(arguments)) if at == len(text) else None


def _arguments_end(text: str, start: int) -> int | None:
    """Index behind the JSON arguments that begin at `start`; an empty argument text ends where it begins."""
    if text[start : start + 1] == ")":
        return start
    try:
        return json.JSONDecoder().raw_decode(text, start)[1]
    except (ValueError, RecursionError):
        return None


def leading_reasoning(text: str) -> tuple[str | None, str]:
    """(reasoning, rest) where the Rust front end put `[reasoning: …]` in front; brackets inside must be balanced to be told from the end."""
    if not text.startswith("[reasoning: "):
        return None, text
    depth = 0
    for at, character in enumerate(text):
        if character == "[":
            depth += 1
        elif character == "]":
            depth -= 1
            if depth == 0:
                return text[len("[reasoning: ") : at], text[at + 1 :]
    return None, text
