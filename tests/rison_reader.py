"""A reader of rison, written from its grammar, as the other side of the round trip."""

from __future__ import annotations

from typing import Any


def read(text: str) -> Any:
    """The value of a rison text. Raises ValueError."""
    value, end = _value(text, 0)
    if end != len(text):
        raise ValueError(f"something follows at {end}: {text[end : end + 20]!r}")
    return value


def _value(text: str, at: int) -> tuple[Any, int]:
    if text[at] == "(":
        found: dict[str, Any] = {}
        at += 1
        while text[at] != ")":
            if found:
                at = _expect(text, at, ",")
            key, at = _value(text, at)
            at = _expect(text, at, ":")
            found[str(key)], at = _value(text, at)
        return found, at + 1
    if text[at] == "!":
        simple = {"t": True, "f": False, "n": None}
        if text[at + 1] in simple:
            return simple[text[at + 1]], at + 2
        at = _expect(text, at + 1, "(")
        listed: list[Any] = []
        while text[at] != ")":
            if listed:
                at = _expect(text, at, ",")
            entry, at = _value(text, at)
            listed.append(entry)
        return listed, at + 1
    if text[at] == "'":
        at += 1
        letters = []
        while text[at] != "'":
            if text[at] == "!":
                at += 1
                if text[at] not in "!'":
                    raise ValueError(f"a bad escape at {at}")
            letters.append(text[at])
            at += 1
        return "".join(letters), at + 1
    end = at
    while end < len(text) and text[end] not in " '!:(),*@$":
        end += 1
    word = text[at:end]
    if not word:
        raise ValueError(f"nothing at {at}")
    if word[0].isdigit() or word[0] == "-":
        return (float(word) if any(mark in word for mark in ".e") else int(word)), end
    return word, end


def _expect(text: str, at: int, character: str) -> int:
    if text[at] != character:
        raise ValueError(f"{character!r} expected at {at}, found {text[at]!r}")
    return at + 1
