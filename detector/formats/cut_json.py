"""JSON that an attribute limit or a logger cut in the middle: read as far as it goes, so that what stood before the cut is not lost."""

from __future__ import annotations

from typing import Any

import orjson

_LIMIT = 1 << 20  # characters; attribute limits and loggers cut far below
_OPENERS = {"{": "}", "[": "]"}


def repaired(text: str) -> Any:
    """The value of JSON text whose end is missing: open texts and brackets are closed where the text ends; None where that gives no JSON."""
    stripped = text.strip()
    if stripped[:1] not in _OPENERS or len(stripped) > _LIMIT:
        return None
    for marker in ("...", "…", "<truncated>", "[truncated]"):
        stripped = stripped.removesuffix(marker)
    for candidate in _closings(stripped):
        try:
            return orjson.loads(candidate)
        except orjson.JSONDecodeError:
            continue
    return None


def _closings(text: str) -> list[str]:
    """Ways to close the text, the one that keeps most first."""
    stack: list[str] = []
    in_text = escaped = False
    last_comma: tuple[int, str] | None = None  # place, and what closes the brackets open there
    for place, mark in enumerate(text):
        if in_text:
            if escaped:
                escaped = False
            elif mark == "\\":
                escaped = True
            elif mark == '"':
                in_text = False
        elif mark == '"':
            in_text = True
        elif mark in _OPENERS:
            stack.append(_OPENERS[mark])
        elif mark in "}]":
            if not stack or stack.pop() != mark:
                return []
        elif mark == ",":
            last_comma = (place, "".join(reversed(stack)))
    closing = "".join(reversed(stack))
    ways = []
    if in_text:
        body = text[:-1] if escaped else text
        cut = body.rfind("\\u")
        if cut >= 0 and len(body) - cut < 6:  # half an escape
            body = body[:cut]
        ways.append(body + '"' + closing)
        ways.append(body + '": null' + closing)  # the name of a key was cut
    else:
        bare = text.rstrip().rstrip(",")
        ways.append(bare + closing)
        ways.append(bare.rstrip(":") + ": null" + closing)
        ways.append(bare + ": null" + closing)
    if last_comma is not None:
        ways.append(text[: last_comma[0]] + last_comma[1])
    return ways
