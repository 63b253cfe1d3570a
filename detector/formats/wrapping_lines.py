"""Lines of a file to raw documents: JSON lines, pretty-printed JSON, arrays, recorded event streams, CSV tables, text blocks; any mix of them.

Reads line by line and holds one open document at most, so memory does not depend on the size of the file. Nothing is dropped: what can't be put together
comes out as the text lines that it was.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator

from detector.formats.base import Document
from detector.formats.values import decoded
from detector.formats.wrapping_arrays import STRUCTURE, elements, is_array
from detector.formats.wrapping_cloudevents import BLOCK_START, cloud_event

_OPEN_LIMIT = 64 << 20  # characters of one pretty-printed document; more is no log document
_SSE = re.compile(r"(?:data|event|id|retry): ?\S?|:(?: |$)")
_SSE_START = re.compile(r"data: ?[\[{]|event: ?[\w.]+$|:(?: [\w -]{0,80})?$")  # the last: a comment that keeps the connection open
_SSE_BEGIN = re.compile(r"event: ?(?:message_start|response\.created)$")  # the first event of a stream that ends without [DONE]
_CHUNK_ID = re.compile(r'"id": ?"([^"]{1,200})"')
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_CSV_CELL = re.compile(r'"?[@\w][@\w. ()/\[\]-]{0,80}"?')
_CSV_COLUMNS = frozenset(
    (
        *("@timestamp", "timestamp", "time", "starttime", "start_time", "message", "line", "log", "body", "content", "output", "response", "textpayload"),
        *("request_id", "trace_id", "_source", "_index", "finish_reason", "completion_tokens", "jsonpayload", "reqtype"),
    )
)
_BLOCK_MARKS = " \t]\u2601cde:"  # what event blocks, recorded streams and indented or closing JSON begin with
_JSON_START = re.compile(r"\s*(?:\{|\]|\[\s*(?:$|[\[{\"\]]))")  # a date in brackets is none
_NEXT_VALUE = re.compile(r"\}\s*\{")
_GAP = re.compile(r"\s*")


def raw_documents(lines: Iterable[str], name: str) -> Iterator[Document]:
    """Raw documents of a file; `place` is `name:line`. Blank lines are nothing, a byte order mark and record separators are dropped."""
    return LineFeed(name).read(lines)


class LineFeed:
    """Lines to raw documents, one line at a time (`feed`, then `finish`) or all at once (`read`)."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._held: list[tuple[int, str]] = []  # lines of the open document
        self._size = 0
        self._mode = ""  # "", json, sse, event
        self._stack: list[str] = []  # open brackets of the open JSON document
        self._in_array = False  # inside a top-level array whose elements are documents
        self._stream_id: str | None = None

    def read(self, lines: Iterable[str]) -> Iterator[Document]:
        numbered = ((number, line) for number, line in enumerate(lines, start=1))
        first = True
        for number, line in numbered:
            if first:
                line = line.removeprefix("\ufeff")
            if first and line.strip() and is_csv_header(line.rstrip("\r\n")):
                yield from self._table(line.rstrip("\r\n"), numbered)
                return
            first = first and not line.strip()
            yield from self.feed(number, line)
        yield from self.finish()

    def feed(self, number: int, line: str) -> Iterator[Document]:
        """Documents that one more line completes; `number` is its place in the file."""
        line = line.rstrip("\r\n").removeprefix("\x1e")
        if line.strip():
            yield from self._line(number, line)
        elif self._mode == "event":
            self._held.append((number, line))

    def finish(self) -> Iterator[Document]:
        """What is still open at the end."""
        yield from self._flush()

    @property
    def is_open(self) -> bool:
        """A document of several lines is being put together, so the next line may belong to it."""
        return bool(self._held) or self._in_array

    def _line(self, number: int, line: str) -> Iterator[Document]:
        if self._mode == "sse":
            if _SSE.match(line):
                yield from self._sse(number, line)
                return
            yield from self._flush()
        elif self._mode == "event":
            if not BLOCK_START.match(line):
                self._hold(number, line)
                return
            yield from self._flush()
        elif self._mode == "json":
            if self._continues(line):
                yield from self._json(number, line)
                return
            yield from self._flush()
        mark = line[:1]
        if mark not in _BLOCK_MARKS and mark not in "{[":  # most lines: text
            yield self._document(number, line)
            return
        if BLOCK_START.match(line):
            self._mode = "event"
            self._hold(number, line)
            return
        if _SSE_START.match(line):
            self._mode = "sse"
            yield from self._sse(number, line)
            return
        if not _JSON_START.match(line):
            yield self._document(number, line)
            return
        bare = line.strip()
        if bare == "[" or (self._in_array and bare in ("]", "],")):
            self._in_array = bare == "["
            return
        body = decoded(bare)
        if isinstance(body, str) and bare.endswith(","):
            body = decoded(bare[:-1])
        elif isinstance(body, str) and self._in_array and bare.endswith("]"):  # the array ends on the line of its last element
            body = decoded(bare[:-1])
            self._in_array = isinstance(body, str)
        if not isinstance(body, str):
            yield self._document(number, body)
            return
        self._mode, self._stack = "json", []
        yield from self._json(number, line)

    def _sse(self, number: int, line: str) -> Iterator[Document]:
        if _SSE_BEGIN.match(line) and any(held.startswith("data:") for _, held in self._held):
            yield from self._flush()
            self._mode = "sse"
        found = _CHUNK_ID.search(line, 0, 400) if line.startswith("data:") else None
        if found and self._stream_id not in (None, found[1]) and '"object"' in line:  # another stream's chunk without [DONE] before it
            yield from self._flush()
            self._mode = "sse"
        if found and self._stream_id is None:
            self._stream_id = found[1]
        self._hold(number, line)
        if line.startswith("data:") and line[5:].strip() == "[DONE]":
            yield from self._flush()

    def _json(self, number: int, line: str) -> Iterator[Document]:
        self._hold(number, line)
        if not self._balance(line):
            yield from self._flush()
        elif self._size > _OPEN_LIMIT:
            goes_on = is_array(self._held[0][1]) and self._stack[:1] == ["["]
            yield from self._flush()
            self._in_array = self._in_array or goes_on
        elif not self._stack:
            text = "\n".join(held for _, held in self._held).strip()
            body = decoded(text.removesuffix(","))
            if isinstance(body, str):
                yield from self._flush()
            else:
                yield self._document(self._held[0][0], body)
                self._reset()

    def _balance(self, line: str) -> bool:
        """Follow the brackets of one line; False where it can't be part of a JSON document (a text that is still open at its end)."""
        for match in STRUCTURE.finditer(line):
            mark = match[0]
            if mark in "{[":
                self._stack.append(mark)
            elif mark in "}]":
                if not self._stack or self._stack.pop() != ("{" if mark == "}" else "["):
                    return False
            elif mark == '"':  # a quote without its partner on this line
                return False
        return True

    def _continues(self, line: str) -> bool:
        """False where `line` can't follow in the open document: a new object begins where none may stand, so the open one was cut off."""
        start = line.lstrip()[:1]
        if start not in "{[":
            return start in '"]}' or start.isdigit() or start in "-tfnN,:"
        last = self._held[-1][1].rstrip()[-1:]
        return last == ":" or (self._stack[-1:] == ["["] and last in "[,")

    def _hold(self, number: int, line: str) -> None:
        self._held.append((number, line))
        self._size += len(line)

    def _flush(self) -> Iterator[Document]:
        held, mode, goes_on = self._held, self._mode, self._size > _OPEN_LIMIT
        self._reset()
        if not held:
            return
        events = [(number, line) for number, line in held if not line.startswith(":")] if mode == "sse" else []
        if events:
            yield self._document(events[0][0], "\n\n".join(line for _, line in events))
        elif mode == "event":
            body = cloud_event([line for _, line in held])
            yield self._document(held[0][0], body if body is not None else "\n".join(line for _, line in held))
        elif mode == "json" and is_array(held[0][1]):
            for number, body in elements(held, goes_on=goes_on):
                yield self._document(number, body)
        else:
            for number, line in held:
                yield self._document(number, line)

    def _reset(self) -> None:
        self._held, self._size, self._mode, self._stack, self._stream_id = [], 0, "", [], None

    def _document(self, number: int, body: object) -> Document:
        return Document(body=body, place=f"{self._name}:{number}")

    def _table(self, header: str, numbered: Iterator[tuple[int, str]]) -> Iterator[Document]:
        """Rows of a CSV table as objects; empty cells are null, a cell over several lines counts at its last."""
        last = 1

        def lines() -> Iterator[str]:
            nonlocal last
            for number, line in numbered:
                last = number
                yield line if line.endswith("\n") else line + "\n"

        columns = next(csv.reader([header]))
        csv.field_size_limit(_OPEN_LIMIT)
        rows = csv.reader(lines())
        while True:
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error:
                yield self._document(last, "a row of a table that can't be read")
                continue
            if row:
                yield self._row(last, {column: cell or None for column, cell in zip(columns, row, strict=False)})

    def _row(self, number: int, cells: dict[str, str | None]) -> Document:
        """One row; reports of Kibana bear the document's index and id, and write numbers with commas between the thousands."""
        body = {name: cell.replace(",", "") if cell and "token" in name.lower() and _THOUSANDS.fullmatch(cell) else cell for name, cell in cells.items()}
        where = {column: body.pop(name) for column, name in (("doc_index", "_index"), ("doc_id", "_id")) if name in body and "@timestamp" in body}
        return Document(body=body, place=f"{self._name}:{number}", envelope={column: value for column, value in where.items() if value is not None})


def is_unclosed(text: str) -> bool:
    """JSON that stops before its end: a bracket or a text in it is still open."""
    depth = 0
    for match in STRUCTURE.finditer(text):
        mark = match[0]
        if mark in ("{", "["):
            depth += 1
        elif mark in ("}", "]"):
            depth -= 1
        elif mark == '"':
            return True
    return depth > 0


def run_together(text: str) -> list[object] | None:
    """The JSON values of a text in which several stand one after the other, with or without line breaks between; None if it is no such text."""
    if not _NEXT_VALUE.search(text):
        return None
    found: list[object] = []
    at, decoder = 0, json.JSONDecoder()
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return None
        found.append(value)
        at = _GAP.match(text, at).end()  # type: ignore[union-attr]  # matches everywhere
    return found if len(found) > 1 and all(isinstance(value, dict) for value in found) else None


def is_csv_header(line: str) -> bool:
    """True when a first line is the header of a CSV table with a column that an answer could be in."""
    if "," not in line or len(line) > 8192 or line[0] in "{[":
        return False
    cells = [cell.strip() for cell in line.split(",")]
    known = [cell.strip('"').lower() in _CSV_COLUMNS for cell in cells]
    return any(known) and (len(cells) > 2 or all(known)) and all(_CSV_CELL.fullmatch(cell) for cell in cells)
