"""A first look at a log in a cluster: its fields, how many documents, how old, and what a few of them hold. Three to five requests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from detector.formats.values import instant
from detector.reading import ReadingOptions
from detector.render.numbers import several
from detector.sources.base import CouldNot
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_fields import Fields, read_fields
from detector.sources.es_honesty import field_gaps
from detector.sources.es_paging import EXCLUDED, Query, all_of, any_of, within
from detector.sources.es_refused import Store, failure_store
from detector.sources.es_sample import Looked, look
from detector.window import Window

SAMPLE = 200  # documents; 200 agreeing ones leave less than 1.5 % of others unseen (95 %), and rare kinds are looked for by their fields and reasons
RARE_FIELDS = 64  # fields that no sampled document has, looked up one by one
MOST_INDICES = 100  # indices of which a few documents are looked at each, where mappings differ: those with most documents
SKEW_SECONDS = 60.0  # a document this far ahead of our clock was written by a wrong one
DAY_SECONDS = 86_400.0  # no zone lies further apart
MOST_FOUND = 10_000  # index.max_result_window
_TIME_FIELDS = ("@timestamp", "timestamp", "time", "ts", "start_time", "startTime", "started_at", "created_at")
SOURCE = {"excludes": list(EXCLUDED)}


@dataclass
class View:
    """What was seen of a log.

    Args:
        time_field: date field by which windows are cut.
        total: documents in the window.
        newest: seconds since 1970 UTC of the index's newest document that is not from the future, whatever the window; None: none has a time.
        ahead: documents that bear a time up to a day after now: their writers' clocks, or the zones of their times, are wrong.
        beyond: documents that bear a later time still. `latest`: the last of all those times.
        ignored: documents in the window of which the cluster could not index some field.
        store: what the failure stores of the log's data streams hold; None: it has none.
    """

    fields: Fields
    time_field: str
    total: int = 0
    newest: float | None = None
    ahead: int = 0
    beyond: int = 0
    latest: float | None = None
    ignored: int = 0
    ignored_fields: tuple[str, ...] = ()
    looked: list[Looked] = field(default_factory=list)
    store: Store | None = None

    def look_at(self, looked: Iterable[Looked]) -> None:
        """Learn from some more documents; those that are known are left out."""
        have = {(one.index, one.doc_id) for one in self.looked}
        self.looked += [one for one in looked if (one.index, one.doc_id) not in have]
        self.fields = self.fields.seen_in((one.index, one.leaves) for one in self.looked)


def read_capabilities(cluster: Cluster) -> Fields:
    """The fields of the index. Raises ClusterError when no index matches."""
    answer = cluster.ask("GET", f"{cluster.path}/_field_caps", None, {"fields": "*", "allow_no_indices": "true", "include_unmapped": "true"})
    cluster.note(field_gaps(answer))
    fields = read_fields(answer)
    if not fields.indices:  # closed indices and remote clusters that are away may be passed over here; a search tells them
        cluster.search({"size": 0, "track_total_hits": False}, what=f"the documents of {cluster.index}")
        for gap in cluster.gaps:
            raise ClusterError("remote", f"no index of {cluster.index} is in reach; {gap.what}: {gap.why}", remedy=gap.remedy)
        raise ClusterError("missing", f"no index matches {cluster.index}, or these credentials may read none of those that do")
    return fields


def time_field(fields: Fields) -> str:
    """The date field by which windows are cut, before any document was seen. Raises ClusterError when there is none."""
    dates = [name for name, info in fields.by_name.items() if info.kind == "date"]
    for name in _TIME_FIELDS:
        if name in dates:
            return name
    if dates:
        return min(dates, key=lambda name: (name.count("."), name))
    shown = ", ".join(fields.indices[:3]) + (f" and {len(fields.indices) - 3} more" if len(fields.indices) > 3 else "")
    if not fields.by_name:
        remedy = "check that the log is shipped to this index, and that `source.index` names the right one"
        raise ClusterError("refused", f"{shown}: no field is mapped, so no document has come yet", remedy=remedy)
    coarse = [name for name in _TIME_FIELDS if name in fields.by_name and fields.by_name[name].kind == "number"]
    named = f"{coarse[0]} is mapped as a number: map it" if coarse else "if this is the log, map its time"
    remedy = f"{named} as `date` (format strict_date_optional_time||epoch_second) in the index template; else correct `source.index`"
    raise ClusterError("refused", f"{shown}: no date field, so no window can be cut out", remedy=remedy)


def first_look(
    cluster: Cluster, fields: Fields, window: Window | None, options: ReadingOptions, *, at_field: str, judged: Window | None = None, now: float | None = None
) -> View:
    """How many documents, how old the newest is, and a random few of them; and what the cluster refused to index.

    Args:
        judged: the part of the window that is judged; None: all of it.
        now: seconds since 1970 UTC; None: no document is taken to be from the future.

    Raises:
        ClusterError: no answer.
    """
    view = View(fields, at_field)
    scope: Query = within(at_field, window) if window is not None else {"match_all": {}}
    body = {
        "size": SAMPLE,
        "track_total_hits": True,
        "_source": SOURCE,
        "query": {"function_score": {"query": scope, "random_score": {"seed": 3, "field": "_seq_no"}, "boost_mode": "replace"}},
        "aggs": {
            "everything": {"global": {}, "aggs": _ages(at_field, now)},
            "ignored": {"filter": {"exists": {"field": "_ignored"}}, "aggs": {"few": {"top_hits": {"size": 10, "_source": False}}}},
        },
    }
    answer = cluster.search(body, what=f"the documents of {cluster.index}")
    total = answer["hits"]["total"]
    view.total = int(total["value"] if isinstance(total, dict) else total)
    results = answer.get("aggregations", {})
    everything = results.get("everything", {})
    view.newest, view.latest = (_moment(part.get("newest", {})) for part in (everything.get("present", {}), everything))
    view.ahead, view.beyond = (int(everything.get(name, {}).get("doc_count", 0)) for name in ("ahead", "beyond"))
    view.ignored = int(results.get("ignored", {}).get("doc_count", 0))
    few = results.get("ignored", {}).get("few", {}).get("hits", {}).get("hits", [])
    view.ignored_fields = tuple(sorted({name for hit in few for name in hit.get("_ignored") or ()}))
    view.look_at(look(answer["hits"]["hits"], options))
    untimed = without_time(cluster, fields, at_field)
    if untimed is not None:
        cluster.note([untimed])
    view.store = failure_store(cluster, fields.indices, at_field, window, judged)
    if view.store is not None:
        cluster.note(view.store.could_not())
    return view


def _moment(aggregation: Any) -> float | None:
    """Seconds since 1970 UTC of a `max` over times."""
    return instant(aggregation.get("value_as_string")) or (aggregation["value"] / 1000 if aggregation.get("value") else None)


def _ages(at_field: str, now: float | None) -> dict[str, Any]:
    """How old the newest document is, and how many are from the future: one of those must not hide that no others come."""
    newest = {"newest": {"max": {"field": at_field, "format": "strict_date_optional_time"}}}
    if now is None:
        return {"present": {"filter": {"match_all": {}}, "aggs": newest}, **newest}
    here, day = int((now + SKEW_SECONDS) * 1000), int((now + DAY_SECONDS) * 1000)

    def between(**bounds: int) -> Query:
        return {"range": {at_field: {**bounds, "format": "epoch_millis"}}}

    return {
        "present": {"filter": between(lte=here), "aggs": newest},
        "ahead": {"filter": between(gt=here, lte=day)},
        "beyond": {"filter": between(gt=day)},
        **newest,
    }


def without_time(cluster: Cluster, fields: Fields, at_field: str) -> CouldNot | None:
    """Documents of indices that do not map the time by which windows are cut: no window holds any of them. Raises ClusterError."""
    names = sorted(fields.absent.get(at_field, ()))
    if not names:
        return None
    found: dict[str, int] = {}
    for start in range(0, len(names), MOST_INDICES):
        few = names[start : start + MOST_INDICES]
        body = {
            "size": 0,
            "track_total_hits": True,
            "query": all_of({"terms": {"_index": few}}),
            "aggs": {"n": {"terms": {"field": "_index", "size": len(few)}}},
        }
        buckets = cluster.search(body, what=f"the documents of {cluster.index}")["aggregations"]["n"]["buckets"]
        found |= {str(bucket["key"]): int(bucket["doc_count"]) for bucket in buckets if bucket["doc_count"]}
    if not found:
        return None  # nothing has come there yet
    remedy = f"map {at_field} as `date` there, or leave them out of `source.index` (`-NAME`), and read them as a source of their own"
    shown = ", ".join(list(found)[:3]) + (f" and {len(found) - 3} more" if len(found) > 3 else "")
    return CouldNot(
        f"{several(sum(found.values()), 'document')} of {shown}", f"{at_field}, by which windows are cut, is not mapped there", remedy, lasting=True
    )


def rare_fields(view: View) -> list[str]:
    """Mapped fields that no document so far has: what is seldom filled may be what goes wrong (`error`, `refusal`)."""
    seen = {path for one in view.looked for path in one.leaves}
    return [name for name in sorted(view.fields.by_name) if name not in seen and not any(name.startswith(path + ".") for path in seen)][:RARE_FIELDS]


def second_look(cluster: Cluster, view: View, window: Window, options: ReadingOptions, limit_fields: Sequence[str]) -> dict[str, list[int]]:
    """Documents with the rare fields (added to the view), and the distinct values of numeric limits (`max_tokens`), in one request.

    Returns:
        values of each limit field that has few enough of them.
    """
    from detector.sources.es_query import MOST_CAPS

    rare = rare_fields(view)
    aggs: dict[str, Any] = {f"limit {name}": {"terms": {"field": name, "size": MOST_CAPS}} for name in limit_fields}
    if rare:
        exists = {name: {"exists": {"field": name}} for name in rare}
        aggs["rare"] = {"filters": {"filters": exists}, "aggs": {"few": {"top_hits": {"size": 2, "_source": SOURCE}}}}
    seen = {path for one in view.looked for path in one.leaves}
    if any(name in seen or name.rpartition(".")[0] in seen for name in view.fields.absent):  # does an index without it have documents that hold it?
        aggs["index"] = {"terms": {"field": "_index", "size": MOST_INDICES}, "aggs": {"few": {"top_hits": {"size": 3, "_source": SOURCE}}}}
    if not aggs:
        return {}
    scope = within(view.time_field, window)
    answer = cluster.search({"size": 0, "track_total_hits": True, "query": all_of(scope), "aggs": aggs}, what=f"rare fields of {cluster.index}")
    results = answer["aggregations"]
    have = {(one.index, one.doc_id) for one in view.looked}
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for bucket in (*results.get("rare", {}).get("buckets", {}).values(), *results.get("index", {}).get("buckets", ())):
        for hit in bucket["few"]["hits"]["hits"]:
            found.setdefault((hit["_index"], hit["_id"]), hit)
    view.look_at(look([hit for key, hit in found.items() if key not in have], options))
    limits = {}
    for name in limit_fields:
        one = results[f"limit {name}"]
        if not one.get("sum_other_doc_count"):
            limits[name] = sorted({int(bucket["key"]) for bucket in one["buckets"]})
    return limits


def found_again(cluster: Cluster, known: Sequence[tuple[str, str]], query: Query) -> set[tuple[str, str]]:
    """Which of some documents, by index and id, a query finds: the test of a candidate query on documents whose verdict is known. Raises ClusterError."""
    ids, indices = sorted({doc_id for _, doc_id in known}), sorted({index for index, _ in known})
    body = {
        "size": min(len(ids) * len(indices), MOST_FOUND),  # ids may be counted up in each index anew
        "track_total_hits": False,
        "_source": False,
        "query": all_of({"ids": {"values": ids}}, any_of(query)),
    }
    return {(str(hit["_index"]), str(hit["_id"])) for hit in cluster.search(body, what="the test of the candidate queries")["hits"]["hits"]}
