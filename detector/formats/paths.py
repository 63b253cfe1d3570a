"""Values at dotted paths, whichever way a log spells them: nested objects, literal dotted keys at any depth, JSON inside strings, lists by index.

Producers, exporters and stores re-spell the same attribute: `{"gen_ai.request.model": …}`, `{"gen_ai": {"request.model": …}}`,
`{"attributes": "{\\"gen_ai.request.model\\": …}"}`; synthetic `_source` nests what was dotted and turns one-element lists into scalars.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from detector.formats.values import decoded

_DEPTH = 24  # dotted paths have fewer segments; hostile documents may be nested without end


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()


def find(node: Any, path: str) -> Any:
    """The value at `path`, or `MISSING`. An explicit null is found as None."""
    return _find(node, path, _DEPTH)


def _find(node: Any, path: str, depth: int) -> Any:
    if isinstance(node, str):
        node = decoded(node)
    if isinstance(node, dict):
        if path in node:
            return node[path]
        cut = path.find(".")
        while cut > 0 and depth:
            head = path[:cut]
            if head in node:
                found = _find(node[head], path[cut + 1 :], depth - 1)
                if found is not MISSING:
                    return found
            cut = path.find(".", cut + 1)
    elif isinstance(node, list):
        head, _, rest = path.partition(".")
        if head.isascii() and head.isdigit() and len(head) < 6 and int(head) < len(node):
            return _find(node[int(head)], rest, depth - 1) if rest else node[int(head)]
    return MISSING


def get(node: Any, *paths: str) -> Any:
    """The first value at one of these paths that is neither missing nor null; None if there is none."""
    for path in paths:
        found = _find(node, path, _DEPTH)
        if found is not MISSING and found is not None:
            return found
    return None


def has(node: Any, path: str) -> bool:
    """True when something stands at `path`, be it null."""
    return _find(node, path, _DEPTH) is not MISSING


def scalar(value: Any) -> Any:
    """The element of a one-element list (search answers with `fields` wrap every value in one), any other value as it is."""
    while isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value


def as_list(value: Any) -> list[Any]:
    """A list: as it is, from JSON in a text, or of the one value; null gives an empty list."""
    value = decoded(value)
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def leaves(node: Any, prefix: str = "", depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """Every value that is no object, with its dotted path; lists are values."""
    if isinstance(node, dict) and depth:
        for key, value in node.items():
            yield from leaves(value, f"{prefix}.{key}" if prefix else str(key), depth - 1)
    elif prefix:
        yield prefix, node


def indexed(pairs: Iterable[tuple[str, Any]], prefix: str) -> list[dict[str, Any]]:
    """Objects that an exporter flattened by number: `prefix.0.role`, `prefix.0.content`, `prefix.1.role` … as a list of flat objects in order."""
    found: dict[int, dict[str, Any]] = {}
    start = f"{prefix}."
    for path, value in pairs:
        if path.startswith(start):
            number, _, rest = path[len(start) :].partition(".")
            if rest and number.isascii() and number.isdigit() and len(number) < 6:
                found.setdefault(int(number), {})[rest] = value
    return [found[number] for number in sorted(found)]


def otlp_attributes(listed: Any) -> dict[str, Any]:
    """Attributes from OTLP JSON's key/value list as a flat object; an object is given back as it is."""
    if isinstance(listed, dict):
        return listed
    pairs = listed if isinstance(listed, list) else []
    return {pair["key"]: otlp_value(pair.get("value")) for pair in pairs if isinstance(pair, dict) and isinstance(pair.get("key"), str)}


def otlp_value(value: Any, depth: int = _DEPTH) -> Any:
    """The plain value of an OTLP JSON `AnyValue` (`{"stringValue": …}`, int64 as text, lists and objects inside)."""
    if not isinstance(value, dict) or depth == 0:
        return value
    for key in ("stringValue", "boolValue", "doubleValue", "bytesValue", "string_value", "bool_value", "double_value"):
        if key in value:
            return value[key]
    for key in ("intValue", "int_value"):
        if key in value:
            raw = value[key]
            return int(raw) if isinstance(raw, str) and raw.lstrip("-").isdecimal() and len(raw) < 20 else raw
    for key in ("arrayValue", "array_value"):
        if isinstance(value.get(key), dict):
            entries = value[key].get("values")
            return [otlp_value(entry, depth - 1) for entry in entries] if isinstance(entries, list) else []
    for key in ("kvlistValue", "kvlist_value"):
        if isinstance(value.get(key), dict):
            entries = value[key].get("values")
            pairs = entries if isinstance(entries, list) else []
            return {str(pair.get("key")): otlp_value(pair.get("value"), depth - 1) for pair in pairs if isinstance(pair, dict)}
    return value
