"""Compiled passes over Latin letters: a sentence of them beside another script, and words of grammar of two languages on one line.

They may only leave out sound texts, as `detector.script_kernels`, which calls them. Importing this module imports numba.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

from detector.kernel_start import compiled
from detector.signals.latin_languages import SENTENCE_LOWER, SENTENCE_WORDS, WORDS
from detector.signals.latin_switch import ACCENTED_WORDS, FOREIGN_ROW, OWN_BESIDE, grammar_of_two
from detector.signals.scripts import SCRIPTS

LATIN = list(SCRIPTS).index("latin") + 1  # as in `detector.script_kernels.NAMES`
_PLANE = 1 << 16
SENTENCE_CHARACTERS = 2 * SENTENCE_WORDS


@cache
def grammar() -> tuple[NDArray[np.uint16], NDArray[np.uint64], NDArray[np.uint16]]:
    """Lower-case forms of Latin letters, and a hash table of words of grammar: keys (0: free) and the languages of each as bits."""
    lower = np.array([ord(small) if len(small := chr(point).lower()) == 1 and ord(small) < _PLANE else point for point in range(0x2000)], np.uint16)
    keys, masks = np.zeros(4096, np.uint64), np.zeros(4096, np.uint16)
    names = list(WORDS)
    for word, languages in grammar_of_two().items():
        key = 0
        for letter in word:
            key = (key * 1099511628211 & (1 << 64) - 1) ^ ord(letter)
        slot = key % len(keys)
        while keys[slot] and int(keys[slot]) != key:
            slot = (slot + 1) % len(keys)
        keys[slot] = key
        masks[slot] |= sum(1 << names.index(language) for language in languages)
    return lower, keys, masks


@compiled
def latin_sentence(points: NDArray[np.uint32], script: NDArray[np.uint8], begin: int, end: int, after: bool, before: bool) -> bool:
    """A sentence of `SENTENCE_WORDS` Latin words ends on a line with letters of another script; `after`, `before`: such letters stand at `begin`, at `end`."""
    last_line = begin
    if before:
        last_line = end
        while last_line > begin and points[last_line - 1] != 10:
            last_line -= 1
    words, inside, line = 0, False, after or (before and last_line == begin)
    for at in range(begin, end):
        point = points[at]
        if point == 10:
            line = before and at + 1 >= last_line
            words, inside = 0, False
        elif point < _PLANE and script[point] == LATIN:
            words += not inside
            inside = True
        else:
            inside = False
            if point == 46 or point == 33 or point == 63:  # compiled: . ! ?
                follows = points[at + 1] if at + 1 < end else np.uint32(32)
                if words >= SENTENCE_WORDS and line and (follows == 32 or follows == 10 or follows >= 128):
                    return True
    return False


@compiled
def latin_languages(
    points: NDArray[np.uint32], script: NDArray[np.uint8], begin: int, end: int, lower: NDArray[np.uint16], keys: NDArray[np.uint64], masks: NDArray[np.uint16]
) -> bool:
    """On some line stand `FOREIGN_ROW` words of grammar of one language that another lacks, and `OWN_BESIDE` of the other that the first lacks; or a
    sentence with accents and without an English word stands in English.
    """
    only = np.zeros((16, 16), np.int64)  # words of the first language that the second lacks, on this line
    key = np.uint64(0)
    some = accent = small = False
    words = lower_words = accented = english = english_before = 0
    foreign = False  # a sentence without an English word
    for at in range(begin, end + 1):
        point = points[at] if at < end else np.uint32(10)
        if point < _PLANE and script[point] == LATIN:
            if key == 0:
                accent, small = False, point == (lower[point] if point < len(lower) else point)
            accent = accent or bool(point > 127)
            key = (key * np.uint64(1099511628211)) ^ np.uint64(lower[point] if point < len(lower) else point)
            continue
        if key:
            slot = np.int64(key % np.uint64(len(keys)))
            while keys[slot] and keys[slot] != key:
                slot = (slot + 1) % len(keys)
            mask = masks[slot] if keys[slot] else np.uint16(0)
            key = np.uint64(0)
            words += 1
            lower_words += small
            accented += accent
            if mask:
                some = True
                english += int(mask & np.uint16(1))
                for one in range(16):
                    if mask >> one & 1:
                        for other in range(16):
                            only[one, other] += ~(mask >> other) & 1
        if point == 46 or point == 33 or point == 63 or point == 10:  # compiled: . ! ?
            foreign |= accented >= ACCENTED_WORDS and words >= SENTENCE_WORDS and lower_words >= SENTENCE_LOWER and english == english_before
            words = lower_words = accented = 0
            english_before = english
        if point == 10 and some:
            for one in range(16):
                for other in range(16):
                    if only[one, other] >= FOREIGN_ROW and only[other, one] >= OWN_BESIDE:
                        return True
            only[:] = 0
            some = False
    return foreign and english >= OWN_BESIDE
