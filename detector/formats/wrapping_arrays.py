"""JSON arrays that are broken or cut off: one wrong comma, or the end of a full disk, must not cost their other elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from detector.formats.values import decoded

STRUCTURE = re.compile(r'"(?:[^"\\]|\\.)*"|["{}\[\]]')  # texts, brackets, and a quote without its partner
_ARRAY = re.compile(r"\s*\[\s*\{")
_CUT = "[{"  # stands for an array that ends between two elements: whoever reads it finds JSON that is cut off


def is_array(line: str) -> bool:
    """True for a line with which an array of objects begins."""
    return _ARRAY.match(line) is not None


def elements(held: Sequence[tuple[int, str]], *, goes_on: bool) -> Iterator[tuple[int, Any]]:
    """`(line number, element)` of an array that is no JSON as a whole; elements that are none, and what is left at the end, stay text.

    Args:
        held: the array's lines with their numbers.
        goes_on: more of it follows, so that a missing end is no fault.
    """
    text = "\n".join(line for _, line in held)
    depth, start, end, row, counted = 0, 0, 0, 0, 0
    for match in STRUCTURE.finditer(text):
        mark = match[0]
        if mark == '"':  # a text that is still open
            break
        if mark in "{[":
            depth += 1
            start = match.start() if depth == 2 else start
        elif mark in "}]":
            depth, end = depth - 1, match.end()
            if depth == 1:
                row, counted = row + text.count("\n", counted, start), start
                yield held[row][0], decoded(text[start:end])
            if depth < 1:
                break
    if depth > 1 or text[end:].strip(" \n,]"):
        start = start if depth > 1 else end
        yield held[row + text.count("\n", counted, start)][0], text[start:]
    elif depth == 1 and not goes_on:
        yield held[-1][0], _CUT
