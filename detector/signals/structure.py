"""What is rightly repetitive: the last word over every suspected loop.

Data, code, songs and what the user asked for repeat themselves without anything being wrong. Each excuse here looks at structure (does the text parse,
do the cells change, is it closed, does it end cleanly), never at a list of known texts. The function `excuse` returns the excuse's name or None.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass

from detector.record import Record
from detector.signals.request_words import asks_for_repetition, asks_for_verse
from detector.signals.text_units import collapsed, counts_up, is_code, is_prose, recurring_share, units


@dataclass(frozen=True, slots=True)
class Suspect:
    """A stretch that repeats itself.

    `text` is the whole text, `start` and `end` its offsets in characters; `period` the distance of the copies in characters (0: no fixed one), `copies` how
    many there are (with fraction); `exact`: they are equal but for less than one byte in fifty; `at_end`: the stretch reaches the text's end; `share`: part
    of the text; `cut`: generation was cut off (length, abort, broken stream), None where the log does not say; `thinking`: the text is reasoning.
    """

    text: str
    start: int
    end: int
    period: int
    copies: float
    exact: bool
    at_end: bool
    share: float
    cut: bool | None
    thinking: bool

    @property
    def body(self) -> str:
        """The stretch itself, first copy included."""
        return self.text[self.start : self.end]


_RULER = re.compile(r"([^\w\s])\1{5,}|(?:[-=+|:*_~.·•─━│┃░▒▓█▁-▇ ]){8,}")
_HEX_DUMP = re.compile(r"^[ \t]{0,8}(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]{1,4}(?:[0-9a-fA-F]{2,8}[ ,]{1,3}){3,}", re.MULTILINE)
_SEQUENCE_LINE = re.compile(r"^[\d\s]*[ACGTUNacgtun\s]{16,}[\d\s]*$")
_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{40,}={0,2}")
HEADED_LINES = 3
HEADING_LETTERS = 2  # in a line that occurs once: less is a number or a ruler
LONGEST_PLAN = 31  # numbered entries with equal text: days of a month
LONGEST_FORM = 4000  # characters of empty cells and blanks to write on
LONGEST_RULER = 120  # characters: a rule across a page, even where the answer was cut off in it
_RULE = frozenset("-=+|:_~─━│┃═║┌┐└┘├┤┬┴┼╭╮╰╯░▒▓█ \n")
_TAGS = re.compile(r"(?:</?[A-Za-z][^<>]*>|&\w{2,8};|\s)+")
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)", re.MULTILINE)
_LAUGHTER = frozenset("ㅋㅎㅠㅜㅇㄷ哈呵嘿嘻哇啊呜w笑草ドゴザはハアーぁwｗ5haeokHAoOлахЛАХ!?~…. ！？～")


def excuse(suspect: Suspect, record: Record) -> str | None:
    """Why this stretch is rightly repetitive, or None when nothing excuses it. Never raises."""
    user_text = record.user_text or ""
    if user_text and asks_for_repetition(user_text):
        return "requested"
    if user_text and _copies_input(suspect, user_text):
        return "copies_input"
    if suspect.thinking and suspect.copies < 6.5 and (suspect.period >= 80 or not suspect.period):
        return "reasoning_restart"  # going over a whole train of thought a few times is how reasoning models check themselves
    for name, holds in _EXCUSES.items():
        if holds(suspect):
            return name
    if user_text and asks_for_verse(user_text) and not suspect.cut and suspect.copies < 12:
        return "verse"
    return None


def _copies_input(suspect: Suspect, user_text: str) -> bool:
    """The prompt itself repeats this unit: the answer copies or continues its input."""
    length = suspect.period or min(200, suspect.end - suspect.start)
    if length < 12:
        return False
    unit = " ".join(suspect.text[suspect.start : suspect.start + length].split())
    prompt = " ".join(user_text.split())
    probe = unit[: max(12, min(60, len(unit)))]
    return prompt.count(probe) >= 2


def _whole_json(suspect: Suspect) -> bool:
    """The text, or the closed fence around the stretch, is valid JSON whose items differ."""
    source = suspect.text.strip()
    fenced = _fence_around(suspect)
    if fenced is not None:
        source = fenced.strip()
    if source[:1] not in "[{":
        return False
    try:
        parsed = json.loads(source)
    except (ValueError, RecursionError):
        return False
    return _items_differ(parsed)


def _items_differ(value: object) -> bool:
    """Of the longest list in a JSON value at most half of the items are copies; a value without a longer list counts as differing."""
    longest: list[object] = []
    queue = [value]
    for item in queue:
        if isinstance(item, list):
            if len(item) > len(longest):
                longest = item
            queue.extend(item)
        elif isinstance(item, dict):
            queue.extend(item.values())
    if len(longest) < 4 or all(isinstance(item, int | float | bool | None) for item in longest):
        return True
    return len({json.dumps(item, sort_keys=True) for item in longest}) * 2 >= len(longest)


def _fence_around(suspect: Suspect) -> str | None:
    """Inside of the closed code fence that holds the whole stretch (or all but its edges), or None."""
    marks = [found.start() for found in _FENCE.finditer(suspect.text)]
    middle = (suspect.start + suspect.end) // 2
    for opening, closing in zip(marks[::2], marks[1::2], strict=False):
        if opening <= middle < closing:
            inside = suspect.text[opening:closing]
            return inside[inside.find("\n") + 1 :] if suspect.start >= opening - 80 and suspect.end <= closing + 80 else None
    return None


def _few_characters(suspect: Suspect) -> bool:
    """Rulers wherever they stand; zero arrays, progress bars, leaders inside a text that goes on, before a closing bracket, or inside a closed fence."""
    body = suspect.body
    if len(set(body)) > 8:
        return False
    if body.strip() and set(body) <= _RULE and (len(body) <= LONGEST_RULER or (suspect.cut is False and len(body) <= LONGEST_FORM and set(body) & set("|_"))):
        return True
    if _fence_around(suspect) is not None:
        return True
    if not suspect.cut and suspect.text[suspect.end :].lstrip(" ,;\t\r\n")[:1] in ("]", ")", "}", ">"):
        return True
    if suspect.cut is False and suspect.text.rstrip()[-1:] in ("]", ")", "}"):
        return True
    return not suspect.at_end and suspect.share < 0.5


def _closed_block(suspect: Suspect) -> bool:
    """Equal lines in a closed code fence, or equal empty elements in markup that is closed, of an answer that ended by itself: listings, logs, forms."""
    if suspect.cut is not False:
        return False
    if _fence_around(suspect) is not None:
        return True
    last = re.search(r"</\w+>\s*$", suspect.text)
    return last is not None and suspect.body.count(last.group().strip()) <= 1 and len(_TAGS.sub("", suspect.body)) <= max(12, suspect.period)


def _leaders(suspect: Suspect) -> bool:
    """Nothing but rulers and leaders repeats: without them the lines differ."""
    body = suspect.body
    rulers = sum(len(found.group()) for found in _RULER.finditer(body))
    if rulers * 2 < len(body) or not body.strip():
        return False
    rest = [line for line in (_RULER.sub(" ", line).strip() for line in body.split("\n")) if line]
    return len(rest) >= 3 and len(set(rest)) * 2 > len(rest)


def _biological_sequence(suspect: Suspect) -> bool:
    """Lines of a DNA or RNA alphabet with at least three letters in the text's sequence lines."""
    body = re.sub(r"[\d\s]", "", suspect.body)
    if not body or set(body.upper()) - set("ACGTUN"):
        return False
    lines = [line for line in suspect.text.split("\n") if _SEQUENCE_LINE.match(line)]
    return len(set("".join(lines).upper()) & set("ACGTUN")) >= 3 and len({line.strip() for line in lines}) >= 2


def _encoded_bytes(suspect: Suspect) -> bool:
    """Hex dump, or base64 with a part that does not repeat."""
    dump = _HEX_DUMP.findall(suspect.text)
    if len(dump) >= 3 and 2 * len(set(dump)) > len(dump):
        return True
    for found in _BASE64_RUN.finditer(suspect.text):
        if found.start() < suspect.end and found.end() > suspect.start:
            outside = suspect.text[found.start() : max(found.start(), suspect.start)] + suspect.text[min(suspect.end, found.end()) : found.end()]
            if len(outside) >= 16 and re.search(r"[A-Z]", outside) and re.search(r"[a-z]", outside) and re.search(r"[0-9+/]", outside):
                return True
    return False


def _laughter(suspect: Suspect) -> bool:
    """Laughter, cheers and drawn-out sounds of a chat reply that ends by itself."""
    if suspect.cut or len(suspect.body) > (60 if suspect.cut is None else 160) or suspect.period > 4:
        return False
    return set(suspect.body) <= _LAUGHTER or (suspect.period == 1 and suspect.body[0].isalpha() and len(suspect.body) <= 60)


def _cells_change(suspect: Suspect) -> bool:
    """Rows of data, code or a list: the units differ from one another by more than a counter."""
    if suspect.exact and (suspect.at_end or suspect.copies >= 3.5):
        return False
    parts = units(suspect.body)
    if len(parts) < 4:
        return False
    # grams count from their third or fourth occurrence on, so the first copies lie before the stretch
    seen = units(suspect.text[max(0, suspect.start - 3 * len(suspect.body)) : suspect.end])
    if recurring_share(parts, Counter(seen)) >= (0.95 if is_code(suspect.body) else 0.75):
        return False
    same_but_numbers = [collapsed(part) for part in parts]
    if recurring_share(same_but_numbers, Counter(map(collapsed, seen))) < 0.6:
        return True
    if not counts_up(parts):
        return True
    shape, copies = Counter(same_but_numbers).most_common(1)[0]
    # a plan of 31 days that ends by itself is a plan
    return not is_prose(shape) or _fence_around(suspect) is not None or (suspect.cut is False and copies <= LONGEST_PLAN)


def _headed(suspect: Suspect) -> bool:
    """Clauses, forms and tickets of an answer that ended by itself: the same lines stand under headings that differ by more than a number."""
    if suspect.cut is not False or suspect.thinking or suspect.body.count("\n") < HEADED_LINES:
        return False
    lines = [collapsed(line.strip()) for line in suspect.text.split("\n") if line.strip()]
    counts = Counter(lines)
    seen: set[str] = set()  # since the last heading
    for line in lines:
        if counts[line] > 1:
            if line in seen:
                return False
            seen.add(line)
        elif sum(map(str.isalpha, line)) >= HEADING_LETTERS:
            seen.clear()
    return len(counts) < len(lines)


def _refrain(suspect: Suspect) -> bool:
    """A song or poem that ends by itself: short lines in stanzas, a refrain that comes back a few times."""
    if suspect.cut or suspect.copies > 8 or suspect.share > 0.85:
        return False
    lines = [line.strip() for line in suspect.text.split("\n")]
    filled = [line for line in lines if line]
    if len(filled) < 8 or "" not in lines[1:-1]:
        return False
    short = sum(len(line) <= 64 for line in filled)
    plain = sum(not re.search(r"[{}<>=;|]|^\s*[-*\d]+[.)]?\s", line) for line in filled)
    return short * 10 >= 9 * len(filled) and plain * 10 >= 9 * len(filled) and len(set(map(collapsed, filled))) * 5 >= 2 * len(filled)


_EXCUSES = {
    "json": _whole_json,
    "filler": _few_characters,
    "closed_block": _closed_block,
    "leaders": _leaders,
    "sequence": _biological_sequence,
    "encoded": _encoded_bytes,
    "laughter": _laughter,
    "cells_change": _cells_change,
    "headed": _headed,
    "refrain": _refrain,
}
