"""Test cases inside a rule: rows of record columns with a count, laid out in time, and the series that must fire."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict, Field, JsonValue, model_validator

from detector.record import COLUMNS, Record
from detector.strict_model import MinutesOrZero, Strict

CASE_LABELS: dict[str, Any] = {"deployment": "d", "model": "m"}  # labels of rows that name none
MAX_REPEATED = 100_000  # characters of a text that is written as {repeat, times}
_TEXT_STATES = {"content": "content_state", "reasoning": "reasoning_state"}


def _written_out(value: JsonValue) -> JsonValue:
    if isinstance(value, dict) and set(value) == {"repeat", "times"}:
        text, times = value["repeat"], value["times"]
        if isinstance(text, str) and isinstance(times, int) and not isinstance(times, bool) and times > 0 and len(text) * times <= MAX_REPEATED:
            return text * times
    return value


class Row(Strict):
    """`count` equal requests: record columns beside `count`, `at` and `every`."""

    model_config = ConfigDict(extra="allow")

    count: int = Field(1, ge=1, le=10_000_000, strict=True)
    """How many requests of this kind; spread evenly over the stretch unless `at` places them."""
    at: MinutesOrZero | None = None
    """Offset of the first request from the start of the stretch (baseline or window)."""
    every: MinutesOrZero | None = None
    """Distance between two requests placed with `at`; without it all of them fall into one minute."""

    @model_validator(mode="after")
    def _every_needs_at(self) -> Row:
        if self.every is not None and self.at is None:
            raise ValueError("`every` needs `at`: where does the first request stand?")
        return self

    def columns(self) -> dict[str, JsonValue]:
        """The record columns that this row gives; `{repeat: "once more. ", times: 40}` written out."""
        return {name: _written_out(value) for name, value in (self.model_extra or {}).items()}

    def record(self) -> Record:
        """One request of this row. A text column that the row names is captured: null and "" are empty answers, text is present."""
        values: dict[str, Any] = {**CASE_LABELS, **self.columns()}
        for column, state in _TEXT_STATES.items():
            if column in values:
                values.setdefault(state, "present" if values[column] else "empty")
                values[column] = values[column] or None
        if values.get("finish_reason") is not None:
            values.setdefault("finish_reason_raw", values["finish_reason"])
            values.setdefault("finish_reason_source", "engine")
        columns: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
        return Record(**columns)

    def minutes(self, length: int) -> list[tuple[int, int]]:
        """(minute offset, requests) over a stretch of `length` minutes, ascending: evenly spread, or from `at` on."""
        if self.at is not None:
            step = self.every or 0
            placed: dict[int, int] = {}
            for index in range(self.count if step else 1):
                placed[self.at + index * step] = 1 if step else self.count
            return list(placed.items())
        edges = [self.count * minute // length for minute in range(length + 1)]
        return [(minute, edges[minute + 1] - edges[minute]) for minute in range(length) if edges[minute + 1] > edges[minute]]


class Case(Strict):
    """One test case: the rule is judged once, at the end of the window."""

    name: str = Field(min_length=8)
    """A sentence that says what must happen, such as "fires when the share goes from 0.2 % to 2 %"."""
    baseline: tuple[Row, ...] = ()
    """Requests before the window, over the rule's `baseline`."""
    current: tuple[Row, ...] = ()
    """Requests in the window."""
    firing: tuple[dict[str, str | bool | None], ...]
    """Labels of every series that must fire; an empty list: the rule must be silent."""
    cannot_judge: bool = False
    """True when no series can be judged here; without it, a series that can't be judged fails the case."""

    @model_validator(mode="after")
    def _has_rows(self) -> Case:
        if not self.current and not self.baseline:
            raise ValueError("has no rows")
        if self.firing and self.cannot_judge:
            raise ValueError("a series that can't be judged does not fire")
        return self


CASE_COLUMNS: tuple[str, ...] = tuple(
    name for name in COLUMNS if name not in {"timestamp", "request_id", "record_id", "doc_index", "doc_id", "choice_index", "cache_hit", "is_probe"}
)
"""Record columns that a row may give: identity and time are the runner's business, uncounted traffic is `observe`'s."""
