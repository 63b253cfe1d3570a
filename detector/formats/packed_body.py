"""Bodies that a proxy kept as they went over the wire: base64, and gzip inside it."""

from __future__ import annotations

import base64
import binascii
import zlib
from typing import Any

from detector.formats.values import decoded

# How base64 of gzip, of an object, of a list of objects and of an event stream begins.
_STARTS = ("H4sI", "eyJ", "eyAi", "ewog", "ewoi", "ew0K", "W3si", "ZGF0YT", "ZXZlbnQ6")
_LIMIT = 16 << 20  # bytes of an unpacked body; more is no answer but an attack


def unpacked(value: Any) -> Any:
    """The JSON value or the event stream inside a packed text; any other value as it is."""
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    bare = value.rstrip("=\r\n \t").replace("\n", "").replace("\r", "")
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if "-" in bare or "_" in bare else None, validate=True)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _LIMIT)
        return decoded(data.decode("utf-8"))
    except (binascii.Error, ValueError, zlib.error):
        return value
