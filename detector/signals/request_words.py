"""What a request asks for, as far as repetition goes: words of several languages, negated ones left out."""

from __future__ import annotations

import re

_REPEAT = re.compile(
    r"""
    \b(?:repeat(?:ing|edly)?|over\s+and\s+over|again\s+and\s+again|(?:(?<!how\ )many|several|\d+|hundred|thousand|ten|twenty|fifty)\s+times
      |non-?stop|endless(?:ly)?)\b
    | \b(?:lines?|rows?|minutes?|pages?)\s+of\s+(?:\w+\s+){0,3}(?:typing|practice|drill|zeros?|ones|the\s+same)\b
    | \btyping\s+(?:practice|drill|exercise)\b | \b(?:mantra|chant)\b | \bfill(?:ed)?\s+(?:it\s+|up\s+)?with\b
    | \b(?:all|only)\s+(?:zeros?|zeroes|ones)\b | \b(?:count(?:ing)?\s+(?:from|to|up|down)|numbers?\s+from)\b
    | 반복 | \d+\s*번\s*(?:써|쓰|말|적|출력|외쳐|입력) | 여러\s*번 | 계속\s*(?:써|말|출력) | 타자\s*연습
    | 重复 | 重複 | \d+\s*[遍次] | 反复 | 打字练习 | 繰り返 | くり返 | くりかえ | \d+\s*回\s*(?:書|言|出力) | タイピング
    | \bwiederhol | \bmal\s+hintereinander | \br[ée]p[èée]t | \brepit[ea] | \brepet[ei] | \bveces\b | \bfois\b
    | \bповтор | \bраз\s+подряд | \bpowt[óo]rz | \blặp\s+lại | \btekrarla
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOT = re.compile(
    r"""
    (?:\b(?:not|n't|never|without|avoid|no|stop|nicht|ohne|sans|sin|keine?|ne)\b[^.?!\n'"’”]{0,24}$) | (?:不要|不得|请勿|別|避免|没有|勿)[^。！？\n]{0,8}$
    """,
    re.IGNORECASE | re.VERBOSE,
)
_NOT_AFTER = re.compile(r"^[가-힣]*\s*(?:하지|되지|없이|금지|말고|마세요|しない|せず|しなく|ないで|禁止)")
_VERSE = re.compile(
    r"\b(?:song|lyrics?|chorus|refrain|poem|verse|nursery\s+rhyme|hymn|rap|jingle|lied|gedicht|chanson|canci[óo]n|песн)|노래|가사|후렴|동요|시를?\s*(?:써|지어)|歌|诗|詩",
    re.IGNORECASE,
)


def asks_for_repetition(user_text: str) -> bool:
    """True when the request asks for the same thing again and again, or to count."""
    for found in _REPEAT.finditer(user_text):
        before = user_text[max(0, found.start() - 40) : found.start()]
        if not _NOT.search(before) and not _NOT_AFTER.match(user_text[found.end() : found.end() + 12]):
            return True
    return False


def asks_for_verse(user_text: str) -> bool:
    """True when the request asks for a song or poem, whose refrains repeat."""
    return _VERSE.search(user_text) is not None
