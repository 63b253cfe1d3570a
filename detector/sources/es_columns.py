"""Which field holds which canonical column: learned from documents that were read, by agreement, and never by name alone.

A path stands for a column when in every looked-at document where the path has a value the column has the same one; several paths may share a column
(`max_tokens`, `max_completion_tokens`). A column that no set of paths explains is *derived*: nothing about it is pushed down.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from detector.formats.values import instant
from detector.record import DEFAULTS, Record
from detector.sources.es_fields import FieldInfo, Fields
from detector.sources.es_sample import Looked

# Names that producers give to a column's field, best first; they only decide between paths that agree equally well.
_HINTS: dict[str, tuple[str, ...]] = {
    "timestamp": ("@timestamp", "timestamp", "start_time", "startTime", "time"),
    "finish_reason": ("finish_reason", "finish_reasons"),
    "status_code": ("status_code", "http_status", "status", "response_code"),
    "deployment": ("deployment", "service.name", "service", "model_group"),
    "model": ("response.model", "model"),
    "pod": ("pod", "pod.name", "pod_name"),
    "content": ("message.content", "content", "text"),
}
_SECONDS_APART = 0.002  # stores keep milliseconds
State = Literal["field", "constant", "derived"]


@dataclass(frozen=True)
class Column:
    """What is known about one canonical column.

    Args:
        state: field: `paths` hold it; constant: every looked-at document gave `constant`; derived: neither.
        default: the value of every looked-at document in which none of `paths` has one (a status that is only written for failures); None: not known there.
        values: raw value as text → canonical values that it gave.
        presence: paths of which at least one has a value exactly where the column is known; None: no such set.
        many: a document may hold several values (choices).
    """

    name: str
    state: State
    paths: tuple[str, ...] = ()
    constant: Any = None
    default: Any = None
    values: Mapping[str, frozenset[Any]] = field(default_factory=dict)
    presence: tuple[str, ...] | None = None
    many: bool = False

    def identity(self) -> bool:
        """The fields hold the canonical values themselves."""
        return all(all(as_text(value) == raw for value in found) for raw, found in self.values.items())

    def countable(self, fields: Fields) -> FieldInfo | None:
        """The one field that the cluster can group by, if there is just one and it has one value per document."""
        return fields.countable(self.paths[0]) if self.state == "field" and len(self.paths) == 1 and not self.many else None


def as_text(value: Any) -> str:
    """A value as the cluster writes bucket keys."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def learn(name: str, looked: Sequence[Looked], fields: Fields) -> Column:
    """One column, from documents that gave records."""
    documents = [(one, _known(one.records, name)) for one in looked if one.records and not _blank(one.records, name)]
    given = [(one, values) for one, values in documents if values]
    if not given:
        return Column(name, "constant", constant=DEFAULTS[name], presence=())
    if name == "timestamp":
        return _time(given, fields)
    raw_name = "finish_reason_raw" if name == "finish_reason" else name
    told = [(one, _known(one.records, raw_name) or values) for one, values in given]
    paths, default = _cover(told, documents, _hints(name), fields), None
    if not paths:
        paths, default = _cover_but_one(told, documents, _hints(name), fields)
    presence = _presence(documents, paths)
    many = any(len(one.leaves.get(path, ())) > 1 for one, _ in documents for path in paths)
    if paths:
        return Column(name, "field", paths, default=default, values=_values(given, paths), presence=presence, many=many)
    distinct = {as_text(value) for _, values in documents for value in values}
    if len(distinct) == 1 and len(given) == len(documents):
        return Column(name, "constant", constant=given[0][1][0], presence=presence)
    return Column(name, "derived", presence=presence)


def _blank(records: Iterable[Record], name: str) -> bool:
    """The text is there and shows nothing: the record holds none then, and the document says nothing about where the text stands."""
    return name in ("content", "reasoning") and any(getattr(record, f"{name}_state") == "empty" for record in records)


def _known(records: Iterable[Record], name: str) -> list[Any]:
    default = DEFAULTS[name]
    values = [value for record in records if (value := getattr(record, name)) is not None and value != default]
    return [entry for value in values for entry in (value if isinstance(value, tuple) else (value,))]


def _hints(name: str) -> tuple[str, ...]:
    return _HINTS.get(name, (name,))


def _cover(given: list[tuple[Looked, list[Any]]], documents: list[tuple[Looked, list[Any]]], hints: tuple[str, ...], fields: Fields) -> tuple[str, ...]:
    """Paths that together explain every known value: greedy, those that explain most first. Empty when some document stays unexplained."""
    unknown = {path for one, values in documents if not values for path in one.leaves}
    wrong: set[str] = set()
    explains: dict[str, set[int]] = {}
    for number, (one, values) in enumerate(given):
        wanted = {as_text(value) for value in values}
        for path, raw in one.leaves.items():
            if wanted <= {as_text(entry) for entry in raw} and len(raw) <= max(len(values), 1):
                explains.setdefault(path, set()).add(number)
            else:
                wrong.add(path)
    good = {path: numbers for path, numbers in explains.items() if path not in wrong and path not in unknown}
    chosen: list[str] = []
    left = set(range(len(given)))
    while left:
        best = max(good, key=lambda path: (len(good[path] & left), *_preference(path, hints, fields)), default=None)
        if best is None or not good[best] & left:
            return ()
        chosen.append(best)
        left -= good.pop(best)
    return tuple(chosen)


def _cover_but_one(
    given: list[tuple[Looked, list[Any]]], documents: list[tuple[Looked, list[Any]]], hints: tuple[str, ...], fields: Fields
) -> tuple[tuple[str, ...], Any]:
    """Paths that explain all values but the most usual one, which then holds wherever these paths have no value; () when that is not so."""
    counts = Counter(values[0] for _, values in given if len(values) == 1 and not isinstance(values[0], (list, dict)))
    if len(counts) < 2 or len(given) < len(documents):
        return (), None
    usual = counts.most_common(1)[0][0]
    rest = [(one, values) for one, values in given if values != [usual]]
    paths = _cover(rest, rest, hints, fields)
    others = [one for one, values in given if values == [usual]]
    if not paths or any(path in one.leaves for path in paths for one in others):
        return (), None
    return paths, usual


def _preference(path: str, hints: tuple[str, ...], fields: Fields) -> tuple[bool, int, int, str]:
    rank = next((len(hints) - number for number, hint in enumerate(hints) if path == hint or path.endswith("." + hint)), 0)
    return (bool(fields.variants(path)), rank, -path.count("."), path)


def _values(given: list[tuple[Looked, list[Any]]], paths: tuple[str, ...]) -> dict[str, frozenset[Any]]:
    found: dict[str, set[Any]] = {}
    for one, values in given:
        for path in paths:
            raw = one.leaves.get(path, ())
            for number, entry in enumerate(raw):
                ours = values[number : number + 1] if len(values) == len(raw) else values
                found.setdefault(as_text(entry), set()).update(ours)
    return {raw: frozenset(values) for raw, values in found.items()}


def _presence(documents: list[tuple[Looked, list[Any]]], own: tuple[str, ...]) -> tuple[str, ...] | None:
    """Paths of which one has a value exactly where the column is known, the column's `own` ones if possible; None when there is no such set."""
    absent = set().union(*(one.prefixes for one, values in documents if not values)) if documents else set()
    left = [one for one, values in documents if values]
    if own and not absent.intersection(own) and all(one.prefixes.intersection(own) for one in left):
        return own
    chosen: list[str] = []
    while left:
        counts: dict[str, int] = {}
        for one in left:
            for path in one.prefixes - absent:
                counts[path] = counts.get(path, 0) + 1
        if not counts:
            return None
        best = max(counts, key=lambda path: (counts[path], -path.count("."), -len(path), path))
        chosen.append(best)
        left = [one for one in left if best not in one.prefixes]
    return tuple(chosen)


def _time(given: list[tuple[Looked, list[Any]]], fields: Fields) -> Column:
    """The date field that holds each document's own time."""
    paths = [path for path, info in fields.by_name.items() if info.kind == "date"]
    agreeing = []
    for path in paths:
        pairs = [(instant(one.leaves[path][0]), values[0]) for one, values in given if path in one.leaves]
        if len(pairs) == len(given) and all(at is not None and abs(at - value) <= _SECONDS_APART for at, value in pairs):
            agreeing.append(path)
    best = max(agreeing, key=lambda path: _preference(path, _HINTS["timestamp"], fields), default=None)
    return Column("timestamp", "derived") if best is None else Column("timestamp", "field", (best,), presence=(best,))
