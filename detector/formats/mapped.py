"""A format from the configuration: where the canonical columns stand in a layout of the site's own.

```yaml
source:
  timezone: Asia/Seoul             # of times without a zone
  mapping:
    timestamp: {path: meta.when, unit: ms}
    latency_seconds: {path: took, unit: ms}
    content: answer.text
    finish_reason: {path: why, values: {cap: length}}
    request: payload.in            # a request body in the API's shape, if the log has one
    response: payload.out          # likewise a response body
```
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from detector.formats.base import Document, Format, Json, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.openai import error_columns, records_of_body
from detector.formats.openai_message import set_text
from detector.formats.openai_request import request_columns
from detector.formats.paths import MISSING, find
from detector.formats.values import compact, count, flag, instant, number, seconds, text
from detector.record import COLUMNS, Record
from detector.settings.source import BODIES, INSTANTS, ColumnMapping, spelled

_SURROUNDINGS = (*INSTANTS, "pod", "deployment", "client", "model", "engine", "engine_version")  # columns that other documents have too


def mapped_format(mapping: Mapping[str, ColumnMapping], timezone: str = "UTC") -> Format:
    """The format that reads documents by this mapping; it claims every object in which something stands at a mapped place."""
    zone = ZoneInfo(timezone)
    telling = [path for name, place in mapping.items() if name not in _SURROUNDINGS for path in place.path]

    def recognise(body: Json) -> str | None:
        if isinstance(body, dict):
            for path in telling or [path for place in mapping.values() for path in place.path]:
                if find(body, path) is not MISSING:
                    return f"the configuration's mapping ({path} is there)"
        return None

    def read(documents: Sequence[Document]) -> Iterable[Record | Rejected]:
        for document in documents:
            records = _records(document, mapping, zone)
            if not records:
                yield Rejected(document, "no answer of a chat or completion", ignored=True)
            yield from records

    return Format(name="mapped", title="the layout that the configuration maps", sees=(), blind=(), recognise=recognise, read=read, rank=0)


def _written(body: Json, place: ColumnMapping) -> Any:
    """What stands at the first of the paths that is there; MISSING where none is."""
    return next((value for path in place.path if (value := find(body, path)) is not MISSING), MISSING)


def _value(body: Json, place: ColumnMapping) -> Any:
    """The same in canonical words."""
    value = _written(body, place)
    return place.values.get(spelled(value), value) if place.values and isinstance(value, (str, int, float)) else value


def _records(document: Document, places: Mapping[str, ColumnMapping], zone: tzinfo) -> list[Record]:
    columns = {name: value for name, value in document.envelope.items() if value is not None}
    values = {name: _value(document.body, place) for name, place in places.items()}
    request = values.get("request", MISSING)
    if request is not MISSING:
        columns.update(request_columns(request))
    failure = error_columns(values["error"]) if values.get("error", MISSING) is not MISSING else {}
    columns.update(failure)
    for name, place in places.items():
        value = values[name]
        if name in BODIES or value is MISSING:
            continue
        if name in ("content", "reasoning"):
            set_text(columns, name, value if isinstance(value, str) else None if value is None else compact(value))
        elif name == "finish_reason":
            found = reason(value)
            written = reason(_written(document.body, place)).raw
            columns["finish_reason"], columns["finish_reason_raw"] = found.canonical, found.raw if written is None else written
            columns.setdefault("finish_reason_source", "engine" if found.raw is not None else None)
        else:
            converted = _converted(name, value, place.unit, zone)
            if converted is not None:
                columns[name] = converted
    columns = {name: value for name, value in columns.items() if value is not None}
    if "response" in places:
        response = values["response"]
        stated = {name: columns.pop(name) for name in ("content_state", "reasoning_state") if columns.get(name) == "empty"}
        records = records_of_body(None if response is MISSING else response, columns)
        for record in records:
            for name, state in stated.items():
                if getattr(record, name) == "not_captured":
                    setattr(record, name, state)
        return records
    record = Record(**columns)
    infer_length(record)
    return [record]


def _converted(name: str, value: Any, unit: str | None, zone: tzinfo) -> Any:
    """A value in the column's own type; None where it can't be read as such."""
    kind = str(COLUMNS[name].type)
    if name in INSTANTS:
        return instant(value, None if unit == "iso8601" else unit, zone)
    if name.endswith("_seconds"):
        return seconds(value, unit or "s")
    if kind.startswith("tuple"):
        return tuple(compact(entry) for entry in value) if isinstance(value, list) else (compact(value),) if value is not None else None
    if kind.startswith("bool"):
        return flag(value)
    if kind.startswith("int"):
        return count(value)
    if kind.startswith("float"):
        return number(value)
    return text(value)
