"""What a shipper's wrapping holds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Shipped:
    """What a shipper's document carries.

    `inner`: candidates for the line or its parsed form, best first. `part`: as in `wrapping_text.Line`; `weak`: only a missing newline says so.
    `stream`: what pieces of one line have in common. `own`: an object inside belongs to the document, unless a format knows it by itself.
    """

    inner: list[Any]
    envelope: dict[str, Any] = field(default_factory=dict)
    part: bool | None = None
    stream: str = ""
    weak: bool = False
    own: bool = False
