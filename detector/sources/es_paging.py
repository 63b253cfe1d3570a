"""Documents by point in time and `search_after`, oldest first: one consistent view, no scroll, memory of one page.

A view that expires on the way is opened anew behind the last document that came, so nothing is read twice or left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from detector.errors import SourceError
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_json import raw_sources
from detector.window import Window

Query = dict[str, Any]
Hit = dict[str, Any]

# What engines write for machines only; it can be many times the text. Everything else may be needed to read a document's format.
EXCLUDED = ("*logprobs", "*token_ids", "*output_ids", "*input_ids", "*.embedding", "*.embeddings", "*prompt_embeds", "*routed_experts")
PAGE_BYTES = 8 << 20  # one page of answers in memory, on both sides
SMALLEST_PAGE, LARGEST_PAGE = 50, 4000
FIRST_PAGE = 500  # small, so that there is something to work on while the next one is fetched
_EXPIRED = frozenset({"search_context_missing_exception", "point_in_time_not_found_exception"})
_NO_TIME = (1 << 63) - 1  # sort value of documents without a time
_MOST_TIED = 10_000  # index.max_result_window
REOPENED = 3  # times that a view may expire before something must be wrong


def source_filter(fields: Iterable[str]) -> Any:
    """The `_source` filter of an index with these mapped fields. Filtering costs the server about a third of what reading the document costs it (25 µs
    of 80 for 1.5 kB on Elasticsearch 8.19), so it is asked for only where there is something to leave out."""
    paths: set[str] = set()
    for name in fields:
        while name and name not in paths:
            paths.add(name)
            name = name.rpartition(".")[0]
    patterns = [pattern for pattern in EXCLUDED if any(fnmatchcase(path, pattern) for path in paths)]
    return {"excludes": patterns} if patterns else True


def within(time_field: str, window: Window) -> Query:
    """Documents of a half-open window, as epoch milliseconds (compared exactly also by date_nanos fields)."""
    return {"range": {time_field: {"gte": -int(-window.start * 1000 // 1), "lt": -int(-window.end * 1000 // 1), "format": "epoch_millis"}}}


def all_of(*queries: Query | None) -> Query:
    """Documents that match all of these, without scores."""
    return {"bool": {"filter": [query for query in queries if query is not None]}}


def any_of(*queries: Query) -> Query:
    """Documents that match at least one of these."""
    return {"bool": {"should": list(queries), "minimum_should_match": 1}}


def none_of(*queries: Query) -> Query:
    """Documents that match none of these."""
    return {"bool": {"must_not": list(queries)}}


def sampled(query: Query, share: float, seed: int = 1) -> tuple[Query, dict[str, float]]:
    """A uniform sample of a query's documents: each is in with probability `share`, by a hash of its sequence number. No script is needed.

    Returns:
        the query, and what must stand beside it in the search body.
    """
    if share >= 1:
        return query, {}
    scored = {"function_score": {"query": query, "random_score": {"seed": seed, "field": "_seq_no"}, "boost_mode": "replace"}}
    return scored, {"min_score": 1 - share}


def pages(
    cluster: Cluster,
    query: Query,
    time_field: str,
    *,
    what: str,
    share: float = 1.0,
    part: tuple[int, int] = (0, 1),
    source: Any = None,
    page: int | None = None,
) -> Iterator[list[Hit]]:
    """Pages of hits in the order of time; while one is worked on, the next is fetched.

    Args:
        share: read only a uniform sample, each document with this probability.
        part: (number, of how many) slice of the view, for several readers.
        source: `_source` filter; default leaves out what engines write for machines only.

    Yields:
        lists of hits; `_source` is a `msgspec.Raw` where the page could be read so (see `es_json`).

    Raises:
        ClusterError: the documents can't be read.
    """
    asked, beside = sampled(query, share)
    body: dict[str, Any] = {
        "query": asked,
        "track_total_hits": False,
        "sort": [{time_field: _by_time(cluster)}, {"_shard_doc": "asc"}],
        "_source": {"excludes": list(EXCLUDED)} if source is None else source,
        **beside,
    }
    if part[1] > 1:
        body["slice"] = {"id": part[0], "max": part[1]}
    reading = _Reading(cluster, body, what, page, lambda last: sampled(all_of(query, _from(time_field, last)), share)[0])
    read = reading.pages
    for opened in range(REOPENED + 1):
        try:
            with cluster.point_in_time() as view, ThreadPoolExecutor(1, "page") as ahead:
                yield from read(view, ahead)
                return
        except ClusterError as error:
            if read == reading.pages and reading.last is None and error.kind == "refused" and cluster.flavour == "opensearch":
                body["sort"].pop()  # OpenSearch before 3.3 does not know `_shard_doc`
                read = reading.pages_by_time
            elif not _EXPIRED.intersection(error.types) or opened == REOPENED:
                raise
        if reading.last is not None:
            body["query"] = reading.since(reading.last)
        body.pop("search_after", None)
    raise SourceError("unreachable")


@dataclass
class _Reading:
    """One reading of a query through a view, and through those that replace it when it expires."""

    cluster: Cluster
    body: dict[str, Any]
    what: str
    fixed: int | None  # documents on a page, where the caller says it
    since: Callable[[Any], Query]  # the query from a time on
    size: int = 0
    last: Any = None  # time of the last document that was given
    delivered: set[tuple[str, str]] = field(default_factory=set)  # documents of that time, which a reopened view gives again

    def pages(self, view: list[str], ahead: Executor) -> Iterator[list[Hit]]:
        """Pages to the end of a view."""
        self.size = self.size or self.fixed or FIRST_PAGE
        pending = ahead.submit(self._fetch, view, self.size)
        while True:
            hits = pending.result()
            full = len(hits) == self.size
            if full:
                self.body["search_after"] = hits[-1]["sort"]
                self.size = self.fixed or _next_size(hits)
                pending = ahead.submit(self._fetch, view, self.size)
            if fresh := self.fresh(hits):
                yield fresh
            if not full:
                return

    def pages_by_time(self, view: list[str], ahead: Executor) -> Iterator[list[Hit]]:
        """The same for servers that can't sort documents of one time: each page begins with the last one's last time again, and what was given before is
        left out. A page that holds one time only is followed by a larger one."""
        self.size = self.fixed or FIRST_PAGE
        while True:
            hits = ahead.submit(self._fetch, view, self.size).result()
            if fresh := self.fresh(hits):
                yield fresh
            if len(hits) < self.size:
                return
            if hits[0]["sort"][0] == hits[-1]["sort"][0]:
                if self.size >= _MOST_TIED:
                    raise ClusterError("refused", f"more than {_MOST_TIED:,} documents have one time, and this server can't page through them")
                self.size = min(2 * self.size, _MOST_TIED)
            self.body["query"] = self.since(self.last)

    def fresh(self, hits: list[Hit]) -> list[Hit]:
        """Hits that were not given before; they count as given now."""
        found = [hit for hit in hits if (hit["_index"], hit["_id"]) not in self.delivered] if self.delivered else hits
        if found:
            last = found[-1]["sort"][0]
            if self.last != last:
                self.delivered = set()
            self.last = last
            self.delivered |= {(hit["_index"], hit["_id"]) for hit in found if hit["sort"][0] == last}
        return found

    def _fetch(self, view: list[str], size: int) -> list[Hit]:
        with raw_sources():
            answer = self.cluster.search({**self.body, "size": size}, what=self.what, pit=view[0])
        view[0] = answer.get("pit_id") or view[0]
        hits: list[Hit] = answer["hits"]["hits"]
        return hits


def _by_time(cluster: Cluster) -> dict[str, str]:
    """Oldest first, also where an index does not map the time (yet): without a type for it the whole search would be refused.

    Elasticsearch writes sort values as text on request; OpenSearch refuses the option and gives nanoseconds.
    """
    order = {"order": "asc", "missing": "_last", "numeric_type": "date_nanos", "unmapped_type": "date"}
    return {**order, "format": "strict_date_optional_time_nanos"} if cluster.flavour == "elasticsearch" else order


def _from(time_field: str, last: Any) -> Query:
    """Documents at or after a sort value."""
    if isinstance(last, int) and last >= _NO_TIME:
        return none_of({"exists": {"field": time_field}})
    if isinstance(last, int):
        return {"range": {time_field: {"gte": last // 1_000_000, "format": "epoch_millis"}}}
    return {"range": {time_field: {"gte": last, "format": "strict_date_optional_time_nanos"}}}


def _next_size(hits: list[Hit]) -> int:
    """A page size that keeps pages near `PAGE_BYTES`, by the text of a few of the last page's documents."""
    few = hits[:: max(1, len(hits) // 16)]
    mean = sum(_bytes(hit.get("_source")) for hit in few) / len(few)
    return int(min(LARGEST_PAGE, max(SMALLEST_PAGE, PAGE_BYTES / max(mean, 1))))


def _bytes(source: Any) -> int:
    return len(memoryview(source)) if isinstance(source, msgspec.Raw) else len(repr(source))
