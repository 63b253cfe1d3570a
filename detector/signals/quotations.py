"""Does a place in a line stand inside quotation marks, brackets or emphasis? Quotes of many languages; windows are bounded."""

from __future__ import annotations

import re

LONGEST_QUOTE = 300  # characters between a quotation's opening and the marker
LONGEST_BRACKET = 80
_QUOTES = {"“": "”", "„": "“”", "«": "»", "»": "«", "‹": "›", "「": "」", "『": "』", "‘": "’", "《": "》", "〝": "〟"}
_BRACKETS = {"(": ")", "（": "）", "【": "】", "[": "]", "{": "}"}
_OPENERS = re.compile("[" + re.escape("".join((*_QUOTES, *_BRACKETS))) + "]")
_SYMMETRIC = frozenset("*_'\"`´=/|~")


def is_wrapped(before: str, after: str) -> bool:
    """The marker stands directly inside a pair of quotes, brackets or emphasis."""
    left, right = before.rstrip(" \t"), after.lstrip(" \t")
    if not left or not right:
        return False
    if left.endswith("<!--"):
        return True
    closing = _QUOTES.get(left[-1]) or _BRACKETS.get(left[-1])
    if closing is not None:
        return right[0] in closing
    if left[-1] not in _SYMMETRIC or right[0] != left[-1] or left != before or right != after:
        return False
    outer_left, outer_right = left.rstrip(left[-1])[-1:], right.lstrip(right[0])[:1]
    return (not outer_left or not (outer_left.isalnum() or outer_left in ".!?。！？")) and (
        not outer_right or not outer_right.isalnum() or not outer_right.isascii()
    )


def is_quoted(before: str, after: str) -> bool:
    """The marker stands inside a longer quotation or bracket on its line."""
    near = before[-LONGEST_QUOTE:]
    for opener in set(_OPENERS.findall(near)):
        closers, longest = (_QUOTES[opener], LONGEST_QUOTE) if opener in _QUOTES else (_BRACKETS[opener], LONGEST_BRACKET)
        at = before.rfind(opener, max(0, len(before) - longest))
        if at < 0 or any(closer in before[at + 1 :] for closer in closers):
            continue
        ends = [place for place in (after.find(closer, 0, longest) for closer in closers) if place >= 0]
        if ends and opener not in after[: min(ends)]:
            return True
    if before.count('"') % 2 == 1 and len(before) - before.rfind('"') <= LONGEST_QUOTE and 0 <= after.find('"') <= LONGEST_QUOTE:
        return True
    if "'" not in near or "'" not in after:
        return False
    opened = [match.start() for match in re.finditer(r"(?:(?<=[^\w.!?])|^)'(?=\S)", near)]
    if not opened or re.search(r"'(?=\W|$)", near[opened[-1] + 1 :]) is not None:
        return False
    return re.search(r"(?<=\S)'(?=\W|$)|^'", after[:LONGEST_QUOTE]) is not None
