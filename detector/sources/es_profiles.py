"""Kinds of requests by status and finish reason: which share of each can show which signal, learned from a few documents of every kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from detector.batch import Batch
from detector.reading import ReadingOptions
from detector.record import FINISH_REASONS, Record
from detector.signals.base import Signal
from detector.sources.es_cluster import Cluster
from detector.sources.es_counting import Key, profiles, text_of
from detector.sources.es_looking import SOURCE, View
from detector.sources.es_paging import within
from detector.sources.es_sample import Looked, look
from detector.window import Window

if TYPE_CHECKING:
    from detector.sources.es_plan import Plan

PROFILE = ("status_code", "finish_reason")  # what decides whether a request shows a signal at all: counted beside the labels
PROFILE_DOCUMENTS = 3  # documents looked at per profile
MOST_PROFILES = 200
SWAYED_RECORDS = 50  # records that are tried with other outcomes; a kind that is not among them has its documents looked at by profile
_PROFILE_VALUES: dict[str, tuple[Any, ...]] = {"status_code": (200, 500, 0), "finish_reason": (*FINISH_REASONS, None)}


def learn_profiles(
    cluster: Cluster,
    plan: Plan,
    view: View,
    window: Window,
    signals: Mapping[str, Signal],
    options: ReadingOptions,
    random: Sequence[Looked],
) -> None:
    """Look at documents of every profile and learn which of them can show which signal."""
    group = {name: info for name, info in plan.group.items() if name in PROFILE}
    by_profile: dict[Key, list[Looked]] = {}
    found: list[Looked] = []
    counts: dict[Key, int] = {}
    if group:
        what = f"kinds of requests in {cluster.index}"
        for key, documents, hits in profiles(
            cluster, within(view.time_field, window), group, each=PROFILE_DOCUMENTS, source=SOURCE, what=what, most=MOST_PROFILES
        ):
            looked = look(hits, options)
            by_profile[key], counts[key] = looked, documents
            found += looked
    view.look_at(found)
    for one in random:
        key = tuple(text_of(one.leaves[plan.columns[name].paths[0]][0]) if plan.columns[name].paths[0] in one.leaves else None for name in group)
        if (one.index, one.doc_id) not in {(other.index, other.doc_id) for other in by_profile.get(key, ())}:
            by_profile.setdefault(key, []).append(one)
    for key, looked in by_profile.items():
        plan.shares[key] = _shares(looked, signals)
        for name, share in plan.shares[key].items():
            if name and 0 < share < 1:
                plan.estimated[name] = plan.estimated.get(name, 0) + counts.get(key, 0)
    plan.usual = _shares(random, signals)
    unknown = [name for name in PROFILE if name not in plan.group and plan.columns[name].state != "constant"]
    for name in _swayed(view.looked, signals, unknown):
        plan.estimated[name] = plan.estimated.get(name, 0) or view.total


def _swayed(looked: Sequence[Looked], signals: Mapping[str, Signal], columns: Sequence[str]) -> list[str]:
    """Signals that a request shows with one value of these columns and not with another: what a sample does not hold may still be there, so where the
    cluster can't group by such a column their denominators are estimates even if all sampled documents agree."""
    records = [record for one in looked for record in counted(one.records)][:SWAYED_RECORDS]
    tried = [(name, value) for name in columns for value in _PROFILE_VALUES[name]]
    return [
        name
        for name, signal in signals.items()
        if any(signal.observable(replace(record, **{column: value})) != signal.observable(record) for record in records for column, value in tried)
    ]


def _shares(looked: Sequence[Looked], signals: Mapping[str, Signal]) -> dict[str, float]:
    """Share of documents that are requests (key ""), and that show each signal."""
    found = dict.fromkeys(("", *signals), 0)
    for one in looked:
        records = counted(one.records)
        if not records:
            continue
        found[""] += 1
        batch = Batch.from_records(records)
        for name, signal in signals.items():
            found[name] += any(signal.visible(batch))
    return {name: count / len(looked) for name, count in found.items()} if looked else {}


def counted(records: Sequence[Record]) -> list[Record]:
    """Records that count: no probe, no answer from a gateway's cache (as `detector.observation` has it)."""
    return [record for record in records if record.cache_hit is not True and record.is_probe is not True]
