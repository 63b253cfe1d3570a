"""What a format is: a mapping from one producer's documents to records. One file per producer, found by scanning the folder.

A format sees *documents* (JSON objects or text lines that `detector.formats.wrapping` has peeled out of their shippers' envelopes) and gives records.
It never raises: what it can't read it says with a reason.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, Protocol

from detector.record import Record

View = Literal["engine", "gateway", "tracer", "client"]
Json = Any  # JSON enters here; everything behind a format is typed


@dataclass(frozen=True)
class Document:
    """One document after peeling: `body` is a JSON value or a text line; `envelope` holds canonical columns that the wrapping knew
    (timestamp, pod, doc_index, doc_id …); `place` is where it stood (`file:line`); `position` is its rank in the order of the log."""

    body: Json
    place: str
    envelope: dict[str, Any] = field(default_factory=dict)
    position: int = 0


@dataclass(frozen=True)
class Rejected:
    """A document that gives no record. `ignored`: it is no answer at all (statistics, probe), as against one that can't be read."""

    document: Document
    reason: str
    ignored: bool = False


@dataclass(frozen=True)
class Placed:
    """A record and the document in whose place it stands: that document's envelope fills what the record does not know."""

    record: Record
    document: Document


Outcome = Record | Placed | Rejected


class Joiner(Protocol):
    """Reads a stream of documents of which several can make one answer (request and response lines, event pairs, chunks).

    It holds a bounded number of open answers, so memory stays flat whatever the size of the log.
    """

    def feed(self, document: Document) -> Iterable[Outcome]:
        """Outcomes that this document completes; a `Record` without `Placed` stands in this document's place."""
        ...

    def finish(self) -> Iterable[Outcome]:
        """Outcomes of everything still open at the end of the log."""
        ...

    def holds_from(self) -> int | None:
        """Lowest position for which a record may still come: the reader keeps the log's order by waiting for it. None: nothing is held."""
        ...


@dataclass(frozen=True)
class Format:
    """One producer's format.

    Args:
        name: snake_case, the file's stem; `--format-of NAME`.
        title: what it is, for people.
        sees / blind: what this log shows, and what it can't, one line each, for `check` and `doctor`.
        recognise: evidence (a short text) that a document body is of this format, or None. Must be cheap and must not claim others' documents.
        read: records and rejections of a group of documents of this format, in order; a format whose documents are joined also states `joiner`.
        rank: lower is asked first when several formats could claim a document (specific before general).
        keys: top-level keys of which an object of this format has at least one, so that others need not be asked; empty: ask for every object.
        shape: could an object with this set of top-level keys be of this format? Asked once per set of keys; None: yes.
        lines: this format also takes text (log lines, recorded streams).
        other_lines: text lines that no format recognises and that follow a document of this one are given to it: they are the rest of its log.
        joiner: makes the reader of a stream in which documents are joined; None: every document stands alone and `read` is given one at a time.
        trust: which finish reasons can be believed, one line.
        units: units of durations and times as this log writes them, and whose clock and zone, one line.
        raw_text: text is from before the reasoning parser (a tag in it is normal): None where it depends on the line or no text is logged.
        off / inferred: signals that this log can't show at all, or only by inference.
        view: from where this log sees an answer; when the same answer stands in logs of several views, it is counted once (`detector.sources.joining_views`).
    """

    name: str
    title: str
    sees: tuple[str, ...]
    blind: tuple[str, ...]
    recognise: Callable[[Json], str | None]
    read: Callable[[Sequence[Document]], Iterable[Outcome]]
    rank: int = 50
    keys: frozenset[str] = frozenset()
    shape: Callable[[Set[str]], bool] | None = None
    lines: bool = True
    other_lines: bool = False
    joiner: Callable[[], Joiner] | None = None
    trust: str = ""
    units: str = ""
    raw_text: bool | None = None
    off: tuple[str, ...] = ()
    inferred: tuple[str, ...] = ()
    view: View = "client"


@cache
def formats() -> tuple[Format, ...]:
    """Every format of this package, in the order in which they are asked."""
    package = importlib.import_module("detector.formats")
    found = []
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        fmt = getattr(importlib.import_module(f"detector.formats.{module}"), "FORMAT", None)
        if fmt is not None:
            found.append(fmt)
    return tuple(sorted(found, key=lambda fmt: (fmt.rank, fmt.name)))
