"""One choice of an answer: text, reasoning and tool calls with their states, whatever spelling the API used.

Content has states. A key that is absent, or that holds a logger's redaction marker, was not captured; null and "" are an answer without text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from detector.formats.finish_reason import reason
from detector.formats.values import compact, decoded, text

_REASONING_KEYS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
# Texts that loggers put in the place of content: LiteLLM redact_messages, OpenTelemetry and proxy redactions.
_REDACTED = frozenset(
    (
        *("redacted-by-litellm", "redacted", "[redacted]", "<redacted>", "***redacted***", "***", "[filtered]", "<scrubbed>", "__redacted__"),
        *("[masked]", "<masked>", "***masked***", "[hidden]", "<hidden>", "[content redacted]", "[removed]"),
        "<fully masked due to failed mask function>",  # Langfuse's SDKs
    )
)
_CUT = re.compile(r"(?:\.{3} ?\(litellm_truncated[^)]{0,200}\)|\.{3}\[truncated\]|<truncated>|\(truncated \d+ (?:chars|bytes)\))$")
CUT_ENDS = ")]>"  # last characters of such marks
_THINKING_PARTS = ("thinking", "reasoning", "reasoning_text", "summary_text")
_TEXT_PARTS = ("text", "output_text", "input_text")
_TOOL_PARTS = ("tool_use", "tool_call", "function_call")


def is_redacted(value: str) -> bool:
    """A logger's marker stands where the text was."""
    return len(value) < 48 and value.strip().lower() in _REDACTED


def is_truncated(value: str) -> bool:
    """A logger's mark at the end of the text says that the logger cut it."""
    return value[-1:] in CUT_ENDS and "truncated" in value[-256:] and _CUT.search(value, max(0, len(value) - 256)) is not None


def set_text(columns: dict[str, Any], name: str, value: str | None) -> None:
    """Set column `name` (content or reasoning) and its state from a text that was captured; None is an answer without text."""
    if not value:
        columns[name], columns[f"{name}_state"] = None, "empty"
    elif is_redacted(value):
        columns[name], columns[f"{name}_state"] = None, "not_captured"
    else:
        columns[name], columns[f"{name}_state"] = value, "truncated" if is_truncated(value) else "present"


def choice_columns(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of one entry of `choices`: chat (`message`), completion (`text`) or a merged stream (`delta`)."""
    found = reason(choice.get("finish_reason"))
    native = choice.get("provider_specific_fields")
    columns: dict[str, Any] = {}
    if isinstance(native, dict) and native.get("native_finish_reason"):  # LiteLLM keeps the engine's own word here
        found, columns["finish_reason_source"] = reason(native["native_finish_reason"]), "engine"
    columns["finish_reason"], columns["finish_reason_raw"] = found.canonical, found.raw
    stopped = choice.get("stop_reason")
    stopped = choice.get("matched_stop") if stopped is None else stopped
    columns["stop_reason"] = text(stopped) or found.matched
    if "message" in choice or "delta" in choice:
        message = choice.get("message", choice.get("delta"))
        columns.update(message_columns(message) if isinstance(message, dict) else {"content_state": "empty"})
        columns["content_is_raw"] = False
    elif "text" in choice:
        value = choice["text"]
        set_text(columns, "content", value if isinstance(value, str) else None)
        columns["content_is_raw"], columns["tool_calls"] = True, ()  # /v1/completions runs no reasoning parser
    return {name: value for name, value in columns.items() if value is not None}


def message_columns(message: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of an assistant message: content, reasoning, tool calls, refusal."""
    columns: dict[str, Any] = {}
    names, arguments = _calls(message)
    content, thought, refusal = message.get("content"), _reasoning(message), text(message.get("refusal"))
    if isinstance(content, (list, dict)):
        content, inner_thought, inner_refusal, inner_names, inner_arguments = _parts(content if isinstance(content, list) else [content])
        thought, refusal = thought or inner_thought, refusal or inner_refusal
        names, arguments = names + inner_names, arguments + inner_arguments
    if "content" in message or thought or names or refusal:  # a serialiser that leaves out nulls leaves out the content of such answers
        set_text(columns, "content", content if isinstance(content, str) else None)
    if thought is not None:
        set_text(columns, "reasoning", thought)
    elif any(key in message for key in _REASONING_KEYS):
        columns["reasoning_state"] = "empty"
    columns["tool_calls"], columns["tool_arguments"] = names, arguments or None
    columns["refusal"] = refusal
    return columns


def _reasoning(message: Mapping[str, Any]) -> str | None:
    """The thinking text under any of its names; versions that send two names send the same text twice."""
    empty = None
    for key in _REASONING_KEYS:
        value = message.get(key)
        if isinstance(value, dict):
            value = value.get("content", value.get("text"))
        if isinstance(value, list):
            value = "".join(_part_text(part) for part in value)
        if isinstance(value, str):
            if value:
                return value
            empty = ""
    for key in ("thinking_blocks", "reasoning_details"):
        blocks = message.get(key)
        if isinstance(blocks, list) and blocks:
            return "".join(_part_text(part) for part in blocks) or empty
    return empty


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(_part_text(inner) for inner in part[:64] if not isinstance(inner, list))
    if isinstance(part, dict):
        for key in ("text", "thinking", "content", "reasoning", "summary"):
            if isinstance(part.get(key), str):
                return str(part[key])
            if isinstance(part.get(key), list):
                return _part_text(part[key])
    return ""


def _parts(parts: list[Any]) -> tuple[str, str | None, str | None, tuple[str, ...], tuple[str, ...]]:
    """Content, thinking, refusal and tool calls of a list of typed parts; a part without a type that has text is text."""
    content, thought, refusal, names, arguments = [], [], [], [], []
    for part in parts:
        kind = part.get("type") if isinstance(part, dict) else "text"
        if kind in _THINKING_PARTS:
            thought.append(_part_text(part))
        elif kind == "refusal":
            refusal.append(text(part.get("refusal")) or _part_text(part))
        elif kind in _TOOL_PARTS:
            names.append(str(part.get("name") or ""))
            arguments.append(compact(part.get("input", part.get("arguments", ""))))
        elif kind in _TEXT_PARTS or kind is None:
            content.append(_part_text(part))
    return "".join(content), "".join(thought) or None, "".join(refusal) or None, tuple(names), tuple(arguments)


def _calls(message: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names and argument texts of `tool_calls` and of the older `function_call`, in order."""
    calls = decoded(message.get("tool_calls"))
    found = [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    functions = [call["function"] if isinstance(call.get("function"), dict) else call for call in found]
    old = message.get("function_call")
    if isinstance(old, dict) and old.get("name"):
        functions.append(old)
    names = tuple(str(function.get("name") or "") for function in functions)
    return names, tuple(compact(function.get("arguments") if function.get("arguments") is not None else "") for function in functions)
