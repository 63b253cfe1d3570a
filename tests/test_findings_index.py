"""The findings index: one document per change in a real cluster, however often it is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from detector.errors import NotifyError
from detector.notify.base import Telling
from detector.notify.index import IndexReceiver
from detector.sources.es_cluster import Cluster, open_cluster
from detector.sources.es_connection import Connection
from tests.incident_cases import T0, finding, fired
from tests.nodes.nodes import Node


def test_findings_are_documents(node: Node) -> None:
    """Searchable by time and deployment; sent twice, it is there once."""
    opened: list[Cluster] = []

    def open_it() -> Cluster:
        opened.append(open_cluster(Connection((node.url,)), "detector-findings*"))
        return opened[-1]

    receiver = IndexReceiver(open_it, "detector-findings")
    incident = fired(finding(T0))
    for key, kind, state in (("k1", "fired", "firing"), ("k1", "fired", "firing"), ("k2", "resolved", "resolved")):
        receiver.tell(Telling(kind, "because", T0, replace(incident, state=state)), key, None, tried_at=T0)  # type: ignore[arg-type]  # one of its states
    (cluster,) = opened
    cluster.ask("POST", "/detector-findings/_refresh")
    query: dict[str, Any] = {"query": {"range": {"@timestamp": {"gte": "2027-01-01"}}}, "sort": [{"@timestamp": "asc"}]}
    hits = cluster.ask("POST", "/detector-findings/_search", query)["hits"]["hits"]
    assert sorted(hit["_id"] for hit in hits) == ["k1", "k2"]
    assert hits[0]["_source"]["incident"]["deployment"] == "chat"
    cluster.ask("DELETE", "/detector-findings")
    cluster.close()


def test_a_cluster_that_is_away_is_a_failure_for_the_next_run() -> None:
    receiver = IndexReceiver(lambda: open_cluster(Connection(("http://127.0.0.1:9",)), "x*", lambda seconds: None), "x")
    with pytest.raises(NotifyError, match="index x: no connection") as error:
        receiver.tell(Telling("fired", "because", T0, fired(finding(T0))), "k", None, tried_at=None)
    assert error.value.retryable
