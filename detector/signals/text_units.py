"""Units of a repeating stretch: sentences, lines or parts, and what about them changes from one to the next."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？…])\s*")
_OPENER = re.compile(r"^(?:(?:so|ok|okay|oh|and|but|hmm)[ .,]+)?[^\s,，、]{1,10}(?: [^\s,，、]{1,6})?[,，、]\s*", re.IGNORECASE)
_CODE_LINE = re.compile(r"^(?:\s{2,}|\t)\S|[;{}\]>,:]\s*$|\)\s*$|^\s*(?:#|//|/?\*)")


def units(body: str) -> list[str]:
    """A stretch cut at its own joints: sentences and lines, without a short opener ("Wait,"); comma-separated parts where there are too few."""
    parts = [part for line in body.split("\n") for part in _SENTENCE_END.split(line.strip())]
    parts = [_OPENER.sub("", part, count=1).strip() for part in parts]
    parts = [part for part in parts if part]
    if len(parts) >= 6:
        return parts
    return [part.strip() for part in re.split(r"[,，、;；]\s*|(?<=})\s*", body) if part.strip()]


def collapsed(unit: str) -> str:
    """A unit with every number replaced: what is left when only counters change."""
    return _NUMBER.sub("0", unit)


def most_copies(text: str) -> int:
    """How often the commonest unit of a text occurs."""
    return max(Counter(unit for unit in units(text) if len(unit) > 3).values(), default=0)


def recurring_share(parts: Sequence[str], counts: Counter[str]) -> float:
    """Share of characters in units that occur at least three times by `counts`."""
    total = sum(map(len, parts))
    return sum(len(part) for part in parts if counts[part] >= 3) / total if total else 0.0


def counts_up(parts: Sequence[str]) -> bool:
    """Among units that are equal but for numbers, one number alone changes and it changes by a constant step."""
    shape, _ = Counter(map(collapsed, parts)).most_common(1)[0]
    rows = [tuple(_NUMBER.findall(part)) for part in parts if collapsed(part) == shape]
    columns = [column for column in zip(*rows, strict=True) if len(set(column)) > 1]
    if not columns:
        return True
    if len(set(columns)) > 1 or len(columns) > 2:
        return False
    try:
        values = [int(cell) for cell in columns[0]]
    except ValueError:
        return False
    steps = Counter(after - before for before, after in itertools.pairwise(values))
    return bool(steps) and steps.most_common(1)[0][1] * 4 >= 3 * len(values[1:])


def is_code(body: str) -> bool:
    """Most lines are indented or end in a sign of code."""
    lines = [line for line in body.split("\n") if line.strip()]
    return len(lines) >= 4 and sum(bool(_CODE_LINE.search(line)) for line in lines) * 2 > len(lines)


def is_prose(unit: str) -> bool:
    """A unit that reads as language rather than as data: mostly letters and spaces, several words or CJK letters, no code signs."""
    letters = sum(character.isalpha() for character in unit)
    signs = len(re.findall(r"[{}<>=;|\\/_\[\]\"'()$#@&%]", unit))
    words = len(unit.split())
    wide = len(re.findall(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]", unit))
    return letters >= 0.6 * len(unit.replace(" ", "")) and signs <= 2 + len(unit) // 60 and (words >= 4 or wide >= 6)
