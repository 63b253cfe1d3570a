"""Where a text is code: fenced blocks, inline code, indented blocks, HTML code elements. Linear in the text's length."""

from __future__ import annotations

import re
from bisect import bisect_right

MOST_SPANS = 2000  # HTML code elements that are looked at

_FENCE = re.compile(r"^[ \t]{0,12}(?:>[ \t]?|[-*+] |\d{1,3}[.)] )?[ \t]{0,3}(`{3,}|~{3,})([^\n`]*)$", re.M)
_LANGUAGE = re.compile(r"[A-Za-z0-9{]")
_TICKS = re.compile(r"`+")
_INDENTED = re.compile(r"(?:^|\n)[ \t]*\n((?:(?: {4}|\t)[^\n]*(?:\n|$))+)")
_HTML_CODE = re.compile(r"<(code|pre|kbd|samp)\b[^<>\n]{0,80}>", re.I)


class CodeSpans:
    """The code of one text."""

    __slots__ = ("_broken", "_ends", "_starts")

    def __init__(self, text: str) -> None:
        spans: list[tuple[int, int]] = []
        self._broken: list[tuple[int, int]] = []
        if "```" in text or "~~~" in text:
            spans, self._broken = _fenced(text)
        if "`" in text:
            spans.extend(_inline(text, spans))
        if "\n    " in text or "\n\t" in text:
            spans.extend(match.span(1) for match in _INDENTED.finditer(text))
        if "<" in text:
            spans.extend(_html(text))
        spans = _merged(spans)
        self._starts = [start for start, _ in spans]
        self._ends = [end for _, end in spans]

    def holds(self, at: int) -> bool:
        """The character at `at` is code."""
        place = bisect_right(self._starts, at) - 1
        return place >= 0 and at < self._ends[place]

    def is_doubtful(self, at: int) -> bool:
        """`at` lies behind the beginning of a fence that nothing closes before the text's end or before another fence with a language begins."""
        return any(start <= at < end for start, end in self._broken)


def _fenced(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    spans: list[tuple[int, int]] = []
    broken: list[tuple[int, int]] = []
    start, fence = -1, ""
    for match in _FENCE.finditer(text):
        run, info = match.group(1), match.group(2).strip()
        if start < 0:
            start, fence = match.start(), run
        elif run[0] == fence[0] and len(run) >= len(fence):
            if _LANGUAGE.match(info):
                if len(broken) < 64:
                    broken.append((start, match.start()))
            else:  # nothing, or a token glued to the fence's end
                spans.append((start, match.end(1)))
                start = -1
    if start >= 0:
        spans.append((start, len(text)))
        broken.append((start, len(text)))
    return spans, broken


def _inline(text: str, fenced: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Inline code outside fences: a run of backticks closed by a run of equal length on the same line.

    CommonMark (6.1) lets it span lines of a paragraph; an answer that loses a backtick must not hide a marker that stands on its own line."""
    found: list[tuple[int, int]] = []
    at = 0
    for begin, end in [*fenced, (len(text), len(text))]:
        waiting: dict[int, int] = {}
        last = at
        for match in _TICKS.finditer(text, at, begin):
            if "\n" in text[last : match.start()]:
                waiting.clear()
            size = match.end() - match.start()
            opener = waiting.get(size)
            if opener is None:
                waiting[size] = match.start()
            else:
                found.append((opener, match.end()))
                waiting.clear()
            last = match.end()
        at = end
    return found


def _html(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    lowered = ""
    at = 0
    for match in _HTML_CODE.finditer(text):
        if match.start() < at:
            continue
        lowered = lowered or text.lower()
        end = lowered.find(f"</{match.group(1).lower()}>", match.end()) if len(lowered) == len(text) else -1
        if end < 0 or len(spans) >= MOST_SPANS:
            break
        spans.append((match.start(), end))
        at = end
    return spans


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    spans.sort()
    merged: list[tuple[int, int]] = []
    for start, end in spans:
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged
