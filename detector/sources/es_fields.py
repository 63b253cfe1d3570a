"""What the cluster can do with each field, from one `_field_caps` request: the base of every decision on how a signal is evaluated."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
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
# Types that a cluster groups by together; others of one kind (long here, float there) make it refuse the whole search.
_ALIKE = (
    frozenset({"long", "integer", "short", "byte"}),
    frozenset({"double", "float", "half_float", "scaled_float"}),
    frozenset({"keyword", "constant_keyword"}),
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
    """All mapped fields of the matched indices, by name. `absent`: for each field, the indices that do not map it, where there are some."""

    by_name: Mapping[str, FieldInfo]
    indices: tuple[str, ...]
    conflicts: tuple[str, ...] = ()
    absent: Mapping[str, frozenset[str]] = field(default_factory=dict)

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

    def tells(self, path: str) -> bool:
        """Whether `exists` finds every document that has a value at this path (of a field, or of an object above some)."""
        under = [info for name, info in self.by_name.items() if name.startswith(path + ".")] if path not in self.by_name else []
        return all(info.searchable or info.aggregatable for info in under or [self.at(path)])

    def seen_in(self, values: Iterable[tuple[str, Collection[str]]]) -> Fields:
        """The same, but nothing is asked of fields that the index of some document does not map although the document has a value there (`dynamic: false`,
        a multi-field that a later template added): queries pass over such documents in silence, and counts put them where the field is missing.

        Args:
            values: index and paths with a value, of documents that were looked at.
        """
        paths: dict[str, set[str]] = {}
        for index, of_document in values:
            paths.setdefault(index, set()).update(of_document)
        multi: dict[str, list[str]] = {}
        for name in self.absent:
            multi.setdefault(name.rpartition(".")[0], []).append(name)
        hidden: set[str] = set()
        for index, known in paths.items():
            for path in known:
                owner = path
                while owner and owner not in self.by_name:
                    owner = owner.rpartition(".")[0]
                lacking = [name for name in (owner, *multi.get(path, ())) if index in self.absent.get(name, ())]
                hidden.update(lacking if owner not in lacking else [owner, *(name for name in self.by_name if name.startswith(owner + "."))])
        return replace(self, by_name={name: _unasked(info) if name in hidden else info for name, info in self.by_name.items()}) if hidden else self

    def countable(self, path: str) -> FieldInfo | None:
        """The variant whose values the cluster can group by, if any."""
        groups = (info for info in self.variants(path) if info.aggregatable and info.kind in ("keyword", "number", "boolean", "flattened"))
        return next((info for info in groups if len(info.types) == 1 or any(family.issuperset(info.types) for family in _ALIKE)), None)

    def exact(self, path: str) -> FieldInfo | None:
        """The variant whose whole values the cluster can compare with a term, if any."""
        return next(
            (info for info in self.variants(path) if info.searchable and info.kind in ("keyword", "number", "boolean", "flattened", "flat_object")), None
        )


def read_fields(answer: Any) -> Fields:
    """The fields of a `_field_caps` answer (`include_unmapped`)."""
    found: dict[str, FieldInfo] = {}
    conflicts = []
    absent: dict[str, frozenset[str]] = {}
    nested = tuple(f"{name}." for name, by_type in answer.get("fields", {}).items() if "nested" in by_type)
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
        if name.startswith(nested):  # stands in documents of its own, which no query here looks into
            found[name] = _unasked(found[name])
        if lacking := by_type.get("unmapped", {}).get("indices"):
            absent[name] = frozenset([lacking] if isinstance(lacking, str) else lacking)
    indices: Iterable[str] = answer.get("indices") or ()
    return Fields(found, tuple([indices] if isinstance(indices, str) else indices), tuple(sorted(conflicts)), absent)


def _unasked(info: FieldInfo) -> FieldInfo:
    """A field that nothing can be asked of, because answers would lack documents."""
    return replace(info, kind="other", searchable=False, aggregatable=False)


def _kind(word: str) -> Kind:
    return "number" if word in _NUMBERS else _KINDS.get(word, "other")
