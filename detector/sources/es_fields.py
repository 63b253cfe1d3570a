"""What the cluster can do with each field, from one `_field_caps` request: the base of every decision on how a signal is evaluated."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["text", "wildcard", "keyword", "flattened", "flat_object", "number", "date", "boolean", "other", "unmapped"]
_KINDS: dict[str, Kind] = {
    "text": "text",
    "match_only_text": "text",
    "pattern_text": "text",
    "wildcard": "wildcard",
    "keyword": "keyword",
    "constant_keyword": "keyword",
    "version": "keyword",
    "ip": "keyword",
    "flattened": "flattened",
    "flat_object": "flat_object",
    "date": "date",
    "date_nanos": "date",
    "boolean": "boolean",
}
_NUMBERS = frozenset({"long", "integer", "short", "byte", "unsigned_long", "double", "float", "half_float", "scaled_float"})
# Fields of the server's own; OpenSearch does not mark them as such.
_METADATA = frozenset(
    (
        *("_data_stream_timestamp", "_doc_count", "_feature", "_field_names", "_id", "_ignored", "_ignored_source", "_index", "_index_mode"),
        *("_nested_path", "_routing", "_seq_no", "_source", "_tier", "_tsid", "_version"),
    )
)
_COARSE = frozenset({"float", "half_float"})  # 24 and 11 bits: an epoch time in seconds is rounded to minutes


@dataclass(frozen=True)
class FieldInfo:
    """One field over all matched indices.

    `kind` is "other" where indices disagree. `types`: the servers' own words. `coarse`: numbers are kept with fewer bits than an epoch time has.
    """

    name: str
    kind: Kind
    types: tuple[str, ...]
    searchable: bool
    aggregatable: bool
    coarse: bool = False


@dataclass(frozen=True)
class Fields:
    """All mapped fields of the matched indices, by name."""

    by_name: Mapping[str, FieldInfo]
    indices: tuple[str, ...]
    conflicts: tuple[str, ...] = ()

    def at(self, path: str) -> FieldInfo:
        """The field at a path of the documents; what stands inside a flattened object is searched by its full path."""
        found = self.by_name.get(path)
        if found is not None:
            return found
        head = path
        while "." in head:
            head = head.rpartition(".")[0]
            parent = self.by_name.get(head)
            if parent is not None and parent.kind == "flattened":
                return FieldInfo(path, "flattened", parent.types, parent.searchable, parent.aggregatable)
            if parent is not None and parent.kind == "flat_object":
                return FieldInfo(path, "flat_object", parent.types, parent.searchable, False)
        return FieldInfo(path, "unmapped", (), False, False)

    def variants(self, path: str) -> list[FieldInfo]:
        """The field at a path and its multi-fields (`path.keyword` …), which hold the same values indexed in other ways."""
        main = self.at(path)
        found = [main] if main.kind != "unmapped" else []
        if main.kind in ("text", "keyword", "wildcard", "number", "date", "other"):
            found += [info for name, info in self.by_name.items() if name.startswith(path + ".") and "." not in name[len(path) + 1 :] and info.kind != "other"]
        return found

    def countable(self, path: str) -> FieldInfo | None:
        """The variant whose values the cluster can group by, if any."""
        return next((info for info in self.variants(path) if info.aggregatable and info.kind in ("keyword", "number", "boolean", "flattened")), None)

    def exact(self, path: str) -> FieldInfo | None:
        """The variant whose whole values the cluster can compare with a term, if any."""
        return next(
            (info for info in self.variants(path) if info.searchable and info.kind in ("keyword", "number", "boolean", "flattened", "flat_object")), None
        )


def read_fields(answer: Any) -> Fields:
    """The fields of a `_field_caps` answer."""
    found: dict[str, FieldInfo] = {}
    conflicts = []
    for name, by_type in answer.get("fields", {}).items():
        if name in _METADATA:
            continue
        types = {word: one for word, one in by_type.items() if word != "unmapped" and not one.get("metadata_field")}
        if not types or all(word in ("object", "nested") for word in types):
            continue
        kinds = {_kind(word) for word in types}
        if len(kinds) > 1:
            conflicts.append(name)
        found[name] = FieldInfo(
            name,
            kinds.pop() if len(kinds) == 1 else "other",
            tuple(sorted(types)),
            all(one.get("searchable", False) for one in types.values()),
            len(kinds) <= 1 and all(one.get("aggregatable", False) for one in types.values()),
            any(word in _COARSE for word in types),
        )
    indices: Iterable[str] = answer.get("indices") or ()
    return Fields(found, tuple([indices] if isinstance(indices, str) else indices), tuple(sorted(conflicts)))


def _kind(word: str) -> Kind:
    return "number" if word in _NUMBERS else _KINDS.get(word, "other")
