"""A batch: records as columns, the unit that sources hand to `observe`.

Columns are plain Python lists of equal length; a column that the source does not know is simply absent. Reading an absent column gives its default.
A batch is never changed after it was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from detector.record import COLUMNS, DEFAULTS, Record

if TYPE_CHECKING:
    from detector.text_scan import TextFeatures


class RowRecord(Record):
    """The record of one row; each column is looked up when it is first asked for: exact judging reads a few of the fifty."""

    __slots__ = ("_columns", "_row")
    _columns: dict[str, Sequence[Any]]
    _row: int

    @classmethod
    def of(cls, columns: dict[str, Sequence[Any]], row: int) -> RowRecord:
        """The record of a row of these columns; they must not change any more."""
        found = cls.__new__(cls)
        found._columns, found._row = columns, row
        return found

    def __getattr__(self, name: str) -> Any:
        """Called while the column's slot is empty."""
        if name not in DEFAULTS:
            raise AttributeError(name)
        values = self._columns.get(name)
        value = DEFAULTS[name] if values is None else values[self._row]
        setattr(self, name, value)
        return value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Record):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in COLUMNS)

    __hash__ = None  # type: ignore[assignment]  # as of every record: its columns can change

    def __reduce__(self) -> tuple[Any, ...]:
        return Record, tuple(getattr(self, name) for name in COLUMNS)


@dataclass
class Batch:
    """`size` records; `columns` maps a canonical column to a list of `size` values (see `detector.record.COLUMNS`)."""

    size: int
    columns: dict[str, Sequence[Any]] = field(default_factory=dict)
    _records: dict[int, Record] = field(default_factory=dict, repr=False, compare=False)

    def column(self, name: str) -> Sequence[Any]:
        """The values of one column, `size` long; the column's default repeated where the source does not know it."""
        values = self.columns.get(name)
        if values is None:
            values = self.columns[name] = [DEFAULTS[name]] * self.size
        return values

    def knows(self, name: str) -> bool:
        """True when the source filled this column for at least one record."""
        values = self.columns.get(name)
        default = DEFAULTS[name]
        return values is not None and any(value is not default for value in values)

    def record(self, row: int) -> Record:
        """The record of one row, built on demand and once: exact judging happens on few rows, but of several signals on the same."""
        found = self._records.get(row)
        if found is None:
            found = self._records[row] = RowRecord.of(self.columns, row)
        return found

    @cached_property
    def is_sound(self) -> bool:
        """No row failed and every row has a finish reason, as in most batches: then nothing needs to be asked row by row. False tells nothing."""
        errors = (self.columns.get(name) for name in ("error_type", "error_message"))
        if any(values is not None and values.count(None) != self.size for values in errors):
            return False
        if not {"abort", "error", None}.isdisjoint(self.column("finish_reason")):
            return False
        return all(status is None or 0 < status < 400 for status in set(self.column("status_code")))

    def has(self, name: str, *values: Any) -> bool:
        """True when one of these values stands in a column."""
        return not set(values).isdisjoint(self.column(name))

    @cached_property
    def text(self) -> TextFeatures:
        """Cheap facts about every row's text, scanned once for all signals (see `detector.text_scan`)."""
        from detector.text_scan import scan

        return scan(self)

    @classmethod
    def from_records(cls, records: Iterable[Record]) -> Batch:
        """Columns of these records, in order; columns that hold only defaults are left out."""
        rows = list(records)
        columns: dict[str, Sequence[Any]] = {}
        for name in COLUMNS:
            values = [getattr(row, name) for row in rows]
            default = DEFAULTS[name]
            if any(value is not default for value in values):
                columns[name] = values
        return cls(len(rows), columns)
