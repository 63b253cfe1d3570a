"""Bodies in another form than JSON: as they went over the wire (base64, and gzip inside it), escaped once more, or as Python prints them."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from typing import Any

from detector.formats.repr_values import value as repr_value
from detector.formats.values import decoded

# How base64 of gzip, of an object, of a list of objects and of an event stream begins.
_BASE64 = ("H4sI", "eyJ", "eyAi", "ewog", "ewoi", "ew0K", "W3si", "ZGF0YT", "ZXZlbnQ6")
_ESCAPED = ('{\\"', '[{\\"', 'data: {\\"', 'data:{\\"')
PRINTED = ("{'", "[{'", "ModelResponse(", "ChatCompletion(", "ResponsesAPIResponse(", "Response(id=")  # dicts, and objects of the clients' libraries
_STARTS = (*_BASE64, *_ESCAPED, *PRINTED)
_LIMIT = 16 << 20  # bytes of an unpacked body; more is no answer but an attack
_LONGEST = 1 << 20  # characters of a printed body


def unpacked(value: Any) -> Any:
    """The JSON value or the event stream inside a packed text; any other value as it is."""
    if not isinstance(value, str) or not value.startswith(_STARTS):
        return value
    if value.startswith(PRINTED):
        return _printed(value)
    if value.startswith(_ESCAPED):
        try:
            return decoded(json.loads(f'"{value}"', strict=False))
        except ValueError:
            return value
    bare = value.rstrip("=\r\n \t").replace("\n", "").replace("\r", "")
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_" if "-" in bare or "_" in bare else None, validate=True)
        if data[:2] == b"\x1f\x8b":
            data = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(data, _LIMIT)
        return decoded(data.decode("utf-8"))
    except (binascii.Error, ValueError, zlib.error):
        return value


def _printed(value: str) -> Any:
    found = repr_value(value)[0] if len(value) <= _LONGEST else None
    return found if isinstance(found, (dict, list)) and found else value


def is_whole(value: str) -> bool:
    """A printed body goes on to its own end: none of it was cut off."""
    return value.rstrip()[-1:] in ("}", ")", "]")
