"""One pass over every answer's text: cheap facts that tell which rows deserve an exact look.

Each array of `TextFeatures` is a *hint*: True wherever the exact judge of a signal could say yes, and seldom elsewhere. The texts of a chunk of rows
are joined as UTF-8 and walked by compiled kernels (`detector.byte_kernels`, `detector.loops`), so that the cost per answer is a few microseconds.
Importing this module imports numba; `detector` itself must not import it before a batch's text is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from detector.byte_kernels import BLANK, MARKER, NON_ASCII, ODD, PAD, START, describe
from detector.loop_gate import suspicious_rows
from detector.loops import thread_workspace
from detector.marker_hints import Hints, compile_hints

if TYPE_CHECKING:
    from detector.batch import Batch

CHUNK_ROWS = 128  # at 2 KB an answer a quarter of a megabyte: stays in the second-level cache between joining and walking


@dataclass(frozen=True)
class TextFeatures:
    """One boolean per row.

    `marker`: content, reasoning, tool arguments or function names hold a byte sequence that begins a known marker. `start`: content or reasoning begins, after
    what shows nothing, with the first bytes of one of `markers.STARTS`. `odd`: content or reasoning holds
    U+FFFD, control or C1 characters, a pair that looks like mojibake, invisible characters, tokenizer marks, private-use characters or debris of tokens.
    `non_ascii`: content or reasoning holds a character beyond ASCII. `blank`: content is None or has no visible character. `loop`: content or reasoning
    may loop.
    """

    marker: NDArray[np.bool_]
    start: NDArray[np.bool_]
    odd: NDArray[np.bool_]
    non_ascii: NDArray[np.bool_]
    blank: NDArray[np.bool_]
    loop: NDArray[np.bool_]


def scan(batch: Batch) -> TextFeatures:
    """The hints of every row of a batch; arrays of `batch.size`. Never raises on any text."""
    size = batch.size
    hints = compile_hints()
    content = batch.column("content")
    bits = np.zeros(size, np.uint8)
    loop = np.zeros(size, np.bool_)
    bits[_walk(content, bits, loop, hints)] |= BLANK
    if "reasoning" in batch.columns:
        _walk(batch.column("reasoning"), bits, loop, hints, keep_blank=False)
    for name in ("tool_arguments", "tool_calls"):
        if name in batch.columns:
            _walk_lists(batch.column(name), bits, hints)
    marker, start, odd, non_ascii, blank = ((bits & bit) != 0 for bit in (MARKER, START, ODD, NON_ASCII, BLANK))
    return TextFeatures(marker=marker, start=start, odd=odd, non_ascii=non_ascii, blank=blank, loop=loop)


def joined(texts: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Texts as one padded UTF-8 buffer and the offsets of their starts, one more than there are texts (the last is the end)."""
    texts = list(texts)
    try:
        pieces = [text.encode() for text in texts]
    except UnicodeEncodeError:  # a lone surrogate, as JSON may spell it
        pieces = [text.encode("utf-8", "surrogatepass") for text in texts]
    starts = np.zeros(len(pieces) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)), out=starts[1:])
    pieces.append(bytes(PAD))
    return np.frombuffer(b"".join(pieces), np.uint8), starts


def _walk(column: Sequence[Any], bits: NDArray[np.uint8], loop: NDArray[np.bool_], hints: Hints, *, keep_blank: bool = True) -> NDArray[np.bool_]:
    """Sets the bits of the rows that hold a text; returns which rows hold none."""
    absent = np.ones(len(bits), np.bool_)
    kept = np.uint8(0xFF if keep_blank else 0xFF ^ BLANK)
    space = thread_workspace()
    for first in range(0, len(bits), CHUNK_ROWS):
        chunk = column[first : first + CHUNK_ROWS]
        texts = [text for text in chunk if text.__class__ is str]
        if not texts:
            continue
        at: slice | NDArray[np.int64] = slice(first, first + len(chunk))
        if len(texts) < len(chunk):
            at = np.array([first + place for place, text in enumerate(chunk) if text.__class__ is str], np.int64)
        buffer, starts = joined(texts)
        bits[at] |= describe(buffer, starts, *hints) & kept
        loop[at] |= suspicious_rows(buffer, starts, *space)
        absent[at] = False
    return absent


def _walk_lists(column: Sequence[Any], bits: NDArray[np.uint8], hints: Hints) -> None:
    """Markers in columns whose cells are tuples of texts."""
    rows: list[int] = []
    texts: list[str] = []
    for row, cell in enumerate(column):
        if cell:
            for text in cell:
                if text.__class__ is str:
                    rows.append(row)
                    texts.append(text)
    if texts:
        buffer, starts = joined(texts)
        np.bitwise_or.at(bits, np.array(rows, np.int64), describe(buffer, starts, *hints) & np.uint8(MARKER))
