"""What was appended to log files since they were last read: NDJSON files that grow, are rotated, packed or copied and cut.

A file is known by its first line, not by its name: a rotated file keeps its mark under its new name, packed or not. A mark also holds a hash of the bytes
before its place, so that another file with the same first line is read from its beginning.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from detector.batch import Batch
from detector.sources.base import CouldNot, Tally
from detector.sources.files import Files, expand, is_self_contained
from detector.sources.opening import BLOCK, Blocks, Kind, is_stream, sniff
from detector.sources.partition import UNIT_BYTES, WHOLE, Unit
from detector.sources.unit import UnitReading

LONGEST_FIRST_LINE = 4 << 20  # bytes: a file whose first line is longer is read as a whole
_CHECKED = 1024  # bytes before a mark's place that must still be the same


@dataclass(frozen=True)
class Mark:
    """How far one file was read: `read` bytes (unpacked), `lines`; `size`, `changed` (ns): of the file then; `before`: hash of the last bytes read."""

    read: int
    lines: int
    size: int
    changed: int
    before: str


@dataclass
class Tail:
    """The new lines of some files, as a source. `marks`: where they stand after `batches` was used up. `gone`: a file could not be read to its end."""

    files: Files
    marks: dict[str, Mark]
    fresh: list[tuple[str, Unit, int]] = field(default_factory=list)  # (file's id, unit to read, number of its first line)
    gone: bool = False

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Every batch of new lines."""
        next_lines: dict[str, int] = {}
        for name, unit, first_line in self.fresh:
            status = os.stat(unit.path)
            reading = UnitReading(unit, next_lines.get(name, first_line), self.files.options, tally, self.files.rejected)
            faults = len(tally.could_not)
            yield from reading.batches()
            self.gone = self.gone or (unit.kind == "plain" and len(tally.could_not) > faults)
            next_lines[name] = reading.next_line
            end = unit.end if unit.end != WHOLE else sum(len(block) for block in Blocks(unit.path))
            self.marks[name] = Mark(end, reading.next_line - 1, status.st_size, status.st_mtime_ns, _before(unit.path, unit.kind, end))


def follow(files: Files, marks: dict[str, Mark]) -> Tail | None:
    """What is new in these files, given the marks of the last run; None when one of them can't be followed (no NDJSON, standard input). Raises SourceError."""
    tail = Tail(files, dict(marks))
    seen: dict[str, str] = {}
    faults: list[CouldNot] = []
    paths = expand(files.paths, faults)
    if any(fault.blocking for fault in faults):
        return None  # told by the whole reading
    for path in paths:
        if is_stream(path):
            return None
        try:
            kind, status = sniff(path), os.stat(path)
            first = None if kind in ("parquet", "binary") else _first_line(path)
        except OSError:
            return None  # told by the whole reading
        if kind == "empty" or (first == b"" and kind == "plain"):
            continue  # just rotated, or its first line is being written
        if not first:
            return None
        name = hashlib.sha256(first).hexdigest()[:24]
        if name in seen:
            if not _is_copy(path, seen[name]):
                return None
            continue
        seen[name] = path
        mark = marks.get(name)
        if mark is None and not is_self_contained(path, files.options):
            return None
        tail.fresh += _units(name, path, kind, status, mark)
    return tail if seen else None


def _units(name: str, path: str, kind: Kind, status: os.stat_result, mark: Mark | None) -> list[tuple[str, Unit, int]]:
    """What is to be read of one file."""
    unchanged = mark is not None and (mark.size, mark.changed) == (status.st_size, status.st_mtime_ns)
    if mark is not None and not (unchanged and kind != "plain") and _before(path, kind, mark.read) != mark.before:
        mark = None  # cut and written anew, or another file that begins alike
    start, first_line = (mark.read, mark.lines + 1) if mark is not None else (0, 1)
    if kind != "plain":
        return [] if unchanged else [(name, Unit(path, kind, status.st_size, start), first_line)]
    # a line that has no end yet is left for later, unless the file has stopped growing
    end = status.st_size if unchanged else _last_line_end(path, start, status.st_size)
    starts = range(start, end, UNIT_BYTES)
    return [(name, Unit(path, kind, min(UNIT_BYTES, end - at), at, min(at + UNIT_BYTES, end)), first_line) for at in starts]


def _first_line(path: str) -> bytes | None:
    """The first line; empty when it has no end yet, None when it is too long or no text."""
    head = b""
    blocks = Blocks(path)
    for block in blocks:
        head += block
        line, mark, _ = head.partition(b"\n")
        if mark:
            return line if line.strip() else None
        if len(head) > LONGEST_FIRST_LINE:
            return None
    return None if blocks.problem else b""


def _before(path: str, kind: Kind, place: int) -> str:
    """Hash of the last bytes before `place` (unpacked); another one when the file is shorter."""
    if kind == "plain":
        with Path(path).open("rb") as file:
            file.seek(max(0, place - _CHECKED))
            return hashlib.sha256(file.read(min(_CHECKED, place))).hexdigest()[:16]
    kept, at = b"", 0
    for block in Blocks(path):
        kept = (kept + block[: place - at])[-_CHECKED:]
        at += len(block)
        if at >= place:
            break
    return hashlib.sha256(kept).hexdigest()[:16]


def _last_line_end(path: str, start: int, size: int) -> int:
    """Where the last whole line of `[start, size)` ends; `start` when there is none."""
    with Path(path).open("rb") as file:
        at = size
        while at > start:
            begin = max(start, at - BLOCK)
            file.seek(begin)
            place = file.read(at - begin).rfind(b"\n")
            if place >= 0:
                return begin + place + 1
            at = begin
    return start


def _is_copy(path: str, other: str) -> bool:
    """Whether two files with the same first line begin with the same bytes: a log that is just being copied, packed or cut."""
    heads = [b"".join(block for block, _ in zip(Blocks(name), range(2), strict=False)) for name in (path, other)]
    shared = min(len(head) for head in heads)
    return heads[0][:shared] == heads[1][:shared]
