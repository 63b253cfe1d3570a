"""Python `repr` inside log lines as values: dicts, lists, calls like `GenerateReqInput(rid='…', …)`; total, and tolerant of what a literal parser refuses.

SGLang's text log shortens long texts and lists to two literals with bare dots between (`'head' ... 'tail'`), prints tensors and objects as they come.
"""

from __future__ import annotations

import re
from typing import Any

from detector.formats.literals import quoted

_NUMBER = re.compile(r"-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")
_WORD = re.compile(r"[A-Za-z_][\w.]*")
_SPACE = re.compile(r"\s*")
_DOTS = re.compile(r"\s*\.\.\.\s*")
_NUMBERS = re.compile(r"\[(-?\d+(?:, -?\d+)*)\]")
_WORDS = {"None": None, "True": True, "False": False, "nan": None, "inf": None}
_DEPTH = 40
_CLOSING = {"(": ")", "[": "]", "{": "}"}


class Cut(str):
    """A text of which the logger left out the middle."""


class Call(dict[str, Any]):
    """Arguments of a constructor by name; `name` is the class."""

    name = ""


def value(line: str, start: int = 0) -> tuple[Any, int]:
    """(value, index behind it) of the expression that begins at `start`; what can't be understood is its own text."""
    return _value(line, start, _DEPTH)


def _value(line: str, at: int, depth: int) -> tuple[Any, int]:
    at = _skip(line, at)
    mark = line[at : at + 1]
    if mark in ("'", '"'):
        return _text(line, at)
    if depth == 0 or not mark:
        return None, len(line)
    if mark == "{":
        return _dict(line, at + 1, depth - 1)
    if mark in ("[", "("):
        return _list(line, at, depth - 1)
    number = _NUMBER.match(line, at)
    if number:
        text = number[0]
        return (int(text) if text.lstrip("-").isdecimal() and len(text) < 20 else float(text)), number.end()
    word = _WORD.match(line, at)
    if word:
        if line[word.end() : word.end() + 1] == "(":
            return _call(line, word.end() + 1, word[0], depth - 1)
        if word[0] in _WORDS:
            return _WORDS[word[0]], word.end()
    return _foreign(line, at)


def _skip(line: str, at: int) -> int:
    match = _SPACE.match(line, at)
    return match.end() if match else at


def _text(line: str, at: int) -> tuple[Any, int]:
    head = quoted(line, at)
    if head is None:
        return None, len(line)
    if not head.closed:
        return Cut(head.text), len(line)
    dots = _DOTS.match(line, head.end)
    tail = quoted(line, dots.end()) if dots else None
    if tail is not None:
        return Cut(f"{head.text}...{tail.text}"), tail.end
    return head.text, head.end


def _dict(line: str, at: int, depth: int) -> tuple[Any, int]:
    found: dict[str, Any] = {}
    while True:
        at = _skip(line, at)
        if line[at : at + 1] == "}":
            return found, at + 1
        if at >= len(line):
            return found, at
        key, at = _value(line, at, depth)
        at = _skip(line, at)
        if line[at : at + 1] != ":":  # a set, or broken
            return found, _closing(line, at, "}")
        found[str(key)], at = _value(line, at + 1, depth)
        at = _comma(line, at)


def _list(line: str, at: int, depth: int) -> tuple[Any, int]:
    numbers = _NUMBERS.match(line, at)
    if numbers:
        found: list[Any] = [int(entry) for entry in numbers[1].split(", ")] if len(numbers[1]) < 1 << 22 else []
        end = numbers.end()
    else:
        close, found, end = _CLOSING[line[at]], [], at + 1
        while True:
            end = _skip(line, end)
            if line[end : end + 1] == close:
                end += 1
                break
            if end >= len(line):
                return found, end
            before = end
            entry, end = _value(line, end, depth)
            found.append(entry)
            end = _comma(line, end)
            if end == before:
                return found, _closing(line, end, close)
    dots = _DOTS.match(line, end)
    if dots and line[dots.end() : dots.end() + 1] == "[" and depth:  # a list without its middle
        tail, end = _list(line, dots.end(), depth - 1)
        found = [*found, Cut("..."), *tail]
    return found, end


def _call(line: str, at: int, name: str, depth: int) -> tuple[Any, int]:
    found = Call()
    found.name = name
    while True:
        at = _skip(line, at)
        if line[at : at + 1] == ")":
            return found, at + 1
        if at >= len(line):
            return found, at
        before = at
        word = _WORD.match(line, at)
        if word and line[word.end() : word.end() + 1] == "=":
            found[word[0]], at = _value(line, word.end() + 1, depth)
        else:
            _, at = _value(line, at, depth)
        at = _comma(line, at)
        if at == before:
            return found, _closing(line, at, ")")


def _comma(line: str, at: int) -> int:
    at = _skip(line, at)
    return at + 1 if line[at : at + 1] == "," else at


def _closing(line: str, at: int, mark: str) -> int:
    end = line.find(mark, at)
    return len(line) if end < 0 else end + 1


def _foreign(line: str, at: int) -> tuple[Any, int]:
    """Something printed by an object's own repr, such as `<Tensor …>`: up to the next comma or closing bracket outside its own brackets."""
    open_marks: list[str] = []
    for end in range(at, min(len(line), at + 20_000)):
        mark = line[end]
        if mark in "([{<":
            open_marks.append(mark)
        elif mark in ")]}>":
            if not open_marks:
                return line[at:end].strip() or None, max(end, at)
            open_marks.pop()
        elif mark == "," and not open_marks:
            return line[at:end].strip() or None, end
    return line[at:].strip() or None, len(line)
