"""One observation of a log in a cluster: stretch after stretch is read, counted with its candidates verified, or sampled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.ledger import Labels
from detector.observation import Observation, observe_batch
from detector.reading import ReadingOptions
from detector.record import SERIES_LABELS
from detector.signals.base import Signal, SignalOptions
from detector.sources.base import CouldNot
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_counting import Cells, Key, minutes
from detector.sources.es_hits import HitBatches
from detector.sources.es_looking import View
from detector.sources.es_paging import Query, all_of, any_of, pages, source_filter, within
from detector.sources.es_plan import Plan, SignalPlan, count_candidates, make_plan, refusal
from detector.sources.es_sample import joined
from detector.window import MINUTE, Window, iso

COMMON_SHARE = 0.5  # candidates that are more than this share of all documents select nothing: one sample of all documents serves such signals together
MOST_BLOCKS = 500  # clauses of one query; servers allow at least 1,024
COMMON = "nearly every document is a candidate"


@dataclass
class Observing:
    """One observation: the stretches are counted one after the other into `seen`, at most `read_at_most` documents of each being read."""

    cluster: Cluster
    reading: ReadingOptions
    signals: Mapping[str, Signal]
    judging: SignalOptions
    seen: Observation
    view: View
    span: Window
    read_at_most: int
    plan: Plan | None = None

    def all(self, stretches: Sequence[Window]) -> None:
        for stretch in stretches:
            total = self.view.total if stretch == self.span else self._total(stretch)
            if not total:
                continue
            if total <= self.read_at_most:
                self._read(stretch, within(self.view.time_field, stretch), self.signals, 1.0)
                continue
            if self.plan is None:
                self.plan = make_plan(self.cluster, self.view, self.span, self.signals, self.judging, self.reading)
            if self.plan.why_not or not self._count(stretch, total, self.plan):
                self._sample(stretch, total, self.signals, self.plan.why_not)

    def _total(self, stretch: Window) -> int:
        body = {"size": 0, "track_total_hits": True, "query": within(self.view.time_field, stretch)}
        total = self.cluster.search(body, what=f"the number of documents of {self.cluster.index}")["hits"]["total"]
        return int(total["value"] if isinstance(total, dict) else total)

    def _sample(self, stretch: Window, total: int, signals: Mapping[str, Signal], why: str) -> None:
        """Read a uniform sample and say so."""
        share = self.read_at_most / total
        if joined(self.view.looked, self.reading) and why:
            # drawn one by one, the documents of one request would be torn apart: whole minutes are drawn instead
            within_minutes, share, why = minutes_drawn(self.view.time_field, stretch, share), 1.0, f"{why}, so whole minutes were drawn"
        else:
            within_minutes = within(self.view.time_field, stretch)
        read_documents = self._read(stretch, within_minutes, signals, share)
        self.seen.tally.could_not.append(
            CouldNot(
                f"all answers for {', '.join(sorted(signals))}",
                f"scanned {read_documents:,} of {total:,} documents of {shown(stretch)}, a uniform sample that widens the intervals ({why})",
                "ask for a shorter window, or let the ingest pipeline of deploy/elasticsearch flag answers as they come",
                blocking=False,
            )
        )
        self._sampled(read_documents, total)

    def _sampled(self, read_documents: int, total: int) -> None:
        mine = self.seen.tally.sampled or {"read": 0, "of": 0}
        self.seen.tally.sampled = {"read": mine["read"] + read_documents, "of": mine["of"] + total}

    def _read(self, stretch: Window, query: Query, signals: Mapping[str, Signal], share: float) -> int:
        """Observe all documents of a query, or a sample; gives how many were read."""
        what = f"the documents of {self.cluster.index}"
        part = Observation()
        found = pages(self.cluster, query, self.view.time_field, what=what, share=share, source=source_filter(self.view.fields.by_name))
        try:
            for batch in HitBatches(self.reading, part.tally).of(found):
                observe_batch(batch, signals, self.judging, part)
        except ClusterError as error:  # half a stretch would pass for a quiet one
            self.seen.tally.could_not.append(error.could_not(f"{what} of {shown(stretch)}"))
            return 0
        self.seen.add(part)
        return part.tally.documents

    def _count(self, stretch: Window, total: int, plan: Plan) -> bool:
        """Count in the cluster; False when it turns out that it can't."""
        counts = count_candidates(self.cluster, plan, self.view, stretch)
        what = f"requests in {self.cluster.index}"
        try:
            cells = minutes(self.cluster, self.view.time_field, stretch, plan.group, what=what, documents=total)
        except ClusterError as error:
            if error.kind != "refused":
                raise
            plan.why_not = refusal(error)
            return False
        if int(cells.documents.sum()) != total:
            plan.why_not = "a label or reason has several values in one document"
            return False
        self.seen.tally.documents += total
        requests = round(float((cells.documents * _shares(plan, cells, "")).sum()))
        self.seen.tally.requests += requests
        self.seen.tally.records += requests
        common = [one for one in plan.signals if one.mode == "candidates" and counts[one.signal] > max(self.read_at_most, COMMON_SHARE * total)]
        for group, share in self._groups([one for one in plan.signals if one.mode == "candidates" and one not in common], counts):
            self._candidates(stretch, plan, group, share, cells, sum(counts[one.signal] for one in group))
        scanned = {one.signal: one.how for one in plan.signals if one.mode == "sample"} | dict.fromkeys((one.signal for one in common), COMMON)
        if scanned:
            kept = self.seen.tally
            before = kept.requests, kept.records, kept.documents
            self._sample(stretch, total, {name: self.signals[name] for name in scanned}, "; ".join(sorted(set(scanned.values()))))
            kept.requests, kept.records, kept.documents = before  # they are among those counted above
        return True

    def _groups(self, plans: Sequence[SignalPlan], counts: Mapping[str, int]) -> Iterator[tuple[list[SignalPlan], float]]:
        """Signals whose candidates can all be fetched, those with few first, then the rest with the share that can."""
        whole: list[SignalPlan] = []
        rest: list[SignalPlan] = []
        budget = self.read_at_most
        for one in sorted(plans, key=lambda one: counts[one.signal]):
            if counts[one.signal] <= budget:
                budget -= counts[one.signal]
                whole.append(one)
            else:
                rest.append(one)
        if whole:
            yield whole, 1.0
        for one in rest:
            yield [one], min(1.0, self.read_at_most / counts[one.signal])

    def _candidates(self, stretch: Window, plan: Plan, group: list[SignalPlan], share: float, cells: Cells, documents: int) -> None:
        """Fetch and judge candidates; their flags over the cluster's denominators."""
        signals = {one.signal: self.signals[one.signal] for one in group}
        what = f"candidates of {', '.join(sorted(signals))}"
        judged = Observation()
        if documents:
            at = self.view.time_field
            found = pages(
                self.cluster,
                all_of(within(at, stretch), any_of(*(one.query for one in group))),
                at,
                what=what,
                share=share,
                source=source_filter(self.view.fields.by_name),
            )
            try:
                for batch in HitBatches(self.reading, judged.tally).of(found):
                    observe_batch(batch, signals, self.judging, judged)
            except ClusterError as error:
                self.seen.tally.could_not.append(error.could_not(f"{what} of {shown(stretch)}"))
                return
        if share < 1:
            self.seen.tally.could_not.append(
                CouldNot(
                    f"all candidates of {', '.join(sorted(signals))}",
                    f"read {judged.tally.documents:,} of {documents:,} candidates of {shown(stretch)}, a uniform sample that widens the intervals",
                    "ask for a shorter window",
                    blocking=False,
                )
            )
            self._sampled(judged.tally.documents, documents)
        self._flags(judged)
        for name in sorted(plan.estimated.keys() & signals.keys()):
            self.seen.tally.could_not.append(
                CouldNot(
                    f"the exact number of requests that can show {name}",
                    "the cluster can't group by what decides it, so that number is estimated from sampled documents; flagged requests are exact",
                    "map finish reason and status as keyword or number, outside of flattened objects",
                    blocking=False,
                )
            )
        for name in signals:
            self._denominators(plan, name, cells, share)

    def _flags(self, judged: Observation) -> None:
        """Flagged requests and their evidence, without the candidates' own number, which is no denominator."""
        by_signal: dict[str, list[tuple[int, Labels, int]]] = {}
        for minute, labels, signal, _, flagged in judged.ledger.rows():
            by_signal.setdefault(signal, []).append((minute, labels, flagged))
        for signal, cells in by_signal.items():
            at, rows, flags = zip(*cells, strict=True)
            self.seen.ledger.add(np.array(at), list(rows), signal, np.zeros(len(at), np.int64), np.array(flags, np.int64))
        for (minute, labels, signal), evidence in judged.ledger.evidence.items():
            self.seen.ledger.add_evidence(minute, labels, signal, evidence)
        tally = judged.tally
        tally.documents = tally.requests = tally.records = 0
        self.seen.tally.add(tally)

    def _denominators(self, plan: Plan, signal: str, cells: Cells, share: float) -> None:
        """Requests that can show the signal, per minute and labels; `share` of them where candidates were sampled."""
        requests = cells.documents * _shares(plan, cells, "")
        visible = cells.documents * _shares(plan, cells, signal)
        whole = np.diff(np.round(np.cumsum(visible * share)), prepend=0.0).astype(np.int64)  # rounded so that the sum stays right
        labels = [_labels(plan, key) for key in cells.keys]
        self.seen.ledger.add(cells.minute, [labels[key] for key in cells.key.tolist()], signal, whole, np.zeros(len(whole), np.int64))
        self.seen.invisible[signal] = self.seen.invisible.get(signal, 0) + round(float((requests - visible).sum()))


def _shares(plan: Plan, cells: Cells, signal: str) -> npt.NDArray[np.float64]:
    """Per cell, the share of its documents that can show the signal (key "": that are requests)."""
    first = sum(name in SERIES_LABELS for name in plan.group)  # what follows the labels is the profile
    by_key = [plan.shares.get(key[first:], plan.usual).get(signal, 0.0) for key in cells.keys]
    return np.array(by_key, dtype=np.float64)[cells.key]


def _labels(plan: Plan, key: Key) -> Labels:
    values = dict(zip(plan.group, key, strict=True))
    return tuple(values[name] if name in values else plan.constants.get(name) for name in SERIES_LABELS)


def minutes_drawn(time_field: str, stretch: Window, share: float) -> Query:
    """Evenly spaced blocks of whole minutes that make up about `share` of a stretch."""
    total = stretch.end_minute - stretch.first_minute
    block = max(1, -(-total // MOST_BLOCKS))
    blocks = -(-total // block)
    chosen = max(1, int(blocks * share))
    ranges = []
    for number in range(chosen):
        first = stretch.first_minute + (number * blocks // chosen) * block
        start, end = max(stretch.start, first * MINUTE), min(stretch.end, (first + block) * MINUTE)
        if start < end:
            ranges.append(within(time_field, Window(start, end)))
    return any_of(*ranges)


def shown(window: Window) -> str:
    return f"{iso(window.start)} to {iso(window.end)}"
