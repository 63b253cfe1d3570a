"""Debris of tokens in prose: word endings strewn between Korean, Chinese or Japanese words, and words that stutter in Latin prose.

A damaged key-value cache or batch lets tokens of other places through: `고객 ity 님, ment 주문`, `pay payment ment within in thir 30ty`. No sound text holds
pieces like "tion" by themselves between words of another script, and few pairs of equal words. Sources: LMCache/LMCache#4345, vllm-project/vllm#41331.
"""

from __future__ import annotations

import re
from itertools import islice

from detector.signals.foreign_weights import EAST
from detector.signals.scripts import Run

_ENDINGS = frozenset("ing tion ment ity ed er ly ness able ible ous ive ation ance ence est ful less ism ist ost ung keit lich ers ies ctor ors".split())  # noqa: SIM905 - a list of words
_WORDS = frozenset("the of and to is in that with for der die das und les des que los de la el".split())  # noqa: SIM905 - a list of words
_PIECES = _ENDINGS | _WORDS
_PARTICLES = frozenset("은 는 이 가 을 를 의 와 과 도 로 으로 에 에서 や と は が を の に も".split())  # noqa: SIM905 - a list of words
LETTERS = 6  # a to z, at most, of a piece: `script_kernels` counts such before letters of East Asia
PIECES, KINDS, ENDINGS = 4, 3, 2  # pieces between other words, different ones, and different endings among them
TURNS = 3  # three neighbours of three systems
STUTTERS, EQUAL, PARTIAL = 6, 2, 3  # different pairs of neighbours that stutter: in all, of equal words, of a word and its beginning or end
STUTTER_SHARE = 0.2  # of all pairs of neighbours; prose has a fiftieth
JUDGED_WORDS = 4000
SIGN = re.compile(r"(?<!&)nbsp;|,,(?= )|(?<= ),,")  # what scrambled text holds; `byte_kernels` finds it, so that other texts cost nothing
_ALONE = frozenset("ing tion ment ity ly ness ible ous ation ance ence ers ctor ors ies".split())  # noqa: SIM905 - no words of any language
ALONE, ALONE_KINDS = 4, 3
_SYSTEMS = {"kana": "han"}
_GAP = re.compile(r"[ \d%]*")
_WORD = re.compile(r"[^\W_]+|%")


def strewn_endings(text: str, found: list[Run]) -> int:
    """How many Latin word endings and small words stand by themselves between words of East Asian scripts; 0 where too few do."""
    pieces = []
    for before, run, after in zip(found, found[1:], found[2:], strict=False):
        if (
            run.script == "latin"
            and before.script in EAST
            and after.script in EAST
            and run.text in _PIECES
            and text[before.end : run.start] == text[run.end : after.start] in ("", " ")
            and after.text not in _PARTICLES
        ):
            pieces.append(run.text)
    kinds = set(pieces)
    return len(pieces) if len(pieces) >= PIECES and len(kinds) >= KINDS and len(kinds & _ENDINGS) >= ENDINGS else 0


def lone_pieces(found: list[Run]) -> int:
    """How many different Latin word endings and small words stand anywhere in East Asian prose, for texts whose signs and scripts are odd already."""
    return len({run.text for run in found if run.script == "latin" and run.text in _PIECES})


def is_babel(text: str, found: list[Run]) -> bool:
    """Words of three writing systems follow one another in changing order, with nothing but blanks and numbers between them: no list, no table."""
    turns: list[bool] = []
    for one, two, three in zip(found, found[1:], found[2:], strict=False):
        places = [_SYSTEMS.get(run.script, run.script) for run in (one, two, three)]
        if len(set(places)) == 3 and _GAP.fullmatch(text, one.end, two.start) and _GAP.fullmatch(text, two.end, three.start):
            order = sorted(places)
            turns.append((order.index(places[0]) + 1) % 3 == order.index(places[1]))
    return len(turns) >= TURNS and len(set(turns)) == 2


def stutters(text: str, *, signed: bool = False) -> int:
    """How many neighbours in Latin prose are the same word twice, or a word and its own beginning or end; 0 where that is no more than chance.

    `signed`: the text holds a sign of scrambled tokens, so that equal words alone are enough (songs and Vietnamese double words as well).
    """
    equal: set[str] = set()
    partial: set[tuple[str, str]] = set()
    count = pairs = 0
    last, end = "", -1
    for match in islice(_WORD.finditer(text), JUDGED_WORDS):
        first, second = last, match[0].lower()
        beside = bool(first) and not text[end : match.start()].strip(" ")
        last, end = second, match.end()
        pairs += beside
        if not beside:
            continue
        if first == second:
            equal.add(first)
        elif min(len(first), len(second)) >= 2 and not (first.isdecimal() and second.isdecimal()) and _is_piece(first, second):
            partial.add((first, second))
        else:
            continue
        count += 1
    few = len(equal) < EQUAL or len(equal) + len(partial) < STUTTERS or count < STUTTER_SHARE * pairs
    return 0 if few or (len(partial) < PARTIAL and not signed) else count


def lone_endings(text: str) -> int:
    """How many English word endings stand by themselves; 0 where too few do."""
    alone = [match[0] for match in _WORD.finditer(text) if match[0] in _ALONE]
    return len(alone) if len(alone) >= ALONE and len(set(alone)) >= ALONE_KINDS else 0


def _is_piece(first: str, second: str) -> bool:
    longer, shorter = (first, second) if len(first) > len(second) else (second, first)
    return longer.startswith(shorter) or longer.endswith(shorter)
