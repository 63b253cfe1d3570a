"""Files that hold what another one holds: rotation keeps `a.log` beside `a.log.1.gz`, a copy job leaves two. Counted twice they would double every rate."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from detector.sources.base import CouldNot
from detector.sources.opening import Blocks, is_stream

BEGINNING = 64 << 10  # bytes (unpacked) that two files must share before they are compared in full


def without_copies(paths: Sequence[str], told: list[CouldNot]) -> list[str]:
    """The files without those whose unpacked bytes are those of another one, or its beginning; each is told, and hides nothing."""
    kept: list[str] = []
    by_beginning: dict[bytes, list[str]] = {}
    for path in paths:
        mark = _beginning(path)
        rivals = by_beginning.setdefault(mark, []) if mark is not None else []
        replaced = None
        for rival in rivals:
            shorter = _contained(path, rival)
            if shorter is None:
                continue
            copy, whole = (path, rival) if shorter == 0 else (rival, path)
            told.append(CouldNot(copy, f"its text stands in {whole} too; it is read once", "nothing to do", blocking=False))
            replaced = (copy, whole)
            break
        if replaced is None:
            kept.append(path)
            rivals.append(path)
        elif replaced[0] != path:  # the file read before is the shorter one
            kept[kept.index(replaced[0])] = path
            rivals[rivals.index(replaced[0])] = path
    return kept


def _beginning(path: str) -> bytes | None:
    """A hash of the unpacked beginning; None where there is none, or it can't be read (that is told when the file is read)."""
    if is_stream(path):
        return None
    taken = b""
    try:
        for block in Blocks(path):
            taken += block
            if len(taken) >= BEGINNING:
                break
    except OSError:
        return None
    # shorter files are compared by their first kilobyte, so that a growing log finds its own earlier copy
    return hashlib.sha256(taken[:1024]).digest() if taken else None


def _contained(one: str, other: str) -> int | None:
    """0 when the bytes of `one` are the beginning (or all) of `other`'s, 1 for the reverse, None when they differ."""
    left, right = _Bytes(one), _Bytes(other)
    try:
        while True:
            size = min(left.ready(), right.ready())
            if not size:
                return 0 if not left.ready() else 1
            if left.take(size) != right.take(size):
                return None
    except OSError:
        return None


class _Bytes:
    """The unpacked bytes of a file, in pieces as large as the reader wants them."""

    def __init__(self, path: str) -> None:
        self._blocks: Iterator[bytes] = iter(Blocks(path))
        self._rest = b""

    def ready(self) -> int:
        """How many bytes can be taken at once; 0 at the end."""
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = block
        return len(self._rest)

    def take(self, size: int) -> bytes:
        """The next `size` bytes, of those that are ready."""
        taken, self._rest = self._rest[:size], self._rest[size:]
        return taken
