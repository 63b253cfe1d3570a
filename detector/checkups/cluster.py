"""The log in Elasticsearch or OpenSearch: connection, rights, indices, format, fields, how each signal is evaluated and what that costs, lag, clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

from detector.checkups.base import Asked, Line
from detector.checkups.coverage import blind_spots, coverage, mapped_places
from detector.errors import DetectorError
from detector.render.numbers import several
from detector.sources.es_looking import SKEW_SECONDS
from detector.sources.es_pattern import local, remotes
from detector.window import Window, iso

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.sources.elasticsearch import ClusterSource
    from detector.sources.es_cluster import Cluster
    from detector.sources.es_looking import View

NEEDED = ("read", "view_index_metadata")
LATE_SHARE = 0.99
_NAMES_SHOWN = 5


def examine(settings: Settings, asked: Asked, now: float) -> Iterator[Line]:
    """Lines about the cluster; none when the log is not in one."""
    from detector.placing import Span
    from detector.sources.choice import open_source
    from detector.sources.elasticsearch import ClusterSource
    from detector.sources.es_cluster import ClusterError

    try:
        source = open_source(settings, asked.source, jobs=1, format_of=None, span=Span(start=now - asked.since, end=now), rules=(), now=now)[0]
    except DetectorError as error:
        if asked.source is None and not (settings.source.url or settings.source.cloud_id):
            return  # files, or nothing: another checkup's matter
        yield Line("problem", "source", str(error), "correct the setting that is named")
        return
    if not isinstance(source, ClusterSource):
        return
    try:
        yield from _examine(settings, source, now)
    except ClusterError as error:
        yield Line("problem", "source", error.why, error.remedy)
        if error.kind == "missing":
            yield from _near(source.cluster)
    except DetectorError as error:
        yield Line("problem", "source", str(error), "correct the setting that is named")


def _examine(settings: Settings, source: ClusterSource, now: float) -> Iterator[Line]:
    from detector.signals.base import signals
    from detector.sources.es_looking import first_look, time_field
    from detector.sources.es_plan import count_candidates, make_plan

    cluster = source.cluster
    version = cluster.version()
    said = f"{cluster.flavour} {version}" if version else f"{cluster.flavour}, version unknown (these credentials may not ask; nothing depends on it)"
    yield Line("ok", "connection", f"{cluster.connection.shown}: {said}")
    yield from _rights(cluster)
    fields = source.fields
    yield from _indices(cluster, fields.indices)
    if fields.conflicts:
        named = ", ".join(fields.conflicts[:_NAMES_SHOWN])
        yield Line("note", "fields", f"{len(fields.conflicts)} have different types in different indices ({named}): they are not counted by the cluster")
    at = time_field(fields)
    window = source.window or Window(now - 3600.0, now)
    view = first_look(cluster, fields, window, source.options, at_field=at, now=now)
    yield from _freshness(view, window, now)
    if view.total:
        yield from _format(view)
        records = [record for one in view.looked for record in one.records]
        yield from mapped_places(settings.source, records)
        yield from coverage(records)
        judging = settings.signals.options()
        plan = make_plan(cluster, view, window, signals(), judging, source.options)
        if plan.why_not:
            yield Line(
                "note", "evaluation", f"nothing is counted in the cluster ({plan.why_not}): up to {source.read_at_most:,} documents are read, more are sampled"
            )
        else:
            counts = count_candidates(cluster, plan, view, window)
            for one in plan.signals:
                cost = f"{counts[one.signal]:,} candidates to fetch" if one.signal in counts else f"a sample of at most {source.read_at_most:,} documents"
                yield Line("ok", f"signal {one.signal}", f"{one.how}; of {view.total:,} documents: {cost}")
            for path, how in sorted(plan.searched.items()):
                yield Line("ok", f"text {path}", how)
            for name in sorted(plan.estimated):
                yield Line("note", f"signal {name}", "its denominators are estimated: map finish reason and status so that the cluster can group by them")
        yield from _lag(settings, view, fields, now)
    yield from _ignored(view)
    yield from _gaps(cluster, view)
    yield Line("ok", "cost", f"{cluster.sent} requests were sent for this examination")


def _rights(cluster: Cluster) -> Iterator[Line]:
    """Whether the role has what it needs, asked in the one way that needs no right itself."""
    from detector.sources.es_cluster import ClusterError

    if cluster.flavour != "elasticsearch":
        yield Line("note", "privileges", "OpenSearch has no request to ask for them; what follows shows whether documents and fields can be read")
        return
    names = local(cluster.index)
    if not names:
        yield Line("note", "privileges", "those on remote clusters can't be asked for from here; what follows shows whether documents can be read")
        return
    try:
        body = {"index": [{"names": names, "privileges": list(NEEDED)}]}
        answer = cluster.ask("POST", "/_security/user/_has_privileges", body, retry=False)
    except ClusterError as error:
        if error.kind in ("unauthorized", "forbidden"):
            raise
        yield Line("note", "privileges", "the cluster has no security, so anyone may read everything")
        return
    granted: list[dict[str, Any]] = list(answer.get("index", {}).values())
    missing = [name for name in NEEDED if not granted or not all(one.get(name) for one in granted)]
    on = ", ".join(names)
    if missing:
        remedy = "grant them with the role of deploy/elasticsearch/role.json"
        yield Line("problem", "privileges", f"missing on {on}: {', '.join(missing)}", remedy)
    else:
        yield Line("ok", "privileges", f"{' and '.join(NEEDED)} on {on}; nothing more is needed")


def _indices(cluster: Cluster, indices: tuple[str, ...]) -> Iterator[Line]:
    yield Line("ok", "indices", f"{cluster.index} matches {len(indices)}: {_few(indices)}")


def _near(cluster: Cluster) -> Iterator[Line]:
    """What there is in place of an index that is not there, the most similar names first."""
    from detector.sources.es_cluster import ClusterError
    from detector.sources.es_wire import quoted

    asked = ",".join(["*", *(f"{name}:*" for name in remotes(cluster.index))])
    try:
        answer = cluster.ask("GET", f"/_resolve/index/{quoted(asked)}", retry=False)
    except ClusterError:
        return  # it is only a help
    names = {str(one["name"]) for kind in ("indices", "aliases", "data_streams") for one in answer.get(kind) or () if isinstance(one, dict) and "name" in one}
    visible = sorted(name for name in names if not name.rpartition(":")[2].startswith("."))
    alike = sorted(visible, key=lambda name: -SequenceMatcher(None, cluster.index, name).ratio())
    yield Line("note", "indices", f"these credentials see {len(visible):,}: {_few(alike)}" if visible else "these credentials see none at all")


def _few(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMES_SHOWN]) + (f" and {len(names) - _NAMES_SHOWN:,} more" if len(names) > _NAMES_SHOWN else "")


def _gaps(cluster: Cluster, view: View) -> Iterator[Line]:
    """What the answers so far lacked, and what the cluster refused to index."""
    for gap in cluster.gaps:
        yield Line("problem" if gap.blocking else "note", gap.what, gap.why, gap.remedy)
    store = view.store
    if store is not None and not (store.closed or store.inside):
        yield Line("ok", "failure store", f"{store.shown}: nothing of this time was refused at indexing")


def _freshness(view: View, window: Window, now: float) -> Iterator[Line]:
    if (ahead := view.ahead + view.beyond) and view.latest is not None:
        yield Line(
            "problem",
            "clock",
            f"the newest document is {view.latest - now:.0f} s ahead of this machine's clock, and {several(ahead, 'document')} more than {SKEW_SECONDS:.0f} s",
            "set the clocks (NTP) of the writers and of this machine; times ahead by whole hours bear the wrong zone",
        )
    if view.newest is None:
        if ahead:
            return
        yield Line(
            "problem", "documents", "the indices hold no document with a time", "check that the log is shipped to them, and that the role may see the documents"
        )
        return
    age = max(now - view.newest, 0)
    if not view.total:
        yield Line(
            "problem",
            "documents",
            f"none in the last {window.end - window.start:.0f} s; the newest is of {iso(view.newest)}, {age:.0f} s old",
            "ingestion stopped, or nothing was asked: check the shipper, or look further back with --since",
        )
        return
    yield Line("ok", "documents", f"{view.total:,} in the last {window.end - window.start:.0f} s by {view.time_field}; the newest is {age:.0f} s old")


def _format(view: View) -> Iterator[Line]:
    formats: Counter[str] = Counter()
    unreadable: Counter[str] = Counter()
    ignored = 0
    for one in view.looked:
        formats.update(one.tally.formats)
        unreadable.update(one.tally.unreadable)
        ignored += sum(one.tally.ignored.values())
    looked = len(view.looked)
    if formats:
        named = ", ".join(f"{name} ({count})" for name, count in formats.most_common())
        yield Line("ok", "format", f"of {looked} documents: {named}" + (f"; {ignored} are no answers" if ignored else ""))
        yield from blind_spots(formats)
    for reason, count in unreadable.most_common(_NAMES_SHOWN):
        yield Line(
            "problem", "format", f"{count} of {looked} documents can't be read: {reason}", "name the format (source.format), or map its fields (source.mapping)"
        )


def _lag(settings: Settings, view: View, fields: Any, now: float) -> Iterator[Line]:
    from detector.sources.es_state import ingest_field, lags

    received = ingest_field(fields)
    found = lags(view.looked, received)
    lag = settings.source.lag
    if not found:
        yield Line("note", "lag", f"no field says when a document was received, so it can't be measured; windows end {lag:.0f} s before now (source.lag)")
        return
    late = found[min(len(found) - 1, int(LATE_SHARE * len(found)))]
    if found[0] < -SKEW_SECONDS:
        yield Line(
            "problem", "clock", f"documents were received up to {-found[0]:.0f} s before they were written", "set the clocks of the writers and of the cluster"
        )
    seen = f"99 % of {len(found)} documents were received within {late:.0f} s, the last within {found[-1]:.0f} s"
    if late > lag:
        yield Line("problem", "lag", f"{seen}, but windows end only {lag:.0f} s before now", f"set source.lag to {int(late) + 1}s or more")
    else:
        yield Line("ok", "lag", f"{seen}; windows end {lag:.0f} s before now")


def _ignored(view: View) -> Iterator[Line]:
    if view.ignored:
        named = ", ".join(view.ignored_fields[:_NAMES_SHOWN]) or "some field"
        yield Line(
            "note",
            "ignored fields",
            f"{view.ignored:,} of {view.total:,} documents hold a value that the index left out ({named}): it is read from the documents instead",
        )
