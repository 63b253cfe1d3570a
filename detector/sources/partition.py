"""Partitions of files: byte ranges of one size, whatever the number of jobs, so that findings do not depend on it.

A range holds the lines that begin in it. Only plain files of self-contained lines are cut; everything else is one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from detector.sources.opening import BLOCK, Kind

UNIT_BYTES = 32 << 20  # about 15,000 answers; also the reach within which a duplicate is seen
WHOLE = -1


@dataclass(frozen=True)
class Unit:
    """One file, or the lines of it that begin in `[start, end)` bytes; `end` is WHOLE for a file that is not cut, after `start` unpacked bytes."""

    path: str
    kind: Kind
    size: int
    start: int = 0
    end: int = WHOLE


def cut(path: str, kind: Kind, size: int) -> list[Unit]:
    """The byte ranges of one plain file of self-contained lines."""
    starts = range(0, size, UNIT_BYTES)
    return [Unit(path, kind, min(UNIT_BYTES, size - start), start, min(start + UNIT_BYTES, size)) for start in starts]


def shares(units: Sequence[Unit], jobs: int) -> list[list[Unit]]:
    """Units in at most `jobs` runs of neighbours with about equal numbers of bytes."""
    total = sum(unit.size for unit in units)
    found: list[list[Unit]] = [[] for _ in range(max(1, jobs))]
    before = 0
    for unit in units:
        middle = before + unit.size / 2
        found[min(len(found) - 1, int(middle * len(found) / total)) if total else 0].append(unit)
        before += unit.size
    return [share for share in found if share]


def range_blocks(unit: Unit) -> Iterator[bytes]:
    """The bytes of the lines that begin in the unit's range. Raises OSError."""
    with Path(unit.path).open("rb") as file:
        at = unit.start
        if at:  # the line that holds the byte before the range began before it
            file.seek(at - 1)
            at = unit.start - 1 + _skip_line(file)
        while at < unit.end:
            block = file.read(min(BLOCK, unit.end - at))
            if not block:
                return
            at += len(block)
            if at >= unit.end and not block.endswith(b"\n"):
                yield block
                while block:  # the last line ends beyond the range
                    block = file.read(BLOCK)
                    head, mark, _ = block.partition(b"\n")
                    yield head + mark
                    if mark:
                        return
                return
            yield block


def _skip_line(file: BinaryIO) -> int:
    """Read up to and including the next line end; the number of bytes that were passed."""
    passed = 0
    while True:
        block = file.read(BLOCK)
        if not block:
            return passed
        place = block.find(b"\n")
        if place >= 0:
            file.seek(place + 1 - len(block), 1)
            return passed + place + 1
        passed += len(block)


def line_ends(block: bytes) -> int:
    """How many line ends a block holds; `bytes.count` takes twice as long where lines are short."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == 10))


def lines_before(path: str, offset: int) -> int:
    """How many lines begin before byte `offset`, which is the start of a range."""
    count, at = 0, 0
    with Path(path).open("rb") as file:
        while at < offset:
            block = file.read(min(BLOCK, offset - at))
            if not block:
                break
            count += line_ends(block)
            at += len(block)
        if at and not block.endswith(b"\n"):
            count += 1
    return count
