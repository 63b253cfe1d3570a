"""Which texts beyond ASCII deserve an exact look for garbage: a compiled pass over code points.

The pass knows nothing about sentences. It counts letters per script and the few combinations without which `detector.signals.garbage` finds nothing in a
text, so it may only leave out sound texts (a test holds it to that). Importing this module imports numba.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detector.kernel_start import compiled
from detector.latin_kernels import SENTENCE_CHARACTERS, grammar, latin_languages, latin_sentence
from detector.signals import mojibake
from detector.signals.chinese_in_japanese import CHINESE_IN_JAPANESE
from detector.signals.scripts import (
    GREEK_LETTERS,
    JAPANESE_KANA_SHARE,
    LOCAL_RUNS,
    SCRIPTS,
    SPLICED_SHARE,
    STUTTER_SHARE,
    common,
    not_japanese,
    only_simplified,
)
from detector.signals.token_debris import LETTERS, PIECES

CHUNK_CHARACTERS = 1 << 18  # a megabyte of code points at a time
NAMES = ("", *SCRIPTS)
LATIN, HAN, KANA, HANGUL, CYRILLIC, GREEK = (NAMES.index(name) for name in ("latin", "han", "kana", "hangul", "cyrillic", "greek"))
UNCOMMON, ALIEN, HALFWIDTH, ACCENT, HIGH, ACCENTED, CONTINUATION, SIMPLIFIED, SECOND = (1 << place for place in range(9))
_PLANE = 1 << 16
CAPITALS, CAPITALS_SHARE = mojibake.CAPITALS, mojibake.CAPITALS_SHARE
UNCOMMON_SHARE = mojibake.UNCOMMON_HINT_SHARE


SIGNS_INSIDE = np.array([point in (0xA9, 0xAE, 0xB1, 0xB3, 0xB6, 0xB9, 0xBB, 0xBC, 0xBE, 0xBF) for point in range(0xA0, 0xC0)])  # as in `mojibake`
_PAIRS = np.array([[ord(letter) for letter in pair] for pair in CHINESE_IN_JAPANESE.split()], np.uint32)


class Tables(NamedTuple):
    """Per code point of the basic plane: the script (place in `NAMES`, 0 for no letter) and the properties above as bits."""

    script: NDArray[np.uint8]
    bits: NDArray[np.uint16]


@cache
def tables() -> Tables:
    """Tables made from the same definitions that the exact rules use."""
    script = np.zeros(_PLANE, np.uint8)
    bits = np.zeros(_PLANE, np.uint16)
    for number, letters in enumerate(SCRIPTS.values(), start=1):
        for first, last in _ranges(letters):
            script[first : min(last, _PLANE - 1) + 1] = number
    known = np.zeros(_PLANE, np.bool_)
    known[[ord(character) for character in common()]] = True
    for first, last in ((0x4E00, 0x9FFF), (0xAC00, 0xD7A3)):
        bits[first : last + 1] |= np.where(known[first : last + 1], 0, UNCOMMON).astype(np.uint16)
    _mark(bits, "".join(not_japanese()), ALIEN)
    _mark(bits, "".join(only_simplified()), SIMPLIFIED)
    _mark(bits, "".join(pair[1] for pair in CHINESE_IN_JAPANESE.split()), SECOND)
    _mark(bits, "".join(map(chr, range(0xFF66, 0xFF9E))), HALFWIDTH)
    _mark(bits, mojibake.accents_in_eastern_encodings(), ACCENT)
    _mark(bits, mojibake.WINDOWS_1252 + "".join(map(chr, range(0x80, 0x100))), HIGH)
    _mark(bits, "".join(map(chr, range(0xC0, 0x100))), ACCENTED)
    _mark(bits, bytes(code for code in range(0x80, 0xC0)).decode("cp1251", "ignore"), CONTINUATION)
    return Tables(script, bits)


def _mark(bits: NDArray[np.uint16], characters: str, what: int) -> None:
    bits[[ord(character) for character in characters]] |= np.uint16(what)


def _ranges(letters: str) -> list[tuple[int, int]]:
    """First and last code points of a character class's parts."""
    found = []
    place = 0
    while place < len(letters):
        spread = place + 2 < len(letters) and letters[place + 1] == "-"
        found.append((ord(letters[place]), ord(letters[place + 2 if spread else place])))
        place += 3 if spread else 1
    return found


def suspicious(texts: Sequence[str]) -> tuple[NDArray[np.bool_], NDArray[np.uint8]]:
    """For each text whether it needs an exact look, and its main script beside Latin, or Latin (place in `NAMES`). Never raises on any text."""
    suspect = np.zeros(len(texts), np.bool_)
    local = np.zeros(len(texts), np.uint8)
    first = 0
    while first < len(texts):
        last, size = first, 0
        while last < len(texts) and (size == 0 or size + len(texts[last]) <= CHUNK_CHARACTERS):
            size += len(texts[last])
            last += 1
        points = np.frombuffer("".join(texts[first:last]).encode("utf-32-le", "surrogatepass"), np.uint32)
        starts = np.zeros(last - first + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts[first:last]), np.int64, last - first), out=starts[1:])
        table = tables()
        _judge(points, starts, table.script, table.bits, grammar(), suspect[first:last], local[first:last])
        first = last
    return suspect, local


@compiled
def _same(points: NDArray[np.uint32], script: NDArray[np.uint8], at: int, begin: int, length: int, gap: int) -> bool:
    """The `length` letters that end at `at` stand once more before them, `gap` characters apart; all are Han or Hangul."""
    if at - 2 * length - gap + 1 < begin:
        return False
    for place in range(length):
        point = points[at - place]
        if point != points[at - place - length - gap] or point >= _PLANE or (script[point] != HAN and script[point] != HANGUL):
            return False
    return True


@compiled
def _small(point: int) -> bool:
    return 97 <= point <= 122 or 0xC0 <= point <= 0xFF or 65 <= point <= 90


@compiled
def _piece_before(points: NDArray[np.uint32], last: int, begin: int, blank: int) -> bool:
    """A few small Latin letters end at `last`; before them stands a character beyond ASCII, with a blank between where one followed them."""
    piece = last
    while piece > begin and last - piece < LETTERS and 97 <= points[piece] <= 122:
        piece -= 1
    if blank:
        return bool(piece > begin and points[piece] == blank and points[piece - 1] >= 128)
    return bool(points[piece] >= 128)


@compiled
def _stutters(points: NDArray[np.uint32], script: NDArray[np.uint8], at: int, begin: int) -> int:
    """1 where the one to three letters that end at `at` stand once more right before them, or one blank or comma before."""
    for length in range(1, 4):
        if at - length < begin:
            return 0
        if _same(points, script, at, begin, length, 0):
            return 1
        gap = points[at - length]
        if (gap == 32 or gap == 44) and _same(points, script, at, begin, length, 1):  # compiled: two comparisons
            return 1
    return 0


@compiled
def _judge(
    points: NDArray[np.uint32],
    starts: NDArray[np.int64],
    script: NDArray[np.uint8],
    bits: NDArray[np.uint16],
    known_words: tuple[NDArray[np.uint16], NDArray[np.uint64], NDArray[np.uint16]],
    suspect: NDArray[np.bool_],
    local: NDArray[np.uint8],
) -> None:
    for row in range(len(starts) - 1):
        begin, end = starts[row], starts[row + 1]
        count = np.zeros(32, np.int64)
        runs = np.zeros(32, np.int64)
        aliens = halfwidth = uncommon = hans = hanguls = stutters = singles = accents = broken = words = accented = high = latin_letters = 0
        byte_letters = greeks = capitals = pieces = 0
        strange = simplified = False
        before = last_script = np.int64(0)
        other, sentence = begin, False  # where the last letter that is not Latin ended; a Latin sentence beside such letters
        for at in range(begin, end):
            point = points[at]
            if point < 128:  # most characters of most texts: letters are counted, nothing else is looked at
                before = np.int64(0)
                if 97 <= point <= 122 or 65 <= point <= 90:
                    latin_letters += 1
                    before = last_script = np.int64(LATIN)
                accented = high = 0
                continue
            if 0x4E00 <= point <= 0x9FFF or 0xAC00 <= point <= 0xD7A3:  # most characters of East Asian texts
                hangul = point >= 0xAC00
                if hangul:
                    hanguls += 1
                    runs[HANGUL] += last_script != HANGUL
                else:
                    hans += 1
                    runs[HAN] += last_script != HAN
                last_script = np.int64(HANGUL if hangul else HAN)
                if at - other > SENTENCE_CHARACTERS and not sentence:
                    sentence = latin_sentence(points, script, other, at, other > begin, True)
                other = at + 1
                mark = bits[point]
                if mark:
                    aliens += (mark & ALIEN) != 0
                    simplified |= (mark & SIMPLIFIED) != 0
                    if mark & SECOND and at > begin:
                        for pair in range(len(_PAIRS)):
                            simplified |= _PAIRS[pair, 0] == points[at - 1] and _PAIRS[pair, 1] == point
                    uncommon += (mark & UNCOMMON) != 0
                    accents += (mark & ACCENT) != 0 and at > begin and 97 <= points[at - 1] <= 122
                if at - begin >= 4:
                    last = points[at - 1]
                    if point == last or point == points[at - 2] or point == points[at - 3] or point == points[at - 4]:
                        stutters += _stutters(points, script, at, begin)
                    if last == 32 and at + 2 < end and points[at + 1] == 32 and 97 <= points[at + 2] <= 122 and 97 <= points[at - 2] <= 122:
                        singles += 1
                    if last == 32 and 97 <= points[at - 2] <= 122:
                        pieces += _piece_before(points, at - 2, begin, 32)
                    elif 97 <= last <= 122:
                        pieces += _piece_before(points, at - 1, begin, 0)
                    strange |= last == 0x9983 and not hangul
                elif at > begin:
                    stutters += _stutters(points, script, at, begin)
                    strange |= points[at - 1] == 0x9983 and not hangul
                    if at - 2 >= begin and points[at - 1] == 32 and at + 2 < end and points[at + 1] == 32 and 97 <= points[at + 2] <= 122:
                        singles += 97 <= points[at - 2] <= 122
                before = last_script
                accented = high = 0
                continue
            if point >= _PLANE:
                this, what = np.int64(HAN if 0x20000 <= point <= 0x3134F else 0), np.int64(0)
            else:
                this, what = np.int64(script[point]), np.int64(bits[point])
            if this == GREEK:
                greeks = greeks + 1 if before == GREEK else 1
                count[this] += GREEK_LETTERS if greeks == GREEK_LETTERS else greeks > GREEK_LETTERS
                if greeks == GREEK_LETTERS:
                    runs[this] += last_script != this
                    last_script = this
                    if not sentence:
                        sentence = latin_sentence(points, script, other, at, other > begin, True)
                if greeks >= GREEK_LETTERS:
                    other = at + 1
            elif this:
                if this == KANA and at - begin >= 4:
                    near = points[at - 1]
                    if near == 32 and 97 <= points[at - 2] <= 122:
                        pieces += _piece_before(points, at - 2, begin, 32)
                    elif 97 <= near <= 122:
                        pieces += _piece_before(points, at - 1, begin, 0)
                count[this] += 1
                runs[this] += last_script != this
                last_script = this
                if this != LATIN:
                    if at - other > SENTENCE_CHARACTERS and not sentence:
                        sentence = latin_sentence(points, script, other, at, other > begin, True)
                    other = at + 1
            strange |= (point == 0x120 or point == 0x10A) and at > begin and points[at - 1] > 32  # compiled: Ġ and Ċ of raw tokens after a character
            strange |= point == 0x2581 and at > begin and points[at - 1] > 32 and points[at - 1] != 0x2581 and points[at - 1] < 0x2580
            if 0x122 <= point <= 0x143 and at > begin and 0xA1 <= points[at - 1] <= 0x143 and this:
                byte_letters += 1
            if 0x2500 <= point <= 0x25A0 and at > begin and at + 1 < end and points[at + 1] >= 0xA0:  # box drawing inside words
                lead = points[at - 1]
                strange |= 97 <= lead <= 122 or 65 <= lead <= 90 or (lead < _PLANE and script[lead] == CYRILLIC) or 0x2564 <= point <= 0x2568
            strange |= (
                0xA9 <= point <= 0xBF and SIGNS_INSIDE[point - 0xA0] and at > begin and at + 1 < end and _small(points[at - 1]) and _small(points[at + 1])
            )
            capitals += this == CYRILLIC and point <= 0x42F
            high = high + 1 if what & HIGH else 0
            if high >= 6:
                strange = True
            accented = accented + 1 if what & ACCENTED else 0
            if accented == 4:
                words += 1
            if what & ACCENT and at > begin and 97 <= points[at - 1] <= 122:
                accents += 1
            if this == CYRILLIC and at + 1 < end and 97 <= points[at + 1] <= 122:
                strange = True
            if what & CONTINUATION and at > begin:
                lead = points[at - 1]
                if lead in (0x420, 0x421) or (at - 1 > begin and 0x430 <= points[at - 2] <= 0x43F and lead < _PLANE and bits[lead] & CONTINUATION):
                    broken += 1
                if (lead == 0x432 and point == 0x402) or (lead == 0x440 and point == 0x45F):
                    strange = True
            if this in (HAN, HANGUL):  # rare ones: extensions, iteration mark, conjoining letters
                stutters += _stutters(points, script, at, begin)
            elif what & HALFWIDTH:
                halfwidth += 1
            before = this
        if other > begin and not sentence:
            sentence = latin_sentence(points, script, other, end, True, False)
        count[LATIN] += latin_letters
        count[HAN] += hans
        count[HANGUL] += hanguls
        east = hans + hanguls
        heaviest, scripts, weight, total, often = 0, 0, 0, 0, 0
        for number in range(1, 32):
            if count[number]:
                mass = count[number] * (3 if number in (HAN, KANA, HANGUL) else 1)
                total += mass
                if number != LATIN:
                    scripts += 1
                    often += runs[number]
                    if mass > weight:
                        heaviest, weight = number, mass
        both = count[HAN] > 0 and count[KANA] > 0
        if both:
            scripts -= 1
        latin = scripts == 1 and 2 * count[LATIN] >= total and (total - count[LATIN] < SPLICED_SHARE * total or often < LOCAL_RUNS or both)
        chinese = both and (simplified or aliens >= 2 or count[KANA] < JAPANESE_KANA_SHARE * (count[HAN] + count[KANA]))
        strange |= byte_letters >= 2
        wrong = (
            strange
            or words >= 3
            or accents >= 3
            or broken >= 4
            or (capitals >= CAPITALS and capitals >= CAPITALS_SHARE * count[CYRILLIC])
            or halfwidth >= 3
            or (uncommon > 0 and uncommon >= UNCOMMON_SHARE * east)
        )
        scrambled = singles >= 4 or pieces >= PIECES or (stutters >= 4 and stutters >= STUTTER_SHARE * (count[HAN] + count[HANGUL]))
        suspect[row] = scripts >= 2 or latin or chinese or wrong or scrambled or (scripts == 1 and sentence)
        if scripts == 0 and not suspect[row]:
            suspect[row] = latin_languages(points, script, begin, end, *known_words)
        local[row] = KANA if both else heaviest if heaviest else LATIN
