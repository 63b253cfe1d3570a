"""Elasticsearch and OpenSearch as a source: what the cluster can count is counted there, text is fetched only where it must be read.

Three ways, chosen per stretch of time: everything is read (few documents); or requests are counted in the cluster and candidates fetched and verified;
or, where even candidates are too many, or nothing can be counted, a uniform sample is read. A sample is said as such, and its counts carry the sample's
own denominators, so that every interval computed from them is as wide as it must be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from detector.batch import Batch
from detector.ledger import Labels
from detector.observation import Observation, observe_batch
from detector.reading import ReadingOptions, batched
from detector.record import SERIES_LABELS, Record
from detector.signals.base import Signal, SignalOptions
from detector.sources.base import CouldNot, Tally
from detector.sources.es_cluster import Cluster, ClusterError, open_cluster
from detector.sources.es_connection import connection
from detector.sources.es_counting import Cell, minutes
from detector.sources.es_fields import Fields
from detector.sources.es_looking import View, first_look, read_capabilities, time_field
from detector.sources.es_paging import Hit, Query, all_of, any_of, pages, within
from detector.sources.es_plan import Plan, SignalPlan, count_candidates, make_plan
from detector.sources.es_sample import HitReader
from detector.sources.es_state import unread
from detector.window import MINUTE, Window, iso

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.pipeline import Span
    from detector.rules import Rule
    from detector.secrets import Secrets

READ_AT_MOST = 20_000  # documents whose text one stretch of time may cost; about 50 MB and two seconds
COMMON_SHARE = 0.5  # candidates that are more than this share of all documents select nothing: one sample of all documents serves such signals together
COMMON = "nearly every document is a candidate"
STALE_SHARE = 0.5  # the newest document is older than this share of the window: ingestion has probably stopped


@dataclass
class ClusterSource:
    """A log in a cluster.

    Args:
        open_it: opens the connection, at the first use.
        window: what is judged; None: the whole log.
        baseline_from: seconds since 1970 UTC from which documents are read, at or before the window's start.
        settled: minutes that need not be read, because their counts are kept.
        read_at_most: documents of each stretch whose text is read; more are sampled.
        part: (number, of how many) slice, for `batches` only.
    """

    open_it: Callable[[], Cluster]
    options: ReadingOptions = field(default_factory=ReadingOptions)
    window: Window | None = None
    baseline_from: float | None = None
    settled: Collection[int] = ()
    read_at_most: int = READ_AT_MOST
    part: tuple[int, int] = (0, 1)
    _cluster: Cluster | None = None
    _fields: Fields | None = None

    @property
    def cluster(self) -> Cluster:
        """The open connection. Raises ClusterError."""
        if self._cluster is None:
            self._cluster = self.open_it()
        return self._cluster

    @property
    def fields(self) -> Fields:
        """The index's fields, asked once. Raises ClusterError."""
        if self._fields is None:
            self._fields = read_capabilities(self.cluster)
        return self._fields

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Every document of baseline and window, read in the order of time. Raises ClusterError."""
        at = time_field(self.fields)
        span = self._span()
        query: Query = within(at, span) if span is not None else {"match_all": {}}
        yield from batched(self._records(query, at, tally, what=f"the documents of {self.cluster.index}"), tally)
        tally.could_not.extend(gap for gap in self.cluster.gaps if gap not in tally.could_not)

    def partitions(self, jobs: int) -> list[ClusterSource]:
        """Sources that read this log together through `batches`; each opens its own connection."""
        return [replace(self, part=(number, jobs), _cluster=None) for number in range(jobs)] if jobs > 1 else [self]

    def observe(self, signals: Mapping[str, Signal], options: SignalOptions) -> Observation:
        """Counts of every signal over baseline and window; what could not be seen is in the tally. Raises ClusterError."""
        seen = Observation()
        at = time_field(self.fields)
        span = self._span() or self._whole(at)
        if span is None:
            seen.tally.could_not.append(_nothing(self.cluster.index, None, None))
            return seen
        view = first_look(self.cluster, self.fields, span, self.options, at_field=at)
        if not view.total:
            seen.tally.could_not.append(_nothing(self.cluster.index, view.newest, span))
        else:
            seen.tally.could_not.extend(_staleness(view, self.window or span))
            _Counting(self.cluster, self.options, signals, options, seen, view, span, self.read_at_most).all(self._stretches(span))
        seen.tally.could_not.extend(gap for gap in self.cluster.gaps if gap not in seen.tally.could_not)
        return seen

    def _records(self, query: Query, at: str, tally: Tally, *, what: str, share: float = 1.0) -> Iterator[Record]:
        return read(self.cluster, self.options, tally, pages(self.cluster, query, at, what=what, share=share, part=self.part))

    def _span(self) -> Window | None:
        if self.window is None:
            return None
        return Window(min(self.baseline_from or self.window.start, self.window.start), self.window.end)

    def _whole(self, at: str) -> Window | None:
        """From the oldest to the newest document."""
        aggs = {"oldest": {"min": {"field": at}}, "newest": {"max": {"field": at}}}
        answer = self.cluster.search({"size": 0, "track_total_hits": True, "aggs": aggs}, what=f"the time span of {self.cluster.index}")
        oldest, newest = (answer["aggregations"][name].get("value") for name in ("oldest", "newest"))
        return None if oldest is None or newest is None else Window(oldest // 60_000 * MINUTE, (newest // 60_000 + 1) * MINUTE)

    def _stretches(self, span: Window) -> list[Window]:
        """What must be read, baseline and window apart, so that a long baseline does not thin out the sample of what is judged."""
        cuts = [span]
        if self.window is not None and span.start < self.window.start:
            cuts = [Window(span.start, self.window.start), self.window]
        return [stretch for cut in cuts for stretch in (unread(cut, self.settled) if self.settled else [cut])]


def read(cluster: Cluster, options: ReadingOptions, tally: Tally, found: Iterable[list[Hit]]) -> Iterator[Record]:
    """Records of pages of hits."""
    reader = HitReader(options, tally)
    for page in found:
        for hit in page:
            yield from reader.feed(hit)
    yield from reader.finish()


@dataclass
class _Counting:
    """One observation: the stretches are counted one after the other into `seen`."""

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
                self._read(stretch, total, self.signals, 1.0)
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
        read_documents = self._read(stretch, total, signals, self.read_at_most / total)
        self.seen.tally.could_not.append(
            CouldNot(
                f"all answers for {', '.join(sorted(signals))}",
                f"scanned {read_documents:,} of {total:,} documents of {_shown(stretch)}, a uniform sample that widens the intervals ({why})",
                "ask for a shorter window, or let the ingest pipeline of deploy/elasticsearch flag answers as they come",
                blocking=False,
            )
        )
        self._sampled(read_documents, total)

    def _sampled(self, read_documents: int, total: int) -> None:
        mine = self.seen.tally.sampled or {"read": 0, "of": 0}
        self.seen.tally.sampled = {"read": mine["read"] + read_documents, "of": mine["of"] + total}

    def _read(self, stretch: Window, total: int, signals: Mapping[str, Signal], share: float) -> int:
        """Observe all documents of a stretch, or a sample; gives how many were read."""
        what = f"the documents of {self.cluster.index}"
        part = Observation()
        found = pages(self.cluster, within(self.view.time_field, stretch), self.view.time_field, what=what, share=share)
        try:
            for batch in batched(read(self.cluster, self.reading, part.tally, found), part.tally):
                observe_batch(batch, signals, self.judging, part)
        except ClusterError as error:  # half a stretch would pass for a quiet one
            self.seen.tally.could_not.append(error.could_not(f"{what} of {_shown(stretch)}"))
            return 0
        self.seen.add(part)
        return part.tally.documents

    def _count(self, stretch: Window, total: int, plan: Plan) -> bool:
        """Count in the cluster; False when it turns out that it can't."""
        counts = count_candidates(self.cluster, plan, self.view, stretch)
        cells = list(minutes(self.cluster, within(self.view.time_field, stretch), self.view.time_field, plan.group, what=f"requests in {self.cluster.index}"))
        if sum(cell.documents for cell in cells) != total:
            plan.why_not = "a label or reason has several values in one document"
            return False
        self.seen.tally.documents += total
        requests = sum(cell.documents * _share(plan, cell, "") for cell in cells)
        self.seen.tally.requests += round(requests)
        self.seen.tally.records += round(requests)
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
            yield [one], self.read_at_most / counts[one.signal]

    def _candidates(self, stretch: Window, plan: Plan, group: list[SignalPlan], share: float, cells: Sequence[Cell], documents: int) -> None:
        """Fetch and judge candidates; their flags over the cluster's denominators."""
        signals = {one.signal: self.signals[one.signal] for one in group}
        what = f"candidates of {', '.join(sorted(signals))}"
        judged = Observation()
        if documents:
            at = self.view.time_field
            found = pages(self.cluster, all_of(within(at, stretch), any_of(*(one.query for one in group))), at, what=what, share=share)
            try:
                for batch in batched(read(self.cluster, self.reading, judged.tally, found), judged.tally):
                    observe_batch(batch, signals, self.judging, judged)
            except ClusterError as error:
                self.seen.tally.could_not.append(error.could_not(f"{what} of {_shown(stretch)}"))
                return
        if share < 1:
            self.seen.tally.could_not.append(
                CouldNot(
                    f"all candidates of {', '.join(sorted(signals))}",
                    f"read {judged.tally.documents:,} of {documents:,} candidates of {_shown(stretch)}, a uniform sample that widens the intervals",
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
        for minute, labels, signal, _, flagged in judged.ledger.rows():
            self.seen.ledger.add(np.array([minute]), [labels], signal, np.zeros(1, np.int64), np.array([flagged]))
        for (minute, labels, signal), evidence in judged.ledger.evidence.items():
            self.seen.ledger.add_evidence(minute, labels, signal, evidence)
        tally = judged.tally
        tally.documents = tally.requests = tally.records = 0
        self.seen.tally.add(tally)

    def _denominators(self, plan: Plan, signal: str, cells: Sequence[Cell], share: float) -> None:
        """Requests that can show the signal, per minute and labels; `share` of them where candidates were sampled."""
        exact: dict[tuple[int, Labels], float] = {}
        visible = everything = 0.0
        for cell in cells:
            shown = cell.documents * _share(plan, cell, signal)
            everything += cell.documents * _share(plan, cell, "")
            visible += shown
            key = (cell.minute, _labels(plan, cell))
            exact[key] = exact.get(key, 0.0) + shown * share
        whole: list[int] = []
        done, given = 0.0, 0
        for count in exact.values():  # rounded so that the sum stays right
            done += count
            whole.append(round(done) - given)
            given = round(done)
        minute = np.fromiter((key[0] for key in exact), np.int64, len(exact))
        self.seen.ledger.add(minute, [key[1] for key in exact], signal, np.array(whole, np.int64), np.zeros(len(exact), np.int64))
        self.seen.invisible[signal] = self.seen.invisible.get(signal, 0) + round(everything - visible)


def _share(plan: Plan, cell: Cell, signal: str) -> float:
    profile = cell.key[sum(name in SERIES_LABELS for name in plan.group) :]
    return plan.shares.get(profile, plan.usual).get(signal, 0.0)


def _labels(plan: Plan, cell: Cell) -> Labels:
    values = dict(zip(plan.group, cell.key, strict=True))
    return tuple(values[name] if name in values else plan.constants.get(name) for name in SERIES_LABELS)


def _shown(window: Window) -> str:
    return f"{iso(window.start)} to {iso(window.end)}"


def _nothing(index: str, newest: float | None, span: Window | None) -> CouldNot:
    """Why there is nothing to judge; a silent log is not a healthy one."""
    remedy = "check that the log is still shipped to this index, and that its role may see the documents (document-level security hides them)"
    if newest is None:
        return CouldNot(f"the documents of {index}", "the index holds no document", remedy)
    if span is not None and newest < span.start:
        return CouldNot(f"the documents of {index}", f"none since {iso(newest)}: ingestion stopped, or the window lies after the log's end", remedy)
    return CouldNot(f"the documents of {index}", f"none in the window {_shown(span) if span else ''}; the newest is of {iso(newest)}", remedy)


def _staleness(view: View, window: Window) -> Iterator[CouldNot]:
    if view.newest is not None and view.newest < window.end - STALE_SHARE * (window.end - window.start):
        yield CouldNot(
            f"{iso(view.newest)} to {iso(window.end)}",
            "no document came since: ingestion stopped, or no request was made",
            "check the shipper and the last document's age with `detector doctor`",
        )


def cluster_source(
    settings: Settings, secrets: Secrets, *, format_of: str | None, span: Span, rules: Sequence[Rule], now: float, settled: Collection[int] = ()
) -> ClusterSource:
    """The source that a configuration describes; windows without an explicit end stop `source.lag` before `now`. Raises ConfigError."""
    chosen = settings.source
    reached = connection(chosen, secrets)
    index = chosen.index or ""
    window = None
    if span.start is not None and span.end is not None:
        window = Window(span.start, span.end)
    elif span.since is not None:
        end = (now - chosen.lag) // MINUTE * MINUTE  # whole minutes: the last one would be judged half full
        window = Window(end - span.since, end)
    reach = max((rule.baseline_minutes + rule.window_minutes for rule in rules), default=0) * MINUTE
    return ClusterSource(
        lambda: open_cluster(reached, index),
        ReadingOptions(format_of or chosen.format, chosen.mapping, chosen.timezone),
        window,
        None if window is None else window.start - reach,
        settled,
    )
