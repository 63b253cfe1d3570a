"""Documents that Elasticsearch refused at indexing: data streams keep them in a failure store (8.19, 9.1 and newer), where no count and no search sees them.

What is refused is not random: answers too long for a field, errors of another type than the mapping expects. So a window with refused documents is never
judged as if it had been seen whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from detector.formats.values import instant
from detector.sources.base import CouldNot
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_honesty import failure_types, gaps
from detector.sources.es_pattern import cluster_of
from detector.window import Window

RIGHT = "read_failure_store"
LOOKED_AT = 500  # refused documents whose own time is looked at; more are told by the time of their refusal
_BACKING = re.compile(r"\.ds-(.+)-\d{4}\.\d{2}\.\d{2}-\d{6}$")  # DataStream.getDefaultBackingIndexName
_PATH_LIMIT = 3000  # characters; a request line may hold 4,096 bytes (http.max_initial_line_length)
_NAMES_SHOWN = 3
_NO_STORE = frozenset({"index_not_found_exception", "invalid_index_name_exception", "invalid_index_name", "illegal_argument_exception"})
_REMEDY = (
    "GET {store}/_search shows them with error.type and error.message; mend the mapping or the pipeline that refuses them, and index them anew "
    "(answers that are too long for a field are often among them)"
)


@dataclass
class Store:
    """What the failure stores of a log hold.

    Args:
        streams: data streams that were asked.
        inside: refused documents of the judged window, by their own time, or that of their refusal where it can't be read.
        before: refused documents of the time before it, which is compared with.
        types: why, as error types of the server, most frequent first.
        closed: why the stores can't be read; "" where they can.
        blocking: refused documents are known, or may well be there.
    """

    streams: tuple[str, ...]
    inside: int = 0
    before: int = 0
    types: list[str] = field(default_factory=list)
    closed: str = ""
    remedy: str = ""
    blocking: bool = False

    @property
    def shown(self) -> str:
        more = len(self.streams) - _NAMES_SHOWN
        return ", ".join(self.streams[:_NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")

    def could_not(self) -> Iterator[CouldNot]:
        """What can't be looked at because of it."""
        if self.closed:
            yield CouldNot(f"documents of {self.shown} that the cluster refused at indexing", self.closed, self.remedy, blocking=self.blocking)
        named = f" ({', '.join(self.types)})" if self.types else ""
        why = f"refused at indexing{named}, so only the failure store of {self.shown} holds them"
        remedy = _REMEDY.format(store=f"{self.streams[0]}::failures")
        if self.inside:
            yield CouldNot(f"{_documents(self.inside)} of the window", why, remedy, lasting=True)
        if self.before:
            yield CouldNot(f"{_documents(self.before)} of the time before the window, the baseline", why, remedy, blocking=False, lasting=True)


def _documents(count: int) -> str:
    return f"{count:,} document{'' if count == 1 else 's'}"


def data_streams(indices: Sequence[str]) -> list[str]:
    """The data streams to which some indices belong, those of remote clusters as CLUSTER:NAME."""
    found = ((cluster_of(name), _BACKING.search(name)) for name in indices)
    return [name for _, name in sorted({(cluster, f"{cluster}:{match[1]}" if cluster else match[1]) for cluster, match in found if match})]


def failure_store(cluster: Cluster, indices: Sequence[str], time_field: str, span: Window | None, judged: Window | None) -> Store | None:
    """Look into the failure stores behind some indices; None where there are no data streams. One request per cluster, two where a role may not read them.

    Args:
        time_field: of the log's documents.
        span: everything that is read. judged: the part of it that is judged; None: all.
    """
    streams = data_streams(indices)
    if not streams or cluster.flavour != "elasticsearch":
        return None
    store = Store(tuple(streams))
    for names in _chunks(streams):
        try:
            _count(cluster, store, names, time_field, span, judged or span)
        except ClusterError as error:
            if not (error.kind in ("missing", "refused") and _NO_STORE.intersection(error.types)):  # a version without failure stores has nothing in them
                _shut(cluster, store, names, error)
    return store


def _shut(cluster: Cluster, store: Store, names: Sequence[str], error: ClusterError) -> None:
    """Note why some failure stores can't be read, if they may hold something."""
    if error.kind != "forbidden":
        store.closed, store.remedy, store.blocking = error.why, error.remedy, True
        return
    enabled = _enabled(cluster, names)
    if enabled is not False:
        store.closed = f"they may be in the failure store, which these credentials may not read ({error.types[0] if error.types else 'HTTP 403'})"
        store.remedy = f"grant {RIGHT} on {store.shown} beside `read` and `view_index_metadata` (docs/elasticsearch.md, Rights)"
        store.blocking = store.blocking or enabled is True


def _count(cluster: Cluster, store: Store, names: Sequence[str], time_field: str, span: Window | None, judged: Window | None) -> None:
    """Add what the failure stores of some data streams hold. The documents themselves are not indexed there, so their time is read from them."""
    since: dict[str, Any] = {"match_all": {}} if span is None else {"range": {"@timestamp": {"gte": int(span.start * 1000), "format": "epoch_millis"}}}
    inside: dict[str, Any] = {"match_all": {}} if judged is None else {"range": {"@timestamp": {"gte": int(judged.start * 1000), "format": "epoch_millis"}}}
    body = {
        "size": LOOKED_AT,
        "track_total_hits": True,
        "_source": ["@timestamp", f"document.source.{time_field}"],
        "query": since,
        "aggs": {"types": {"terms": {"field": "error.type", "size": 5}}, "inside": {"filter": inside}},
    }
    answer = cluster.ask("POST", "/" + ",".join(f"{name}::failures" for name in names) + "/_search", body, {"allow_partial_search_results": "false"})
    _whole(cluster, answer, names)
    hits = answer["hits"]
    total = int(hits["total"]["value"])
    store.types = list(dict.fromkeys([*store.types, *(str(one["key"])[:80] for one in answer["aggregations"]["types"]["buckets"])])) if total else store.types
    if total > len(hits["hits"]):  # too many to look at each: whoever was refused since the window began counts as of the window
        within = int(answer["aggregations"]["inside"]["doc_count"])
        store.inside, store.before = store.inside + within, store.before + total - within
        return
    for hit in hits["hits"]:
        source = hit.get("_source")
        at = _own_time(source, time_field) or _at(source, ("@timestamp",))
        if at is None or judged is None or judged.start <= at < judged.end:
            store.inside += 1
        elif span is not None and span.start <= at < judged.start:
            store.before += 1


def _whole(cluster: Cluster, answer: Any, names: Sequence[str]) -> None:
    """Note what an answer lacks. A remote cluster that may be skipped refuses inside of an answer that looks good. Raises ClusterError for such a refusal."""
    details = (answer.get("_clusters") or {}).get("details") or {}
    for name, one in details.items():
        types = failure_types(one.get("failures"))
        if "security_exception" in types:
            raise ClusterError("forbidden", f"these credentials may not read it on remote cluster {name}", types=tuple(types))
        if _NO_STORE.intersection(types):
            raise ClusterError("missing", f"remote cluster {name} has none", types=tuple(types))
    cluster.note(gaps(answer, f"documents of {', '.join(names[:_NAMES_SHOWN])} that the cluster refused at indexing"))


def _own_time(source: Any, time_field: str) -> float | None:
    """Seconds since 1970 UTC that a refused document itself bears."""
    return _at(source, ("document", "source", time_field)) or _at(source, ("document", "source", *time_field.split(".")))


def _at(node: Any, path: Sequence[str]) -> float | None:
    for key in path:
        node = node.get(key) if isinstance(node, dict) else None
    return instant(node)


def _enabled(cluster: Cluster, names: Sequence[str]) -> bool | None:
    """Whether any of these data streams keeps what is refused, or has kept some; None: the cluster does not say."""
    try:
        answer = cluster.ask("GET", f"/_data_stream/{','.join(names)}", retry=False)
    except ClusterError:
        return None
    told = answer.get("data_streams") if isinstance(answer, dict) else None
    stores = [one.get("failure_store") for one in told if isinstance(one, dict)] if isinstance(told, list) else []
    known = [one for one in stores if isinstance(one, dict) and "enabled" in one]
    return any(one["enabled"] or one.get("indices") for one in known) if known else None


def _chunks(names: Sequence[str]) -> Iterator[list[str]]:
    """Names in groups of one cluster that fit into a request's address."""
    for _, group in groupby(names, key=cluster_of):
        few: list[str] = []
        for name in group:
            if few and sum(len(one) + 11 for one in few) + len(name) > _PATH_LIMIT:
                yield few
                few = []
            few.append(name)
        yield few
