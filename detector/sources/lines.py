"""Blocks of bytes to lines of text, with a bound on the length of a line.

A line that is longer than `LONGEST` is given as `TOO_LONG` and its bytes are let go: one wrong file must not fill the memory. JSON arrays that stand on
one such line are the exception: their elements are given one by one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

LONGEST: Final = 64 << 20  # bytes of one line; the longest answers that engines give (a million tokens) are some 4 MiB
_UNROLL_FROM: Final = 1 << 20  # bytes of an array on one line from which on its elements are cut out rather than read at once
_TOKENS = re.compile(rb'"(?:[^"\\]|\\.)*"|["{}\[\]]', re.DOTALL)


class Fault(str):
    """In the place of a line that can't be given: the reason."""


TOO_LONG: Final = Fault(f"a line longer than {LONGEST >> 20} MiB")
NOT_UTF8: Final = Fault("a line that is not UTF-8")


def texts(blocks: Iterable[bytes]) -> Iterator[str | Fault]:
    """Lines as text without their ends, one item per line of the file (elements of a long array count as lines of their own)."""
    for line in raw_lines(blocks):
        if isinstance(line, Fault):
            yield line
            continue
        try:
            yield line.decode()
        except UnicodeDecodeError:
            yield NOT_UTF8


def raw_lines(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[bytes | Fault]:
    """Lines as bytes without their ends."""
    rest: list[bytes] = []
    size = 0
    skipping = False
    unroller: _Unroller | None = None
    for block in blocks:
        *lines, last = block.split(b"\n")
        for line in lines:
            if unroller is not None:
                yield from unroller.feed(line)
                yield from unroller.finish()
                unroller = None
            elif skipping:
                skipping = False
            elif rest:
                rest.append(line)
                yield _bare(b"".join(rest))
            else:
                yield _bare(line)
            rest, size = [], 0
        if skipping or not last:
            continue
        if unroller is not None:
            yield from unroller.feed(last)
            continue
        rest.append(last)
        size += len(last)
        if size >= _UNROLL_FROM and rest[0].lstrip()[:1] == b"[":
            start = b"".join(rest)
            if re.match(rb"\s*\[\s*\{", start):
                unroller = _Unroller(longest)
                yield from unroller.feed(start)
                rest, size = [], 0
        if size > longest:
            yield TOO_LONG
            skipping, rest, size = True, [], 0
    if unroller is not None:
        yield from unroller.finish()
    elif rest:
        yield _bare(b"".join(rest))


def line_blocks(blocks: Iterable[bytes], longest: int = LONGEST) -> Iterator[bytes | Fault]:
    """Blocks cut at line ends: each holds whole lines (the last may lack its end). A line that is too long is one Fault."""
    rest: list[bytes] = []
    size = 0
    skipping = False
    for block in blocks:
        if skipping:
            end = block.find(b"\n") + 1
            if not end:
                continue
            block, skipping = block[end:], False
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, memoryview(block)[:cut]))  # one copy, not two
            rest, size = [], 0
        rest.append(block[cut:])
        size += len(block) - cut
        if size > longest:
            yield TOO_LONG
            rest, size, skipping = [], 0, True
    if size:
        yield b"".join(rest)


def _bare(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\r") else line


class _Unroller:
    """Cuts the objects out of a JSON array that comes in pieces."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._held = b""
        self._at = 0  # bytes of `_held` that were looked at
        self._start = -1  # where the open element begins
        self._depth = 0
        self._skipping = False

    def feed(self, piece: bytes) -> Iterator[bytes | Fault]:
        self._held += piece
        end = self._at
        for token in _TOKENS.finditer(self._held, self._at):
            mark = token[0][:1]
            if mark == b'"':
                if token.end() - token.start() == 1:  # a text that is still open
                    break
            elif mark in b"{[":
                self._depth += 1
                if self._depth == 2 and self._start < 0:
                    self._start = token.start()
            else:
                self._depth -= 1
                if self._depth == 1 and self._start >= 0:
                    if not self._skipping:
                        yield self._held[self._start : token.end()]
                    self._start, self._skipping = -1, False
            end = token.end()
        keep = end if self._start < 0 else self._start
        self._held, self._at = self._held[keep:], end - keep
        if self._start >= 0:
            self._start = 0
        if len(self._held) > self._longest and not self._skipping:
            yield TOO_LONG
            self._skipping = True
        if self._skipping:  # let go of what was looked at, and of the inside of a text that is still open
            self._held, self._at = self._held[self._at :], 0
            if len(self._held) > self._longest:
                self._held = self._held[:1] + self._held[-64:]

    def finish(self) -> Iterator[bytes | Fault]:
        """An element that was never closed."""
        if self._start >= 0 and not self._skipping and self._held.strip():
            yield self._held
        self._held, self._start = b"", -1
