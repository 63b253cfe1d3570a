"""Strings from logs made inert: what a terminal, a Markdown reader or a person could be tricked by is shown, not obeyed."""

from __future__ import annotations

import re
import unicodedata

LINE = 4000  # characters of one line of an error or a warning: a path may be that long
MAX_LENGTH = 200  # characters of one label or id on screen; longer ones are cut with a mark

# Cc control, Cf format (bidi overrides, zero-width, tags), Cs surrogates, Co private use, Zl/Zp line separators
_BARE_ADDRESS = re.compile(r"://|www\.", re.IGNORECASE)
_ZWJ = "\u200d"
_LONGEST_GRAPHEME = 32  # characters; what piles up more marks than that is no writing, and is cut anywhere
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def plain(text: object, limit: int = MAX_LENGTH) -> str:
    """One line of `text` with control, format, bidi and private characters as `\\u…` escapes, cut to `limit` characters between graphemes."""
    raw = str(text)[: limit + 1]
    pieces = [f"\\u{ord(char):04x}" if unicodedata.category(char) in _UNSAFE else char for char in raw]
    if sum(map(len, pieces)) <= limit:
        return "".join(pieces)
    kept, room = 0, limit - 1
    while kept < len(pieces) and len(pieces[kept]) <= room:
        room -= len(pieces[kept])
        kept += 1
    whole = kept
    while whole > max(0, kept - _LONGEST_GRAPHEME) and _joins(raw, whole):
        whole -= 1
    return "".join(pieces[: kept if _joins(raw, whole) else whole]) + "…"


def _joins(text: str, at: int) -> bool:
    """True when the characters before and after `at` belong to one grapheme (the common cases of Unicode's annex 29)."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if unicodedata.category(after) in {"Mn", "Me", "Mc"} or _ZWJ in (before, after) or "\U0001f3fb" <= after <= "\U0001f3ff" or "\u1160" <= after <= "\u11ff":
        return True
    flags = 0
    while flags < at and "\U0001f1e6" <= text[at - 1 - flags] <= "\U0001f1ff":
        flags += 1
    return "\U0001f1e6" <= after <= "\U0001f1ff" and flags % 2 == 1


def code_span(text: object, limit: int = MAX_LENGTH) -> str:
    """`plain` text as a Markdown code span, in which nothing but a backtick has a meaning; so what is copied from it is the text itself."""
    return f"`{plain(text, limit).replace('`', 'ʼ')}`"


def markdown(text: object, limit: int = MAX_LENGTH) -> str:
    """`plain` text with everything that Markdown or HTML would read as markup escaped; addresses stay text too, where bare ones become links."""
    escaped = "".join(
        f"\\{char}" if char in "\\`*_{}[]()#+!|~" else {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}.get(char, char) for char in plain(text, limit)
    )
    return _BARE_ADDRESS.sub(lambda found: found[0].replace("/", "&#47;", 1).replace(".", "&#46;"), escaped)
