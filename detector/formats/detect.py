"""Which format a document is of."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from detector.errors import ConfigError
from detector.formats.base import Format, Json, formats

_SHAPES = 4096  # remembered sets of top-level keys; an index has tens
_ASK_TEXT = 65_536  # characters of a line that formats are asked about: evidence stands at its head

JSON_START = re.compile(r"\s*(?:\{|\[\s*[\[{\"])")


class Detection(NamedTuple):
    """`evidence`: what in the document shows that it is of `format`; quotes no content."""

    format: Format
    evidence: str


class Detector:
    """Asks the formats, most specific first. Pure apart from remembering which formats a set of top-level keys rules out."""

    def __init__(self, available: Sequence[Format] | None = None) -> None:
        self._formats = tuple(formats() if available is None else available)
        self._of_lines = tuple(fmt for fmt in self._formats if fmt.lines)
        self._of_shape: dict[tuple[str, ...], tuple[Format, ...]] = {}
        self._last_line: Format | None = None  # neighbours are mostly lines of one log, and no format claims another's lines: it is asked first
        self._last: tuple[Json, Detection | None] = (None, None)

    def detect(self, body: Json) -> Detection | None:
        """The first format that recognises `body`; None if none does."""
        if body is self._last[0] and body is not None:
            return self._last[1]
        found = self._ask(body)
        self._last = (body, found)
        return found

    def _ask(self, body: Json) -> Detection | None:
        if isinstance(body, dict):
            asked = self.candidates(body)
        elif isinstance(body, str):
            return self._ask_line(body)
        else:
            return None
        for fmt in asked:
            evidence = fmt.recognise(body)
            if evidence is not None:
                return Detection(fmt, evidence)
        return None

    def _ask_line(self, line: str) -> Detection | None:
        if len(line) > _ASK_TEXT and not line.startswith(("data:", "event:")):
            line = line[:_ASK_TEXT]
        first = self._last_line
        if first is not None:
            evidence = first.recognise(line)
            if evidence is not None:
                return Detection(first, evidence)
        for fmt in self._of_lines:
            evidence = None if fmt is first else fmt.recognise(line)
            if evidence is not None:
                self._last_line = fmt
                return Detection(fmt, evidence)
        return None

    def candidates(self, body: dict[str, Json]) -> tuple[Format, ...]:
        """The formats that an object with these top-level keys could be of, in the order in which they are asked."""
        shape = tuple(body)
        found = self._of_shape.get(shape)
        if found is None:
            keys = body.keys()
            found = tuple(fmt for fmt in self._formats if (not fmt.keys or not fmt.keys.isdisjoint(keys)) and (fmt.shape is None or fmt.shape(keys)))
            if len(self._of_shape) >= _SHAPES:
                self._of_shape.clear()
            self._of_shape[shape] = found
        return found


def format_named(name: str) -> Format:
    """The format of this name (dashes and underscores are the same). Raises ConfigError with the names there are."""
    wanted = name.strip().lower().replace("-", "_")
    for fmt in formats():
        if fmt.name == wanted:
            return fmt
    raise ConfigError(f"no format is named {name!r}; there are: {', '.join(sorted(fmt.name for fmt in formats()))}")


class OtherLines:
    """Text that no format recognises, between lines of an engine's log, is the rest of that log (banners, stack traces, access lines)."""

    def __init__(self) -> None:
        self._last: Format | None = None

    def saw(self, fmt: Format) -> None:
        """A document of this format was met."""
        if fmt.other_lines:
            self._last = fmt

    def of(self, body: Json) -> Format | None:
        """The format whose log an unrecognised body is a line of; None for objects, broken JSON, and text before any such log."""
        return self._last if isinstance(body, str) and not JSON_START.match(body) else None
