"""A table of counts (Parquet or CSV, from anywhere) as a ledger.

Columns: `minute`, `signal`, `requests`, `flagged`, and any of the series labels (`deployment`, `model`, `engine`, `engine_version`, `pod`, `stream`); a missing
label column means "not known". `minute` is ISO 8601 text, a timestamp, or a number of minutes or seconds since 1970 UTC; rows may stand for longer bins, each
at its first minute. Rows of one minute, series and signal are added, and counted as repeated: they may be partitions, or a table written twice. Read in pieces,
so that memory holds one piece, the ledger, and a bit for each minute of a day, series and signal that has a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from detector.errors import SourceError
from detector.ledger import SUBTYPE_MARK, Labels, Ledger
from detector.record import SERIES_LABELS
from detector.table_cells import Cells, Ints
from detector.table_file import open_table

REQUIRED = ("minute", "signal", "requests", "flagged")
_DAY = 1440  # minutes


@dataclass
class Table:
    """What a table held: its counts, names of columns that were not used, and how many rows repeat an earlier one (the first of them: `repeated_at`)."""

    ledger: Ledger = field(default_factory=Ledger)
    unused: tuple[str, ...] = ()
    repeated: int = 0
    repeated_at: int | None = None  # number of the row, from 1, without the header

    def saw_again(self, rows: Ints) -> None:
        """Count rows (numbers from 1) whose minute, series and signal an earlier row has."""
        if rows.size:
            self.repeated += len(rows)
            self.repeated_at = min(int(rows.min()), self.repeated_at or int(rows.min()))


def read_table(path: str | Path, step: int = 1) -> Table:
    """The counts that a table holds, in bins of `step` minutes.

    Raises:
        SourceError: no such file, not a table, a column missing or a cell that can't be used; the text names file, row, column and remedy.
    """
    path = Path(path)
    found, seen = Table(), _Seen()
    row = 0
    with open_table(path) as table:
        found.unused = _checked_columns(path, table.names)
        for piece in table.pieces([name for name in table.names if name not in found.unused]):
            _Piece(path, piece, row).add_to(found, seen, step)
            row += piece.num_rows
    if not row:
        raise SourceError(f"{path}: the table has no rows; it needs one per minute, series and signal")
    return found


class _Seen:
    """Which minutes of which day, series and signal have a row: a bitmap of 180 bytes a day, since tables hold most minutes of a day or are small."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Labels], int] = {}
        self._days: dict[tuple[int, int], int] = {}
        self._bits = np.zeros((64, _DAY // 8), np.uint8)

    def number(self, signal: str, labels: Labels) -> int:
        """The number of a signal and series."""
        return self._names.setdefault((signal, labels), len(self._names))

    def take(self, numbers: Ints, minutes: Ints) -> npt.NDArray[np.bool_]:
        """True for rows that were taken before; all of them are from now on. Arrays of equal length, no pair twice."""
        days = minutes // _DAY
        low, span = int(days.min()), int(np.ptp(days)) + 1
        pairs, codes = np.unique(numbers * span + (days - low), return_inverse=True)
        rows = np.array([self._days.setdefault((pair // span, pair % span + low), len(self._days)) for pair in pairs.tolist()], np.int64)
        if len(self._days) > len(self._bits):
            more = np.zeros((2 * len(self._days) - len(self._bits), self._bits.shape[1]), np.uint8)
            self._bits = np.concatenate([self._bits, more])
        bits = self._bits.reshape(-1)
        place = rows[codes.reshape(-1)] * _DAY + minutes % _DAY
        again = np.asarray(bits[place >> 3] >> (place & 7).astype(np.uint8) & 1, np.bool_)
        new = np.sort(place[~again])
        first = np.flatnonzero(np.diff(new >> 3, prepend=-1))
        if first.size:
            bits[new[first] >> 3] |= np.add.reduceat(np.left_shift(1, new & 7), first).astype(np.uint8)  # no bit twice, so adding is setting
        return again


def _checked_columns(path: Path, names: Sequence[str]) -> tuple[str, ...]:
    """Names of columns that are not used. Raises SourceError when one that is needed is missing or stands twice."""
    missing = [name for name in REQUIRED if name not in names]
    if missing:
        # a log that was named by mistake begins with text of an answer, not with a header: only words of a header are repeated
        has = ", ".join(name[:40] for name in names[:20]) if any(name.lower() in (*REQUIRED, *SERIES_LABELS) for name in names) else "none of them"
        raise SourceError(
            f"{path}: column {', '.join(missing)}: missing; the table has {has}. Needed: {', '.join(REQUIRED)}; "
            f"labels, where known: {', '.join(SERIES_LABELS)}. Rename the columns; a log is given with --source"
        )
    twice = [name for name in (*REQUIRED, *SERIES_LABELS) if names.count(name) > 1]
    if twice:
        raise SourceError(f"{path}: column {', '.join(twice)}: stands twice; keep one")
    return tuple(name for name in names if name not in (*REQUIRED, *SERIES_LABELS))


class _Piece(Cells):
    """Some rows of the table."""

    def add_to(self, found: Table, seen: _Seen, step: int) -> None:
        """Check the rows and add them, folded to bins of `step` minutes."""
        minutes = self.minutes()
        requests, flagged = self.counts("requests"), self.counts("flagged")
        signal_codes, signal_names = self.texts("signal")
        for code, name in enumerate(signal_names):
            if not name:
                self.refuse(int(np.flatnonzero(signal_codes == code)[0]), "signal", "is empty", "write the signal's name")
        of_subtype = np.array([SUBTYPE_MARK in (name or "") for name in signal_names])[signal_codes]
        wrong = np.flatnonzero((flagged > requests) & ~of_subtype)
        if wrong.size:
            at = int(wrong[0])
            self.refuse(at, "flagged", f"{flagged[at]} is more than the {requests[at]} requests", "count flagged requests among `requests`")
        codes = np.zeros(len(minutes), np.int64)
        sizes, values = [], []
        for label in SERIES_LABELS:
            own, names = self.texts(label) if label in self.table.column_names else (np.zeros(len(minutes), np.int64), [None])
            codes = codes * len(names) + own
            sizes.append(len(names))
            values.append(names)
        series, codes = np.unique(codes, return_inverse=True)
        labels = [tuple(values[i][part] for i, part in enumerate(np.unravel_index(code, sizes))) for code in series.tolist()]
        codes = signal_codes * len(series) + codes
        low = int(minutes.min())
        key = codes * (int(minutes.max()) - low + 1) + (minutes - low)
        order = np.argsort(key, kind="stable")
        first = np.diff(key[order], prepend=-1) != 0
        keys = [(name or "", one) for name in signal_names for one in labels]
        self._note_repeated(found, seen, codes, keys, minutes, order, first)
        bins = minutes // step
        first = np.flatnonzero(np.diff(bins[order], prepend=-1) | np.diff(codes[order], prepend=-1))
        kept = order[first]
        n, k = np.add.reduceat(requests[order], first), np.add.reduceat(flagged[order], first)
        for code, name in enumerate(signal_names):
            chosen = signal_codes[kept] == code
            if name and chosen.any():
                found.ledger.add_coded(bins[kept][chosen] * step, labels, codes[kept][chosen] % len(series), name, n[chosen], k[chosen])

    def _note_repeated(
        self, found: Table, seen: _Seen, codes: Ints, keys: Sequence[tuple[str, Labels]], minutes: Ints, order: Ints, first: npt.NDArray[np.bool_]
    ) -> None:
        """Note the rows whose minute, signal and series (`keys[codes[i]]`) stood before: not `first` in this `order` of the piece, or in an earlier piece."""
        used = np.unique(codes)
        numbers = np.zeros(len(keys), np.int64)
        numbers[used] = [seen.number(*keys[code]) for code in used.tolist()]
        once = order[first]
        again = once[seen.take(numbers[codes[once]], minutes[once])]
        found.saw_again(self.first + 1 + np.concatenate([order[~first], again]))
