"""`source:` where the log is, how to read it, and what its fields mean where they are not recognised."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, ValidationError, field_validator, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from detector.formats.finish_reason import reason
from detector.record import COLUMNS, FINISH_REASONS
from detector.settings.values import Texts, TimeZone, WebAddress, WebAddresses
from detector.strict_model import Seconds, SecondsOrZero, Strict, unknown

Unit = Literal["s", "ms", "us", "ns", "iso8601"]

_FINGERPRINT = re.compile(r"(?:[0-9a-fA-F]{2}:?){31}[0-9a-fA-F]{2}")  # SHA-256 of a certificate, with or without colons


BODIES = ("request", "response", "error")  # whole bodies in the API's shape, which a mapping may name beside columns


def _column_name(name: str) -> str:
    if name not in COLUMNS and name not in BODIES:
        raise ValueError(unknown(name, list(COLUMNS), "record column"))
    return name


ColumnName = Annotated[str, AfterValidator(_column_name)]


def _format_name(name: str) -> str:
    from detector.formats.base import formats  # imported where one is named: most configurations name none

    known = [fmt.name for fmt in formats()]
    if name.strip().lower().replace("-", "_") not in known:
        raise ValueError(unknown(name, known, "format") + "; `detector formats list` shows them")
    return name


FormatName = Annotated[str, AfterValidator(_format_name)]

INSTANTS = ("timestamp", "ingested_at")


class Tls(Strict):
    """How to trust the server."""

    ca_file: str | None = None
    """CA certificates (PEM) that sign the server's certificate."""
    fingerprint: str | None = None
    """SHA-256 fingerprint of the server's or its CA's certificate."""
    verify: bool = True
    """false accepts any certificate: only for a test machine."""

    @field_validator("fingerprint")
    @classmethod
    def _is_sha256(cls, value: str | None) -> str | None:
        if value is not None and not _FINGERPRINT.fullmatch(value):
            raise ValueError("is no SHA-256 fingerprint: 64 hexadecimal digits, with or without colons")
        return value


class ColumnMapping(Strict):
    """Where a canonical column stands in a document."""

    path: Texts = Field(min_length=1)
    """Dotted path of the field (`response.usage.completion_tokens`); several: the first that is there."""
    unit: Unit | None = None
    """Unit of a time or duration. When left out, a time's is guessed from its size, and a duration without one in its text is in seconds."""
    values: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    """What values of the log mean in canonical words, such as `{max_tokens: length}`."""

    @field_validator("values", mode="before")
    @classmethod
    def _as_written(cls, value: Any) -> Any:
        """YAML reads `0:` and `true:` as numbers and flags; logs write such values too."""
        return {spelled(key): meant for key, meant in value.items()} if isinstance(value, dict) else value


def spelled(value: Any) -> Any:
    """A number or a flag as JSON writes it; everything else as it is."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, (int, float)) else value


def _misfits(name: str, place: ColumnMapping) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """(place, reason) of everything in `name`'s mapping that would read nothing, or not what it says."""
    if any(not path.strip() for path in place.path):
        yield ("path",), "is empty: write the keys from the document's top to the value, with dots between them"
    if place.unit is not None and name not in INSTANTS and not name.endswith("_seconds"):
        yield ("unit",), f"belongs to times and durations, and {name} is neither: remove it"
    elif place.unit == "iso8601" and name not in INSTANTS:
        yield ("unit",), "must be 's', 'ms', 'us' or 'ns': a duration is no time of day"
    if name == "finish_reason":
        for word, meant in place.values.items():
            if meant is not None and str(meant) != "unknown" and reason(meant).canonical in (None, "unknown"):
                yield ("values", word), unknown(str(meant), FINISH_REASONS, "finish reason")


class SourceSettings(Strict):
    """A log: files, or indices of Elasticsearch or OpenSearch."""

    path: Texts = ()
    """Files, folders or globs."""
    url: WebAddresses = ()
    """Address of the cluster; several are tried in turn."""
    cloud_id: str | None = None
    """Elastic Cloud id, instead of url."""
    index: str | None = None
    """Index, data stream or pattern, such as `llm-*`."""
    lag: SecondsOrZero = 120.0
    """How late documents arrive: windows without an explicit end end this long before now."""
    format: FormatName | None = None
    """Name of the log's format (`detector formats list`); recognised when left out."""
    mapping: dict[ColumnName, ColumnMapping] = Field(default_factory=dict)
    """Canonical column → where it stands, for a log that is not recognised."""
    timezone: TimeZone | None = None
    """Time zone of times in the log that bear none (IANA name); without it such times are not used, except in a mapping, where they are UTC."""
    tls: Tls = Tls()
    timeout: Seconds = 30.0
    """Limit on one request to the cluster."""
    proxy: WebAddress | None = None
    """HTTP proxy in front of the cluster."""

    @field_validator("mapping", mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """`column: path` is short for `column: {path: path}`."""
        if not isinstance(value, dict):
            return value
        return {column: {"path": where} if isinstance(where, (str, list)) else where for column, where in value.items()}

    @field_validator("mapping", mode="after")
    @classmethod
    def _fits_its_column(cls, mapping: dict[str, ColumnMapping]) -> dict[str, ColumnMapping]:
        """What can be told wrong without a document, each at its own line."""
        wrong = [(name, *fault) for name, place in mapping.items() for fault in _misfits(name, place)]
        if wrong:
            entries: list[InitErrorDetails] = [
                {"type": PydanticCustomError("value_error", "{error}", {"error": why}), "loc": (name, *loc), "input": None} for name, loc, why in wrong
            ]
            raise ValidationError.from_exception_data("mapping", entries)
        return mapping

    @model_validator(mode="after")
    def _one_place(self) -> SourceSettings:
        places = [name for name, given in (("path", self.path), ("url", self.url), ("cloud_id", self.cloud_id)) if given]
        if len(places) > 1:
            raise ValueError(f"gives {' and '.join(places)}: a source is one of path, url or cloud_id")
        if (self.url or self.cloud_id) and not self.index:
            raise ValueError("index is missing: which indices hold the log? (such as index: llm-*)")
        if self.path and self.index:
            raise ValueError("index belongs to a cluster (url), not to files (path)")
        return self
