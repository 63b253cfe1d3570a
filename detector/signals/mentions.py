"""Mention or leak: does a marker stand in an answer because somebody talks about it?

A mention is a marker inside code, quotes, brackets or an escape; one that the sentence explains ("the `</think>` tag"); an entry of a list or table of
markers. Everything else is structure that should not have reached the reader. Each test looks at a bounded window around the marker, so judging is
linear in the text. Sources of the look-alikes: nesquena/hermes-webui#2152, HKUDS/nanobot#2623, ModelEngine-Group/nexent#3689, smg-project/smg#317,
zai-org/GLM-4.5#4.
"""

from __future__ import annotations

import re
from bisect import bisect_left

from detector.signals import mention_words as words
from detector.signals.code_spans import CodeSpans
from detector.signals.marker_shapes import Hit
from detector.signals.quotations import is_quoted, is_wrapped

WINDOW = 160  # characters to each side whose words decide; longer than any part of a sentence that explains a marker
LONGEST_JOINT = 48  # characters between two markers of one enumeration or format
NEAR = 64  # characters before a marker in which a noun or verb must end that names it: three words and the noun
LONGEST_LINE = 4000  # characters of a line whose quotation marks are paired; on longer lines only marks beside the marker count
LONGEST_TALK = 100_000  # characters in which words about models and parsers are looked for

_CLOSERS = ("</", "[/", "<|/", "◁/", "<｜/")
_SENTENCE_END = frozenset('.!?。！？…)）]』」”"*')
_PIPE_TOKEN = re.compile(r"<[|｜][^<>]{1,40}[|｜]>")


class Surroundings:
    """A text in which markers were found (in order of place), with its code; made once per text."""

    __slots__ = ("_about", "_known", "_starts", "code", "hits", "text")

    def __init__(self, text: str, hits: list[Hit]) -> None:
        self.text = text
        self.hits = hits
        self.code = CodeSpans(text)
        self._starts = [hit.start for hit in hits]
        self._about: bool | None = None
        self._known: dict[tuple[str, str, str], bool] = {}

    def is_about_markers(self) -> bool:
        """The text, without its markers, speaks of tokens, tags, templates or parsers somewhere."""
        if self._about is None:
            rest, at = [], 0
            for hit in self.hits:
                rest.append(self.text[at : hit.start])
                at = hit.end
            rest.append(self.text[at:])
            self._about = words.is_about_markers("\0".join(rest)[:LONGEST_TALK])
        return self._about

    def is_mention(self, index: int) -> bool:
        """True when `hits[index]` is talked about."""
        hit, text = self.hits[index], self.text
        if self.code.holds(hit.start) or (hit.start > 0 and text[hit.start - 1] == "\\") or text[hit.start - 4 : hit.start] == "&lt;":
            return True
        if self._opener_is_mention(index):
            return True
        first, last, enumerated = self._run(index)
        start, end = self.hits[first].start, self.hits[last].end
        line_start = max(text.rfind("\n", max(0, start - LONGEST_LINE), start) + 1, start - LONGEST_LINE, 0)
        line_end = text.find("\n", end, end + LONGEST_LINE)
        line_end = min(len(text), end + LONGEST_LINE) if line_end < 0 else line_end
        line_before, line_after = text[line_start:start], text[end:line_end]
        if not line_before or not line_after:
            return self._judge(hit, first, last, enumerated, line_start, line_end)
        context = (line_before, line_after, text[start:end])
        known = self._known.get(context)
        if known is None:  # a loop repeats its line; many markers of one line differ
            known = self._known[context] = self._judge(hit, first, last, enumerated, line_start, line_end)
        return known

    def _judge(self, hit: Hit, first: int, last: int, enumerated: bool, line_start: int, line_end: int) -> bool:
        start, end = self.hits[first].start, self.hits[last].end
        line_before, line_after = self.text[line_start:start], self.text[end:line_end]
        if is_wrapped(line_before, line_after) or (len(line_before) < LONGEST_LINE and is_quoted(line_before, line_after)):
            return True
        before, after = line_before[-WINDOW:], line_after[:WINDOW]
        if self._is_entry(hit, before, after, line_start, line_end, start, end):
            return True
        if enumerated and (before.strip() or after.strip()) and not self._is_empty_block(first, last):
            return True
        return self._is_spoken_of(hit, before, after, start, end)

    def _is_entry(self, hit: Hit, before: str, after: str, line_start: int, line_end: int, start: int, end: int) -> bool:
        """An entry of a list, table, configuration or list of definitions."""
        if self.text[line_start : line_start + 8].lstrip(" \t").startswith(">") and line_start < start:  # a quoted line
            return True
        if words.COMMENT.match(self.text[line_start : line_start + 8]):
            return True
        if words.BULLET.match(before) and (words.DEFINES.match(after) or words.SAYS.match(after)):
            return True
        if words.TOKEN_ID.match(after) or (
            words.AFTER_ID.search(before) and not after[:1].isalnum() and (before.rstrip()[-1:].isascii() or self.is_about_markers())
        ):
            return True
        if words.SETTING.search(before) and (not after.strip(" \t,;'\"") or before.rstrip(" ").endswith("=") or "--" in before[-44:]):
            return self.is_about_markers() or before.lstrip().startswith(("-", "eos", "bos", "pad", "stop", "unk")) or before.endswith("=")
        if line_end - line_start < LONGEST_LINE:
            line = self.text[line_start:line_end].lstrip(" \t")
            if line.startswith("|") and not line.startswith(("|assistant|", "|user|")) and _PIPE_TOKEN.sub("", line).count("|") >= 3:
                return True
        if before.strip():
            return False
        if after.strip():
            return words.DEFINITION.match(after) is not None and (self.is_about_markers() or (hit.role != "tool" and not self._follows_text(hit, line_start)))
        return self._is_listed(line_start)

    def _is_listed(self, line_start: int) -> bool:
        """A line that holds nothing but this marker, below an introduction that names markers and ends in a colon; other such lines may stand between."""
        at, lines = line_start, 0
        while at > 0 and lines < 20:
            previous = self.text.rfind("\n", max(0, at - 1 - LONGEST_LINE), at - 1) + 1
            line = self.text[previous : at - 1].strip()
            if line.endswith((":", "：")):
                return words.STRICT_NOUN.search(line[-WINDOW:]) is not None
            place = bisect_left(self._starts, previous)
            if line and not (place < len(self.hits) and self.hits[place].end - self.hits[place].start >= len(line) and self.hits[place].end <= at):
                return False
            at, lines = previous, lines + 1
        return False

    def _follows_text(self, hit: Hit, line_start: int) -> bool:
        """A closer, or a token, at a line's beginning with an earlier text before it: what the end of thinking or of a turn looks like."""
        return hit.role not in ("open", "bos", "tool") and bool(self.text[max(0, line_start - WINDOW) : line_start].strip())

    def _is_spoken_of(self, hit: Hit, before: str, after: str, start: int, end: int) -> bool:
        """The sentence around the marker speaks of it."""
        glued = bool(before) and not before[-1].isspace()
        ends_line = not after.strip()
        if glued and before[-1] in _SENTENCE_END:
            return False
        if not before.strip():
            if ends_line:
                return False
            if self._follows_text(hit, start):
                return words.NOUN_NEXT.match(after) is not None or (
                    (words.SAYS.match(after) is not None or words.PARTICLE.match(after) is not None) and self.is_about_markers()
                )
            return any(pattern.match(after) for pattern in (words.STRICT_AFTER, words.SAYS, words.PARTICLE))
        if ends_line and not self._sentence_goes_on(end):
            return False
        if words.STRICT_AFTER.match(after) or (not glued and (words.SAYS_STRONG.match(after) or words.AFTERWARDS.match(after))):
            return True
        if glued:
            spoken = words.CJK_VERB.search(after[:14]) or words.CJK_VERB.search(before[-10:]) or self.is_about_markers()
            if words.STRICT_BEFORE.search(before[-NEAR:]) and not before[-1].isascii():
                return True
            if hit.role == "open" and spoken and not before[-1].isascii():
                return True  # thinking begins at a line's beginning, or after a space
            return bool(spoken) and (words.PARTICLE.match(after) is not None or (words.CJK_BEFORE.search(before) is not None and after[:1] in "，,。；;、再后"))
        near = before[-NEAR:]
        if words.STRICT_BEFORE.search(near):
            return True
        if words.NAMES.search(before[-24:]):
            follows = ends_line or words.GOES_ON.match(after) or after[:1].islower() or not after[:1].isascii() or words.PARTICLE.match(after)
            if follows or self.is_about_markers():
                return True
        if words.PARTICLE.match(after) and words.CJK_VERB.search(after[:18]):
            return True
        after_weak = (words.GOES_ON, words.SAYS, words.PARTICLE, words.BROAD_AFTER)
        before_weak = ((words.CJK_BEFORE, before[-8:]), (words.DETERMINER, before[-24:]), (words.BROAD_BEFORE, near))
        if any(pattern.match(after) for pattern in after_weak) or any(pattern.search(part) for pattern, part in before_weak):
            return self.is_about_markers() or self._is_beside_another(hit)
        return False

    def _is_beside_another(self, hit: Hit) -> bool:
        """Another marker stands on the same line, apart from this one."""
        text = self.text
        near = text[max(0, hit.start - WINDOW) : hit.start].rfind("\n") + max(0, hit.start - WINDOW) + 1, hit.start
        place = bisect_left(self._starts, near[0])
        one = self.hits[place]
        if one.start < hit.start:
            return (
                text[one.start : one.end] != text[hit.start : hit.end] and text[one.start - 1 : one.start].isspace() and text[one.end : one.end + 1].isspace()
            )
        after = self.hits[place + 1] if place + 1 < len(self.hits) else hit
        return after is not hit and "\n" not in text[hit.end : after.start] and after.start - hit.end < WINDOW and text[after.start - 1].isspace()

    def _sentence_goes_on(self, end: int) -> bool:
        """Nothing follows the marker's line, or the next line goes on in lower case."""
        rest = self.text[end : end + WINDOW].lstrip()
        return not rest or (rest[0].islower() and "\n\n" not in self.text[end : end + WINDOW - len(rest)])

    def _run(self, index: int) -> tuple[int, int, bool]:
        """First and last hit of the enumeration, pair or header that a hit belongs to; whether it is an enumeration or pair."""
        first = last = index
        enumerated = False
        while first > 0 and index - first < 12:
            joined = self._joint(first - 1)
            if joined is None:
                break
            enumerated |= joined
            first -= 1
        while last + 1 < len(self.hits) and last - index < 12:
            joined = self._joint(last)
            if joined is None:
                break
            enumerated |= joined
            last += 1
        return first, last, enumerated

    def _joint(self, left: int) -> bool | None:
        """What stands between two hits: True a connector of an enumeration, False a word of a header (`<|start|>assistant<|channel|>`), None anything else."""
        one, other = self.hits[left], self.hits[left + 1]
        if not 0 <= other.start - one.end <= LONGEST_JOINT:
            return None
        if words.ENUMERATION.match(self.text, one.end, other.start) or words.PLACEHOLDER.match(self.text, one.end, other.start):
            return True
        return False if words.HEADER.match(self.text, one.end, other.start) else None

    def _opener_is_mention(self, index: int) -> bool:
        """The element that this hit closes begins on the same line, and there it is talked about."""
        hit, text = self.hits[index], self.text
        name = _element_name(text[hit.start : hit.end])
        if not text.startswith(_CLOSERS, hit.start) or not name:
            return False
        for left in range(index - 1, max(-1, index - 6), -1):
            other = self.hits[left]
            if hit.start - other.end > WINDOW or "\n" in text[other.end : hit.start]:
                return False
            if _element_name(text[other.start : other.end]) == name:
                return not text.startswith(_CLOSERS, other.start) and bool(text[: other.start].strip()) and self.is_mention(left)
        return False

    def _is_empty_block(self, first: int, last: int) -> bool:
        """Markers joined by a mere ellipsis at the text's start: a block whose thinking was "...", not an enumeration."""
        between = (self.text[self.hits[place].end : self.hits[place + 1].start] for place in range(first, last))
        if self.text[: self.hits[first].start].strip() or not all("..." in part for part in between):
            return False
        end = self.hits[last].end
        return words.GOES_ON.match(self.text[end : end + 8]) is None


def _element_name(literal: str) -> str:
    """Name of the element that a tag opens or closes: `function` for `<function=f>` and `</function>`."""
    return re.split(r"[=\s]", literal.strip("<>[]|｜◁▷/ "))[0].lower()
