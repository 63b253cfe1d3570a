"""What an answer with HTTP 200 does not say aloud: time-outs, failed shards, clusters that were skipped.

Each becomes "could not look at X because Y". Shards that were *skipped* hold nothing of the window and are no gap. OpenSearch 3 says
`terminated_early` of every aggregation that it answers from its index statistics alone, though the counts are whole (seen on 3.8.0): there it means nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from detector.sources.base import CouldNot
from detector.sources.es_connection import Flavour

_NAMES_SHOWN = 5


def gaps(answer: Any, what: str, flavour: Flavour = "elasticsearch") -> Iterator[CouldNot]:
    """Everything that one search answer lacks. `what` names what was looked at."""
    if not isinstance(answer, dict):
        return
    if answer.get("timed_out"):
        yield CouldNot(what, "the cluster stopped at its time limit: the answer is partial", "raise `source.timeout`, or ask for a shorter window")
    if answer.get("terminated_early") and flavour == "elasticsearch":
        yield CouldNot(what, "the cluster ended the search early: the answer is partial", "remove the limit (terminate_after) that something in between adds")
    shards = answer.get("_shards")
    if isinstance(shards, dict) and shards.get("failed"):
        types = sorted({str(failure.get("reason", {}).get("type", "unknown"))[:80] for failure in shards.get("failures") or () if isinstance(failure, dict)})
        named = f" ({', '.join(types[:_NAMES_SHOWN])})" if types else ""
        yield CouldNot(
            what,
            f"{shards['failed']} of {shards.get('total', '?')} shards failed{named}: the answer is partial",
            "look at the cluster's health (unassigned shards, circuit breakers); nothing counted from the rest is taken as complete",
        )
    clusters = answer.get("_clusters")
    if isinstance(clusters, dict):
        yield from _cluster_gaps(clusters, what)


def _cluster_gaps(clusters: dict[str, Any], what: str) -> Iterator[CouldNot]:
    """Remote clusters that did not take part. `skip_unavailable` is on by default since 8.15: a cluster that is down gives an empty success."""
    remedy = "check the remote clusters' connection and the role there (read, read_cross_cluster)"
    details = clusters.get("details")
    told = False
    if isinstance(details, dict):
        for status in ("skipped", "failed", "partial", "running"):
            names = sorted(str(name)[:80] for name, one in details.items() if isinstance(one, dict) and one.get("status") == status)
            if names:
                told = True
                shown = ", ".join(name or "(local)" for name in names[:_NAMES_SHOWN])
                yield CouldNot(what, f"cluster {shown}: {status}, so its documents are missing or incomplete", remedy)
    if told:
        return
    for status in ("skipped", "failed", "partial"):
        count = clusters.get(status)
        if isinstance(count, int) and count:
            yield CouldNot(what, f"{count} of {clusters.get('total', '?')} clusters: {status}, so their documents are missing or incomplete", remedy)
