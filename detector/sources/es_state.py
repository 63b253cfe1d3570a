"""Which minutes a run must read: those not settled yet, and settled ones into which documents came late."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from detector.formats.values import instant
from detector.sources.es_cluster import Cluster
from detector.sources.es_counting import MINUTE_MILLIS
from detector.sources.es_fields import Fields
from detector.sources.es_paging import all_of, within
from detector.sources.es_sample import Looked
from detector.window import MINUTE, Window

INGEST_FIELDS = ("event.ingested", "ingested_at", "observed_timestamp")  # ECS; common; OpenTelemetry
MOST_WINDOWS = 20  # more stretches than this are joined: reading a settled minute again costs less than another round of requests
MOST_LATE = 10_000  # minutes of one answer


def unread(window: Window, settled: Collection[int]) -> list[Window]:
    """The stretches of a window whose minutes (since 1970 UTC) are not settled, oldest first, at most `MOST_WINDOWS`."""
    found: list[list[int]] = []
    for minute in range(window.first_minute, window.end_minute):
        if minute in settled:
            continue
        if found and found[-1][1] == minute:
            found[-1][1] = minute + 1
        else:
            found.append([minute, minute + 1])
    while len(found) > MOST_WINDOWS:
        gaps = [found[i + 1][0] - found[i][1] for i in range(len(found) - 1)]
        nearest = gaps.index(min(gaps))
        found[nearest : nearest + 2] = [[found[nearest][0], found[nearest + 1][1]]]
    windows = [Window(max(window.start, start * MINUTE), min(window.end, end * MINUTE)) for start, end in found]
    return [one for one in windows if one.start < one.end]


def settles(windows: Iterable[Window], now: float, lag: float) -> set[int]:
    """Minutes of these windows that are settled once read: they ended at least `lag` seconds before `now`."""
    newest = int((now - lag) // MINUTE)
    return {minute for window in windows for minute in range(window.first_minute, window.end_minute) if minute < newest}


def ingest_field(fields: Fields) -> str | None:
    """The date field that says when the store received a document, where there is one."""
    return next((name for name in INGEST_FIELDS if name in fields.by_name and fields.by_name[name].kind == "date"), None)


def late_minutes(cluster: Cluster, fields: Fields, time_field: str, window: Window, since: float) -> set[int]:
    """Minutes of a window into which documents came after `since` (seconds since 1970 UTC, of the last run's end): to be read again.

    Empty where no field says when a document was received. Raises ClusterError.
    """
    received = ingest_field(fields)
    if received is None:
        return set()
    came = {"range": {received: {"gte": int(since * 1000), "format": "epoch_millis"}}}
    sources = [{"minute": {"date_histogram": {"field": time_field, "fixed_interval": "1m"}}}]
    composite: dict[str, Any] = {"size": MOST_LATE, "sources": sources}
    body = {"size": 0, "track_total_hits": True, "query": all_of(within(time_field, window), came), "aggs": {"late": {"composite": composite}}}
    found: set[int] = set()
    while True:  # a log that was indexed anew came late as a whole: days have more minutes than one answer
        late = cluster.search(body, what="documents that came late")["aggregations"]["late"]
        found |= {int(bucket["key"]["minute"]) // MINUTE_MILLIS for bucket in late["buckets"]}
        if len(late["buckets"]) < MOST_LATE or "after_key" not in late:
            return found
        composite["after"] = late["after_key"]


def lags(looked: Sequence[Looked], received: str | None) -> list[float]:
    """Seconds between a document's own time and its receipt, ascending; empty where no document says both."""
    found = []
    for one in looked:
        at = next((record.timestamp for record in one.records if record.timestamp is not None), None)
        came = next((record.ingested_at for record in one.records if record.ingested_at is not None), None)
        if came is None and received in one.leaves:
            came = instant(one.leaves[received][0])
        if at is not None and came is not None:
            found.append(came - at)
    return sorted(found)
