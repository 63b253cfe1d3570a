"""Joiners that formats can take ready-made: documents that share a key make one answer.

A format with request and response events, chunks, or several log documents of one call gives `key` and `read`; everything else (holding, the bound on
memory, order) is here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from detector.formats.base import Document, Joiner, Outcome, Placed, Rejected
from detector.record import Record

WINDOW = 4096  # documents that may pass between two documents of one answer; a pair further apart is read as two halves


def read_by(joiner: Callable[[], Joiner]) -> Callable[[Sequence[Document]], Iterable[Outcome]]:
    """`Format.read` of a format whose documents are joined: one joiner for the documents of one call."""

    def read(documents: Sequence[Document]) -> Iterable[Outcome]:
        joined = joiner()
        for document in documents:
            yield from joined.feed(document)
        yield from joined.finish()

    return read


class ByKey:
    """Holds documents with the same key until their group is complete or `window` further documents have passed, then reads the group at once.

    Args:
        key: what documents of one answer share; None: the document stands alone and is read at once.
        read: outcomes of one group, in order of position. A plain `Record` stands in the place of the group's last document.
        complete: True when nothing more can come for a group; default: only the window closes it.
        window: how many documents a group may stay open after its last document.
    """

    def __init__(
        self,
        key: Callable[[Document], str | None],
        read: Callable[[Sequence[Document]], Iterable[Outcome]],
        complete: Callable[[Sequence[Document]], bool] | None = None,
        window: int = WINDOW,
    ) -> None:
        self._key, self._read, self._complete, self._window = key, read, complete, window
        self._groups: OrderedDict[str, list[Document]] = OrderedDict()  # least recently touched first
        self._touched: dict[str, int] = {}
        self._fed = 0

    def feed(self, document: Document) -> Iterable[Outcome]:
        self._fed += 1
        outcomes: list[Outcome] = []
        key = self._key(document)
        if key is None:
            outcomes.extend(placed(self._read((document,)), document))
        else:
            group = self._groups.setdefault(key, [])
            group.append(document)
            self._groups.move_to_end(key)
            self._touched[key] = self._fed
            if self._complete is not None and self._complete(group):
                outcomes.extend(self._close(key))
        while self._groups:
            oldest = next(iter(self._groups))
            if self._fed - self._touched[oldest] <= self._window:
                break
            outcomes.extend(self._close(oldest))
        return outcomes

    def finish(self) -> Iterable[Outcome]:
        outcomes: list[Outcome] = []
        while self._groups:
            outcomes.extend(self._close(next(iter(self._groups))))
        return outcomes

    def holds_from(self) -> int | None:
        oldest = next(iter(self._groups.values()), None)
        return None if oldest is None else oldest[-1].position

    def _close(self, key: str) -> Iterable[Outcome]:
        del self._touched[key]
        group = sorted(self._groups.pop(key), key=lambda document: document.position)
        return placed(self._read(group), group[-1])


def placed(outcomes: Iterable[Outcome], document: Document) -> Iterable[Placed | Rejected]:
    """Outcomes with every plain record put in the place of `document`."""
    for outcome in outcomes:
        yield Placed(outcome, document) if isinstance(outcome, Record) else outcome
