"""Documents by point in time and `search_after`, oldest first: one consistent view, no scroll, memory of one page.

A view that expires on the way is opened anew behind the last document that came, so nothing is read twice or left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detector.errors import SourceError
from detector.sources.es_cluster import Cluster, ClusterError
from detector.window import Window

Query = dict[str, Any]
Hit = dict[str, Any]

# What engines write for machines only; it can be many times the text. Everything else may be needed to read a document's format.
EXCLUDED = ("*logprobs", "*token_ids", "*output_ids", "*input_ids", "*.embedding", "*.embeddings", "*prompt_embeds", "*routed_experts")
PAGE_BYTES = 8 << 20  # one page of answers in memory, on both sides
SMALLEST_PAGE, LARGEST_PAGE = 50, 5000
FIRST_PAGE = 1000
_EXPIRED = frozenset({"search_context_missing_exception", "point_in_time_not_found_exception"})
REOPENED = 3  # times that a view may expire before something must be wrong


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
    """Pages of hits in the order of time.

    Args:
        share: read only a uniform sample, each document with this probability.
        part: (number, of how many) slice of the view, for several readers.
        source: `_source` filter; default leaves out what engines write for machines only.

    Raises:
        ClusterError: the documents can't be read.
    """
    asked, beside = sampled(query, share)
    body: dict[str, Any] = {
        "query": asked,
        "track_total_hits": False,
        "sort": [
            {time_field: {"order": "asc", "missing": "_last", "numeric_type": "date_nanos", **_sort_format(cluster)}},
            {"_shard_doc": "asc"},
        ],
        "_source": {"excludes": list(EXCLUDED)} if source is None else source,
        **beside,
    }
    if part[1] > 1:
        body["slice"] = {"id": part[0], "max": part[1]}
    size = page or FIRST_PAGE
    after: list[Any] | None = None
    delivered: set[tuple[str, str]] = set()  # documents of the last time stamp, which a reopened view gives again
    for opened in range(REOPENED + 1):
        try:
            with cluster.point_in_time() as view:
                if opened and after is not None:
                    body["query"] = sampled(all_of(query, _from(time_field, after[0])), share)[0]
                    body.pop("search_after", None)
                while True:
                    answer = cluster.search({**body, "size": size}, what=what, pit=view[0])
                    view[0] = answer.get("pit_id") or view[0]
                    hits: list[Hit] = answer["hits"]["hits"]
                    full = len(hits) == size
                    fresh = [hit for hit in hits if (hit["_index"], hit["_id"]) not in delivered] if delivered else hits
                    if fresh:
                        last = fresh[-1]["sort"][0]
                        if after is not None and after[0] != last:
                            delivered = set()
                        delivered |= {(hit["_index"], hit["_id"]) for hit in fresh if hit["sort"][0] == last}
                        after = fresh[-1]["sort"]
                        yield fresh
                    if not full:
                        return
                    body["search_after"] = hits[-1]["sort"]
                    if page is None:
                        size = _next_size(hits)
        except ClusterError as error:
            if not _EXPIRED.intersection(error.types) or opened == REOPENED:
                raise
    raise SourceError("unreachable")


def _sort_format(cluster: Cluster) -> dict[str, str]:
    """Elasticsearch writes sort values as text on request; OpenSearch refuses the option and gives nanoseconds."""
    return {"format": "strict_date_optional_time_nanos"} if cluster.flavour == "elasticsearch" else {}


def _from(time_field: str, last: Any) -> Query:
    """Documents at or after a sort value."""
    if isinstance(last, int):
        return {"range": {time_field: {"gte": last // 1_000_000, "format": "epoch_millis"}}}
    return {"range": {time_field: {"gte": last, "format": "strict_date_optional_time_nanos"}}}


def _next_size(hits: list[Hit]) -> int:
    """A page size that keeps pages near `PAGE_BYTES`, by the text of a few of the last page's documents."""
    few = hits[:: max(1, len(hits) // 16)]
    mean = sum(len(repr(hit.get("_source"))) for hit in few) / len(few)
    return int(min(LARGEST_PAGE, max(SMALLEST_PAGE, PAGE_BYTES / max(mean, 1))))
