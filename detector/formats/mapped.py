"""A format from the configuration: where the canonical columns stand in a layout of the site's own.

```yaml
mapping:
  timestamp: {path: meta.when, unit: ms}
  zone: "+09:00"                 # of times without a zone
  latency_seconds: {path: took, unit: ms}
  content: answer.text
  request: payload.in            # a request body in the API's shape, if the log has one
  response: payload.out          # likewise a response body
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, RootModel, field_validator, model_validator

from detector.formats.base import Document, Format, Json, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.openai import error_columns, records_of_body
from detector.formats.openai_message import set_text
from detector.formats.openai_request import request_columns
from detector.formats.paths import MISSING, find
from detector.formats.values import compact, count, flag, instant, number, seconds, text
from detector.record import COLUMNS, Record

Unit = Literal["s", "ms", "us", "ns", "m", "h"]
_BODIES = ("request", "response", "error")
_TIMES = ("timestamp", "ingested_at")
_ZONE = re.compile(r"([+-])(\d\d):?(\d\d)")
_FLOATS = ("temperature",)
_DERIVED = ("content_state", "reasoning_state", "finish_reason_raw", "doc_index", "doc_id")


class Place(BaseModel):
    """Where one column stands: dotted path, and the unit of a time or duration (a time without unit: ISO 8601, or epoch by magnitude)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    unit: Unit | None = None


def _place(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class Mapping(RootModel[dict[str, Annotated[Place, BeforeValidator(_place)] | str]]):
    """Canonical column (or `request`, `response`, `error`: whole bodies) → place; `zone` → offset of times without a zone."""

    model_config = ConfigDict(frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _as_places(cls, value: Any) -> Any:
        if isinstance(value, dict):
            return {key: entry if key == "zone" else _place(entry) for key, entry in value.items()}
        return value

    @field_validator("root")
    @classmethod
    def _known(cls, root: dict[str, Place | str]) -> dict[str, Place | str]:
        allowed = [*(name for name in COLUMNS if name not in _DERIVED), *_BODIES, "zone"]
        unknown = sorted(set(root) - set(allowed))
        if unknown:
            raise ValueError(f"no such column: {', '.join(unknown)}; columns are {', '.join(allowed)}")
        zone = root.get("zone")
        if zone is not None and (not isinstance(zone, str) or offset(zone) is None):
            raise ValueError("zone is UTC or an offset such as +09:00")
        if not any(isinstance(place, Place) for place in root.values()):
            raise ValueError("maps no column")
        return root

    @property
    def places(self) -> dict[str, Place]:
        return {name: place for name, place in self.root.items() if isinstance(place, Place)}

    @property
    def zone_seconds(self) -> float | None:
        zone = self.root.get("zone")
        return offset(zone) if isinstance(zone, str) else None


def offset(zone: str) -> float | None:
    """Seconds east of UTC of `UTC`, `Z` or `+09:00`; None for anything else."""
    if zone in ("UTC", "Z"):
        return 0.0
    match = _ZONE.fullmatch(zone)
    return (1 if match[1] == "+" else -1) * (int(match[2]) * 3600 + int(match[3]) * 60) if match else None


def mapped_format(mapping: Mapping) -> Format:
    """The format that reads documents by this mapping; it claims every object in which something stands at a mapped place."""
    places = mapping.places
    tellings = [place.path for name, place in places.items() if name not in (*_TIMES, "pod", "deployment", "client", "model", "engine", "engine_version")]

    def recognise(body: Json) -> str | None:
        if isinstance(body, dict):
            for path in tellings or [place.path for place in places.values()]:
                if find(body, path) is not MISSING:
                    return f"the configuration's mapping ({path} is there)"
        return None

    def read(documents: Sequence[Document]) -> Iterable[Record | Rejected]:
        for document in documents:
            records = _records(document, places, mapping.zone_seconds)
            if not records:
                yield Rejected(document, "no answer of a chat or completion", ignored=True)
            yield from records

    return Format(name="mapped", title="the layout that the configuration maps", sees=(), blind=(), recognise=recognise, read=read, rank=0)


def _records(document: Document, places: dict[str, Place], zone_seconds: float | None) -> list[Record]:
    columns = {name: value for name, value in document.envelope.items() if value is not None}
    values = {name: find(document.body, place.path) for name, place in places.items()}
    request = values.get("request", MISSING)
    if request is not MISSING:
        columns.update(request_columns(request))
    failure = error_columns(values["error"]) if values.get("error", MISSING) is not MISSING else {}
    columns.update(failure)
    for name, place in places.items():
        value = values[name]
        if name in _BODIES or value is MISSING:
            continue
        if name in ("content", "reasoning"):
            set_text(columns, name, value if isinstance(value, str) else None if value is None else compact(value))
        elif name == "finish_reason":
            found = reason(value)
            columns["finish_reason"], columns["finish_reason_raw"] = found.canonical, found.raw
            columns.setdefault("finish_reason_source", "engine" if found.raw is not None else None)
        else:
            converted = _converted(name, value, place, zone_seconds)
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


def _converted(name: str, value: Any, place: Place, zone_seconds: float | None) -> Any:
    """A value in the column's own type; None where it can't be read as such."""
    kind = str(COLUMNS[name].type)
    if name in _TIMES:
        return instant(value, place.unit, zone_seconds)
    if name.endswith("_seconds"):
        return seconds(value, place.unit or "s")
    if kind.startswith("tuple"):
        return tuple(compact(entry) for entry in value) if isinstance(value, list) else (compact(value),) if value is not None else None
    if kind.startswith("bool"):
        return flag(value)
    if kind.startswith("int"):
        return count(value)
    if kind.startswith("float") or name in _FLOATS:
        return number(value)
    return text(value)
