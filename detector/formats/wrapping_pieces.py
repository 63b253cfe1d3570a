"""Log lines that a container runtime or a shipper cut into pieces, while they are being put together.

docker and containerd cut at 16 KiB; the marks are a missing newline, a `P` tag, or partial fields. A piece is *weak* when nothing but its broken JSON says
so. Memory is bounded: a line that grows beyond the limit is closed as it is, and so is the oldest when too many containers have one open.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

_LINE_LIMIT = 64 << 20  # characters
_STREAM_LIMIT = 256  # containers with an open line at the same time
_WEAK_LIMIT = 64  # pieces of a line that is only thought to be one: 1 MiB at 16 KiB each


class Piece(NamedTuple):
    """A value on its way out of its wrappings, with the columns that they knew and the place where it stood."""

    body: Any
    envelope: dict[str, Any]
    place: str


class OpenLines:
    """Open lines by stream (one container's stdout or stderr)."""

    def __init__(self) -> None:
        self._pieces: OrderedDict[str, list[Piece]] = OrderedDict()
        self._weak: dict[str, bool] = {}
        self._size: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._pieces)

    def holds(self, stream: str) -> bool:
        return stream in self._pieces

    def weak(self, stream: str) -> bool:
        return self._weak.get(stream, False)

    def streams(self) -> list[str]:
        return list(self._pieces)

    def text(self, stream: str) -> str:
        return "".join(piece.body for piece in self._pieces[stream])

    def add(self, stream: str, piece: Piece, *, weak: bool) -> bool:
        """Keep one more piece; True when the line must be closed now because it has become too long."""
        held = self._pieces.setdefault(stream, [])
        held.append(piece)
        self._weak[stream] = weak and self._weak.get(stream, True)
        self._size[stream] = self._size.get(stream, 0) + len(piece.body)
        return self._size[stream] > _LINE_LIMIT or (weak and len(held) >= _WEAK_LIMIT)

    def take(self, stream: str) -> list[Piece]:
        """The pieces of a line, which is closed by this."""
        self._weak.pop(stream, None)
        self._size.pop(stream, None)
        return self._pieces.pop(stream)

    def oldest_beyond_limit(self) -> str | None:
        """A stream to close because too many are open."""
        return next(iter(self._pieces)) if len(self._pieces) > _STREAM_LIMIT else None
