"""Compiled kernels that measure how much of a text repeats itself.

Two measures, both linear in the length, on UTF-8 bytes (no tokenizer, any language); the constants come from the measurements recorded in
`docs/signals.md` and printed by `bench/repetition.py`:

* **recurrent-gram mass**: every 8-byte gram that occurred three (or two) times before counts +1, every other -4; the mass is the largest sum of a
  contiguous stretch. Order and spacing of the copies do not matter, so it finds shuffled sentences and loops with varying openers.
* **gap-tolerant period**: for the commonest distances between equal grams, +1 where a byte equals the one a period before, else -5; the largest sum of a
  stretch. It finds long blocks with few copies and loops with a counter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]

WINDOW = 1 << 16  # bytes measured at once; longer texts are measured in windows that overlap by `OVERLAP`
OVERLAP = 1 << 14
LONGEST_PERIOD = 1 << 14
GRAM = 8
_LAGS = 6  # periods tried per window
_GRAM_MISS, _PERIOD_MISS = 4, 5
_SEED = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing

# columns of a measurement
MASS4, START4, END4, MASS3, START3, END3, RUN, LAG, RUN_START, RUN_END = range(10)


class Workspace(NamedTuple):
    """Tables that the kernels reuse from text to text; `keys` and `cells` form an open-addressing hash table, stamped by generation."""

    keys: NDArray[np.uint64]
    cells: NDArray[np.uint64]
    lags: NDArray[np.int32]
    generation: NDArray[np.uint64]


def workspace() -> Workspace:
    """A fresh workspace: about 2.2 MB."""
    slots = 2 * WINDOW
    return Workspace(np.zeros(slots, np.uint64), np.zeros(slots, np.uint64), np.zeros(LONGEST_PERIOD + 1, np.int32), np.zeros(1, np.uint64))


@njit(cache=True, nogil=True)
def stretch(buffer: Bytes, begin: int, end: int, lag: int) -> tuple[int, int, int]:
    """Largest sum of +1 where a byte equals the one `lag` before, else -5, in `buffer[begin:end]`: sum, first and last offset (half-open)."""
    best = current = 0
    first = best_first = best_end = begin + lag
    for at in range(begin + lag, end):
        if buffer[at] == buffer[at - lag]:
            if current == 0:
                first = at
            current += 1
            if current > best:
                best, best_first, best_end = current, first, at + 1
        else:
            current = max(0, current - _PERIOD_MISS)
    return best, best_first, best_end


@njit(cache=True, nogil=True)
def measure(buffer: Bytes, begin: int, end: int, keys: NDArray[np.uint64], cells: NDArray[np.uint64], lags: NDArray[np.int32], generation: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Masses and best period of one window `buffer[begin:end]` of at most `WINDOW` bytes; offsets are relative to `buffer`."""
    result = np.zeros(10, np.int64)
    size = end - begin
    if size < 2 * GRAM:
        return result
    slots = 1024
    while slots < 2 * size:
        slots *= 2
    shift = np.uint64(64)
    rest = slots
    while rest > 1:
        rest >>= 1
        shift -= np.uint64(1)
    mask = np.int64(slots - 1)
    stamp = generation[0] + np.uint64(1)
    if stamp >> np.uint64(24) != 0:
        cells[:] = 0
        stamp = np.uint64(1)
    generation[0] = stamp
    top_lag = min(size, len(lags) - 1)
    lags[: top_lag + 1] = 0
    word = np.uint64(0)
    for at in range(begin, begin + GRAM - 1):
        word = (word >> np.uint64(8)) | (np.uint64(buffer[at]) << np.uint64(56))
    sum4 = sum3 = 0
    first4 = first3 = begin
    for at in range(begin, end - GRAM + 1):
        word = (word >> np.uint64(8)) | (np.uint64(buffer[at + GRAM - 1]) << np.uint64(56))
        slot = np.int64((word * _SEED) >> shift)
        cell = cells[slot]
        while (cell >> np.uint64(40)) == stamp and keys[slot] != word:
            slot = (slot + 1) & mask
            cell = cells[slot]
        seen = 0
        if (cell >> np.uint64(40)) == stamp:
            seen = np.int64((cell >> np.uint64(20)) & np.uint64(0xFFFFF))
            lag = (at - begin) - np.int64(cell & np.uint64(0xFFFFF))
            if lag <= top_lag:
                lags[lag] += 1
        else:
            keys[slot] = word
        cells[slot] = (stamp << np.uint64(40)) | (np.uint64(seen + 1) << np.uint64(20)) | np.uint64(at - begin)
        if seen >= 3:
            sum4 += 1
            if sum4 > result[MASS4]:
                result[MASS4], result[START4], result[END4] = sum4, first4, at + GRAM
        else:
            sum4 -= _GRAM_MISS
            if sum4 <= 0:
                sum4 = 0
                first4 = at + 1
        if seen >= 2:
            sum3 += 1
            if sum3 > result[MASS3]:
                result[MASS3], result[START3], result[END3] = sum3, first3, at + GRAM
        else:
            sum3 -= _GRAM_MISS
            if sum3 <= 0:
                sum3 = 0
                first3 = at + 1
    for _ in range(_LAGS):
        lag = 0
        for candidate in range(1, top_lag + 1):
            if lags[candidate] > lags[lag]:
                lag = candidate
        if lag == 0 or lags[lag] < 24:
            break
        lags[lag] = 0
        run, run_start, run_end = stretch(buffer, begin, end, lag)
        if run > result[RUN] + result[RUN] // 64:  # a multiple of the period must not win by a hair
            result[RUN], result[LAG], result[RUN_START], result[RUN_END] = run, lag, run_start, run_end
    return result


@njit(cache=True, nogil=True)
def tail_period(buffer: Bytes, begin: int, end: int, longest: int) -> tuple[int, int]:
    """Period of the text's end that repeats exactly over most bytes: (period, bytes that equal the byte a period before); (0, 0) for none.

    A period counts when the repeat covers at least two further copies; the smaller period wins unless a larger one covers 1.25 times as much.
    """
    best_period = best_run = 0
    for period in range(1, min(longest, (end - begin) // 3) + 1):
        run = 0
        while end - run - period > begin and buffer[end - 1 - run] == buffer[end - 1 - run - period]:
            run += 1
        if run >= 2 * period and 4 * run > 5 * best_run:
            best_period, best_run = period, run
    return best_period, best_run
