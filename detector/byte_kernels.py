"""Compiled kernels over joined UTF-8 bytes: which rows hold marker beginnings, odd characters, nothing visible.

Every buffer ends with `PAD` zero bytes, so a kernel may read a word beyond a row's end. Compiled code is cached beside the package, or under the user's
cache folder where the package is read-only (numba's own fallback; `NUMBA_CACHE_DIR` overrides).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detector.kernel_start import compiled, without_linear_algebra
from detector.marker_hints import MARKER_PAIR, ODD_PAIR, WIDE_PAIR

without_linear_algebra()
Bytes = NDArray[np.uint8]
PAD = 128  # bytes after a joined buffer that kernels may read
BLOCK = 64
MARKER, ODD, NON_ASCII, BLANK, START = 1, 2, 4, 8, 16

_INVISIBLE = np.array(
    # code points that show nothing (Unicode Default_Ignorable_Code_Point and Zs, and the blank braille pattern)
    [
        (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x1680, 0x1680), (0x17B4, 0x17B5), (0x180B, 0x180F),
        (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800), (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF),
        (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFB), (0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
    ],
    np.int64,
)  # fmt: skip


@compiled
def _code_point(buffer: Bytes, at: int) -> np.int64:
    """The code point whose first byte is at `at`; well-formed UTF-8 is assumed (lone surrogates included)."""
    lead = np.int64(buffer[at])
    if lead < 0x80:
        return lead
    second = np.int64(buffer[at + 1]) & 0x3F
    if lead < 0xE0:
        return ((lead & 0x1F) << 6) | second
    third = np.int64(buffer[at + 2]) & 0x3F
    if lead < 0xF0:
        return ((lead & 0x0F) << 12) | (second << 6) | third
    return ((lead & 0x07) << 18) | (second << 12) | (third << 6) | (np.int64(buffer[at + 3]) & 0x3F)


@compiled
def _visible(point: np.int64) -> bool:
    for place in range(_INVISIBLE.shape[0]):
        if point <= _INVISIBLE[place, 1]:
            return bool(point < _INVISIBLE[place, 0])
    return True


@compiled
def _is_odd(buffer: Bytes, at: int, end: int) -> bool:
    """True where the byte at `at` (a control character, not ASCII, or debris of tokens) begins something that garbage is made of."""
    lead, second = buffer[at], buffer[at + 1]
    third = buffer[at + 2] if at + 2 < end else np.uint8(0)  # the next row's bytes are not this one's
    if lead == 0x2C:  # two commas beside a blank
        return bool(second == 0x2C and (third == 0x20 or (at > 0 and buffer[at - 1] == 0x20)))
    if lead == 0x70:  # nbsp;
        return bool(second == 0x3B and at > 2 and buffer[at - 1] == 0x73 and buffer[at - 2] == 0x62 and buffer[at - 3] == 0x6E)
    if lead < 0x80:
        return True  # a control character: the caller looks at no other ASCII
    if lead < 0xC2:
        return False  # a continuation byte
    if lead == 0xC2:
        return bool(second < 0xA0 or second == 0xAD)  # C1 controls, soft hyphen
    if lead == 0xC3:  # A-grave … ÿ before what Latin-1 or Windows-1252 makes of a continuation byte
        return bool(third == 0xC2 or third == 0xC5 or third == 0xC6 or third == 0xCB or (third == 0xE2 and buffer[at + 3] <= 0x84))
    if lead == 0xC4:
        return bool(second == 0xA0 or second == 0x8A)  # byte-level tokenizers' space and newline
    if lead == 0xE2:
        if second == 0x80:
            return bool(0x8B <= third <= 0x8F or 0xA8 <= third <= 0xAE)
        return bool((second == 0x81 and third >= 0xA0) or (second == 0x96 and third == 0x81) or second == 0xA0)
    if lead == 0xE3:
        return bool(second == 0x85 and third == 0xA4)
    if lead == 0xE7:  # 縺 繧 (UTF-8 read as Shift-JIS), 烫 (uninitialised memory read as GBK)
        return bool((second == 0xB8 and third == 0xBA) or (second == 0xB9 and third == 0xA7) or (second == 0x83 and third == 0xAB))
    if lead == 0xE9:
        return bool(second == 0x94 and third == 0x9F)  # 锟: U+FFFD read as GBK
    if lead == 0xED:
        return bool(second >= 0xA0)  # lone surrogate
    if lead == 0xEE:
        return True  # private use
    if lead == 0xEF:
        return bool(second <= 0xA3 or (second == 0xBB and third == 0xBF) or (second == 0xBF and third >= 0xB0) or (second == 0xBE and third == 0xA0))
    return bool(lead >= 0xF3 and lead != 0xF0)


@compiled
def word_at(buffer: Bytes, at: np.uint64) -> np.uint64:
    """Eight bytes from `at` on as a little-endian word; LLVM makes one unaligned load of it (unsigned offsets: no wrap-around to undo)."""
    low = (
        np.uint64(buffer[at])
        | np.uint64(buffer[at + np.uint64(1)]) << np.uint64(8)
        | np.uint64(buffer[at + np.uint64(2)]) << np.uint64(16)
        | np.uint64(buffer[at + np.uint64(3)]) << np.uint64(24)
    )
    high = (
        np.uint64(buffer[at + np.uint64(4)]) << np.uint64(32)
        | np.uint64(buffer[at + np.uint64(5)]) << np.uint64(40)
        | np.uint64(buffer[at + np.uint64(6)]) << np.uint64(48)
        | np.uint64(buffer[at + np.uint64(7)]) << np.uint64(56)
    )
    return np.uint64(low | high)


@compiled
def _word_within(buffer: Bytes, at: int, end: int) -> np.uint64:
    """The word from `at` on, bytes from `end` on as zero: no literal holds a zero byte."""
    word = word_at(buffer, np.uint64(at))
    if end - at < 8:
        word &= (np.uint64(1) << np.uint64(8 * (end - at))) - np.uint64(1)
    return np.uint64(word)


@compiled
def _pair(buffer: Bytes, at: np.uint64) -> np.uint64:
    return np.uint64(buffer[at]) | np.uint64(buffer[at + np.uint64(1)]) << np.uint64(8)


@compiled
def _pairs_in_block(buffer: Bytes, at: np.uint64, pairs: NDArray[np.uint8]) -> np.uint8:
    """The bits of all pairs that begin in the `BLOCK` bytes from `at` on (those of the next row included: a hint more, never less)."""
    found = np.uint8(0)
    for step in range(BLOCK):
        found |= pairs[_pair(buffer, at + np.uint64(step))]
    return found


@compiled
def describe(
    buffer: Bytes,
    starts: NDArray[np.int64],
    pairs: NDArray[np.uint8],
    words: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    offsets: NDArray[np.int64],
    first: NDArray[np.int16],
    start_words: NDArray[np.uint64],
    start_masks: NDArray[np.uint64],
) -> NDArray[np.uint8]:
    """Bits MARKER, ODD, NON_ASCII, BLANK, START of every row of a joined buffer; the other arguments are a `marker_hints.Hints`."""
    rows = len(starts) - 1
    result = np.zeros(rows, np.uint8)
    for row in range(rows):
        begin, end = starts[row], starts[row + 1]
        bits = np.uint8(BLANK)
        at = begin
        while at < end:
            if buffer[at] & 0xC0 != 0x80 and _visible(_code_point(buffer, at)):
                bits = np.uint8(0)
                break
            at += 1
        if bits == 0:
            head = _word_within(buffer, at, end)
            for place in range(len(start_words)):
                if head & start_masks[place] == start_words[place]:
                    bits |= np.uint8(START)
        at = begin
        while at < end:
            found = _pairs_in_block(buffer, np.uint64(at), pairs)
            if found != 0:
                stop = min(end, at + BLOCK)
                if found & WIDE_PAIR and bits & NON_ASCII == 0:
                    for place in range(at, stop):
                        if buffer[place] >= 0x80:
                            bits |= np.uint8(NON_ASCII)
                            break
                if found & ODD_PAIR and bits & ODD == 0:
                    for place in range(at, stop):
                        if pairs[_pair(buffer, np.uint64(place))] & ODD_PAIR and _is_odd(buffer, place, end):
                            bits |= np.uint8(ODD)
                            break
                if found & MARKER_PAIR and bits & MARKER == 0:
                    for place in range(at, stop):
                        if pairs[_pair(buffer, np.uint64(place))] & MARKER_PAIR and _literal_at(buffer, place, begin, end, words, masks, offsets, first):
                            bits |= np.uint8(MARKER)
                            break
            at += BLOCK
        result[row] = bits
    return result


@compiled
def _literal_at(
    buffer: Bytes, place: int, begin: int, end: int, words: NDArray[np.uint64], masks: NDArray[np.uint64], offsets: NDArray[np.int64], first: NDArray[np.int16]
) -> bool:
    """True when the anchor at `place` belongs to a literal of this row."""
    pair = _pair(buffer, np.uint64(place))
    index = np.int64(first[pair])
    if index < 0:
        return False
    while index < len(words) and (words[index] >> np.uint64(8 * offsets[index])) & np.uint64(0xFFFF) == pair:
        origin = place - offsets[index]
        if origin >= begin and _word_within(buffer, origin, end) & masks[index] == words[index]:
            return True
        index += 1
    return False
