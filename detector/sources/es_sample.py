"""A look at documents: what each holds, and what the formats make of it. Everything that is pushed down to the cluster is learned from such looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from detector.reading import ReadingOptions
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.es_hits import Hit, records_of
from detector.sources.joining_views import views

_DEPTH = 24


@dataclass(frozen=True)
class Looked:
    """One document and its records. `leaves`: values by dotted path, as the cluster sees them (lists and objects in lists flattened)."""

    index: str
    doc_id: str
    leaves: dict[str, list[Any]]
    records: tuple[Record, ...]
    tally: Tally
    ignored_fields: tuple[str, ...] = ()

    @cached_property
    def prefixes(self) -> frozenset[str]:
        """Every path that leads to a value, objects on the way included."""
        found = set()
        for path in self.leaves:
            while path and path not in found:
                found.add(path)
                path = path.rpartition(".")[0]
        return frozenset(found)


def look(hits: Iterable[Hit], options: ReadingOptions) -> list[Looked]:
    """Read each document by itself."""
    found = []
    for hit in hits:
        tally = Tally()
        records = tuple(records_of((hit,), options, tally))
        leaves: dict[str, list[Any]] = {}
        _flatten(hit.get("_source"), "", leaves, _DEPTH)
        found.append(Looked(str(hit.get("_index", "")), str(hit.get("_id", "")), leaves, records, tally, tuple(hit.get("_ignored") or ())))
    return found


def joined(looked: Iterable[Looked], options: ReadingOptions) -> bool:
    """True when documents are no requests, and counting documents is no answer: a format puts several together, or several logs saw the same requests."""
    names = {name for one in looked for name in one.tally.formats}
    return len(views(names)) > 1 or any(fmt.joiner is not None for fmt in options.asked() if fmt.name in names)


def _flatten(node: Any, prefix: str, leaves: dict[str, list[Any]], depth: int) -> None:
    if isinstance(node, dict) and depth:
        for key, value in node.items():
            _flatten(value, f"{prefix}.{key}" if prefix else str(key), leaves, depth - 1)
    elif isinstance(node, list):
        for entry in node:
            _flatten(entry, prefix, leaves, depth)
    elif node is not None and prefix:
        leaves.setdefault(prefix, []).append(node)
