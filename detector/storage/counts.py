"""The ledger of scheduled runs, and small facts beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import sqlalchemy as sa

from detector.evidence import Evidence, Example
from detector.ledger import Labels, Ledger
from detector.storage import tables
from detector.storage.database import Database


class Counts(Database):
    """Kept counts by source and minute, and facts by name."""

    def fact(self, name: str) -> Any:
        """A small fact by name, or None."""
        with self.transaction() as connection:
            value = connection.scalar(sa.select(tables.facts.c.value).where(tables.facts.c.name == name))
        return None if value is None else json.loads(value)

    def keep_fact(self, name: str, value: Any) -> None:
        """Remember a small fact."""
        with self.transaction() as connection:
            _keep_fact(connection, name, value)

    def ledger(self, source: str, start: int, end: int) -> tuple[Ledger, set[int]]:
        """The kept counts of minutes `[start, end)` of one source, and which of these minutes are settled."""
        ledger, settled = Ledger(), set()
        import numpy as np

        kept = tables.ledger_minutes.c
        query = sa.select(kept.minute, kept.settled, kept.counts, kept.evidence).where(kept.source == source, kept.minute >= start, kept.minute < end)
        found: dict[str, list[tuple[int, Labels, int, int]]] = {}
        with self.transaction() as connection:
            for minute, is_settled, counts, evidence in connection.execute(query):
                for labels, signal, requests, flagged in json.loads(counts):
                    found.setdefault(signal, []).append((minute, tuple(labels), requests, flagged))
                if evidence != "[]":
                    _load_evidence(ledger, minute, json.loads(evidence))
                if is_settled:
                    settled.add(int(minute))
        for signal, rows in found.items():
            minutes, labels_of, requests_of, flagged_of = zip(*rows, strict=True)
            ledger.add(np.array(minutes), labels_of, signal, np.array(requests_of), np.array(flagged_of))
        return ledger, settled

    def keep_ledger(self, source: str, ledger: Ledger, minutes: Iterable[int], settled_before: int, fact: tuple[str, Any] | None = None) -> None:
        """Replace the kept counts of `minutes` by what `ledger` holds; those before `settled_before` are not read again. `fact`: kept with them, or neither."""
        counts: dict[int, list[list[Any]]] = {minute: [] for minute in minutes}
        evidence: dict[int, list[list[Any]]] = {minute: [] for minute in counts}
        for minute, labels, signal, requests, flagged in ledger.rows():
            if minute in counts:
                counts[minute].append([list(labels), signal, requests, flagged])
        for (minute, labels, signal), found in ledger.evidence.items():
            if minute in evidence:
                examples = [[e.timestamp, e.request_id, e.subtype, e.reason, e.doc_index, e.doc_id] for e in found.examples]
                evidence[minute].append([list(labels), signal, found.subtypes, found.also, examples, found.first, found.last])
        with self.transaction() as connection:
            if counts:  # many at once: the first run of a worker keeps a week of minutes
                gone = sa.delete(tables.ledger_minutes).where(tables.ledger_minutes.c.source == source, tables.ledger_minutes.c.minute == sa.bindparam("at"))
                connection.execute(gone, [{"at": minute} for minute in counts])
                rows = [
                    {
                        "source": source,
                        "minute": minute,
                        "settled": int(minute < settled_before),
                        "counts": json.dumps(counts[minute]),
                        "evidence": json.dumps(evidence[minute]),
                    }
                    for minute in counts
                ]
                connection.execute(sa.insert(tables.ledger_minutes), rows)
            if fact is not None:
                _keep_fact(connection, *fact)


def _load_evidence(ledger: Ledger, minute: int, evidence: list[list[Any]]) -> None:
    for labels, signal, subtypes, also, examples, first, last in evidence:
        ledger.add_evidence(minute, tuple(labels), signal, Evidence(subtypes, also, [Example(*example) for example in examples], first, last))


def _keep_fact(connection: sa.Connection, name: str, value: Any) -> None:
    connection.execute(sa.delete(tables.facts).where(tables.facts.c.name == name))
    connection.execute(sa.insert(tables.facts).values(name=name, value=json.dumps(value)))
