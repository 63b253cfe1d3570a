"""Counts per minute and labels, made in the cluster: a composite aggregation, paged past every bucket limit, with documents that lack a label kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from detector.ledger import Ints
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_fields import FieldInfo
from detector.sources.es_paging import Query, all_of

Key = tuple[str | None, ...]
PAGE_BUCKETS = 20_000  # below search.max_buckets (65,536 by default); about 4 MB of answer
FEWEST_BUCKETS = 500
_TOO_MANY = frozenset({"too_many_buckets_exception", "too_many_buckets"})
_FILTER_PATH = "aggregations.*.after_key,aggregations.*.buckets.key,aggregations.*.buckets.doc_count,_shards,timed_out,terminated_early,_clusters"
MINUTE_MILLIS = 60_000


@dataclass(frozen=True)
class Cells:
    """Documents per minute and combination of labels.

    `minute` (since 1970 UTC), `key` (position in `keys`), `documents`: int64 arrays of one length, in order of time. A None in a key: the document lacks
    that label.
    """

    keys: tuple[Key, ...]
    minute: Ints
    key: Ints
    documents: Ints


def text_of(value: Any) -> str | None:
    """A bucket key as the text of a label."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def sources_of(group: Mapping[str, FieldInfo]) -> list[dict[str, Any]]:
    """Composite sources of some labels."""
    return [{name: {"terms": {"field": info.name, "missing_bucket": True}}} for name, info in group.items()]


def minutes(cluster: Cluster, query: Query, time_field: str, group: Mapping[str, FieldInfo], *, what: str, page: int = PAGE_BUCKETS) -> Cells:
    """Every combination of minute and labels that has documents.

    Raises:
        ClusterError: the cluster can't count.
    """
    index: dict[tuple[Any, ...], int] = {}
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    for buckets in _pages(cluster, query, time_field, group, what=what, page=page):
        for bucket in buckets:
            at, *values = bucket["key"].values()  # in the order of the sources
            columns[0].append(at // MINUTE_MILLIS)
            columns[1].append(index.setdefault(tuple(values), len(index)))
            columns[2].append(bucket["doc_count"])
    keys = tuple(tuple(text_of(value) for value in key) for key in index)
    minute, key, documents = (np.array(column, dtype=np.int64) for column in columns)
    return Cells(keys, minute, key, documents)


def _pages(cluster: Cluster, query: Query, time_field: str, group: Mapping[str, FieldInfo], *, what: str, page: int) -> Iterator[list[dict[str, Any]]]:
    by_minute = {"minute": {"date_histogram": {"field": time_field, "fixed_interval": "1m"}}}
    composite: dict[str, Any] = {"sources": [by_minute, *sources_of(group)]}
    size, narrowed = page, query
    while True:
        body = {"size": 0, "track_total_hits": True, "query": narrowed, "aggs": {"cells": {"composite": {**composite, "size": size}}}}
        try:
            answer = cluster.search(body, what=what, params={"filter_path": _FILTER_PATH})
        except ClusterError as error:
            if not _TOO_MANY.intersection(error.types) or size <= FEWEST_BUCKETS:
                raise
            size //= 2
            continue
        cells = answer.get("aggregations", {}).get("cells", {})
        buckets = cells.get("buckets", [])
        yield buckets
        if len(buckets) < size or "after_key" not in cells:
            return
        composite["after"] = cells["after_key"]
        # earlier minutes are done: without this every page would look at all documents again
        narrowed = all_of(query, {"range": {time_field: {"gte": cells["after_key"]["minute"], "format": "epoch_millis"}}})


def profiles(
    cluster: Cluster, query: Query, group: Mapping[str, FieldInfo], *, each: int, source: Any, what: str, most: int
) -> Iterator[tuple[Key, int, list[dict[str, Any]]]]:
    """Every combination of some labels (at most `most`), its number of documents, and `each` documents of it, chosen at random.

    Raises:
        ClusterError: the cluster can't count.
    """
    shuffled = {"function_score": {"query": query, "random_score": {"seed": 7, "field": "_seq_no"}, "boost_mode": "replace"}}
    composite: dict[str, Any] = {"size": 200, "sources": sources_of(group)}
    found = 0
    while found < most:
        few = {"few": {"top_hits": {"size": each, "_source": source}}}
        body = {"size": 0, "track_total_hits": True, "query": shuffled, "aggs": {"cells": {"composite": composite, "aggs": few}}}
        answer = cluster.search(body, what=what)
        cells = answer["aggregations"]["cells"]
        for bucket in cells["buckets"]:
            found += 1
            yield tuple(text_of(bucket["key"][name]) for name in group), int(bucket["doc_count"]), bucket["few"]["hits"]["hits"]
        if len(cells["buckets"]) < composite["size"] or "after_key" not in cells:
            return
        composite = {**composite, "after": cells["after_key"]}
