"""Literals that can begin a marker, compiled with the signs of garbage into tables for the byte kernel.

The literals come from `detector.signals.markers` (one table names every marker family): `HINTS` match anywhere in a text; `STARTS`, here with `^` before them,
only at the text's beginning, after what shows nothing. Literals are compared by at most their first `WIDTH` bytes.

The kernel ORs `pairs[b[i], b[i + 1]]` over a block: one look-up per byte, no branch. A block without a set bit holds neither a literal nor anything odd. A
literal's *anchor* is its rarest pair of neighbouring bytes, so that few blocks of ordinary text hold one.
"""

from __future__ import annotations

import importlib
import itertools
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTH = 8  # bytes of a literal that are compared: one machine word
MARKER_PAIR, ODD_PAIR, WIDE_PAIR = 1, 2, 4  # an anchor, what may begin something odd, a first byte beyond ASCII

# how common a byte is in prose and code, per thousand; other signs count 1
_COMMON = dict(
    zip(b"etaoinshrdlucmfwypvbgkqjxz", (95, 70, 62, 58, 54, 54, 49, 46, 46, 33, 31, 21, 21, 19, 17, 18, 15, 15, 8, 12, 15, 6, 1, 2, 2, 1), strict=True)
) | {32: 150, 10: 20, ord("."): 10, ord(","): 10, ord("-"): 2, ord("_"): 4, ord(":"): 4, ord("/"): 2, ord("="): 2}
_VOWELS = b"aeiouy"
_CLUSTERS = frozenset(
    b"th sh ch wh ph st nd nt ng nc ns nk nl rd rs rt rk rm rn rc rl ld lt ls lf ll ss tt ff mm nn pp rr cc ct pt "
    b"ck sc sk sl sm sn sp sw tr pr br cr dr fr gr bl cl fl gl pl mp mb ts ds ks ps ms ws bs gs gh ty ly ry rv nv xt".split()
)

_ANY = tuple(range(256))
# (first, second byte) of what garbage is made of; `byte_kernels` looks exactly
_ODD: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), 0x7F, 0xEE, *range(0xF1, 0x100)), _ANY),  # control characters, private use, beyond emoji
    ((0x2C,), (0x2C,)),  # ,, of scrambled text
    ((0x70,), (0x3B,)),  # the same: nbsp;
    ((0xC2,), (*range(0x80, 0xA0), 0xAD)),  # C1 controls, soft hyphen
    ((0xC3,), _ANY),  # UTF-8 read as Latin-1 or Windows-1252: what follows decides
    ((0xC4,), (0xA0, 0x8A)),  # byte-level tokenizers' space and newline
    ((0xE2,), (0x80, 0x81, 0x96, 0xA0)),  # invisible, U+2581
    ((0xE3,), (0x85,)),  # Hangul filler
    ((0xE7,), (0xB8, 0xB9, 0x83)),  # UTF-8 read as Shift-JIS or GBK
    ((0xE9,), (0x94,)),
    ((0xED,), tuple(range(0xA0, 0xC0))),  # lone surrogates
    ((0xEF,), (*range(0x80, 0xA4), 0xBB, 0xBE, 0xBF)),  # private use, byte order mark, U+FFFD
)


class Hints(NamedTuple):
    """Tables of the kernel.

    `pairs`: by two neighbouring bytes (low byte first) the bits above. `words`, `masks`: each literal's first bytes as a little-endian word and which of them
    count, sorted by anchor, which stands `offsets` into the literal. `first`: by anchor, index of its first literal, or -1. `start_words`,
    `start_masks`: literals that match only at a text's beginning.
    """

    pairs: NDArray[np.uint8]
    words: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    offsets: NDArray[np.int64]
    first: NDArray[np.int16]
    start_words: NDArray[np.uint64]
    start_masks: NDArray[np.uint64]


def _rarity(part: bytes) -> float:
    """A rough frequency of neighbouring bytes: lower is rarer."""
    value = 1.0
    for byte in part:
        value *= 6 if byte >= 0x80 else 4 if 0x41 <= byte <= 0x5A else 10 if 0x30 <= byte <= 0x39 else _COMMON.get(byte, 1)
    for left, right in itertools.pairwise(part):
        pair = bytes((left, right))
        if pair == b"ly":
            value *= 4  # adverbs
        if 0x41 <= left <= 0x5A and 0x61 <= right <= 0x7A:
            value *= 6  # how sentences and names begin
        if pair.isalpha() and pair.islower() and left not in _VOWELS and right not in _VOWELS and pair not in _CLUSTERS:
            value *= 0.1
    return value


def _anchor(literal: bytes) -> int:
    return min(range(len(literal) - 1), key=lambda place: _rarity(literal[place : place + 2]))


@cache
def compile_hints(literals: tuple[str, ...] | None = None) -> Hints:
    """Compiles literals of at least two bytes (default: the table of marker families)."""
    if literals is None:
        markers = importlib.import_module("detector.signals.markers")
        literals = (*markers.HINTS, *(f"^{start}" for start in markers.STARTS))
    inside = {literal.encode()[:WIDTH] for literal in literals if not literal.startswith("^")}
    starts = sorted({literal[1:].encode()[:WIDTH] for literal in literals if literal.startswith("^")})
    if any(len(literal) < 2 for literal in (*inside, *starts)):
        raise ValueError("a hint needs at least two bytes")
    ordered = sorted(inside, key=lambda literal: (literal[_anchor(literal) :][:2], literal))
    offsets = [_anchor(literal) for literal in ordered]
    pairs = np.zeros((256, 256), np.uint8)  # second byte, first byte
    pairs[:, 0x80:] |= WIDE_PAIR
    for firsts, seconds in _ODD:
        pairs[np.ix_(seconds, firsts)] |= ODD_PAIR
    first = np.full(1 << 16, -1, np.int16)
    for index in range(len(ordered) - 1, -1, -1):
        left, right = ordered[index][offsets[index] : offsets[index] + 2]
        first[left | right << 8] = index
        pairs[right, left] |= MARKER_PAIR
    return Hints(
        pairs.reshape(-1),
        np.array([int.from_bytes(literal, "little") for literal in ordered], np.uint64),
        np.array([(1 << (8 * len(literal))) - 1 for literal in ordered], np.uint64),
        np.array(offsets, np.int64),
        first,
        np.array([int.from_bytes(literal, "little") for literal in starts], np.uint64),
        np.array([(1 << (8 * len(literal))) - 1 for literal in starts], np.uint64),
    )
