"""Compiled first look: may a text be a loop?

The measurements of `detector.loops` cost several nanoseconds per byte, so `suspicious` first takes two cheap looks (about one nanosecond per byte
together): the exact period of the text's very end, and *sites*. Every 24 bytes a site asks whether one of its four next 16-byte grams stood at one of the
remembered places before (every fourth place is remembered, so any repeat of 19 bytes is seen whatever its distance). Only texts with a row of such sites
are measured.

Numba's cache knows only a function's own file: after a change in `detector.loops` or `detector.byte_kernels` delete `__pycache__/*.nb?` or touch this file.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from detector.byte_kernels import Bytes, word_at
from detector.kernel_start import compiled
from detector.loops import (
    COPIES_LEAST,
    LAG,
    MASS3,
    MASS3_LEAST,
    MASS4,
    MASS4_LEAST,
    OVERLAP,
    PERIOD_MISS,
    RUN,
    RUN_LEAST,
    SEED,
    SHORTEST,
    TAIL_COPIES_LEAST,
    TAIL_LEAST,
    TAIL_PERIOD,
    WINDOW,
    measure,
)

_SITE, _STRIDE, _SEEN = 24, 4, 20  # bytes between sites, between remembered places, bytes that a site reads
_SITES_ANY, _SITES_SAME = 10, 3  # sites in a row that stood anywhere before; at one distance, which is then followed byte by byte
_SEED2 = np.uint64(0xC2B2AE3D27D4EB4F)  # xxHash64's second prime


@compiled
def _gram16(buffer: Bytes, at: np.uint64) -> np.uint64:
    return np.uint64(((word_at(buffer, at) * SEED) ^ word_at(buffer, at + np.uint64(8))) * _SEED2)


@compiled
def _follows(buffer: Bytes, begin: int, end: int, at: np.int64, lag: np.int64) -> bool:
    """True when the bytes around `at` equal those `lag` before for long enough, a differing byte costing as in `stretch`.

    Enough is seven tenths of what the weaker rule asks (`RUN_LEAST` bytes, or `MASS4_LEAST` from the fourth copy on), and 1.2 of `COPIES_LEAST`'s copies.
    """
    needed = max(min(0.7 * RUN_LEAST, 0.7 * MASS4_LEAST + 1.4 * lag), 1.2 * lag)
    total = 0
    for way in (-1, 1):
        best = current = 0
        here = at if way > 0 else at - 1
        while begin + lag <= here < end and current > best - 4 * PERIOD_MISS:
            current += 1 if buffer[here] == buffer[here - lag] else -PERIOD_MISS
            best = max(best, current)
            if total + best >= needed:
                return True
            here += way
        total += best
    return False


@compiled
def sites_recur(buffer: Bytes, begin: int, end: int, sites: NDArray[np.uint32]) -> bool:
    """True when enough sites in a row of `buffer[begin:end]` (at most `WINDOW` bytes) stood earlier in it: see the module's text."""
    size = end - begin
    if size < _SITES_SAME * _SITE + _SEEN:
        return False
    slots, shift = 512, np.uint64(55)
    while slots < size and slots < len(sites):
        slots *= 2
        shift -= np.uint64(1)
    sites[:slots] = 0
    origin, last = np.uint64(begin), np.uint64(end - _SEEN)
    at = origin
    anywhere = same = 0
    previous = np.int64(0)
    while at < last:
        lag = np.int64(1 << 30)
        for step in range(_STRIDE):
            gram = _gram16(buffer, at + np.uint64(step))
            entry = sites[gram >> shift]
            if entry != 0 and entry >> np.uint32(17) == (np.uint32(gram) >> np.uint32(17)):
                lag = min(lag, np.int64(at - origin) + np.int64(step) - np.int64(entry & np.uint32(0x1FFFF)))
        if lag < 1 << 30:
            anywhere += 1
            if anywhere >= _SITES_ANY:
                return True
            if lag == previous:
                same += 1
                if same >= _SITES_SAME:
                    if _follows(buffer, begin, end, np.int64(at), lag):
                        return True
                    same = 0
            else:
                same = max(0, same - 1)
                previous = lag
        else:
            anywhere = max(0, anywhere - 2)
            same = max(0, same - 1)
        stop = at + np.uint64(_SITE)
        while at < stop:
            gram = _gram16(buffer, at)
            sites[gram >> shift] = (np.uint32(gram) & np.uint32(0xFFFE0000)) | np.uint32(at - origin)
            at += np.uint64(_STRIDE)
    return False


@compiled
def tail_repeats(buffer: Bytes, begin: int, end: int) -> bool:
    """True when the text's end, white space after it left out or not, repeats with a period of up to `TAIL_PERIOD` bytes as long as `TAIL_LEAST` demands."""
    trimmed = end
    while trimmed > begin and (buffer[trimmed - 1] == 32 or 9 <= buffer[trimmed - 1] <= 13):
        trimmed -= 1
    for stop in (end, trimmed):
        if stop - begin >= SHORTEST:
            tail = word_at(buffer, np.uint64(stop - 8))
            for period in range(1, min(TAIL_PERIOD, stop - begin - 8) + 1):
                if word_at(buffer, np.uint64(stop - 8 - period)) == tail:
                    run, needed = 8, max(float(TAIL_LEAST), TAIL_COPIES_LEAST * period)
                    while run < needed and stop - run - period > begin and buffer[stop - 1 - run] == buffer[stop - 1 - run - period]:
                        run += 1
                    if run >= needed:
                        return True
        if trimmed == end:
            break
    return False


@compiled
def suspicious(
    buffer: Bytes,
    begin: int,
    end: int,
    cells: NDArray[np.uint64],
    lags: NDArray[np.int32],
    generation: NDArray[np.uint64],
    sites: NDArray[np.uint32],
) -> bool:
    """May `buffer[begin:end]` be called a loop? Cheap looks first, the measurement only where they say so."""
    if end - begin < SHORTEST:
        return False
    if tail_repeats(buffer, begin, end):
        return True
    last = end
    while last > begin:
        first = max(begin, last - WINDOW)
        if sites_recur(buffer, first, last, sites):
            found = measure(buffer, first, last, cells, lags, generation)
            if found[MASS4] > MASS4_LEAST or found[MASS3] > MASS3_LEAST or (found[RUN] >= RUN_LEAST and found[RUN] >= COPIES_LEAST * found[LAG]):
                return True
        if first == begin:
            break
        last = first + OVERLAP
    return False


@compiled
def suspicious_rows(
    buffer: Bytes,
    starts: NDArray[np.int64],
    cells: NDArray[np.uint64],
    lags: NDArray[np.int32],
    generation: NDArray[np.uint64],
    sites: NDArray[np.uint32],
) -> NDArray[np.bool_]:
    """`suspicious` for every row of a joined buffer."""
    result = np.zeros(len(starts) - 1, np.bool_)
    for row in range(len(starts) - 1):
        result[row] = suspicious(buffer, starts[row], starts[row + 1], cells, lags, generation, sites)
    return result
