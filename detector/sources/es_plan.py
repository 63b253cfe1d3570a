"""How each signal is evaluated on one log in a cluster: counted and verified on candidates, or read from a sample. Chosen per field, told by `doctor`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from detector.reading import ReadingOptions
from detector.record import SERIES_LABELS
from detector.signals.base import Signal, SignalOptions
from detector.sources.es_cluster import Cluster, ClusterError
from detector.sources.es_columns import Column, learn
from detector.sources.es_counting import Key, text_of
from detector.sources.es_fields import FieldInfo
from detector.sources.es_flags import flagged
from detector.sources.es_looking import View, found_again, second_look
from detector.sources.es_paging import Query, all_of, any_of, within
from detector.sources.es_profiles import PROFILE, counted, learn_profiles
from detector.sources.es_query import ALL, Translator
from detector.sources.es_sample import joined
from detector.window import Window

Mode = Literal["candidates", "sample"]


@dataclass(frozen=True)
class SignalPlan:
    """One signal. `query` finds its candidates; `how` says it for people."""

    signal: str
    mode: Mode
    how: str
    query: Query = field(default_factory=lambda: dict(ALL))


@dataclass
class Plan:
    """How a window of a log is evaluated.

    Args:
        why_not: why nothing can be counted in the cluster, so that documents must be read; "" when it can.
        group: labels and profile columns that the cluster counts by. `constants`: labels that have one value.
        shares: profile → signal → share of its documents that can show the signal; the key "" holds the share that are requests at all.
        usual: the same over all looked-at documents, for profiles that were not looked at.
        estimated: signals that only some requests of a profile can show, with the number of documents of such profiles: their denominators are estimates.
    """

    columns: dict[str, Column]
    why_not: str = ""
    group: dict[str, FieldInfo] = field(default_factory=dict)
    constants: dict[str, str | None] = field(default_factory=dict)
    shares: dict[Key, dict[str, float]] = field(default_factory=dict)
    usual: dict[str, float] = field(default_factory=dict)
    estimated: dict[str, int] = field(default_factory=dict)
    signals: list[SignalPlan] = field(default_factory=list)
    searched: dict[str, str] = field(default_factory=dict)


def learn_columns(view: View, signals: Mapping[str, Signal]) -> dict[str, Column]:
    """Every column that counting needs."""
    named = {where.column for signal in signals.values() for alternative in signal.push_down.candidates for where in alternative}
    others = {
        str(where.value)
        for signal in signals.values()
        for alternative in signal.push_down.candidates
        for where in alternative
        if where.op in ("equals_column", "gte_column")
    }
    names = ["timestamp", *SERIES_LABELS, *PROFILE, *sorted(named | others)]
    return {name: learn(name, view.looked, view.fields) for name in dict.fromkeys(names)}


def obstacle(view: View, columns: Mapping[str, Column], options: ReadingOptions, alone: bool) -> str:
    """Why this log can't be counted in the cluster; "" when nothing speaks against it. `alone`: it was found that each document is a request."""
    if joined(view.looked, options) and not alone:
        return "several documents can make up one request in this format"
    if not any(one.records for one in view.looked):
        return "no sampled document is an answer"
    if any(len({record.request_key() for record in one.records}) > 1 for one in view.looked):
        return "one document holds several requests"
    time = columns["timestamp"]
    if time.paths != (view.time_field,):
        return f"the requests' own time is not what {view.time_field} holds"
    for name in SERIES_LABELS:
        column = columns[name]
        if column.state == "derived":
            return f"{name} stands in no single field"
        if column.state == "field" and (column.countable(view.fields) is None or not column.identity()):
            fields = view.fields
            differ = any(path in fields.conflicts or path in fields.absent or f"{path}.keyword" in fields.absent for path in column.paths)
            return f"{name} ({', '.join(column.paths)}) can't be grouped by{' in every index: their mappings differ' if differ else ''}"
    return ""


def stand_alone(cluster: Cluster, view: View, window: Window) -> bool:
    """Every looked-at document is an answer by itself, and no other document of the window shares its id. One request. Raises ClusterError."""
    if not view.looked or not all(one.records for one in view.looked):
        return False
    for name in ("request_id", "trace_id"):
        column = learn(name, view.looked, view.fields)
        info = view.fields.exact(column.paths[0]) if column.state == "field" and len(column.paths) == 1 else None
        values = sorted({str(raw) for one in view.looked for raw in one.leaves.get(column.paths[0], ())}) if info else []
        if info is None or len(values) != len(view.looked):
            continue
        scope = all_of(within(view.time_field, window), {"terms": {info.name: values}})
        found = cluster.search({"size": 0, "track_total_hits": True, "query": scope}, what="documents that share an id")["hits"]["total"]
        return int(found["value"] if isinstance(found, dict) else found) == len(values)
    return False


def make_plan(cluster: Cluster, view: View, window: Window, signals: Mapping[str, Signal], judging: SignalOptions, options: ReadingOptions) -> Plan:
    """Decide how each signal is evaluated over a window. Raises ClusterError."""
    columns = learn_columns(view, signals)
    alone = joined(view.looked, options) and stand_alone(cluster, view, window)
    plan = Plan(columns, obstacle(view, columns, options, alone))
    if not plan.why_not:
        try:
            _fill_in(cluster, plan, view, window, signals, judging, options, alone)
        except ClusterError as error:
            if error.kind != "refused":
                raise
            plan.why_not = refusal(error)
    return plan


def refusal(error: ClusterError) -> str:
    """Why nothing is counted after all: documents can still be read."""
    return f"the cluster refuses to count ({', '.join(error.types[:2]) or 'no reason given'})"


def _fill_in(
    cluster: Cluster, plan: Plan, view: View, window: Window, signals: Mapping[str, Signal], judging: SignalOptions, options: ReadingOptions, alone: bool
) -> None:
    """What a plan needs besides its columns; `why_not` is set where it turns out that nothing can be counted. Raises ClusterError."""
    random = list(view.looked)  # what follows looks for rare kinds on purpose and is no fair sample
    limits = second_look(cluster, view, window, options, _limit_fields(plan.columns, signals, view))
    plan.columns = learn_columns(view, signals)
    plan.why_not = obstacle(view, plan.columns, options, alone)
    if plan.why_not:
        return
    _group(plan, view)
    learn_profiles(cluster, plan, view, window, signals, options, random)
    plan.columns = learn_columns(view, signals)
    plan.why_not = obstacle(view, plan.columns, options, alone)
    if plan.why_not:
        return
    _plan_signals(cluster, plan, view, window, signals, judging, Translator(plan.columns, view.fields, limits))


def _limit_fields(columns: Mapping[str, Column], signals: Mapping[str, Signal], view: View) -> list[str]:
    names = {str(where.value) for signal in signals.values() for option in signal.push_down.candidates for where in option if where.op.endswith("_column")}
    return sorted({path for name in names for path in columns[name].paths if view.fields.at(path).kind == "number"})


def _group(plan: Plan, view: View) -> None:
    """Labels and profile columns that the cluster can group by, in the order of their keys."""
    for name in (*SERIES_LABELS, *PROFILE):
        info = plan.columns[name].countable(view.fields)
        if info is not None:
            plan.group[name] = info
        elif name in SERIES_LABELS:
            value = plan.columns[name].constant
            plan.constants[name] = None if value is None else text_of(value)


def _plan_signals(
    cluster: Cluster, plan: Plan, view: View, window: Window, signals: Mapping[str, Signal], judging: SignalOptions, translator: Translator
) -> None:
    queries: dict[str, Query] = {}
    reasons: dict[str, str] = {}
    hows: dict[str, str] = {}
    for name, signal in signals.items():
        by_flag = flagged(view.fields, name)
        if by_flag is not None:
            queries[name], hows[name] = by_flag, "denominators counted in the cluster; candidates by the ingest pipeline's flag, verified"
            continue
        alternatives = translator.alternatives(signal.push_down.candidates) if signal.push_down.candidates else [ALL]
        if ALL in alternatives:
            reasons[name] = "every document's text must be read"
        else:
            queries[name] = any_of(*alternatives) if alternatives else {"match_none": {}}
    plan.searched = dict(translator.used)
    _test(cluster, view, signals, judging, queries, reasons)
    for name in signals:
        if name in queries:
            how = hows.get(name, "denominators counted in the cluster; candidates fetched and verified")
            plan.signals.append(SignalPlan(name, "candidates", how, queries[name]))
        else:
            plan.signals.append(SignalPlan(name, "sample", reasons[name]))


def _test(cluster: Cluster, view: View, signals: Mapping[str, Signal], judging: SignalOptions, queries: dict[str, Query], reasons: dict[str, str]) -> None:
    """Candidate queries must find the looked-at documents that the signal flags; one that does not, or that the cluster refuses, is given up."""
    for name in list(queries):
        signal = signals[name]
        known = [
            (one.index, one.doc_id)
            for one in view.looked
            if any(signal.observable(record) and signal.judge(record, judging) is not None for record in counted(one.records))
        ][:100]
        if not known:
            continue
        try:
            finds_all = set(known) <= found_again(cluster, known, queries[name])
        except ClusterError as error:
            if error.kind != "refused":
                raise
            finds_all, reasons[name] = False, f"the cluster refuses the query for candidates ({', '.join(error.types[:2])}): every document must be read"
        if not finds_all:
            del queries[name]
            reasons.setdefault(name, "the index can't find known cases (analyser, values too long to be indexed): every document must be read")


def count_candidates(cluster: Cluster, plan: Plan, view: View, window: Window) -> dict[str, int]:
    """Candidates of each signal in a window, in one request; a signal whose query the cluster refuses is sampled from now on. Raises ClusterError."""
    while queries := {one.signal: one.query for one in plan.signals if one.mode == "candidates"}:
        scope = within(view.time_field, window)
        body = {"size": 0, "track_total_hits": True, "query": scope, "aggs": {"n": {"filters": {"filters": queries}}}}
        try:
            buckets = cluster.search(body, what="counts of candidates")["aggregations"]["n"]["buckets"]
            return {name: int(bucket["doc_count"]) for name, bucket in buckets.items()}
        except ClusterError as error:
            if error.kind != "refused":
                raise
            refused = _refused(cluster, scope, queries)
            why = f"the cluster refuses the query for candidates ({', '.join(error.types[:2])}): every document must be read"
            plan.signals = [SignalPlan(one.signal, "sample", why) if one.signal in refused else one for one in plan.signals]
    return {}


def _refused(cluster: Cluster, scope: Query, queries: Mapping[str, Query]) -> list[str]:
    """Which queries the cluster refuses, asked one by one. Raises ClusterError when it takes each of them alone."""
    found = []
    for name, query in queries.items():
        try:
            cluster.search({"size": 0, "track_total_hits": True, "query": all_of(scope, query)}, what=f"candidates of {name}")
        except ClusterError as error:
            if error.kind != "refused":
                raise
            found.append(name)
    if not found:
        raise ClusterError("refused", "the cluster refuses to count candidates together")
    return found
