"""Conditions on canonical columns as Query DSL. Values only ever travel as values: no query string, script or regular expression is built.

A condition that the cluster can't decide becomes a superset of itself (`ALL`), so that what it selects is verified on the documents. A condition that
no document of this log can fulfil is `NONE`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from detector.formats.finish_reason import canonical_words
from detector.signals.base import Where
from detector.sources.es_columns import Column, as_text
from detector.sources.es_fields import FieldInfo, Fields
from detector.sources.es_paging import Query, all_of, any_of, none_of

ALL: Query = {"match_all": {}}
NONE: Query = {"match_none": {}}
MOST_CAPS = 200  # distinct values of max_tokens that are told apart in one query; real logs have a handful
_RUN = re.compile(r"[^\W_]+(?:_[^\W_]+)*")  # letters and digits as the standard analyser keeps them together
_ONE_TERM_EACH = ("CJK", "HIRAGANA")  # characters that the standard analyser makes a term of each (UAX #29)
_SHORTEST_PREFIX = 4  # letters; terms that start with fewer are in nearly every English text
_HANGUL_FILLERS = "ㅤ ﾠ ᅟ ᅠ"  # invisible, yet letters to an analyser (UAX #29): they are terms of their own
# First characters of a text that shows nothing, as ranges of the code point order in which keywords are sorted (detector.signals.empty_content).
_BLANK_STARTS = (
    *(("\x00", "!"), ("\x7f", "\xa1"), ("\xad", "\xae"), ("\u034f", "\u0350"), ("\u061c", "\u061d"), ("\u115f", "\u1161"), ("\u1680", "\u1681")),
    *(("\u17b4", "\u17b6"), ("\u180b", "\u1810"), ("\u2000", "\u2010"), ("\u2028", "\u2030"), ("\u205f", "\u2070"), ("\u2800", "\u2801")),
    *(("\u3000", "\u3001"), ("\u3164", "\u3165"), ("\ufe00", "\ufe10"), ("\ufeff", "\uff00"), ("\uffa0", "\uffa1"), ("\ufff0", "\ufffc")),
    *(("\U0001d159", "\U0001d15a"), ("\U0001d173", "\U0001d17b"), ("\U000e0000", "\U000e1000")),
)


@dataclass
class Translator:
    """What a log's fields allow to ask.

    Args:
        caps: distinct values of each field that holds a numeric column another is compared with; a field that has more than `MOST_CAPS` is left out.
        used: how each text column was searched, for `doctor`.
    """

    columns: Mapping[str, Column]
    fields: Fields
    caps: Mapping[str, Sequence[int]] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)

    def alternatives(self, listed: Iterable[Sequence[Where]]) -> list[Query]:
        """One query per alternative; `NONE` ones are left out, and one `ALL` is all there is."""
        found: list[Query] = []
        for conjunction in listed:
            parts = [self.condition(where) for where in conjunction]
            if NONE in parts:
                continue
            parts = [part for part in parts if part != ALL]
            if not parts:
                return [ALL]
            query = parts[0] if len(parts) == 1 else all_of(*parts)
            if query not in found:
                found.append(query)
        return found

    def condition(self, where: Where) -> Query:
        """A query that matches at least every document that fulfils the condition."""
        column = self.columns[where.column]
        if where.op == "exists":
            return self._exists(column)
        if where.op == "missing":
            return self._missing(column)
        if where.op == "contains":
            return self._contains(column, where.value)
        if where.op == "blank":
            return self._blank(column)
        if where.op in ("equals_column", "gte_column"):
            return self._compared(column, self.columns[str(where.value)], where.op)
        if column.state == "constant":
            return ALL if _fulfils(column.constant, where) else NONE
        if column.state == "derived":
            return ALL
        return self._or_default(column, self._by_value(column, where), column.default is not None and _fulfils(column.default, where))

    def _or_default(self, column: Column, query: Query, fits: bool) -> Query:
        """The query, and the documents in which the column stands in no field, where its value there fits."""
        if query == ALL or not fits:
            return query
        return any_of(query, none_of(*(self._present(path) for path in column.paths)))

    def _by_value(self, column: Column, where: Where) -> Query:
        if where.op in ("gte", "lte"):
            if column.identity() and all(self.fields.at(path).kind == "number" for path in column.paths):
                return any_of(*({"range": {path: {where.op: where.value}}} for path in column.paths))
            if column.name == "status_code":  # a status kept as text: its values can be listed
                wanted = [code for code in range(600) if (code >= where.value if where.op == "gte" else code <= where.value)]
                return self._terms(column, wanted)
            return ALL
        if where.op == "not_in":
            return ALL
        values = where.value if isinstance(where.value, (tuple, list, set, frozenset)) else (where.value,)
        raw: list[Any] = [key for key, meant in column.values.items() if meant & set(values)]
        if column.name == "finish_reason":
            raw += canonical_words(values)
        return self._terms(column, [*values, *raw])

    def _terms(self, column: Column, values: Iterable[Any]) -> Query:
        asked = []
        for path in column.paths:
            info = self.fields.exact(path)
            if info is None:
                return ALL
            fitting = sorted({value for value in map(_fit(info), values) if value is not None}, key=str)
            if fitting:
                asked.append({"terms": {info.name: fitting}})
        return any_of(*asked) if asked else NONE

    def _compared(self, column: Column, other: Column, op: str) -> Query:
        """`column >= other` without a script: one clause per distinct value of the other."""
        if "constant" in (column.state, other.state) and None in (column.constant, other.constant) and not (column.paths and other.paths):
            return NONE
        if column.state != "field" or other.state != "field" or not (column.identity() and other.identity()):
            return ALL
        if not all(self.fields.at(path).kind == "number" for path in column.paths):  # words are compared letter by letter: "900" is above "1024"
            return ALL
        clauses: list[Query] = []
        for limit_path in other.paths:
            if limit_path not in self.caps:
                return ALL
            for path in column.paths:
                for value in self.caps[limit_path]:
                    reached: Query = {"term": {path: value}} if op == "equals_column" else {"range": {path: {"gte": value}}}
                    clauses.append(all_of({"term": {limit_path: value}}, reached))
        return any_of(*clauses) if clauses else NONE

    def _exists(self, column: Column) -> Query:
        if column.state == "constant":
            return NONE if column.constant is None else ALL
        if not column.presence:
            return ALL
        known = dict.fromkeys((*column.paths, *column.presence))
        if not all(self.fields.tells(path) for path in known):
            return ALL
        return any_of(*(query for path in known for query in (self._present(path), _ignored(self.fields.variants(path))) if query is not None))

    def _missing(self, column: Column) -> Query:
        if column.state == "constant":
            return ALL if column.constant is None else NONE
        if column.many:  # one choice may lack it where another has it
            return ALL
        # presence, not paths: documents where the field has a value and the column none must be among them
        if not column.presence or any(self.fields.at(path).kind == "unmapped" and not self._is_object(path) for path in column.presence):
            return ALL
        return none_of(*(self._present(path) for path in column.presence))

    def _present(self, path: str) -> Query:
        return {"exists": {"field": path}}

    def _is_object(self, path: str) -> bool:
        return any(name.startswith(path + ".") for name in self.fields.by_name)

    # -- text
    def _contains(self, column: Column, piece: str) -> Query:
        if column.state == "constant":
            return NONE if column.constant is None else ALL
        if column.state == "derived":
            return ALL
        return any_of(*queries) if ALL not in (queries := [self._contains_at(path, piece) for path in column.paths]) else ALL

    def _contains_at(self, path: str, piece: str) -> Query:
        variants = self.fields.variants(path)
        for kind in ("wildcard", "text", "keyword", "flat_object"):
            info = next((one for one in variants if one.kind == kind and one.searchable), None)
            if info is None:
                continue
            if kind == "text":
                term = _term_pattern(piece)
                if term is None:
                    continue  # nothing of it becomes a term
                self.used[path] = "analysed text: terms as candidates, verified on the documents"
                candidates: Query = term(info.name)
                return candidates
            self.used[path] = f"{kind.replace('_', ' ')}: the literal piece, and every value too long to be indexed; verified on the documents"
            literal: Query = {"wildcard": {info.name: {"value": f"*{_escaped(piece)}*"}}}
            # too long for `ignore_above`: in no index, so the documents themselves must be read (OpenSearch does not even note them in `_ignored`)
            return any_of(literal, none_of(self._present(info.name)))
        self.used[path] = "not searchable: every document must be read"
        return ALL

    def _blank(self, column: Column) -> Query:
        """No text, or text that shows nothing. With several choices in a document the cluster can't tell which of them has the text."""
        if column.state != "field" or column.many:
            return ALL
        clauses = []
        for path in column.paths:
            variants = self.fields.variants(path)
            text = next((one for one in variants if one.kind == "text" and one.searchable), None)
            word = next((one for one in variants if one.kind in ("keyword", "flat_object") and one.searchable), None)
            if text is not None:  # no term at all
                clauses.append(any_of(none_of({"range": {text.name: {"gte": ""}}}), {"match": {text.name: _HANGUL_FILLERS}}))
            elif word is not None:  # unset, too long to be indexed, or starting with a character that shows nothing
                starts = [{"range": {word.name: {"gte": low, "lt": high}}} for low, high in _BLANK_STARTS]
                clauses.append(any_of(none_of(self._present(word.name)), {"term": {word.name: ""}}, *starts))
            else:
                return ALL
        return all_of(*clauses) if clauses else ALL


def _fulfils(value: Any, where: Where) -> bool:
    """True when a column that always holds `value` can fulfil the condition."""
    wanted = where.value if isinstance(where.value, (tuple, list, set, frozenset)) else (where.value,)
    if where.op == "in":
        return value in wanted
    if where.op == "not_in":
        return value not in wanted
    if value is None:
        return False
    return bool(value >= where.value if where.op == "gte" else value <= where.value)


def _fit(info: FieldInfo) -> Any:
    """Turns a value into one that the field takes, or None."""

    def fit(value: Any) -> Any:
        if value is None:
            return None
        if info.kind == "number":
            try:
                return int(value)
            except (TypeError, ValueError):
                return None
        if info.kind == "boolean":
            return {"true": True, "false": False}.get(as_text(value).lower())
        return as_text(value)

    return fit


def _ignored(variants: Sequence[FieldInfo]) -> Query | None:
    """Documents that hold a value which the main field could not index."""
    main = variants[0] if variants else None
    return None if main is None or main.kind not in ("keyword", "wildcard", "flattened") else {"term": {"_ignored": main.name}}


def _escaped(piece: str) -> str:
    """A literal inside a wildcard pattern."""
    return re.sub(r"([\\*?])", r"\\\1", piece)


def _term_pattern(piece: str) -> Any:
    """How a piece of text shows in the terms of an analysed field: by its longest run of letters and digits. None when it has none.

    A run with a separator before it starts a term; one without may stand inside a term. Halves of tags of under four letters (`</thi` where a text
    ends) can't be looked for: `NONE`, which `doctor` says.
    """
    runs = list(_RUN.finditer(piece))
    if not runs:
        return None
    run = max(runs, key=lambda match: len(match.group()))
    word = run.group().lower()
    opens, closes = run.start() > 0, run.end() < len(piece)
    before = piece[run.start() - 1] if opens else ""
    if single := [character for character in word if unicodedata.name(character, "").startswith(_ONE_TERM_EACH)]:
        return lambda name: all_of(*({"term": {name: character}} for character in single))
    if opens and closes and before not in ":._'" and piece[run.end()] not in ":._'":
        return lambda name: {"term": {name: word}}
    if opens and before not in ":._'":  # these join letters to one term
        if len(word) < _SHORTEST_PREFIX:
            return lambda name: NONE
        return lambda name: {"prefix": {name: {"value": word}}}
    return lambda name: {"wildcard": {name: {"value": f"*{_escaped(word)}*"}}}
