"""A seeded mutator of log files: breaks lines, values, keys and quoting the way that truncation, re-indexing and hostile content do."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

_SCRAPS = (
    *(
        "",
        " ",
        "\n",
        "\r\n",
        "\t",
        "\x00",
        "\ufeff",
        "\u2028",
        "\ud83d",
        "\x1b[0m",
        "'",
        '"',
        "\\",
        "\\u",
        "\\x5c",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        ",",
        ":",
        "=",
        "|",
    ),
    *("null", "None", "NaN", "true", "-1", "0", "9" * 40, "1e999", "data: ", "data: [DONE]", "event: x", "streaming_complete", "finish_reason: ", "output: '"),
    *(
        "Generated response ",
        "Received request ",
        "(streaming delta)",
        "response_body={",
        "out={",
        "obj=",
        "\u2601\ufe0f  cloudevents.Event",
        "{}",
        "[]",
        "</think>",
    ),
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 3.5, -0.0, 1e308, float("nan"), float("inf"), 10**30, -(10**19), 1795996805, 1795996805000, "1795996805000000000"),
    *(
        "",
        " ",
        "-",
        "null",
        "None",
        "{}",
        "[]",
        '{"a": 1',
        "[1, 2",
        '["stop"]',
        "['stop']",
        "stop",
        "\ud800",
        "\x00",
        "x" * 3000,
        "2026-11-30T00:00:00Z",
        "11-30 09:00",
    ),
    *([], {}, [None], [[]], [{}], {"a": None}, {"type": "length"}, [1, "a", None, {}], {"0": {}}, {"": ""}),
)


def mutated(text: str, chance: random.Random) -> str:
    """`text` with one to four mutations."""
    for _ in range(chance.randint(1, 4)):
        text = chance.choice(_MUTATIONS)(text, chance)
    return text


def _place(text: str, chance: random.Random) -> int:
    return chance.randint(0, len(text))


def _delete(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    return text[:start] + text[start + chance.choice((1, 1, 3, 20, 200)) :]


def _insert(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    return text[:start] + chance.choice(_SCRAPS) + text[start:]


def _replace(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    scrap = chance.choice(_SCRAPS)
    return text[:start] + scrap + text[start + len(scrap) :]


def _repeat(text: str, chance: random.Random) -> str:
    start = _place(text, chance)
    piece = text[start : start + chance.choice((1, 10, 200))]
    return text[:start] + piece * chance.choice((2, 3)) + text[start:]


def _cut(text: str, chance: random.Random) -> str:
    return text[: _place(text, chance)]


def _lines(text: str, chance: random.Random) -> str:
    lines = text.splitlines(keepends=True)
    if not lines:
        return text
    how = chance.randrange(4)
    if how == 0:
        chance.shuffle(lines)
    elif how == 1:
        lines.insert(chance.randrange(len(lines)), chance.choice(lines))
    elif how == 2:
        del lines[chance.randrange(len(lines))]
    else:
        lines.append(json.dumps({"message": "".join(lines)[:4000]}) + "\n")
    return "".join(lines)


def _numbers(text: str, chance: random.Random) -> str:
    digits = [at for at, character in enumerate(text) if character.isdigit()]
    if not digits:
        return text
    start = chance.choice(digits)
    return text[:start] + chance.choice(("", "-", "9" * 25, ".", "e5", "x")) + text[start:]


def _value(text: str, chance: random.Random) -> str:
    """Change one value, key or level of nesting inside the JSON of one line."""
    lines = text.splitlines(keepends=True)
    places = [at for at, line in enumerate(lines) if line.lstrip()[:1] in ("{", "[")]
    if not places:
        return _insert(text, chance)
    at = chance.choice(places)
    try:
        document = json.loads(lines[at])
    except (ValueError, RecursionError):
        return _insert(text, chance)
    return "".join([*lines[:at], json.dumps(_changed(document, chance, 12), ensure_ascii=chance.random() < 0.5) + "\n", *lines[at + 1 :]])


def _changed(node: Any, chance: random.Random, depth: int) -> Any:
    if depth and isinstance(node, dict) and node and chance.random() < 0.85:
        key = chance.choice(list(node))
        how = chance.randrange(8)
        if how == 0:
            return {name: value for name, value in node.items() if name != key}
        if how == 1:
            return {(name.replace(".", "_") + "x" if name == key else name): value for name, value in node.items()}
        return {name: (_changed(value, chance, depth - 1) if name == key else value) for name, value in node.items()}
    if depth and isinstance(node, list) and node and chance.random() < 0.8:
        at = chance.randrange(len(node))
        return [*node[:at], _changed(node[at], chance, depth - 1), *node[at + 1 :]]
    how = chance.randrange(5)
    if how == 0:
        return json.dumps(node)
    if how == 1:
        return [node]
    if how == 2 and depth:
        return {"value": node, "type": node}
    return chance.choice(_VALUES)


_MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (_delete, _insert, _replace, _repeat, _cut, _lines, _numbers, _value, _value, _value, _value)
