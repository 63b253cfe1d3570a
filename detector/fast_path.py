"""The fast path: lines of the usual envelope to columns, without a record or a dict per answer.

A line that fits `detector.formats.envelope_types` gives the row that the general path would give (a property test holds the two together); every other line
is for the general path. Texts that are seldom looked at (the conversation) are decoded when they are asked for.

Why typed structures: on 100,000 answers of 2.2 KB the decoding alone takes 0.6 times `orjson.loads` (strings are made only for what is kept); see
`bench/speed.py` for the whole.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import msgspec
import orjson

from detector.formats.base import Document, formats
from detector.formats.detect import Detector
from detector.formats.envelope import FORMAT, read_envelope
from detector.formats.envelope_decoder import IGNORED, PARTS, asked, decoder, keys_asked, kind_of, parts_of
from detector.formats.wrapping import Peeler
from detector.record import Record
from detector.sources.partition import line_ends

_PROOFS = 3  # documents in which a further key must have changed nothing before it counts as harmless
_ATTEMPTS = 256  # lines that are tried for such proofs, per reader: a log of ever new keys stays on the general path
_LOOKS, _SELDOM = 1024, 64  # lines that are looked at, and after them one of so many: most logs of other producers never fit, and looking costs a parse
_MOST_KEYS = 64
_MISSES = 4
_TRITON = "cmpl-"  # the one producer whose chat answers are told by a value: `detector.formats.triton` claims ids that begin so
# Keys by which shippers and other producers are told (`detector.formats.wrapping*`): never harmless, whatever a few documents show.
_TELLING_WORDS = (
    "message log msg line text body event payload raw data record content json fields source tags host type path port agent ecs input container docker beat "
    "kubernetes stream date time logtag labels severity level resource attributes trace span spans index create update delete hits docs columns values result "
    "rows entry events tables partial_message"
)
_TELLING = frozenset(_TELLING_WORDS.split())


class FastLines:
    """Decodes lines of one log; learns which further top-level keys are harmless."""

    def __init__(self) -> None:
        self._harmless: dict[str, frozenset[str]] = {}
        self._proofs: Counter[tuple[str, str]] = Counter()
        self._attempts = 0
        self._looked = 0
        self._misses = 0  # blocks in a row of which a line did not fit
        self._ignored = dict(IGNORED)
        self._decoder = decoder(self._harmless, self._ignored)

    def decode(self, line: bytes | msgspec.Raw) -> Any | None:
        """The line as a typed envelope; None if it is for the general path."""
        try:
            row = self._decoder.decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return None if (row.response.id or "").startswith(_TRITON) else row

    def decode_block(self, block: bytes) -> list[Any] | None:
        """Every line of a block as a typed envelope; None if one of them does not fit. A third cheaper than line by line."""
        if self._misses >= _MISSES:  # most blocks hold such a line: trying them as a whole is wasted for a while
            self._misses = -_MISSES if self._misses > 8 * _MISSES else self._misses + 1
            return None
        try:
            rows = self._decoder.decode_lines(block)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            self._misses += 1
            return None
        self._misses = 0
        ends = line_ends(block)
        if f"\n{_TRITON}" in "\n".join(["", *[row.response.id or "" for row in rows]]):
            return None
        return rows if len(rows) == ends + (not block.endswith(b"\n")) else None

    def learn(self, line: bytes) -> None:
        """Look at a line that did not fit: do its further keys change anything? Those that never did are ignored from now on."""
        if self._attempts >= _ATTEMPTS or len(self._harmless) >= _MOST_KEYS:
            return
        self._looked += 1
        if self._looked > _LOOKS and self._looked % _SELDOM:
            return
        try:
            body = orjson.loads(line)
        except orjson.JSONDecodeError:
            return
        if not isinstance(body, dict) or not self._ignore(body):
            return
        further = [key for key in body if key not in _declared() and kind_of(body[key]) not in self._harmless.get(key, frozenset())]
        if not further or any(not _may_be_harmless(key) for key in further):
            return
        self._attempts += 1
        whole = _alone(body)
        if whole is None:
            return
        for key in further:
            if _alone({name: value for name, value in body.items() if name != key}) != whole:
                return
        known = len(self._proofs)
        for key in further:
            proof = (key, kind_of(body[key]))
            self._proofs[proof] += 1
            if self._proofs[proof] == _PROOFS:
                self._harmless[key] = self._harmless.get(key, frozenset()) | {proof[1]}
                known = -1
        if known < 0:
            self._decoder = decoder(self._harmless, self._ignored)

    def _ignore(self, body: dict[str, Any]) -> bool:
        """Ignore the keys of a line's parts that the general path does not ask for; False when one stands there that it does ask for."""
        fits = True
        changed = False
        for name, part in parts_of(body).items():
            known = self._ignored[name].union(PARTS[name].__struct_encode_fields__)
            further = frozenset(part) - known
            fits = fits and further.isdisjoint(asked(name))
            new = further - asked(name)
            if new and len(self._ignored[name]) + len(new) <= _MOST_KEYS:
                self._ignored[name] |= new
                changed = True
        if changed:
            self._decoder = decoder(self._harmless, self._ignored)
        return fits


def _may_be_harmless(key: str) -> bool:
    return key not in _telling() and key[:1] not in ("_", "@") and "." not in key and key == key.lower()


_KEYS: dict[str, frozenset[str]] = {}


def _declared() -> frozenset[str]:
    """Top-level keys that the fast path understands."""
    if "declared" not in _KEYS:
        from detector.formats.envelope_types import Envelope

        _KEYS["declared"] = frozenset(Envelope.__struct_encode_fields__)
    return _KEYS["declared"]


def _telling() -> frozenset[str]:
    """Top-level keys that mean something to some reader of this package."""
    if "telling" not in _KEYS:
        sample = {"request": {"messages": [{"role": "user", "content": "x"}]}, "response": {"choices": []}}
        read, sought = keys_asked(lambda watched: (FORMAT.recognise(watched), read_envelope(Document(watched, ""))), sample)
        of_formats = frozenset(key for fmt in formats() if fmt is not FORMAT for key in fmt.keys)
        _KEYS["telling"] = (read | sought | of_formats | _TELLING) - _declared()
    return _KEYS["telling"]


def _alone(body: dict[str, Any]) -> list[Record] | None:
    """What the general path makes of one document by itself; None unless it is one plain envelope."""
    detect = Detector()
    inside = Peeler(detect.detect).feed(Document(body, ":0"))
    if len(inside) != 1 or inside[0].body is not body:
        return None
    found = detect.detect(body)
    if found is None or found.format is not FORMAT:
        return None
    return read_envelope(inside[0])


@cache
def fast_lines() -> FastLines:
    """The process's decoder: what one unit taught it serves the next."""
    return FastLines()
