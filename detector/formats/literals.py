"""Quoted texts inside log lines: Python's `%r`, Rust's `{:?}` and the escapes that they use. A text whose closing quote is missing was cut off."""

from __future__ import annotations

import re
from typing import NamedTuple

_BODY = {
    "'": re.compile(r"[^'\\]*+(?:\\.[^'\\]*+)*+", re.DOTALL),
    '"': re.compile(r'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL),
}
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|x([0-9a-fA-F]{2})|([0-7]{1,3})|(.))", re.DOTALL)
_SINGLE = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


class Quoted(NamedTuple):
    """`text` with escapes resolved; `end`: index behind the closing quote; `closed` is False where the line ended before it."""

    text: str
    end: int
    closed: bool


def quoted(line: str, start: int) -> Quoted | None:
    """The quoted text that begins at `start`; None if no quote stands there. A prefix (b, u, r) is passed over."""
    if line[start : start + 1] in ("b", "u", "r"):
        start += 1
    body = _BODY.get(line[start : start + 1])
    if body is None:
        return None
    match = body.match(line, start + 1)
    end = start + 1 if match is None else match.end()
    return Quoted(unescaped(line[start + 1 : end]), min(end + 1, len(line)), end < len(line))


def unescaped(text: str) -> str:
    """Resolve backslash escapes of Python and Rust; surrogates that a producer wrote one by one are joined."""
    if "\\" not in text:
        return text
    found = _ESCAPE.sub(_character, text)
    if any("\ud800" <= character <= "\udfff" for character in found):
        found = found.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return found


def _character(match: re.Match[str]) -> str:
    for group in (1, 2, 3, 4):
        if match[group] is not None:
            number = int(match[group], 16)
            return chr(number) if number <= 0x10FFFF else "\ufffd"
    if match[5] is not None:
        return chr(int(match[5], 8))
    return _SINGLE.get(match[6], match[6] if match[6] in "\\'\"" else "\\" + match[6])
