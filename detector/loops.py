"""Compiled kernels that measure how much of a text repeats itself.

Two measures, both linear in the length, on UTF-8 bytes (no tokenizer, any language); `bench/repetition.py` prints how well the
constants do:

* **recurrent-gram mass**: every 8-byte gram that occurred three (or two) times before counts +1, every other -4; the mass is the largest sum of a
  contiguous stretch. Order and spacing of the copies do not matter, so it finds shuffled sentences and loops with varying openers.
* **gap-tolerant period**: for the commonest distances between equal grams, +1 where a byte equals the one a period before, else -5; the largest sum of a
  stretch. It finds long blocks with few copies and loops with a counter.

`detector.loop_gate` decides which texts are worth it.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from detector.byte_kernels import Bytes, word_at
from detector.kernel_start import compiled

WINDOW = 1 << 16  # bytes measured at once; longer texts are measured in windows that overlap by `OVERLAP`
OVERLAP = 1 << 14
LONGEST_PERIOD = 1 << 14
GRAM = 8
_LAGS = 6  # periods tried per window
_LAG_LEAST = 96  # grams at one distance that make it worth trying: a third of the shortest run
_GRAM_MISS, PERIOD_MISS = 4, 5
SEED = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: Fibonacci hashing

SHORTEST = 36  # bytes: shorter texts are never called a loop
MASS4_LEAST, MASS3_LEAST, RUN_LEAST, COPIES_LEAST = 160, 800, 300, 1.35  # weakest measurement that `signals.repetition` calls a loop
TAIL_LEAST, TAIL_COPIES_LEAST, TAIL_PERIOD = 32, 2.5, 128  # the same for exact repeats at the very end
# columns of a measurement
MASS4, START4, END4, MASS3, START3, END3, RUN, LAG, RUN_START, RUN_END = range(10)


class Workspace(NamedTuple):
    """Tables that the kernels reuse from text to text; `cells` is a hash table stamped by `generation`, `sites` one that is cleared."""

    cells: NDArray[np.uint64]
    lags: NDArray[np.int32]
    generation: NDArray[np.uint64]
    sites: NDArray[np.uint32]


def workspace() -> Workspace:
    """A fresh workspace: about 2.7 MB."""
    slots = 2 * WINDOW
    return Workspace(np.zeros(2 * slots, np.uint64), np.zeros(LONGEST_PERIOD + 1, np.int32), np.zeros(1, np.uint64), np.zeros(slots, np.uint32))


_local = threading.local()


def thread_workspace() -> Workspace:
    """This thread's workspace, made at its first use."""
    space: Workspace | None = getattr(_local, "space", None)
    if space is None:
        space = _local.space = workspace()
    return space


@compiled
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
            current = max(0, current - PERIOD_MISS)
    return best, best_first, best_end


@compiled
def measure(buffer: Bytes, begin: int, end: int, cells: NDArray[np.uint64], lags: NDArray[np.int32], generation: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Masses and best period of one window `buffer[begin:end]` of at most `WINDOW` bytes; offsets are relative to `buffer`.

    The hash table is open-addressed; a cell holds a stamp (12 bits), a tag of the gram (24), how often it was seen (11, saturated) and where last (17).
    """
    result = np.zeros(10, np.int64)
    size = end - begin
    if size < 2 * GRAM:
        return result
    slots, shift = 1024, np.uint64(54)
    while slots < 4 * size and slots < len(cells):
        slots *= 2
        shift -= np.uint64(1)
    mask = np.uint64(slots - 1)
    stamp = generation[0] + np.uint64(1)
    if stamp >= np.uint64(1 << 12):
        cells[:] = 0
        stamp = np.uint64(1)
    generation[0] = stamp
    top_lag = min(size, len(lags) - 1)
    lags[: top_lag + 1] = 0  # lag 0 stays 0: it stands for none
    sum4 = sum3 = best4 = best3 = 0
    first4 = first3 = 0
    origin = np.uint64(begin)
    for place in range(size - GRAM + 1):
        word = word_at(buffer, origin + np.uint64(place))
        mixed = word * SEED
        slot = mixed >> shift
        label = (stamp << np.uint64(24)) | ((mixed >> np.uint64(8)) & np.uint64(0xFFFFFF))
        cell = cells[slot]
        while cell >> np.uint64(28) != label and cell >> np.uint64(52) == stamp:
            slot = (slot + np.uint64(1)) & mask
            cell = cells[slot]
        seen = np.int64(0)
        if cell >> np.uint64(28) == label:
            seen = np.int64((cell >> np.uint64(17)) & np.uint64(0x7FF))
            lag = np.int64(place) - np.int64(cell & np.uint64(0x1FFFF))
            if lag <= top_lag and lag > 1:  # runs of one character need no period
                lags[lag] += 1
        cells[slot] = (label << np.uint64(28)) | (np.uint64(seen + 1 if seen < 0x7FF else seen) << np.uint64(17)) | np.uint64(place)
        sum4 = max(0, sum4 + (1 if seen >= 3 else -_GRAM_MISS))
        first4 = place + 1 if sum4 == 0 else first4
        if sum4 > best4:
            best4 = sum4
            result[START4], result[END4] = begin + first4, begin + place + GRAM
        sum3 = max(0, sum3 + (1 if seen >= 2 else -_GRAM_MISS))
        first3 = place + 1 if sum3 == 0 else first3
        if sum3 > best3:
            best3 = sum3
            result[START3], result[END3] = begin + first3, begin + place + GRAM
    result[MASS4], result[MASS3] = best4, best3
    if size > RUN_LEAST:
        _best_period(buffer, begin, end, lags, top_lag, result)
    return result


@compiled
def _best_period(buffer: Bytes, begin: int, end: int, lags: NDArray[np.int32], top_lag: int, result: NDArray[np.int64]) -> None:
    """Tries the `_LAGS` commonest distances and writes the period with the largest stretch into a measurement."""
    chosen = np.zeros(_LAGS, np.int64)
    least = np.int64(_LAG_LEAST)
    for lag in range(1, top_lag + 1):
        if lags[lag] >= least:
            place = _LAGS - 1
            while place > 0 and lags[chosen[place - 1]] < lags[lag]:
                chosen[place] = chosen[place - 1]
                place -= 1
            chosen[place] = lag
            if chosen[_LAGS - 1] > 0:
                least = max(least, np.int64(lags[chosen[_LAGS - 1]]) + 1)
    for period in chosen:
        if period > 0:
            run, run_start, run_end = stretch(buffer, begin, end, int(period))
            if run > result[RUN] + result[RUN] // 64:  # a multiple of the period must not win by a hair
                result[RUN], result[LAG], result[RUN_START], result[RUN_END] = run, period, run_start, run_end


@compiled
def tail_period(buffer: Bytes, begin: int, end: int, longest: int) -> tuple[int, int]:
    """Period of the text's end that repeats exactly over most bytes: (period, bytes that equal the byte a period before); (0, 0) for none.

    A period counts when the repeat covers at least two further copies; the smaller period wins unless a larger one covers 1.25 times as much.
    """
    best_period = best_run = 0
    for period in range(1, min(longest, (end - begin) // 3) + 1):
        if best_period and period % best_period == 0:
            continue
        run = 0
        while end - run - period > begin and buffer[end - 1 - run] == buffer[end - 1 - run - period]:
            run += 1
        if run >= 2 * period and 4 * run > 5 * best_run:
            best_period, best_run = period, run
    return best_period, best_run
