"""A table of counts (Parquet or CSV, from anywhere) as a ledger.

Columns: `minute`, `signal`, `requests`, `flagged`, and any of the series labels (`deployment`, `model`, `engine`, `engine_version`, `pod`, `stream`); a missing
label column means "not known". `minute` is ISO 8601 text, a timestamp, or a number of minutes or seconds since 1970 UTC; rows may stand for longer bins, each
at its first minute. Rows of one minute, series and signal are added. Read in pieces, so that memory holds one piece and the ledger.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from detector.errors import ConfigError, SourceError
from detector.ledger import SUBTYPE_MARK, Ledger
from detector.record import SERIES_LABELS
from detector.table_file import open_table
from detector.window import MINUTE, instant

Ints = npt.NDArray[np.int64]

REQUIRED = ("minute", "signal", "requests", "flagged")
_MINUTES_BELOW, _SECONDS_BELOW = 10**8, 10**11  # numbers up to 10**8 are minutes (until 2160), up to 10**11 seconds (until 5138), above milliseconds
_LATEST = 253_402_300_800 // MINUTE  # the year 10000


def read_table(path: str | Path, step: int = 1) -> tuple[Ledger, tuple[str, ...]]:
    """The ledger that a table holds, in bins of `step` minutes, and the names of columns that were not used.

    Raises:
        SourceError: no such file, not a table, a column missing or a cell that can't be used; the text names file, row, column and remedy.
    """
    path = Path(path)
    ledger = Ledger()
    row = 0
    with open_table(path) as table:
        unused = _checked_columns(path, table.names)
        for piece in table.pieces([name for name in table.names if name not in unused]):
            _Piece(path, piece, row).add_to(ledger, step)
            row += piece.num_rows
    if not row:
        raise SourceError(f"{path}: the table has no rows; it needs one per minute, series and signal")
    return ledger, unused


def _checked_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns that are not used. Raises SourceError when one that is needed is missing or stands twice."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        raise SourceError(
            f"{path}: column {', '.join(missing)}: missing; the table has {', '.join(names) or 'none'}. Needed: {', '.join(REQUIRED)}; "
            f"labels, where known: {', '.join(SERIES_LABELS)}. Rename the columns"
        )
    twice = [name for name in (*REQUIRED, *SERIES_LABELS) if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: column {', '.join(twice)}: stands twice; keep one")
    return tuple(name for name in names if name not in (*REQUIRED, *SERIES_LABELS))


class _Piece:
    """Some rows of the table; `first` rows stand before them."""

    def __init__(self, path: Path, table: Any, first: int) -> None:
        self.path, self.table, self.first = path, table, first

    def add_to(self, ledger: Ledger, step: int) -> None:
        """Check the rows and add them, folded to bins of `step` minutes."""
        minutes = self._minutes()
        requests, flagged = self._counts("requests"), self._counts("flagged")
        signal_codes, signal_names = self._texts("signal")
        for code, name in enumerate(signal_names):
            if not name:
                self._refuse(int(np.flatnonzero(signal_codes == code)[0]), "signal", "is empty", "write the signal's name")
        of_subtype = np.array([SUBTYPE_MARK in (name or "") for name in signal_names])[signal_codes]
        wrong = np.flatnonzero((flagged > requests) & ~of_subtype)
        if wrong.size:
            at = int(wrong[0])
            self._refuse(at, "flagged", f"{flagged[at]} is more than the {requests[at]} requests", "count flagged requests among `requests`")
        codes = np.zeros(len(minutes), np.int64)
        sizes, values = [], []
        for label in SERIES_LABELS:
            own, names = self._texts(label) if label in self.table.column_names else (np.zeros(len(minutes), np.int64), [None])
            codes = codes * len(names) + own
            sizes.append(len(names))
            values.append(names)
        series, codes = np.unique(codes, return_inverse=True)
        labels = [tuple(values[i][part] for i, part in enumerate(np.unravel_index(code, sizes))) for code in series.tolist()]
        bins = minutes // step
        low = int(bins.min())
        key = (signal_codes * len(series) + codes) * (int(bins.max()) - low + 1) + (bins - low)
        order = np.argsort(key, kind="stable")
        first = np.flatnonzero(np.diff(key[order], prepend=-1))
        kept = order[first]
        n, k = np.add.reduceat(requests[order], first), np.add.reduceat(flagged[order], first)
        for code, name in enumerate(signal_names):
            chosen = signal_codes[kept] == code
            if name and chosen.any():
                ledger.add_coded(bins[kept][chosen] * step, labels, codes[kept][chosen], name, n[chosen], k[chosen])

    def _refuse(self, at: int, column: str, what: str, remedy: str) -> None:
        raise SourceError(f"{self.path}: row {self.first + at + 1}: column {column}: {what}; {remedy}")

    def _texts(self, column: str) -> tuple[Ints, list[str | None]]:
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
            self._refuse(int(empty[0]), column, "is empty", remedy)
        if pa.types.is_integer(array.type):
            return np.asarray(array.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)
        if pa.types.is_floating(array.type):
            values = np.asarray(array.cast(pa.float64()).to_numpy(zero_copy_only=False), np.float64)
            odd = np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)) | (np.abs(values) > 2**53))
            if odd.size:
                self._refuse(int(odd[0]), column, f"{values[odd[0]]:g} is not a whole number", remedy)
            return values.astype(np.int64)
        if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type)):
            self._refuse(0, column, f"has type {array.type}", remedy)
        array = array.dictionary_encode()
        parsed = np.zeros(len(array.dictionary), np.int64)
        codes = array.indices.to_numpy(zero_copy_only=False)
        for code, text in enumerate(array.dictionary.to_pylist()):
            try:
                parsed[code] = parse(text.strip())
            except (ValueError, OverflowError, ConfigError):
                shown = "is empty" if not text.strip() else f"'{text[:40]}' can't be used"
                self._refuse(int(np.flatnonzero(codes == code)[0]), column, shown, remedy)
        return np.asarray(parsed[codes])

    def _counts(self, column: str) -> Ints:
        remedy = "write a whole number, 0 or more"
        values = self._numbers(column, _whole, remedy)
        wrong = np.flatnonzero((values < 0) | (values > 2**40))
        if wrong.size:
            self._refuse(int(wrong[0]), column, f"{values[wrong[0]]} is not a count", remedy)
        return values

    def _minutes(self) -> Ints:
        import pyarrow as pa

        remedy = "write ISO 8601 such as 2026-11-29T13:30:00Z, or minutes or seconds since 1970 UTC"
        column = self.table["minute"].combine_chunks()
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("s"))
        if pa.types.is_timestamp(column.type):
            ticks = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[column.type.unit] * MINUTE
            empty = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            if empty.size:
                self._refuse(int(empty[0]), "minute", "is empty", remedy)
            values = np.asarray(column.cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64) // ticks
        else:
            numbers = self._numbers("minute", _instant, remedy)
            values = np.select([numbers < _MINUTES_BELOW, numbers < _SECONDS_BELOW], [numbers, numbers // MINUTE], numbers // (1000 * MINUTE))
        wrong = np.flatnonzero((values < 0) | (values > _LATEST))
        if wrong.size:
            self._refuse(int(wrong[0]), "minute", "lies before 1970 or after the year 9999", remedy)
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
