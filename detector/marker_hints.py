"""Literals that can begin a marker, compiled for the byte kernel.

The literals come from `detector.signals.markers.HINTS` (one table names every marker family). A literal matches anywhere in a text; one that starts with
`^` matches only at the text's beginning, after white space. Literals are matched by at most their first `WIDTH` bytes.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

WIDTH = 8  # bytes of a literal that are compared: one machine word

DEFAULT_HINTS: tuple[str, ...] = (
    *("</", "<|", "|>", "<th", "<Th", "<TH", "<seed", "<mm:", "<tool", "<func", "<ans", "<ref", "<rea", "<s>", "<bos", "<eos", "<pad", "<unk"),
    *(
        "<start_of",
        "<end_of",
        "<<SYS",
        "<minimax",
        "<\uff5c",
        "\uff5c>",
        "\u25c1",
        "\u25b7",
        "[TH",
        "[/TH",
        "[IN",
        "[/IN",
        "[TOOL",
        "[BOS",
        "[EOS",
        "[PAD",
        "[gMASK",
    ),
    *("assistantfinal", "assistantcommentary", "assistantanalysis", "channel|", "Here is my thought", "Here's my thought", "Here is my response"),
    *("^thought", "^analysis", "^commentary"),
)


class Hints(NamedTuple):
    """`words`: the literals' first bytes as little-endian words; `masks`: which bytes of a word count; `at_start`: only at a text's beginning."""

    words: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    at_start: NDArray[np.bool_]
    starters: NDArray[np.int16]  # by first byte: index of the first literal with it in `order`, or -1


@cache
def compile_hints(literals: tuple[str, ...] | None = None) -> Hints:
    """Compiles literals (default: the table of marker families) sorted by first byte."""
    chosen = _table() if literals is None else literals
    encoded = sorted({(literal.removeprefix("^").encode()[:WIDTH], literal.startswith("^")) for literal in chosen if literal.strip("^")})
    words = np.array([int.from_bytes(text, "little") for text, _ in encoded], np.uint64)
    masks = np.array([(1 << (8 * len(text))) - 1 for text, _ in encoded], np.uint64)
    starters = np.full(257, len(encoded), np.int16)
    for place in range(len(encoded) - 1, -1, -1):
        starters[encoded[place][0][0]] = place
    for byte in range(255, -1, -1):
        starters[byte] = min(starters[byte], starters[byte + 1])
    return Hints(words, masks, np.array([start for _, start in encoded], np.bool_), starters)


def _table() -> tuple[str, ...]:
    try:
        table = importlib.import_module("detector.signals.markers")
    except ModuleNotFoundError:
        return DEFAULT_HINTS
    return tuple(table.HINTS)
