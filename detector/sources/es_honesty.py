"""What an answer with HTTP 200 does not say aloud: time-outs, failed shards, clusters that were skipped.

Each becomes "could not look at X because Y". Shards that were *skipped* hold nothing of the window and are no gap. OpenSearch 3 says
`terminated_early` of every aggregation that it answers from its index statistics alone, though the counts are whole (seen on 3.8.0): there it means nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from detector.sources.base import CouldNot
from detector.sources.es_connection import Flavour
from detector.sources.es_pattern import cluster_of

_NAMES_SHOWN = 5
_REMOTE_REMEDY = "look at `GET _remote/info` on the cluster that is asked: is the remote connected, is its transport port open?"
_REMEDIES = {
    "index_not_found_exception": "check the part of `source.index` that names it",
    "security_exception": "grant `read` and `view_index_metadata` on the indices in that cluster too (deploy/elasticsearch/role.json)",
}
SOURCELESS = "_source is disabled"  # Elasticsearch, of an index whose documents are asked for
SOURCELESS_REMEDY = "keep _source in the index template (what is too much can be left out by `_source.excludes`), or leave the index out of `source.index`"
_LACKING = {
    "skipped": "it was skipped: none of its documents were read",
    "failed": "it failed: none of its documents were read",
    "partial": "its answer is partial: some of its documents were not read",
    "running": "it did not answer in time: some of its documents were not read",
}


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
        types = failure_types(shards.get("failures"))
        named = f" ({', '.join(types[:_NAMES_SHOWN])})" if types else ""
        if SOURCELESS in json.dumps(shards["failures"] if types else "", default=str):
            why = f"{shards['failed']} of {shards.get('total', '?')} shards keep no documents (_source is disabled in their mapping)"
            yield CouldNot(what, why, SOURCELESS_REMEDY, lasting=True)
            return
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
    details = clusters.get("details")
    told = False
    for name, one in sorted(details.items()) if isinstance(details, dict) else ():
        status = one.get("status") if isinstance(one, dict) else None
        if status in _LACKING:
            told = True
            yield cluster_gap(str(name)[:80], _LACKING[status], failure_types(one.get("failures")))
    if told:
        return
    for status in ("skipped", "failed", "partial"):  # OpenSearch, and Elasticsearch before 8.10, count only
        count = clusters.get(status)
        if isinstance(count, int) and count:
            yield CouldNot(what, f"{count} of {clusters.get('total', '?')} clusters: {status}, so their documents are missing or incomplete", _REMOTE_REMEDY)


def cluster_gap(name: str, lack: str, types: Sequence[str]) -> CouldNot:
    """A cluster that did not answer, or not wholly; the same for every request of a run."""
    remedy = next((remedy for kind, remedy in _REMEDIES.items() if kind in types), _REMOTE_REMEDY)
    what = "the documents of the cluster itself" if name == "(local)" else f"the documents of remote cluster {name}"
    return CouldNot(what, f"{lack} ({', '.join(types[:_NAMES_SHOWN])})" if types else lack, remedy)


@dataclass
class Remotes:
    """Which remote clusters had something to search so far. A view (point in time) leaves out those that were away when it was opened, and none of its
    answers says so: what is missing in them is told from answers by index pattern.

    Args:
        names: of clusters, where answers tell them.
        shards: of all clusters together, where they only count (OpenSearch, Elasticsearch before 8.10).
    """

    names: set[str] = field(default_factory=set)
    shards: int = 0

    def __bool__(self) -> bool:
        return bool(self.names or self.shards)

    def seen(self, answer: Any) -> None:
        """Learn from the answer to a search by index pattern."""
        clusters, details = _clusters(answer)
        if clusters and details is None:
            self.shards = max(self.shards, int(answer.get("_shards", {}).get("total", 0)))
        for name, one in (details or {}).items():
            shards = one.get("_shards") if isinstance(one, dict) else None
            if name != "(local)" and isinstance(shards, dict) and shards.get("total"):
                self.names.add(str(name))

    def absent(self, answer: Any) -> Iterator[CouldNot]:
        """Those that the answer to a search in a view lacks altogether."""
        details = _clusters(answer)[1] or {}
        for name in sorted(self.names - details.keys()):
            yield cluster_gap(name[:80], "it was away when its documents were to be read", ())
        shards = int(answer.get("_shards", {}).get("total", 0)) if isinstance(answer, dict) else 0
        if shards < self.shards:
            why = f"{self.shards - shards} of {self.shards} shards were away when their documents were to be read"
            yield CouldNot("the documents of remote clusters", why, _REMOTE_REMEDY)


def _clusters(answer: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """What an answer says of the clusters that took part, and of each of them where it does."""
    clusters = answer.get("_clusters") if isinstance(answer, dict) else None
    details = clusters.get("details") if isinstance(clusters, dict) else None
    return (clusters if isinstance(clusters, dict) else {}), (details if isinstance(details, dict) else None)


def field_gaps(answer: Any) -> Iterator[CouldNot]:
    """What a `_field_caps` answer lacks: whole clusters, or indices whose fields could not be read."""
    failures = answer.get("failures") if isinstance(answer, dict) else None
    for one in failures if isinstance(failures, list) else ():
        error = one.get("failure", {}).get("error") if isinstance(one, dict) and isinstance(one.get("failure"), dict) else None
        types = [str(error["type"])[:80]] if isinstance(error, dict) and error.get("type") else []
        names = [str(name)[:255] for name in one.get("indices") or ()] if isinstance(one, dict) else []
        for cluster in sorted({cluster_of(name) for name in names} - {""}):
            yield cluster_gap(cluster, _LACKING["skipped"], types)
        near = [name for name in names if not cluster_of(name)]
        if near:
            shown = ", ".join(near[:_NAMES_SHOWN]) + (f" and {len(near) - _NAMES_SHOWN} more" if len(near) > _NAMES_SHOWN else "")
            why = f"the cluster could not read them ({', '.join(types) or 'no reason given'})"
            yield CouldNot(f"the fields of {shown}", why, "look at the cluster's health (unassigned shards, circuit breakers)")


def failure_types(failures: Any) -> list[str]:
    """Error types of failures: fixed words of the server."""
    reasons = [one.get("reason") for one in failures if isinstance(one, dict)] if isinstance(failures, list) else []
    return sorted({str(reason["type"])[:80] for reason in reasons if isinstance(reason, dict) and reason.get("type")})
