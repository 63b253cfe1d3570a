"""Texts inside JSON: string values of a JSON answer and of tool-call arguments, unescaped, so that a marker is judged in the text it stands in."""

from __future__ import annotations

import json
import re

from detector.signals.marker_shapes import Hit

MOST_VALUES = 2000  # string values that are looked at; more would be a data dump
_FILE_CALL = re.compile(
    r"(?i)write|edit|create|patch|replace|insert|save|file|code|bash|exec|shell|python|notebook|artifact|render|template|sql|run_|command|terminal|commit|doc"
)


def is_file_call(name: str) -> bool:
    """A function that writes files, code or documents, going by its name."""
    return _FILE_CALL.search(name) is not None


def is_marker_alone(value: str, hits: list[Hit]) -> bool:
    """The value is one marker and nothing else: something to search for or to configure, not an answer that lost its markers."""
    return len(hits) == 1 and hits[0].end - hits[0].start >= len(value.strip())


def string_values(text: str) -> list[str] | None:
    """String values (and keys) of a JSON object or array, or the text that a JSON string holds (encoded twice); None where the text is no such JSON."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, (dict, list, str)):
        return None
    found: list[str] = []
    waiting: list[object] = [value]
    while waiting and len(found) < MOST_VALUES:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, dict):
            waiting.extend(reversed(list(one.values())))
            found.extend(key for key in one if isinstance(key, str))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
    return found


def argument_values(text: str) -> list[str]:
    """Texts of tool-call arguments. Arguments that do not parse are cut at the quotes of JSON strings, so that these don't look like quotations."""
    values = string_values(text)
    if values is not None:
        return values
    pieces = re.split(r'(?<!\\)"', text)
    return [piece.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"') for piece in pieces if piece.strip(" ,:{}[]")][:MOST_VALUES]
