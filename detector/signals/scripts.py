"""Writing systems of a text: runs of letters by script, the main language that they suggest, and which characters are common.

Ranges are those of the Unicode block list (blocks.txt), limited to letters. One or two Greek letters are no run: they stand in formulas of every language.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import NamedTuple

from detector.signals.latin_languages import words_of_grammar

SCRIPTS: dict[str, str] = {
    "latin": "A-Za-z\u00aa\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff",
    "han": "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f",
    "kana": "\u3041-\u3096\u30a1-\u30fa\u30fc\u31f0-\u31ff\uff66-\uff9d",
    "hangul": "\u1100-\u11ff\uac00-\ud7a3",
    "greek": "\u0386\u0388-\u03ce\u1f00-\u1fbc\u1fc2-\u1fcc\u1fd0-\u1fdb\u1fe0-\u1fec\u1ff2-\u1ffc",
    "cyrillic": "\u0400-\u0481\u048a-\u052f",
    "arabic": "\u0620-\u064a\u066e-\u06d3\u06d5\u06fa-\u06ff\u0750-\u077f\u08a0-\u08c7\ufb50-\ufdfb\ufe70-\ufefc",
    "hebrew": "\u05d0-\u05ea",
    "devanagari": "\u0900-\u0963\u0971-\u097f",
    "bengali": "\u0980-\u09e3\u09f0-\u09f1",
    "gurmukhi": "\u0a00-\u0a65",
    "gujarati": "\u0a80-\u0ae3",
    "tamil": "\u0b80-\u0be3",
    "telugu": "\u0c00-\u0c63",
    "kannada": "\u0c80-\u0ce3",
    "malayalam": "\u0d00-\u0d63",
    "sinhala": "\u0d80-\u0df3",
    "thai": "\u0e01-\u0e3a\u0e40-\u0e4e",
    "lao": "\u0e80-\u0ecf",
    "tibetan": "\u0f40-\u0fbc",
    "myanmar": "\u1000-\u103f\u1050-\u109d",
    "georgian": "\u10a0-\u10ff\u1c90-\u1cbf",
    "armenian": "\u0531-\u0556\u0561-\u0587",
    "ethiopic": "\u1200-\u135a",
    "khmer": "\u1780-\u17d3",
}
GREEK_LETTERS = 3  # in a row: a word
_PATTERNS = {name: f"(?P<{name}>[{letters}]{f'{{{GREEK_LETTERS},}}' if name == 'greek' else '+'})" for name, letters in SCRIPTS.items()}
_RUN = re.compile("|".join(_PATTERNS.values()))
_FOREIGN = re.compile("|".join(pattern for name, pattern in _PATTERNS.items() if name != "latin"))
# Kana are a third of ordinary Japanese letters; a name or a slogan in Chinese has fewer.
JAPANESE_KANA_SHARE = 0.15
LOCAL_SHARE = 0.2  # of the letters, and in that many places: a script is then the language, and the Latin words in it are names and terms
LOCAL_RUNS = 3
SPLICED_SHARE = 0.35  # of the letters: with less, Latin words of grammar (so many, and so many for each place) show prose with splices
PROSE_GRAMMAR, PROSE_GRAMMAR_PER_PLACE = 6, 2
_UNSPACED = frozenset({"han", "kana", "thai", "lao", "khmer", "myanmar"})  # a run is a clause
LOCAL_CLAUSES = 2
LATIN_GRAMMAR, LATIN_GRAMMAR_BESIDE = 3, 2  # Latin words of grammar that make prose; fewer beside one stretch of half its letters
STUTTER_SHARE = 0.08  # repeated pieces per Han or Hangul character; sound text has a third of it at most


class Run(NamedTuple):
    """Letters of one script: `start` and `end` are positions in the text."""

    script: str
    text: str
    start: int
    end: int


def runs(text: str, *, latin: bool = True) -> list[Run]:
    """Runs of letters of one script, in order; digits, blanks and signs end a run."""
    pattern = _RUN if latin else _FOREIGN
    return [Run(str(match.lastgroup), match[0], match.start(), match.end()) for match in pattern.finditer(text)]


def has_other_script(text: str) -> bool:
    """A letter that is not Latin stands in the text (one or two Greek ones count for none)."""
    return _FOREIGN.search(text) is not None


def letters(found: list[Run]) -> Counter[str]:
    """Letters per script. One Han, kana or Hangul character counts as three: it stands for a syllable or a word, as about three Latin letters do."""
    count: Counter[str] = Counter()
    for run in found:
        count[run.script] += (run.end - run.start) * (3 if run.script in ("han", "kana", "hangul") else 1)
    return count


def main_language(count: Counter[str]) -> str | None:
    """`zh`, `ja`, `ko`, or the name of the script with the most letters; None for a text without letters."""
    if not count:
        return None
    east = count["han"] + count["kana"]
    others = {name: number for name, number in count.items() if name not in ("han", "kana")}
    top = max(others, key=lambda name: (others[name], name), default=None)
    if top is None or east > others[top]:
        return "ja" if count["kana"] >= JAPANESE_KANA_SHARE * east else "zh"
    return "ko" if top == "hangul" else top


@cache
def only_simplified() -> frozenset[str]:
    """Han characters that simplified Chinese has and no standard of Japan, Korea or Taiwan (GB 2312 but not JIS X 0208, KS X 1001 or Big5)."""
    elsewhere = _characters("euc_jp", 0xB0, 0xF4) | hanja() | _characters("big5", 0xA4, 0xF9)
    return _characters("gb2312", 0xB0, 0xF7) - elsewhere


@cache
def not_japanese() -> frozenset[str]:
    """Common Han characters of Chinese, simplified or traditional, that the first level of JIS X 0208 lacks: Japanese writes few of them."""
    return only_simplified() | (_characters("big5", 0xA4, 0xC6) - _characters("euc_jp", 0xB0, 0xCF))


@cache
def hanja() -> frozenset[str]:
    """Han characters that Korean texts use (KS X 1001): others in a Korean text are Chinese or Japanese."""
    return _characters("euc_kr", 0xCA, 0xFD)


@cache
def common() -> frozenset[str]:
    """Han characters and syllables of the first levels of the national standards: GB 2312, JIS X 0208, Big5, and the Hangul of KS X 1001.

    Sound text holds nearly nothing else; what a wrong decoding makes of UTF-8 is a fifth or more of other characters (measured on 1,000 documents of
    system messages per language: 99.9th percentile 0.046 for sound Chinese, 0.04 Japanese, 0.001 Korean; 0.18 and more for GBK and EUC-KR mojibake).
    """
    han = _characters("gb2312", 0xB0, 0xD7) | _characters("euc_jp", 0xB0, 0xCF) | _characters("big5", 0xA4, 0xC6)
    return han | _characters("euc_kr", 0xB0, 0xC8)


def local_language(found: list[Run], count: Counter[str]) -> str | None:
    """`main_language`, but a text full of Latin names and terms has the language whose script comes again and again in it.

    Where it comes in one or two places only, Latin words of grammar tell prose from names.
    """
    main = main_language(count)
    if main != "latin":
        return main
    often, places = Counter(run.script for run in found), Counter[str]()
    for place, run in enumerate(found):
        places[run.script] += place == 0 or found[place - 1].script != run.script
    local = {name: number for name, number in count.items() if name != "latin" and number >= LOCAL_SHARE * count.total()}
    if not local:
        return main
    table = words_of_grammar(more=True)
    if sum(local.values()) < SPLICED_SHARE * count.total():
        needed = max(PROSE_GRAMMAR, PROSE_GRAMMAR_PER_PLACE * max(places[name] for name in local))
        if sum(run.script == "latin" and run.text.lower() in table for run in found) >= needed:
            return main
    if not any(often[name] >= LOCAL_RUNS and places[name] >= LOCAL_RUNS for name in local):
        few = max(places[name] for name in local) == 1 and 2 * sum(local.values()) <= count["latin"] and not local.keys() & {"han", "kana", "hangul"}
        needed = LATIN_GRAMMAR_BESIDE if few else LATIN_GRAMMAR
        if sum(run.script == "latin" and run.text.lower() in table for run in found) >= needed or not any(
            often[name] >= (LOCAL_CLAUSES if name in _UNSPACED else LOCAL_RUNS) for name in local
        ):
            return main
    return main_language(Counter(local))


def simplified_count(text: str) -> int:
    """How many characters of the text only simplified Chinese has."""
    table = only_simplified()
    return sum(character in table for character in text)


def _characters(codec: str, first: int, last: int) -> frozenset[str]:
    """What the two-byte codes with lead bytes `first` to `last` stand for."""
    grid = b"".join(bytes((lead, trail)) + b"\n" for lead in range(first, last + 1) for trail in range(0x40, 0xFF))
    return frozenset(line for line in grid.decode(codec, "ignore").split("\n") if len(line) == 1 and line > "\u2fff")
