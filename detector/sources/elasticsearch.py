"""Elasticsearch and OpenSearch as a source: what the cluster can count is counted there, text is fetched only where it must be read.

Three ways, chosen per stretch of time: everything is read (few documents); or requests are counted in the cluster and candidates fetched and verified;
or, where even candidates are too many, or nothing can be counted, a uniform sample is read. A sample is said as such, and its counts carry the sample's
own denominators, so that every interval computed from them is as wide as it must be.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from detector.batch import Batch
from detector.observation import Observation
from detector.reading import ReadingOptions
from detector.render.numbers import several
from detector.signals.base import Signal, SignalOptions
from detector.sources.base import CouldNot, Tally
from detector.sources.es_cluster import Cluster, open_cluster
from detector.sources.es_connection import connection
from detector.sources.es_fields import Fields
from detector.sources.es_hits import HitBatches
from detector.sources.es_looking import DAY_SECONDS, View, first_look, read_capabilities, time_field
from detector.sources.es_observing import Observing, shown
from detector.sources.es_paging import Query, pages, source_filter, within
from detector.sources.es_state import unread
from detector.window import MINUTE, Window, iso

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.placing import Span
    from detector.rules import Rule
    from detector.secrets import Secrets

READ_AT_MOST = 20_000  # documents whose text one stretch of time may cost; about 50 MB and two seconds
SLIGHT_SHARE = 0.01  # of the window's documents: fewer documents from the future hide no incident
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
        now: seconds since 1970 UTC; None: no document is taken to be from the future.
    """

    open_it: Callable[[], Cluster]
    options: ReadingOptions = field(default_factory=ReadingOptions)
    window: Window | None = None
    baseline_from: float | None = None
    settled: Collection[int] = ()
    read_at_most: int = READ_AT_MOST
    part: tuple[int, int] = (0, 1)
    now: float | None = None
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
        found = pages(self.cluster, query, at, what=f"the documents of {self.cluster.index}", part=self.part, source=source_filter(self.fields.by_name))
        yield from HitBatches(self.options, tally).of(found)
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
        view = first_look(self.cluster, self.fields, span, self.options, at_field=at, judged=self.window, now=self.now)
        seen.tally.could_not.extend(_from_the_future(view, self.window, self.now))
        if not view.total:
            seen.tally.could_not.append(_nothing(self.cluster.index, view.newest, span))
        else:
            if self.window is not None:
                seen.tally.could_not.extend(_staleness(view, self.window))
            Observing(self.cluster, self.options, signals, options, seen, view, span, self.read_at_most).all(self.stretches(span))
        seen.tally.could_not.extend(gap for gap in self.cluster.gaps if gap not in seen.tally.could_not)
        return seen

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

    def stretches(self, span: Window) -> list[Window]:
        """What must be read, baseline and window apart, so that a long baseline does not thin out the sample of what is judged."""
        cuts = [span]
        if self.window is not None and span.start < self.window.start:
            cuts = [Window(span.start, self.window.start), self.window]
        return [stretch for cut in cuts for stretch in (unread(cut, self.settled) if self.settled else [cut])]


def _nothing(index: str, newest: float | None, span: Window | None) -> CouldNot:
    """Why there is nothing to judge; a silent log is not a healthy one."""
    remedy = "check that the log is still shipped to this index, and that its role may see the documents (document-level security hides them)"
    if newest is None:
        return CouldNot(f"the documents of {index}", "the index holds no document", remedy)
    if span is not None and newest < span.start:
        return CouldNot(f"the documents of {index}", f"none since {iso(newest)}: ingestion stopped, or the window lies after the log's end", remedy)
    return CouldNot(f"the documents of {index}", f"none in the window {shown(span) if span else ''}; the newest is of {iso(newest)}", remedy)


def _staleness(view: View, window: Window) -> Iterator[CouldNot]:
    if view.newest is not None and view.newest < window.end - STALE_SHARE * (window.end - window.start):
        yield CouldNot(
            f"{iso(view.newest)} to {iso(window.end)}",
            "no document came since: ingestion stopped, or no request was made",
            "check the shipper and the last document's age with `detector doctor`",
        )


def _from_the_future(view: View, window: Window | None, now: float | None) -> Iterator[CouldNot]:
    """Documents ahead of the clock: what happens now may be among them. One that is years ahead tells of no answer of today, and would block for years."""
    if now is None or window is None or window.end < now - DAY_SECONDS:  # a whole log is read with them, and told by its records
        return
    remedy = "set the clocks of the writers; times ahead by whole hours bear the wrong zone"
    if view.ahead:
        what = f"{several(view.ahead, 'document')} from the future"
        why = f"they bear a time after {iso(round(now))[:16].replace('T', ' ')} UTC, ahead of this machine's clock"
        yield CouldNot(what, why, remedy, lasting=True, slight=view.ahead < SLIGHT_SHARE * view.total)
    if view.beyond:
        what = f"{several(view.beyond, 'document')} of days to come"
        yield CouldNot(what, "they bear a time more than a day ahead of this machine's clock", remedy, blocking=False, lasting=True)


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
        now=now,
    )
