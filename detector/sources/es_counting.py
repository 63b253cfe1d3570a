"""Counts per minute and labels, made in the cluster: composite aggregations, paged past every bucket limit, with documents that lack a label kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from detector.ledger import Ints
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_fields import FieldInfo
from detector.sources.es_paging import Query, within
from detector.window import MINUTE, Window

Key = tuple[str | None, ...]
AIMED_BUCKETS = 40_000  # of one answer: below search.max_buckets (65,535 by default) with room for denser minutes; about 2 MB
DENSITY_BUCKETS = 500  # steps of a window whose documents are counted to see where they lie
PAGE_COMBINATIONS = 10_000  # combinations of labels on one page of an answer
FEWEST_COMBINATIONS = 20
_TOO_MANY = frozenset({"too_many_buckets_exception", "too_many_buckets"})
_FILTER_PATH = ",".join(
    (
        *("aggregations.*.after_key", "aggregations.*.buckets.key", "aggregations.*.buckets.doc_count"),
        *("aggregations.*.buckets.minute.buckets.key", "aggregations.*.buckets.minute.buckets.doc_count"),
        *("_shards", "timed_out", "terminated_early", "_clusters"),
    )
)
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


def minutes(
    cluster: Cluster, time_field: str, window: Window, group: Mapping[str, FieldInfo], *, what: str, documents: int = 0, aim: int = AIMED_BUCKETS
) -> Cells:
    """Every combination of minute and labels that has documents, one stretch of the window after the other.

    Combinations of labels outside, minutes inside: on Elasticsearch 8.19 that takes 0.6 times as long as minutes and labels in one composite key, and its
    answers are a quarter as long (2 M documents, 155,000 combinations).

    Args:
        documents: number of documents in the window, where known: fewer documents than `aim` fit one answer.
        aim: buckets that one answer should have.

    Raises:
        ClusterError: the cluster can't count.
    """
    keys: dict[tuple[Any, ...], int] = {}
    columns: tuple[list[int], list[int], list[int]] = ([], [], [])
    whole = [(window.first_minute, window.end_minute, documents)]
    density = whole if 0 < documents <= aim else _density(cluster, time_field, window, what=what)
    per_minute = float("inf")  # buckets of a minute, as far as seen
    page = PAGE_COMBINATIONS
    while density:
        count = _fitting(density, per_minute, aim)
        first, end = density[0][0], density[count - 1][1]
        stretch = Window(max(window.start, first * MINUTE), min(window.end, end * MINUTE))
        before = len(columns[0])
        try:
            for buckets in _pages(cluster, time_field, stretch, group, what=what, page=page):
                _collect(buckets, keys, columns)
        except ClusterError as error:
            if not _TOO_MANY.intersection(error.types) or (end - first == 1 and page <= FEWEST_COMBINATIONS):
                raise
            for column in columns:
                del column[before:]
            if end - first == 1:
                page //= 4
            else:
                density[:count] = _halved(density[:count])
                aim = max(1, aim // 2)
            continue
        seen = max(1.0, (len(columns[0]) - before) / (end - first))
        per_minute = seen if per_minute == float("inf") else max(per_minute, seen)
        del density[:count]
    return _cells(keys, columns)


def _density(cluster: Cluster, time_field: str, window: Window, *, what: str) -> list[tuple[int, int, int]]:
    """Where in the window documents lie: (first minute, one past the last, documents) of at most `DENSITY_BUCKETS` steps that have some."""
    step = -(-(window.end_minute - window.first_minute) // DENSITY_BUCKETS)
    histogram = {"field": time_field, "fixed_interval": f"{step}m", "min_doc_count": 1, "offset": f"+{window.first_minute % step}m"}
    body = {"size": 0, "track_total_hits": True, "query": within(time_field, window), "aggs": {"steps": {"date_histogram": histogram}}}
    answer = cluster.search(body, what=what)
    found = []
    for bucket in answer.get("aggregations", {}).get("steps", {}).get("buckets", ()):
        first = int(bucket["key"]) // MINUTE_MILLIS
        found.append((max(first, window.first_minute), min(first + step, window.end_minute), int(bucket["doc_count"])))
    return found


def _fitting(density: Sequence[tuple[int, int, int]], per_minute: float, aim: int) -> int:
    """How many steps, at least one, fit one answer: a step has no more buckets than documents, and no more per minute than were seen (and a quarter)."""
    room, count = float(aim), 0
    for first, end, documents in density:
        room -= min(documents, 1.25 * per_minute * (end - first))
        if room < 0 and count:
            break
        count += 1
    return count


def _halved(density: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same steps, each cut in two where it is longer than a minute."""
    found = []
    for first, end, documents in density:
        middle = (first + end) // 2
        found += [(first, middle, -(-documents // 2)), (middle, end, -(-documents // 2))] if middle > first else [(first, end, documents)]
    return found


def _pages(cluster: Cluster, time_field: str, stretch: Window, group: Mapping[str, FieldInfo], *, what: str, page: int) -> Iterator[list[dict[str, Any]]]:
    """Buckets of labels, each with its minutes. Without labels to count by there is one bucket, without a key."""
    by_minute = {"minute": {"date_histogram": {"field": time_field, "fixed_interval": "1m", "min_doc_count": 1}}}
    body: dict[str, Any] = {"size": 0, "track_total_hits": True, "query": within(time_field, stretch)}
    if not group:
        answer = cluster.search({**body, "aggs": {"cells": {"filter": {"match_all": {}}, "aggs": by_minute}}}, what=what)
        yield [{"key": {}, **answer["aggregations"]["cells"]}] if "aggregations" in answer else []
        return
    composite: dict[str, Any] = {"sources": sources_of(group), "size": page}
    while True:
        answer = cluster.search({**body, "aggs": {"cells": {"composite": composite, "aggs": by_minute}}}, what=what, params={"filter_path": _FILTER_PATH})
        cells = answer.get("aggregations", {}).get("cells", {})
        buckets = cells.get("buckets", [])
        yield buckets
        if len(buckets) < page or "after_key" not in cells:
            return
        composite = {**composite, "after": cells["after_key"]}


def _collect(buckets: list[dict[str, Any]], keys: dict[tuple[Any, ...], int], columns: tuple[list[int], list[int], list[int]]) -> None:
    """Add buckets to the three columns: minute, key, documents."""
    at, key, documents = columns
    for bucket in buckets:
        inner = bucket["minute"]["buckets"]
        number = keys.setdefault(tuple(bucket["key"].values()), len(keys))  # in the order of the sources
        at.extend([one["key"] for one in inner])
        key.extend([number] * len(inner))
        documents.extend([one["doc_count"] for one in inner])


def _cells(keys: Mapping[tuple[Any, ...], int], columns: tuple[list[int], list[int], list[int]]) -> Cells:
    texts = [tuple(text_of(value) for value in key) for key in keys]
    order = sorted(range(len(texts)), key=lambda number: tuple((text is not None, text or "") for text in texts[number]))
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    at, number, documents = (np.array(column, dtype=np.int64) for column in columns)
    minute, key = at // MINUTE_MILLIS, rank[number] if len(number) else number
    by_time = np.lexsort((key, minute))
    return Cells(tuple(texts[number] for number in order), minute[by_time], key[by_time], documents[by_time])


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
