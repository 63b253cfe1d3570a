"""Values in gateways' access logs: `-` for what is missing, lists in one text after retries, flat names in any spelling, trace ids in headers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from detector.formats.openai_message import set_text
from detector.formats.values import count, decoded, text

_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")


def given(value: Any) -> Any:
    """The value; None for `-` and an empty text, which access logs write for what is missing."""
    return None if isinstance(value, str) and value.strip() in ("-", "") else value


def flat_names(body: Mapping[str, Any]) -> dict[str, Any]:
    """Values that are there, by name in lower case with underscores for dots, dashes, colons and nesting: operators choose the spelling."""
    found: dict[str, Any] = {}
    _flatten(found, "", body, 6)
    return found


def _flatten(found: dict[str, Any], start: str, body: Mapping[str, Any], depth: int) -> None:
    for key, value in body.items():
        value = given(value)
        if value is None:
            continue
        name = (start + key).lower().replace(".", "_").replace("-", "_").replace(":", "_").strip("_")
        found.setdefault(name, value)
        if isinstance(value, dict) and depth:
            _flatten(found, f"{name}_", value, depth - 1)


def first(names: Mapping[str, Any], *wanted: str) -> Any:
    """The first of these values."""
    for name in wanted:
        if name in names:
            return names[name]
    return None


def last_of_list(value: Any) -> str | None:
    """The last attempt's value of a variable that holds a list in one text after retries."""
    found = text(given(value))
    return None if found is None else text(given(found.replace(" : ", ", ").split(", ")[-1].strip()))


def trace_of(*values: Any) -> str | None:
    """The trace id in the first of these that holds one: an id, a traceparent header, or an object of either by format (Kong)."""
    for value in values:
        if isinstance(value, dict):
            value = next((inner for inner in value.values() if isinstance(inner, str)), None)
        if isinstance(value, list):
            value = next((inner for inner in value if isinstance(inner, str)), None)
        found = given(value)
        if isinstance(found, str):
            match = _TRACEPARENT.fullmatch(found.strip())
            return match[1] if match else found
    return None


def header(headers: Any, name: str) -> str | None:
    """A header's value, whatever its case; the first of several."""
    for key, value in headers.items() if isinstance(headers, dict) else ():
        if key.lower().replace("_", "-") == name:
            value = value[0] if isinstance(value, list) and value else value
            return text(given(value))
    return None


def stated_text(columns: dict[str, Any], name: str, value: Any) -> None:
    """Content or reasoning that a gateway put beside its figures."""
    if isinstance(value, str):
        set_text(columns, name, value)


def tool_names(value: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Names and arguments of calls that a gateway wrote down as JSON in a text."""
    listed = decoded(value)
    if not isinstance(listed, list):
        return None
    functions = [call.get("function", call) for call in listed if isinstance(call, dict)]
    functions = [function for function in functions if isinstance(function, dict)]
    return tuple(str(function.get("name") or "") for function in functions), tuple(str(function.get("arguments") or "") for function in functions)


def status(value: Any) -> int | None:
    """An HTTP status, from a number or a text; the last of a list of attempts."""
    found = count(value) if not isinstance(value, str) else count(last_of_list(value))
    return found if found is not None and 0 <= found < 1000 else None
