"""Wrappings are peeled here, once, before any format: containers of many documents, shippers' documents, prefixes of lines, JSON inside strings, split lines.

`Peeler` takes raw documents in the order of the log and gives the documents inside; nested wrappings are taken off one after the other. It asks the formats
(`recognised`) only where a producer and a shipper look alike, and changes no value inside a document.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

from detector.formats.base import Document, Json
from detector.formats.values import decoded, instant
from detector.formats.wrapping_lines import is_unclosed, run_together
from detector.formats.wrapping_metadata import has_metadata, metadata
from detector.formats.wrapping_pieces import OpenLines, Piece
from detector.formats.wrapping_shipped import Shipped
from detector.formats.wrapping_shippers import SHIPPER_KEYS, shipped
from detector.formats.wrapping_stores import CONTAINER_KEYS, bulk_action, explode
from detector.formats.wrapping_text import strip_prefixes

_DEPTH = 12  # wrappings around one document; real ones have up to four
_SHAPES = 4096  # remembered sets of top-level keys
_JSON_START = re.compile(r"\{|\[\s*[\[{\"\]]|\[\d+(?:\.\d+)?, ?\{")  # a date in brackets is none
_LINE_START = re.compile(  # what a line begins with, as against the rest of one: JSON, a date, a level, a process name, a colour, an event stream
    r"\s*(?:[{<\x1b]|\[[\[{\"\d\]]|\[\w+/|\(\w+(?:[ :]|_\d)|\d{4}-\d\d-\d\d|[IWEF]\d{4} |(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b|data:|event:)"
)
_MOST_KEYS = 60  # looked into, of an object that nobody recognises
_ATTRIBUTES = frozenset(("attributes", "labels", "numeric_labels"))
_CARRIERS = ("message", "log", "msg", "line", "text", "body", "event", "payload", "raw", "data", "record", "content", "json")


class Peeler:
    """Raw documents to documents. Holds pieces of split lines and a pending bulk action, nothing else."""

    def __init__(self, recognised: Callable[[Json], object]) -> None:
        self._recognised = recognised
        self._position = 0
        self._action: dict[str, Any] | None = None  # envelope from a bulk action line, for the document that follows
        self._open = OpenLines()
        self._bare: dict[tuple[str, ...], bool] = {}

    def feed(self, raw: Document) -> list[Document]:
        """The documents inside, in the order in which joiners want them: oldest first even where the store answered newest first."""
        body, envelope = raw.body, dict(raw.envelope)
        if isinstance(body, dict) and self._action is None and not len(self._open) and self._is_bare(body) and self._recognised(body):
            self._position += 1
            return [Document(body, raw.place, envelope, self._position)]
        action = bulk_action(body)
        if action is not None and not self._recognised(body):
            self._action = None if action[0] == "delete" else action[1]
            return []
        if self._action is not None:
            envelope.update(self._action)
            self._action = None
            if isinstance(body, dict) and body.keys() & {"doc", "upsert"} and not self._recognised(body):
                body = body.get("doc") or body.get("upsert")
        return self._numbered(chain(self._peel(Piece(body, envelope, raw.place), "", _DEPTH), self._crowded()))

    @property
    def is_waiting(self) -> bool:
        """An action line announced a document: the next one is not what it would be alone."""
        return self._action is not None

    def _is_bare(self, body: dict[str, Any]) -> bool:
        """Nothing in the top-level keys says that this object wraps another or bears shipping metadata."""
        shape = tuple(body)
        found = self._bare.get(shape)
        if found is None:
            keys = body.keys()
            found = len(body) > 1 and CONTAINER_KEYS.isdisjoint(keys) and SHIPPER_KEYS.isdisjoint(keys) and not has_metadata(keys)
            if len(self._bare) >= _SHAPES:
                self._bare.clear()
            self._bare[shape] = found
        return found

    def finish(self) -> list[Document]:
        """Lines of which the last piece never came, as far as they got."""
        return self._numbered(inner for stream in self._open.streams() for inner in self._close(stream, _DEPTH))

    def _crowded(self) -> Iterator[Piece]:
        stream = self._open.oldest_beyond_limit()
        if stream is not None:
            yield from self._close(stream, _DEPTH)

    def _numbered(self, inner: Iterable[Piece]) -> list[Document]:
        documents = []
        for body, envelope, place in inner:
            self._position += 1
            documents.append(Document(body, place, envelope, self._position))
        if len(documents) > 1:
            times = [document.envelope.get("timestamp") for document in documents]
            if None not in times and times[0] > times[-1]:  # type: ignore[operator]  # no None among them
                documents.sort(key=lambda document: document.envelope["timestamp"])
        return documents

    def _peel(self, piece: Piece, stream: str, depth: int) -> Iterator[Piece]:
        """What is inside `piece`. `stream`: whose lines these are, so that only pieces of one container are put together."""
        body = piece.body
        if isinstance(body, str):
            yield from self._text(piece, stream, depth)
        elif isinstance(body, dict) and depth:
            yield from self._object(piece, body, stream, depth - 1)
        elif isinstance(body, list) and depth:
            if len(body) == 2 and isinstance(body[1], dict) and not isinstance(body[0], (dict, str)):  # Fluentd's [time, record]
                moment = instant(body[0][0] if isinstance(body[0], list) and body[0] else body[0])
                known = {**({"timestamp": moment} if moment is not None else {}), **piece.envelope}
                yield from self._peel(Piece(body[1], known, piece.place), stream, depth - 1)
                return
            for entry in body:
                yield from self._peel(Piece(entry, dict(piece.envelope), piece.place), stream, depth - 1)
        else:
            yield piece

    def _object(self, piece: Piece, body: dict[str, Any], stream: str, depth: int) -> Iterator[Piece]:
        if self._open.weak(stream):
            yield from self._close(stream, depth)  # a whole document follows: the rest of the open line never came
        inside = None if CONTAINER_KEYS.isdisjoint(body) else explode(body)
        if inside is not None:
            for inner, known in inside:
                yield from self._peel(Piece(inner, {**piece.envelope, **known}, piece.place), stream, depth)
            return
        carried = None if SHIPPER_KEYS.isdisjoint(body) else shipped(body)
        if carried is None:
            yield from self._own(piece, body, stream, depth)
            return
        known = {**piece.envelope, **carried.envelope}
        line = next((entry for entry in carried.inner if isinstance(entry, str)), None)
        if line is not None and carried.part is not None:
            yield from self._piece_of_line(Piece(line, known, piece.place), carried.part, carried.weak, carried.stream, depth)
            return
        best = self._best(carried, body)
        if self._open.weak(carried.stream) and not isinstance(best, str):
            yield from self._close(carried.stream, depth)
        if best is body:
            yield Piece(body, known, piece.place)
        else:
            yield from self._peel(Piece(best, known, piece.place), carried.stream, depth)

    def _own(self, piece: Piece, body: dict[str, Any], stream: str, depth: int) -> Iterator[Piece]:
        """An object of no known shipper: a producer's document, or home-made shipping around one."""
        if not self._recognised(body):
            named = [key for key in _CARRIERS if key in body]
            others = (key for key in islice(body, _MOST_KEYS) if key not in _CARRIERS)  # a shipper's merge key can have any name
            for key in chain(named, others):
                inner = body[key]
                if isinstance(inner, (str, dict, list)) and inner and self._leads_somewhere(inner):
                    yield from self._peel(Piece(inner, {**metadata(body), **piece.envelope}, piece.place), stream, depth)
                    return
        yield Piece(body, {**metadata(body, times="@timestamp" in body), **piece.envelope}, piece.place)

    def _best(self, carried: Shipped, body: dict[str, Any]) -> Json:
        """Which of the candidates to read: the first that is or holds an object, a line that a format knows, the shipper's own root, else the line."""
        for candidate in carried.inner:
            inner = candidate if isinstance(candidate, dict) else decoded(candidate)
            if isinstance(inner, (dict, list)) and inner:
                if carried.own and not self._leads_somewhere(inner):
                    continue
                own = not _ATTRIBUTES.isdisjoint(body) and not self._leads_somewhere(inner) and self._recognised(body)
                return body if own else inner  # a log record whose attributes say what the object is
        if carried.own:
            line = next((entry for entry in carried.inner if isinstance(entry, str)), None)
            return line if line is not None and self._leads_somewhere(line) else body
        line = carried.inner[0] if carried.inner else None
        if self._recognised(body) and not (isinstance(line, str) and self._leads_somewhere(line)):
            return body
        return line

    def _leads_somewhere(self, inner: Json) -> bool:
        """True when a format, a shipper or a store's answer is recognised in this value."""
        if isinstance(inner, str):
            head = inner.lstrip()
            if head[:1] in ("{", "["):
                inner = decoded(head)
                if isinstance(inner, str):
                    return False
            elif head.startswith(("data:", "event:")):
                return bool(self._recognised(head))
            else:
                return bool(self._recognised(strip_prefixes(head.partition("\n")[0], self._recognised).text))
        if isinstance(inner, list):
            return any(isinstance(entry, dict) and self._leads_somewhere(entry) for entry in inner[:3])
        return isinstance(inner, dict) and bool(self._recognised(inner) or shipped(inner) is not None or explode(inner) is not None)

    def _piece_of_line(self, piece: Piece, part: bool | None, weak: bool, stream: str, depth: int) -> Iterator[Piece]:
        """One line or piece of a stream that is split by its runtime, or that has an open line."""
        if self._open.holds(stream) and self._open.weak(stream) and _LINE_START.match(piece.body) and self._leads_somewhere(piece.body):
            yield from self._close(stream, depth)  # a new line begins: the open one was whole, or its rest never came
        if self._open.holds(stream) and self._open.weak(stream) and not weak and not part:
            yield from self._peel(piece, stream, depth)  # the runtime's marks were lost on the way: only the text tells whether this is the rest
        elif part or self._open.holds(stream):
            full = self._open.add(stream, piece, weak=weak)
            if full or not part:
                yield from self._close(stream, depth)
        else:
            yield from self._peel(piece, stream, depth)

    def _close(self, stream: str, depth: int) -> Iterator[Piece]:
        weak = self._open.weak(stream)
        pieces = self._open.take(stream)
        whole = "".join(piece.body for piece in pieces)
        if weak and _JSON_START.match(whole.lstrip()) and isinstance(decoded(whole), str):
            yield from pieces  # do not fit together: each is unreadable by itself
        else:
            yield from self._peel(Piece(whole, pieces[0].envelope, pieces[0].place), f"{stream}/whole", depth)

    def _text(self, piece: Piece, stream: str, depth: int) -> Iterator[Piece]:
        line = strip_prefixes(piece.body.rstrip("\r\n"), self._recognised)
        known = {**line.envelope, **piece.envelope}
        piece = Piece(line.text, known, piece.place)
        if line.part is not None:
            yield from self._piece_of_line(piece, line.part, False, f"cri/{line.stream}", depth)
            return
        head = line.text.lstrip()
        if self._open.holds(stream) and self._open.weak(stream) and depth:
            fits = line.text[-1:] in ("}", "]") and not isinstance(decoded(self._open.text(stream) + line.text), str)
            if not fits and self._leads_somewhere(line.text):
                yield from self._close(stream, depth - 1)
            else:
                full = self._open.add(stream, piece, weak=True)
                if full or not isinstance(decoded(self._open.text(stream)), str):
                    yield from self._close(stream, depth - 1)
                return
        if _JSON_START.match(head):
            inner = decoded(head)
            if not isinstance(inner, str) and depth:
                yield from self._peel(Piece(inner, known, piece.place), stream, depth - 1)
            elif depth and (several := run_together(head)) is not None:
                for inner in several:
                    yield from self._peel(Piece(inner, dict(known), piece.place), stream, depth - 1)
            elif depth and "\n" in head and not isinstance(decoded(head.partition("\n")[0]), str):
                yield from self._lines(head, piece, stream, depth - 1)
            elif head[:1] == "{" and not stream.endswith("/whole") and is_unclosed(head):
                self._open.add(stream, piece, weak=True)  # cut in the middle: perhaps the next line of this stream is the rest
            else:
                yield piece
        elif head.startswith(("data:", "event:")) and self._recognised(head):
            yield Piece(head, known, piece.place)
        elif depth and (inner := self._json_tail(line.text)) is not None:
            yield from self._peel(Piece(inner, known, piece.place), stream, depth - 1)
        elif "\n" in line.text:
            yield from self._lines(line.text, piece, stream, depth)
        else:
            yield piece

    def _json_tail(self, text: str) -> Json:
        """JSON from the first bracket up to the end of a line with a prefix of some other kind, if a format knows it; else None."""
        if text[-1:] not in ("}", "]") or self._recognised(text):
            return None
        start = text.find("{")
        if start > 0 and text[start - 1] == "[":
            start -= 1
        if "\n" in text[:start] and "\n" not in text[start:]:
            return None  # a line of its own below others
        inner = decoded(text[start:]) if start > 0 else None
        return inner if isinstance(inner, (dict, list)) and self._leads_somewhere(inner) else None

    def _lines(self, text: str, piece: Piece, stream: str, depth: int) -> Iterator[Piece]:
        """A text of several lines that a shipper joined: one document per line that a format knows, with the lines that continue it."""
        found: list[Json] = []
        for line in text.splitlines():
            bare = strip_prefixes(line, self._recognised).text
            inner = decoded(bare) if bare[:1] == "{" else bare
            if not found or not isinstance(inner, str) or not isinstance(found[-1], str) or self._recognised(bare):
                found.append(inner)
            elif bare:
                found[-1] += "\n" + bare
        for inner in found:
            if isinstance(inner, str) or not depth:
                yield Piece(inner, dict(piece.envelope), piece.place)
            else:
                yield from self._peel(Piece(inner, dict(piece.envelope), piece.place), stream, depth)
