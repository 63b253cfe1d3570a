"""The ledger: requests and flagged requests per minute, series and signal; the only thing that statistics ever read.

Counting unit is the *request*: choices of one response are counted once, and a request is flagged when any of its choices is. Ledgers of partitions
merge by adding, in any order, with equal results. Observing the same minutes again replaces them (`replace`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

import numpy as np
import numpy.typing as npt

from detector.evidence import Evidence
from detector.panel import Panel
from detector.record import SERIES_LABELS

Labels = tuple[str | None, ...]  # values of SERIES_LABELS, in that order; None: not known
Ints = npt.NDArray[np.int64]

SUBTYPE_MARK = "/"  # `length_cutoff/answer_cut`: flagged requests of one subtype; such rows carry no requests of their own
SHARED_MARK = "+"  # `garbage+repetition`: requests that every one of these signals could judge; such rows carry no flags
_COMPACT_AT = 1 << 18  # rows added before equal keys are folded: bounds memory at about 10 MB of pending rows


class Ledger:
    """Counts in memory. Rows are (minute, series, signal, requests, flagged); equal keys are folded by adding."""

    def __init__(self) -> None:
        self._series: dict[Labels, int] = {}
        self._signals: dict[str, int] = {}
        self._pending: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
        self._pending_rows = 0
        self._folded = True
        self._by_signal: dict[int, tuple[Ints, Ints, Ints, Ints]] = {}  # of the folded rows: see `_rows_of`
        self.evidence: dict[tuple[int, Labels, str], Evidence] = {}

    # -- filling
    def add(self, minutes: Ints, series: Sequence[Labels], signal: str, requests: Ints, flagged: Ints) -> None:
        """Add counts: arrays of equal length (n_rows,); `series[i]` are the labels of row `i`."""
        if not len(minutes):
            return
        ids = np.array([self._series.setdefault(labels, len(self._series)) for labels in series], dtype=np.int64)
        self._append(np.asarray(minutes, np.int64), ids, self._signal_ids(signal, len(ids)), np.asarray(requests, np.int64), np.asarray(flagged, np.int64))

    def add_coded(self, minutes: Ints, names: Sequence[Labels], codes: Ints, signal: str, requests: Ints, flagged: Ints) -> None:
        """As `add`, for tables: `names[codes[i]]` are the labels of row `i`, so that nothing is looked up per row."""
        if len(minutes):
            ids = np.array([self._series.setdefault(labels, len(self._series)) for labels in names], dtype=np.int64)
            self._append(
                np.asarray(minutes, np.int64), ids[codes], self._signal_ids(signal, len(codes)), np.asarray(requests, np.int64), np.asarray(flagged, np.int64)
            )

    def series_ids(self, labels: Iterable[Labels]) -> Ints:
        """This ledger's own numbers of some label tuples, for `add_numbered`."""
        series = self._series
        return np.array([series.setdefault(entry, len(series)) for entry in labels], dtype=np.int64)

    def add_numbered(self, minutes: Ints, ids: Ints, signal: str, requests: Ints, flagged: Ints) -> None:
        """As `add`, with numbers from `series_ids`. Counts of `requests` may be negative: what a signal could not judge of a shared row."""
        if len(minutes):
            self._append(minutes, ids, self._signal_ids(signal, len(ids)), requests, flagged)

    def add_shared(self, minutes: Ints, ids: Ints, signals: Iterable[str], requests: Ints) -> None:
        """Requests that count for each of `signals`: one row instead of one per signal, which is what keeps a long log's ledger small."""
        self.add_numbered(minutes, ids, SHARED_MARK.join(sorted(signals)), requests, np.zeros_like(requests))

    def add_evidence(self, minute: int, labels: Labels, signal: str, evidence: Evidence) -> None:
        """Add subtypes and examples of flagged requests of one minute, series and signal."""
        self.evidence.setdefault((minute, labels, signal), Evidence()).add(evidence)

    def merge(self, other: Ledger) -> None:
        """Add another partition's ledger to this one."""
        names = list(other._series)
        signal_names = list(other._signals)
        minutes, series, signals, requests, flagged = other._compacted()
        series_map = np.array([self._series.setdefault(labels, len(self._series)) for labels in names], dtype=np.int64)
        signal_map = np.array([self._signals.setdefault(name, len(self._signals)) for name in signal_names], dtype=np.int64)
        if len(minutes):
            self._append(minutes, series_map[series], signal_map[signals], requests, flagged)
        for (minute, labels, signal), evidence in other.evidence.items():
            self.add_evidence(minute, labels, signal, evidence)

    def replace(self, other: Ledger, minutes: Iterable[int]) -> None:
        """Observe `minutes` again: what stood there goes, what `other` holds comes. That is how late documents are handled."""
        gone = set(minutes)
        old = self._compacted()
        keep = ~np.isin(old[0], np.fromiter(gone, np.int64, len(gone)))
        self._by_signal = {}
        self._pending = [tuple(column[keep] for column in old)]  # type: ignore[list-item]  # a tuple of five by construction
        self._pending_rows = 0
        self.evidence = {key: value for key, value in self.evidence.items() if key[0] not in gone}
        self.merge(other)

    def move(self, source: int, target: int) -> None:
        """Give all rows of minute `source` the minute `target` (for records that bear no time)."""
        minutes, series, signals, requests, flagged = self._compacted()
        self._pending = [(np.where(minutes == source, target, minutes), series, signals, requests, flagged)]
        self._folded = False
        moved = {key: value for key, value in self.evidence.items() if key[0] == source}
        for (minute, labels, signal), evidence in moved.items():
            del self.evidence[(minute, labels, signal)]
            self.add_evidence(target, labels, signal, evidence)

    # -- reading
    def minutes(self) -> Ints:
        """Distinct minutes with a row, ascending, shape (n_minutes,)."""
        return np.unique(self._compacted()[0])

    def requests_in(self, start: int, end: int) -> int:
        """Requests over the minutes `[start, end)`: the largest count that any signal has, since every request is counted for each signal that it can show."""
        minutes, _, signals, requests, _ = self._compacted()
        inside = (minutes >= start) & (minutes < end)
        if not inside.any():
            return 0
        totals = np.bincount(signals[inside], requests[inside], len(self._signals))
        return int(max((totals[self._ids_of(name)].sum() for name in self.signals), default=0))

    @property
    def signals(self) -> tuple[str, ...]:
        """Names of the signals that this ledger has counted."""
        return tuple(sorted({part for name in self._signals if SUBTYPE_MARK not in name for part in name.split(SHARED_MARK)}))

    @property
    def subtypes(self) -> tuple[str, ...]:
        """Names of the subtypes that it has counted, as `signal/subtype`."""
        return tuple(sorted(name for name in self._signals if SUBTYPE_MARK in name))

    def span(self) -> tuple[int, int] | None:
        """First minute and one past the last minute with a row, or None when empty."""
        minutes = self._compacted()[0]
        return (int(minutes.min()), int(minutes.max()) + 1) if len(minutes) else None

    def rows(self) -> Iterator[tuple[int, Labels, str, int, int]]:
        """(minute, labels, signal, requests, flagged), ordered by minute, labels and signal."""
        names, signal_names = list(self._series), list(self._signals)
        minutes, series, signals, requests, flagged = self._compacted()
        cells: dict[tuple[int, Labels, str], tuple[int, int]] = {}
        for m, s, g, r, f in zip(minutes.tolist(), series.tolist(), signals.tolist(), requests.tolist(), flagged.tolist(), strict=True):
            for name in signal_names[g].split(SHARED_MARK):
                before = cells.get((m, names[s], name), (0, 0))
                cells[(m, names[s], name)] = (before[0] + r, before[1] + f)
        for (m, labels, name), (r, f) in sorted(cells.items(), key=lambda cell: (cell[0][0], tuple(value or "" for value in cell[0][1]), cell[0][2])):
            yield m, labels, name, r, f

    def panel(self, signal: str, group_by: Sequence[str], start: int, end: int, step: int = 1, subtypes: Sequence[str] = ()) -> Panel:
        """Counts of `signal` by the labels in `group_by` on bins of `step` minutes over `[start, end)`; series ordered by their labels.

        With `subtypes`, only requests flagged with one of these count as flagged. The last bin may reach past `end`; rows outside
        `[start, end)` are left out. Missing labels form series of their own.
        """
        positions = [SERIES_LABELS.index(name) for name in group_by]
        groups = [tuple(labels[position] for position in positions) for labels in self._series]
        ordered = sorted(set(groups), key=lambda group: tuple((value is not None, value or "") for value in group))
        index = {group: i for i, group in enumerate(ordered)}
        group_of = np.array([index[group] for group in groups], dtype=np.int64)
        bins = max(0, -(-(end - start) // step))
        requests = np.zeros((len(ordered), bins), np.int64)
        flagged = np.zeros_like(requests)
        size = len(ordered) * bins
        for name in (signal, *(f"{signal}{SUBTYPE_MARK}{subtype}" for subtype in subtypes)):
            for number in self._ids_of(name):
                minutes, series, n, k = self._rows_of(number)
                inside = slice(*np.searchsorted(minutes, (start, end)))
                if not size or inside.start >= inside.stop:
                    continue
                cell = group_of[series[inside]] * bins + (minutes[inside] - start) // step
                requests += np.bincount(cell, n[inside], size).astype(np.int64).reshape(requests.shape)
                if len(k) and (not subtypes or name != signal):
                    flagged += np.bincount(cell, k[inside], size).astype(np.int64).reshape(flagged.shape)
        labels = tuple(dict(zip(group_by, group, strict=True)) for group in ordered)
        return Panel(start, step, labels, requests, flagged)

    def only(self, group_by: Sequence[str], kept: Set[Labels]) -> Ledger:
        """The part of this ledger whose series, grouped by these labels, are among `kept` (tuples of values in the order of `group_by`)."""
        positions = [SERIES_LABELS.index(name) for name in group_by]
        chosen = {number: labels for labels, number in self._series.items() if tuple(labels[position] for position in positions) in kept}
        part = Ledger()
        part._series = {labels: number for number, labels in enumerate(chosen.values())}
        part._signals = dict(self._signals)
        renumbered = np.full(len(self._series), -1, np.int64)
        renumbered[list(chosen)] = np.arange(len(chosen))
        minutes, series, signals, requests, flagged = self._compacted()
        inside = renumbered[series] >= 0 if len(series) else np.zeros(0, bool)
        if inside.any():
            part._append(minutes[inside], renumbered[series[inside]], signals[inside], requests[inside], flagged[inside])
        part.evidence = {key: evidence for key, evidence in self.evidence.items() if key[1] in part._series}
        return part

    def series_count(self, group_by: Sequence[str]) -> int:
        """How many series a panel grouped by these labels would have."""
        positions = [SERIES_LABELS.index(name) for name in group_by]
        return len({tuple(labels[position] for position in positions) for labels in self._series})

    def evidence_of(self, signal: str, labels: Mapping[str, str | None], start: int, end: int) -> Evidence:
        """Evidence of one signal over the minutes `[start, end)`, of all series whose labels agree with `labels`."""
        wanted = [(SERIES_LABELS.index(name), value) for name, value in labels.items()]
        total = Evidence()
        for (minute, series, name), evidence in self.evidence.items():
            if name == signal and start <= minute < end and all(series[position] == value for position, value in wanted):
                total.add(evidence)
        return total

    # -- inside
    def _ids_of(self, signal: str) -> list[int]:
        """Numbers of the rows that count for a signal: its own and the shared ones."""
        return [number for name, number in self._signals.items() if name == signal or (SHARED_MARK in name and signal in name.split(SHARED_MARK))]

    def _rows_of(self, number: int) -> tuple[Ints, Ints, Ints, Ints]:
        """Minutes (ascending), series, requests and flagged (empty where none is) of one numbered signal: picked out once, since rules ask again and again."""
        minutes, series, signals, requests, flagged = self._compacted()
        found = self._by_signal.get(number)
        if found is None:
            chosen = np.flatnonzero(signals == number)
            hits = flagged[chosen]
            found = self._by_signal[number] = (minutes[chosen], series[chosen], requests[chosen], hits if hits.any() else hits[:0])
        return found

    def _signal_ids(self, signal: str, count: int) -> Ints:
        return np.full(count, self._signals.setdefault(signal, len(self._signals)), np.int64)

    def _append(self, *columns: Ints) -> None:
        self._pending.append(columns)  # type: ignore[arg-type]  # five columns by construction
        self._pending_rows += len(columns[0])
        self._folded = False
        if self._pending_rows > max(_COMPACT_AT, len(self._pending[0][0])):  # in proportion to what is folded already, so that folding stays linear
            self._compacted()

    def _compacted(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """All rows with equal keys folded, ordered by (minute, series id, signal id)."""
        empty = np.zeros(0, np.int64)
        if not self._pending:
            return empty, empty, empty, empty, empty
        if not self._folded:
            self._by_signal = {}
            minutes, series, signals, requests, flagged = (np.concatenate(column) for column in zip(*self._pending, strict=True))
            self._pending = []
            order = np.lexsort((signals, series, minutes))
            minutes, series, signals = minutes[order], series[order], signals[order]
            first = np.ones(len(order), bool)
            first[1:] = (np.diff(minutes) != 0) | (np.diff(series) != 0) | (np.diff(signals) != 0)
            at = np.flatnonzero(first)
            folded = (minutes[at], series[at], signals[at], np.add.reduceat(requests[order], at), np.add.reduceat(flagged[order], at))
            self._pending = [folded]
            self._pending_rows = 0  # rows already folded do not count towards the next folding
            self._folded = True
        return self._pending[0]
