"""Strings from logs made inert: what a terminal, a Markdown reader or a person could be tricked by is shown, not obeyed."""

from __future__ import annotations

import unicodedata

MAX_LENGTH = 200  # characters of one label or id on screen; longer ones are cut with a mark

# Cc control, Cf format (bidi overrides, zero-width, tags), Cs surrogates, Co private use, Zl/Zp line separators
_UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


def plain(text: object, limit: int = MAX_LENGTH) -> str:
    """One line of `text` with control, format, bidi and private characters as `\\u…` escapes, cut to `limit` characters."""
    shown = "".join(f"\\u{ord(char):04x}" if unicodedata.category(char) in _UNSAFE else char for char in str(text)[: limit + 1])
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def markdown(text: object, limit: int = MAX_LENGTH) -> str:
    """`plain` text with everything that Markdown or HTML would read as markup escaped."""
    return "".join(
        f"\\{char}" if char in "\\`*_{}[]()#+!|~" else {"<": "&lt;", ">": "&gt;", "&": "&amp;", "@": "&#64;"}.get(char, char) for char in plain(text, limit)
    )
