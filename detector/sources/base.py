"""What a source is: something that yields batches of records and keeps an honest tally of what it could not read.

Sources are the only stage (with notify) that does I/O. A source never raises for one bad document: it counts it with reason and place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from detector.batch import Batch

ONLY_LOGS = "name only the logs as the source (a glob such as 'logs/*.jsonl')"  # what to do about a file that is no log: nobody but its owner can tell


@dataclass(frozen=True, order=True)
class CouldNot:
    """Something that could not be looked at: what, why, and what to do.

    Args:
        blocking: it makes the exit code 2 when nothing fires.
        lasting: reading again shows no more, so what was read counts as read.
        rules, signals: ids of the rules, or names of the signals, that are concerned; both empty: everything is.
        series: labels of the series that are concerned; empty: all are.
        slight: too small a part of the log to hide an incident.
    """

    what: str
    why: str
    remedy: str
    blocking: bool = True
    lasting: bool = False
    rules: tuple[str, ...] = ()
    signals: tuple[str, ...] = ()
    series: tuple[Mapping[str, str | None], ...] = field(default=(), compare=False)
    slight: bool = False

    @property
    def is_whole(self) -> bool:
        """The log itself could not be looked at, in a part that matters; not only some rules, signals or series."""
        return self.blocking and not (self.rules or self.signals or self.series or self.slight)


@dataclass
class Tally:
    """What a source met while reading. Tallies of partitions add up in any order.

    `unreadable` and `ignored` count by reason; `places` keeps the first five places (`file:line`) of each reason.
    `ignored` are lines that are no answer (statistics, health checks); `unreadable` are lines that should have been read and were not.
    """

    documents: int = 0
    requests: int = 0
    records: int = 0
    unreadable: Counter[str] = field(default_factory=Counter)
    ignored: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[str]] = field(default_factory=dict)
    formats: Counter[str] = field(default_factory=Counter)
    sampled: dict[str, int] | None = None  # {"read": documents read, "of": documents there}, when a cap forced sampling
    could_not: list[CouldNot] = field(default_factory=list)
    notes: Counter[str] = field(default_factory=Counter)  # things worth a line: duplicates dropped, clock in the future, …

    def skip(self, reason: str, place: str, *, ignored: bool = False, count: int = 1) -> None:
        """Count a document that gave no record."""
        (self.ignored if ignored else self.unreadable)[reason] += count
        kept = self.places.setdefault(reason, [])
        if len(kept) < 5:
            kept.append(place)

    def add(self, other: Tally) -> None:
        """Add another partition's tally to this one."""
        self.documents += other.documents
        self.requests += other.requests
        self.records += other.records
        self.unreadable.update(other.unreadable)
        self.ignored.update(other.ignored)
        self.formats.update(other.formats)
        self.notes.update(other.notes)
        for reason, places in other.places.items():
            self.places[reason] = (self.places.get(reason, []) + places)[:5]
        if other.sampled:
            mine = self.sampled or {"read": 0, "of": 0}
            self.sampled = {key: mine[key] + other.sampled[key] for key in ("read", "of")}
        self.could_not.extend(entry for entry in other.could_not if entry not in self.could_not)


class Source(Protocol):
    """A log that can be read in batches."""

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Every batch of this source (or partition); `tally` is filled on the way. Raises SourceError when nothing can be read at all."""
        ...
