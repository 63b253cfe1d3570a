"""The cells of a table of counts as numbers and texts, in whatever type its writer chose; a cell that can't be used is named by its row. It must not count."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from detector.errors import ConfigError, SourceError
from detector.window import MINUTE, instant

Ints = npt.NDArray[np.int64]

_MINUTES_BELOW, _SECONDS_BELOW = 10**8, 10**11  # numbers up to 10**8 are minutes (until 2160), up to 10**11 seconds (until 5138), above milliseconds
_LATEST = 253_402_300_800 // MINUTE  # the year 10000


class Cells:
    """Some rows of the table at `path`, as an Arrow table; `first` rows stand before them. All methods raise SourceError for a cell that can't be used."""

    def __init__(self, path: Path, table: Any, first: int) -> None:
        self.path, self.table, self.first = path, table, first

    def refuse(self, at: int, column: str, what: str, remedy: str) -> NoReturn:
        """Raise SourceError about a cell, by the index of its row in this piece."""
        raise SourceError(f"{self.path}: row {self.first + at + 1}: column {column}: {what}; {remedy}")

    def texts(self, column: str) -> tuple[Ints, list[str | None]]:
        """Codes of the rows and the distinct texts they stand for; None for null and empty."""
        import pyarrow as pa

        array = self.table[column].combine_chunks()
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        array = array.dictionary_encode(null_encoding="encode")
        names = [_text(value) for value in array.dictionary.to_pylist()]
        distinct = sorted(set(names), key=lambda name: (name is not None, name or ""))
        place = {name: i for i, name in enumerate(distinct)}
        codes = np.array([place[name] for name in names], np.int64)
        return np.asarray(codes[array.indices.to_numpy(zero_copy_only=False).astype(np.int64)]), distinct

    def _numbers(self, column: str, parse: Callable[[str], int], remedy: str) -> Ints:
        """Whole numbers of a column of any type; texts are parsed once per distinct text."""
        import pyarrow as pa

        array = self.table[column].combine_chunks()
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        empty = np.flatnonzero(array.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
        if empty.size:
            self.refuse(int(empty[0]), column, "is empty", remedy)
        if pa.types.is_integer(array.type):
            return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
        if pa.types.is_floating(array.type):
            values = np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
            odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)) | (np.abs(values) > 2**53))
            if odd.size:
                self.refuse(int(odd[0]), column, f"{values[odd[0]]:g} is not a whole number", remedy)
            return values.astype(np.int64)
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            self.refuse(0, column, f"has type {array.type}", remedy)
        array = array.dictionary_encode()
        parsed = np.zeros(len(array.dictionary), np.int64)
        codes = array.indices.to_numpy(zero_copy_only=False)
        for code, text in enumerate(array.dictionary.to_pylist()):
            try:
                parsed[code] = parse(text.strip())
            except (ValueError, OverflowError, ConfigError):
                shown = "is empty" if not text.strip() else f"'{text[:40]}' can't be used"
                self.refuse(int(np.flatnonzero(codes == code)[0]), column, shown, remedy)
        return np.asarray(parsed[codes])

    def counts(self, column: str) -> Ints:
        """Counts of the rows."""
        remedy = "write a whole number, 0 or more"
        values = self._numbers(column, _whole, remedy)
        wrong = np.flatnonzero((values < 0) | (values > 2**40))
        if wrong.size:
            self.refuse(int(wrong[0]), column, f"{values[wrong[0]]} is not a count", remedy)
        return values

    def minutes(self) -> Ints:
        """Minutes since 1970 UTC of the rows."""
        import pyarrow as pa

        remedy = "write ISO 8601 such as 2026-11-29T13:30:00Z, or minutes or seconds since 1970 UTC"
        column = self.table["minute"].combine_chunks()
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("s"))
        if pa.types.is_timestamp(column.type):
            ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit] * MINUTE
            empty = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            if empty.size:
                self.refuse(int(empty[0]), "minute", "is empty", remedy)
            values = np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64) // ticks
        else:
            numbers = self._numbers("minute", _instant, remedy)
            values = np.select([numbers < _MINUTES_BELOW, numbers < _SECONDS_BELOW], [numbers, numbers // MINUTE], numbers // (1000 * MINUTE))
        wrong = np.flatnonzero((values < 0) | (values > _LATEST))
        if wrong.size:
            self.refuse(int(wrong[0]), "minute", "lies before 1970 or after the year 9999", remedy)
        return values


def _text(value: object) -> str | None:
    """A label as the ledger holds it."""
    if value is None or value == "" or (isinstance(value, float) and math.isnan(value)):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def _whole(text: str) -> int:
    value = float(text)
    if value != math.floor(value):
        raise ValueError(text)
    return int(text) if text.lstrip("+-").isdigit() else int(value)


def _instant(text: str) -> int:
    """A number as it stands, or the seconds of an ISO time (which are far above what counts as minutes, from 1973 on)."""
    try:
        return _whole(text)
    except ValueError:
        pass
    at = int(instant(text))
    return at // MINUTE if at < _MINUTES_BELOW else at
