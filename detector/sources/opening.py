"""Files as streams of bytes: what a file is is told by its first bytes, never by its name. Archives are unpacked on the way.

Memory stays at a few blocks. An archive that ends too early gives what could be read, and says so.
"""

from __future__ import annotations

import bz2
import errno
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal

BLOCK = 1 << 18  # bytes read at once: decoded while they are in the cache
STDIN = "-"

Kind = Literal["plain", "gzip", "zstd", "bzip2", "xz", "parquet", "empty", "binary"]
_MAGIC: tuple[tuple[bytes, Kind], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"PAR1", "parquet"),
)
_SNIFF = 8192
_NOT_AS_STREAM = {
    "parquet": ("it is Parquet, which can't be read from a stream", "name the file"),
    "binary": ("it is binary (zero bytes at its start), not a log in UTF-8", "unpack or convert it"),
}
_STEP = 16  # packed bytes, about a line of text
_PIECE = 1 << 14  # packed bytes unpacked at once: at the formats' highest ratios (1,000 for gzip, 32,000 for zstd) at most some hundred MiB


def kind_of(head: bytes) -> Kind:
    """What a file is, by its first bytes. Zero bytes among them mean that it is no text (UTF-16 included)."""
    if not head:
        return "empty"
    for magic, kind in _MAGIC:
        if head.startswith(magic):
            return kind
    return "binary" if b"\x00" in head else "plain"


def is_stream(path: str) -> bool:
    """True for what can be read only once: standard input, a pipe (the shell's `<(…)`), a device. Whoever looks into it takes from the reader after him."""
    try:
        return path == STDIN or not stat.S_ISREG(os.stat(path).st_mode)
    except OSError:
        return False  # told when it is opened


def sniff(path: str) -> Kind:
    """The kind of the file at `path`. Raises OSError."""
    with Path(path).open("rb") as file:
        return kind_of(file.read(_SNIFF))


@dataclass
class Blocks:
    """The unpacked bytes of one file, as blocks. `problem` is set when the stream ended before its time; `kind` is known after the first block."""

    path: str
    kind: Kind = "plain"
    problem: str | None = None
    remedy: str = "fetch the file again"

    def __iter__(self) -> Iterator[bytes]:
        """Blocks of at most a few MiB. Raises OSError when the file can't be opened; later faults are told in `problem`."""
        with Path(self.path).open("rb") if self.path != STDIN else _Standard() as file:
            head = file.read(_SNIFF)
            self.kind = kind_of(head)
            if self.kind in ("parquet", "binary") and is_stream(self.path):  # files are asked before they are opened
                self.problem, self.remedy = _NOT_AS_STREAM[self.kind]
                return
            unpack = _unpackers().get(self.kind)
            try:
                yield from _raw(file, head) if unpack is None else self._unpacked(file, head, unpack)
            except OSError as error:
                self.problem = f"reading stopped: {error.strerror or type(error).__name__}"

    def _unpacked(self, file: BinaryIO, head: bytes, unpack: Callable[[], Any]) -> Iterator[bytes]:
        """Unpacked blocks. Archives are fed in small pieces, because a few bytes can stand for gigabytes."""
        engine = unpack()
        done = False
        for packed in _raw(file, head):
            for start in range(0, len(packed), _PIECE):
                piece = packed[start : start + _PIECE]
                while piece:
                    if done:  # archives written one after another into one file
                        if not piece.strip(b"\x00"):
                            break
                        engine, done = unpack(), False
                    before = engine.copy() if self.kind == "gzip" else None  # the others unpack whole blocks: of a damaged one they give nothing
                    try:
                        block = engine.decompress(piece)
                    except Exception:  # zlib.error, lzma.LZMAError, zstandard.ZstdError, OSError: four libraries, one meaning
                        self.problem = f"the {self.kind} archive is damaged; what stands before the damage was read"
                        if before is not None:
                            yield from _sound(before, piece)
                        return
                    for at in range(0, len(block), BLOCK):
                        yield block[at : at + BLOCK]
                    done = bool(engine.eof)
                    piece = engine.unused_data if done else b""
        if not done:
            self.problem = f"the {self.kind} archive ends too early; what it holds was read"


def _sound(engine: Any, piece: bytes) -> Iterator[bytes]:
    """What a damaged piece of a gzip archive holds before the damage: unpacked at once it gives nothing."""
    try:
        for at in range(0, len(piece), _STEP):
            yield engine.decompress(piece[at : at + _STEP])
    except zlib.error:
        return


class _Standard:
    """Standard input as a context that does not close it."""

    def __enter__(self) -> BinaryIO:
        if sys.stdin is None:  # the caller closed it
            raise OSError(errno.EBADF, "standard input is closed")
        return sys.stdin.buffer

    def __exit__(self, *_: object) -> None:
        return None


def _raw(file: BinaryIO, head: bytes) -> Iterator[bytes]:
    while head:
        yield head
        head = file.read(BLOCK)


def _unpackers() -> dict[Kind, Callable[[], Any]]:
    def zstd() -> Any:
        import zstandard

        return zstandard.ZstdDecompressor().decompressobj(read_across_frames=False)

    return {"gzip": lambda: zlib.decompressobj(wbits=31), "bzip2": bz2.BZ2Decompressor, "xz": lzma.LZMADecompressor, "zstd": zstd}
