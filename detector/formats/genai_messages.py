"""Output messages of OpenTelemetry GenAI (`gen_ai.output.messages`) in every form they are stored: structured, JSON in a text, cut, flattened without pairing.

Sources: open-telemetry/semantic-conventions-genai model/gen-ai/gen-ai-output-messages.json; Elasticsearch "Synthetic _source" and "Flattened" (arrays of
objects come back as objects of sorted arrays without duplicates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from detector.formats.cut_json import repaired
from detector.formats.finish_reason import reasons
from detector.formats.nesting import objects
from detector.formats.openai_message import message_columns
from detector.formats.paths import as_list
from detector.formats.values import compact, count, decoded

_OTHERS = ("user", "system", "tool", "developer", "human")


class Messages(NamedTuple):
    """Columns of each choice (without a finish reason), each choice's own raw reason or None, and whether the text was cut by an attribute limit."""

    choices: list[dict[str, Any]]
    reasons: list[Any]
    cut: bool = False


def output_messages(attributes: Mapping[str, Any], prefix: str = "gen_ai_output_messages") -> Messages | None:
    """The choices of an answer; None where no message was captured."""
    value = decoded(attributes.get(prefix))
    cut = False
    if isinstance(value, str):
        if not value.strip():
            return None
        whole = repaired(value)
        if whole is None:
            return Messages([{"content_state": "truncated"}], [None], True) if value.lstrip()[:1] in ("[", "{") else None
        value, cut = whole, True
    if isinstance(value, dict):
        value = [value]
    if isinstance(value, list):
        turns = [decoded(entry) for entry in value]
        return _of_turns([turn for turn in turns if isinstance(turn, dict)], cut)
    by_number = entries(attributes, prefix)
    if by_number:
        return _of_turns([_nested(flat) for _, flat in by_number], False)
    whole = objects(attributes.get(f"{prefix}_parts")) if isinstance(decoded(attributes.get(f"{prefix}_parts")), list) else []
    if whole:  # a list of one message that became the message
        return _of_turns([{"role": attributes.get(f"{prefix}_role"), "parts": whole, "finish_reason": attributes.get(f"{prefix}_finish_reason")}], False)
    if any(name.startswith(f"{prefix}_") for name in attributes):
        return _of_columns(attributes, prefix)
    return None


def _of_turns(turns: Sequence[dict[str, Any]], cut: bool) -> Messages | None:
    answers = [turn for turn in turns if turn.get("role") not in _OTHERS]
    if not answers:
        return None
    choices = [turn_columns(turn) for turn in answers]
    if cut:
        mark_cut(choices[-1])
    return Messages(choices, [turn.get("finish_reason") for turn in answers], cut)


def turn_columns(turn: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of one message with typed parts, or of a plain chat message."""
    parts = decoded(turn.get("parts"))
    if isinstance(parts, dict):  # an object of lists: one part per place, if the lists still belong together
        parts = _zipped(parts)
        if parts is None:
            return {"content_state": "not_captured"}
    if isinstance(parts, list):
        return message_columns({"content": [_part(part) for part in parts if isinstance(part, (dict, str))]})
    plain = {key: decoded(value) if key in ("tool_calls", "function_call") else value for key, value in turn.items()}
    plain["content"] = typed_parts(plain["content"]) if "content" in plain else None
    if "content" not in turn:
        del plain["content"]
    if isinstance(plain.get("content"), dict) and "type" not in plain["content"]:
        plain["content"] = compact(plain["content"])  # an answer that is a JSON object
    return message_columns(plain)


def typed_parts(content: Any) -> Any:
    """Typed parts that an instrumentation wrote as JSON into the text; any other text is the answer itself, be it JSON or not."""
    if isinstance(content, str) and content.lstrip()[:1] == "[":
        parts = decoded(content)
        if isinstance(parts, list) and parts and all(isinstance(part, dict) and "type" in part for part in parts):
            return parts
    return content


def _part(part: Any) -> Any:
    """A part with its text where a message part has it."""
    if isinstance(part, dict) and isinstance(part.get("content"), list):
        return {**part, "content": "".join(entry for entry in part["content"] if isinstance(entry, str))}
    return part


def mark_cut(columns: dict[str, Any]) -> None:
    """The logger cut the text here: the last text that was under way is not whole, and what would have come after it is not known."""
    if columns.get("tool_calls") and columns.get("content_state") != "present":
        columns["content_state"] = "not_captured"
        return
    if columns.get("content_state") != "present" and columns.get("reasoning_state") == "present":
        columns["reasoning_state"] = "truncated"
    columns["content_state"] = "truncated"
    if not columns.get("tool_calls"):
        columns.pop("tool_calls", None)


def entries(attributes: Mapping[str, Any], prefix: str) -> list[tuple[int, dict[str, Any]]]:
    """Objects that were flattened by number (`prefix_0_role`, `prefix_0_content`, …) in order, each with the rest of its names."""
    start = f"{prefix}_"
    found: dict[int, dict[str, Any]] = {}
    for name, value in attributes.items():
        if name.startswith(start):
            number, _, rest = name[len(start) :].partition("_")
            if number.isascii() and number.isdigit() and len(number) < 6:
                found.setdefault(int(number), {})[rest] = value
    return sorted(found.items())


def _nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """A message from flattened names: its parts and tool calls are numbered in turn."""
    turn: dict[str, Any] = {name: value for name, value in flat.items() if not name.startswith(("parts_", "tool_calls_"))}
    parts = entries(flat, "parts")
    if parts:
        turn["parts"] = [part for _, part in parts]
    calls = entries(flat, "tool_calls")
    if calls:
        turn["tool_calls"] = [{key.removeprefix("function_"): value for key, value in call.items()} for _, call in calls]
    return turn


def _zipped(columns: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Objects from an object of lists; None where it can't be told which values belong together.

    Lists of equal length belong together by place, unless every one of them stands in sorted order without duplicates: then a store may have sorted
    each by itself, and the places mean nothing.
    """
    lists = {name: as_list(value) for name, value in columns.items()}
    lengths = {len(values) for values in lists.values()}
    if len(lengths) != 1:
        return None
    size = lengths.pop()
    if size > 1 and len(lists) > 1 and all(_is_sorted(values) for values in lists.values()):
        return None
    return [{name: values[place] for name, values in lists.items()} for place in range(size)]


def _is_sorted(values: Sequence[Any]) -> bool:
    texts = [compact(value) for value in values]
    return all(before < after for before, after in pairwise(texts))


def _of_columns(attributes: Mapping[str, Any], prefix: str) -> Messages:
    """Messages that a store turned into lists of leaves. What belonged to which choice is lost; only what is certain is said."""
    lists = {name[len(prefix) + 1 :]: as_list(value) for name, value in attributes.items() if name.startswith(f"{prefix}_")}
    own = reasons(lists.get("finish_reason"))
    said = reasons(attributes.get("gen_ai_response_finish_reasons"))
    wanted = count(attributes.get("gen_ai_request_choice_count"))
    size = wanted or max(len(own), len(said), 1)
    types = [str(kind) for kind in lists.get("parts_type", lists.get("type", []))]
    texts = [text for text in lists.get("parts_content", lists.get("content", [])) if isinstance(text, str)]
    raw = [found.raw for found in (own or said)]
    if size > 1:
        return Messages([{"content_state": "not_captured"} for _ in range(size)], raw * size if len(raw) == 1 else (raw + [None] * size)[:size])
    turn: dict[str, Any] = {key: lists[key] for key in ("tool_calls",) if key in lists}
    names, arguments = [str(name) for name in lists.get("parts_name", [])], [compact(value) for value in lists.get("parts_arguments", [])]
    columns: dict[str, Any] = {}
    if "tool_call" in types or names:
        columns["tool_calls"] = tuple(names)
        if len(names) == len(arguments) == 1:
            columns["tool_arguments"] = tuple(arguments)
    elif types:
        columns["tool_calls"] = ()
    spoken = [kind for kind in types if kind in ("text", "reasoning")]
    parts = _zipped({"type": spoken, "content": texts}) if len(types) == len(spoken) else None
    if parts is not None:
        columns.update({key: value for key, value in turn_columns({**turn, "parts": parts}).items() if key not in columns})
    elif not types and len(texts) == 1:
        columns.update(message_columns({"content": texts[0]}))
    elif spoken == ["text"] and len(texts) == 1:
        columns.update({key: value for key, value in message_columns({"content": texts[0]}).items() if key != "tool_calls"})
    elif spoken == ["reasoning"] and len(texts) == 1:
        columns.update({"reasoning": texts[0], "reasoning_state": "present", "content": None, "content_state": "empty"})
    elif types and not spoken and not texts:
        columns["content_state"] = "empty"
    else:
        columns["content_state"] = "not_captured"
    return Messages([columns], raw[:1] or [None])
