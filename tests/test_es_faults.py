"""Bad days, in front of real nodes: what can be ridden out is, what can't is said, and partial data never passes for a quiet log."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from detector.errors import SourceError
from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources.base import Tally
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_cluster import Cluster, ClusterError, open_cluster
from detector.sources.es_connection import Connection
from detector.sources.es_counting import Cells, Key, minutes
from detector.sources.es_paging import pages, within
from tests import fault_proxy as faults
from tests.es_index import MAPPINGS, WINDOW, create, fill, own
from tests.fault_proxy import Answer, Asked, FaultProxy, fault_proxy
from tests.llm_log import documents
from tests.nodes.nodes import Node

LOG = documents(240)
INDEX = own("llm-faults")
WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure", "think_leak")}


@pytest.fixture
def proxy(node: Node) -> Iterator[FaultProxy]:
    """The log on a node, behind the proxy."""
    try:
        ready = node.ask("GET", f"/{INDEX}/_count")["count"] == len(LOG)
    except OSError:
        ready = False
    if not ready:
        create(node, INDEX, MAPPINGS["text with keyword 256"])
        assert fill(node, INDEX, LOG) == []
    with fault_proxy(node.url) as running:
        yield running


class Reached:
    """A source behind the proxy that notes its pauses instead of waiting."""

    def __init__(self, proxy: FaultProxy, **settings: Any) -> None:
        self.pauses: list[float] = []
        self.connection = Connection(urls=(proxy.url,), **settings)
        self.source = ClusterSource(self.open, window=WINDOW)

    def open(self) -> Cluster:
        return open_cluster(self.connection, INDEX, self.pauses.append)

    def observe(self) -> Observation:
        return observe(self.source, WANTED, SignalOptions())


def _rows(seen: Observation) -> list[tuple[Any, ...]]:
    return list(seen.ledger.rows())


@pytest.fixture
def healthy(proxy: FaultProxy) -> Observation:
    """What is seen when nothing is wrong."""
    seen = Reached(proxy).observe()
    assert seen.tally.could_not == []
    assert seen.tally.requests == len(LOG)
    return seen


@pytest.mark.parametrize(
    "fault",
    [
        faults.error(429, "es_rejected_execution_exception", retry_after="3"),
        faults.error(503, "unavailable_shards_exception"),
        faults.cut(),
        faults.cut(announced=False),
        faults.login_page(502),
    ],
    ids=["429 burst", "503", "cut body", "cut JSON", "proxy's 502 page"],
)
def test_what_passes_is_ridden_out(proxy: FaultProxy, healthy: Observation, fault: faults.Fault) -> None:
    proxy.faults = [faults.on("_search", fault, times=3)]
    reached = Reached(proxy)
    seen = reached.observe()
    assert _rows(seen) == _rows(healthy)
    assert seen.tally.could_not == []
    assert len(reached.pauses) == 3


def test_the_server_says_how_long_to_wait(proxy: FaultProxy, healthy: Observation, node: Node) -> None:
    proxy.faults = [faults.on("_search", faults.error(429, "es_rejected_execution_exception", retry_after="3"), times=2)]
    reached = Reached(proxy)
    reached.observe()
    if node.flavour == "elasticsearch":
        assert reached.pauses == [3.0, 3.0]
    else:  # opensearch-py does not hand the header on
        assert 0.3 < reached.pauses[0] < 0.7
        assert 0.7 < reached.pauses[1] < 1.3


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (faults.error(429, "circuit_breaking_exception"), "rejected"),
        (faults.error(503, "cluster_block_exception"), "unavailable"),
        (faults.error(401, "security_exception"), "unauthorized"),
        (faults.error(403, "security_exception"), "forbidden"),
        (faults.login_page(), "not_json"),
        (faults.cut(announced=False), "not_json"),
    ],
)
def test_what_stays_is_an_error_with_a_remedy(proxy: FaultProxy, fault: faults.Fault, kind: str) -> None:
    reached = Reached(proxy)
    assert reached.source.cluster.flavour
    proxy.faults = [faults.on("_search", fault)]
    with pytest.raises(ClusterError) as caught:
        reached.observe()
    assert caught.value.kind == kind
    assert caught.value.remedy in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_login_page_is_no_cluster(proxy: FaultProxy) -> None:
    proxy.faults = [faults.login_page()]
    with pytest.raises(ClusterError, match="not as a search cluster") as caught:
        Reached(proxy).observe()
    assert caught.value.kind == "not_a_cluster"


def test_stripped_headers_are_named(proxy: FaultProxy, node: Node) -> None:
    proxy.faults = [faults.without_product]
    if node.flavour == "opensearch":  # it has no such header
        assert Reached(proxy).observe().tally.could_not == []
        return
    with pytest.raises(ClusterError, match="X-Elastic-Product"):
        Reached(proxy).observe()


def test_an_answer_that_is_too_late(proxy: FaultProxy) -> None:
    reached = Reached(proxy, timeout_seconds=3)
    assert reached.source.fields.indices == (INDEX,)
    proxy.faults = [faults.on("_search", faults.too_late)]
    with pytest.raises(ClusterError) as caught:
        reached.observe()
    assert caught.value.kind == "timeout"


def _fail_shards(body: dict[str, Any]) -> None:
    reason = {"type": "circuit_breaking_exception", "reason": "secret text"}
    body["_shards"] = {"total": 5, "successful": 3, "skipped": 0, "failed": 2, "failures": [{"shard": 0, "reason": reason}]}


def _time_out(body: dict[str, Any]) -> None:
    body["timed_out"] = True


def _skip_cluster(body: dict[str, Any]) -> None:
    body["_clusters"] = {"total": 2, "successful": 1, "skipped": 1, "details": {"(local)": {"status": "successful"}, "tokyo": {"status": "skipped"}}}


def _skip_cluster_old(body: dict[str, Any]) -> None:
    body["_clusters"] = {"total": 2, "successful": 1, "skipped": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_fail_shards, "2 of 5 shards failed (circuit_breaking_exception)"),
        (_time_out, "the cluster stopped at its time limit"),
        (_skip_cluster, "the documents of remote cluster tokyo: it was skipped"),
        (_skip_cluster_old, "1 of 2 clusters: skipped"),
    ],
)
def test_partial_answers_are_said(proxy: FaultProxy, change: Any, words: str) -> None:
    proxy.faults = [faults.on("/_search?", faults.changed(change), times=2)]
    seen = Reached(proxy).observe()
    told = [entry for entry in seen.tally.could_not if words in f"{entry.what}: {entry.why}"]
    assert told
    assert all(entry.blocking and entry.remedy for entry in told)
    assert "secret" not in repr(seen.tally.could_not)


def test_a_stretch_that_breaks_off_is_not_taken_as_quiet(proxy: FaultProxy) -> None:
    reached = Reached(proxy)
    assert reached.source.fields.indices == (INDEX,)
    broken = faults.error(503, "no_shard_available_action_exception")
    proxy.faults = [lambda asked, forward: broken(asked, forward) if b'"pit"' in asked.body else None]
    seen = reached.observe()
    assert seen.ledger.span() is None
    assert [entry.blocking for entry in seen.tally.could_not] == [True]


def test_a_view_that_expires_is_opened_anew(proxy: FaultProxy) -> None:
    gone = faults.error(404, "search_context_missing_exception")
    count = 0

    def expire(asked: faults.Asked, forward: Any) -> faults.Answer | None:
        nonlocal count
        if b'"pit"' not in asked.body:
            return None
        count += 1
        return gone(asked, forward) if count in (3, 6) else None

    proxy.faults = [expire]
    cluster = Reached(proxy).open()
    for share in (1.0, 0.5):
        count = 0
        found = [hit["_id"] for page in pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents", share=share, page=20) for hit in page]
        assert count > 6
        assert len(found) == len(set(found))
        assert found == sorted(found, key=int)
        if share == 1.0:
            assert len(found) == len(LOG)
        else:
            proxy.faults = []
            calm = [hit["_id"] for page in pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents", share=share) for hit in page]
            assert found == calm
    opened = sum("/_pit?" in asked.path or asked.path.endswith("point_in_time?keep_alive=2m") for asked in proxy.seen)
    closed = sum(asked.method == "DELETE" for asked in proxy.seen)
    assert opened == closed


def test_a_view_that_always_expires_is_an_error(proxy: FaultProxy) -> None:
    gone = faults.error(404, "search_context_missing_exception")
    cluster = Reached(proxy).open()
    proxy.faults = [lambda asked, forward: gone(asked, forward) if b'"pit"' in asked.body else None]
    with pytest.raises(SourceError):
        list(pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents", page=20))


def _cells(found: Cells) -> list[tuple[int, Key, int]]:
    return [
        (minute, found.keys[key], documents) for minute, key, documents in zip(found.minute.tolist(), found.key.tolist(), found.documents.tolist(), strict=True)
    ]


def test_too_many_buckets_makes_stretches_shorter(proxy: FaultProxy) -> None:
    source = Reached(proxy).source
    group = {"pod": source.fields.at("pod")}
    whole = _cells(minutes(source.cluster, "@timestamp", WINDOW, group, what="counts"))
    refuse = faults.error(400, "too_many_buckets_exception")

    def long(asked: Asked, forward: Callable[[], Answer]) -> Answer | None:
        cut = json.loads(asked.body)["query"]["range"]["@timestamp"] if b"composite" in asked.body else {"lt": 0, "gte": 0}
        return refuse(asked, forward) if cut["lt"] - cut["gte"] > 7 * 60_000 else None

    proxy.faults = [long]
    assert _cells(minutes(source.cluster, "@timestamp", WINDOW, group, what="counts")) == whole
    assert sum(documents for _, _, documents in whole) == len(LOG)


def test_too_many_buckets_in_one_minute_makes_pages_smaller(proxy: FaultProxy) -> None:
    source = Reached(proxy).source
    group = {"deployment": source.fields.at("deployment"), "pod": source.fields.at("pod")}
    whole = _cells(minutes(source.cluster, "@timestamp", WINDOW, group, what="counts"))
    refuse = faults.error(400, "too_many_buckets_exception")
    proxy.faults = [lambda asked, forward: refuse(asked, forward) if b'"size":10000' in asked.body.replace(b" ", b"") else None]
    assert _cells(minutes(source.cluster, "@timestamp", WINDOW, group, what="counts")) == whole


def test_small_answers_count_the_same(proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Reached(proxy).source
    group = {"deployment": source.fields.at("deployment"), "pod": source.fields.at("pod")}
    once = minutes(source.cluster, "@timestamp", WINDOW, group, what="counts", documents=len(LOG))
    monkeypatch.setattr("detector.sources.es_counting.PAGE_COMBINATIONS", 2)
    paged = minutes(source.cluster, "@timestamp", WINDOW, group, what="counts", aim=7)
    assert _cells(paged) == _cells(once)
    assert len(_cells(once)) > 100


def test_counts_without_labels(proxy: FaultProxy) -> None:
    whole = _cells(minutes(Reached(proxy).open(), "@timestamp", WINDOW, {}, what="counts"))
    assert sum(documents for _, _, documents in whole) == len(LOG)


def test_refused_text_queries_become_a_sample(proxy: FaultProxy) -> None:
    refuse = faults.error(400, "illegal_argument_exception")
    proxy.faults = [lambda asked, forward: refuse(asked, forward) if b'"wildcard"' in asked.body else None]
    reached = Reached(proxy)
    reached.source.read_at_most = 60
    seen = reached.observe()
    told = [entry for entry in seen.tally.could_not if "think_leak" in entry.what]
    assert len(told) == 1
    assert "the cluster refuses the query" in told[0].why
    assert not any("request_failure" in entry.what for entry in seen.tally.could_not)


def test_credentials_reach_the_server_and_nothing_else(proxy: FaultProxy) -> None:
    reached = Reached(proxy, authorization="ApiKey aWQ6a2V5LXNlY3JldA==")
    reached.observe()
    assert {asked.headers.get("authorization") for asked in proxy.seen} == {"ApiKey aWQ6a2V5LXNlY3JldA=="}
    assert "aWQ6" not in repr(reached.connection)


def test_the_second_address_serves_when_the_first_is_dead(proxy: FaultProxy, healthy: Observation) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
    connection = Connection(urls=(dead, proxy.url))
    seen = observe(ClusterSource(lambda: open_cluster(connection, INDEX, lambda _: None), window=WINDOW), WANTED, SignalOptions())
    assert _rows(seen) == _rows(healthy)


class _ThroughProxy(Connection):
    """Loopback never goes through a proxy; here it must."""

    def proxy_for(self, url: str) -> str | None:
        return self.proxy


def test_a_forward_proxy_is_used(proxy: FaultProxy, node: Node, healthy: Observation) -> None:
    proxy.seen.clear()
    connection = _ThroughProxy(urls=(node.url,), proxy=proxy.url)
    seen = observe(ClusterSource(lambda: open_cluster(connection, INDEX, lambda _: None), window=WINDOW), WANTED, SignalOptions())
    assert _rows(seen) == _rows(healthy)
    assert proxy.seen
    assert all("x-was-absolute" in asked.headers for asked in proxy.seen)


def test_nobody_answers() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{closed.getsockname()[1]}"
    with pytest.raises(ClusterError) as caught:
        open_cluster(Connection(urls=(dead,)), INDEX, lambda _: None)
    assert caught.value.kind == "connection"


def test_batches_give_every_document(proxy: FaultProxy) -> None:
    source = Reached(proxy).source
    tally = Tally()
    assert sum(batch.size for batch in source.batches(tally)) == len(LOG)
    parts = source.partitions(3)
    assert sum(batch.size for part in parts for batch in part.batches(Tally())) == len(LOG)


def test_a_server_without_ties_is_paged_by_time_alone(opensearch: Node) -> None:
    """OpenSearch before 3.3 does not know `_shard_doc`: documents of one time across pages come once each, and none is left out."""
    index = own("llm-ties")
    log = documents(60)
    for number, document in enumerate(log):
        document["@timestamp"] = f"2026-11-29T22:{14 + number // 20}:00.000Z"  # twenty of each time
    create(opensearch, index, MAPPINGS["text with keyword 256"])
    assert fill(opensearch, index, log) == []
    refuse = faults.error(400, "illegal_argument_exception")
    with fault_proxy(opensearch.url) as proxy:
        proxy.faults = [lambda asked, forward: refuse(asked, forward) if b"_shard_doc" in asked.body else None]
        cluster = open_cluster(Connection(urls=(proxy.url,)), index, lambda _: None)
        for page in (3, 7, 20, 21, 1000):
            found = [hit["_id"] for hits in pages(cluster, {"match_all": {}}, "@timestamp", what="documents", page=page) for hit in hits]
            assert len(found) == len(set(found)) == len(log), page
        sampled = [hit["_id"] for hits in pages(cluster, {"match_all": {}}, "@timestamp", what="documents", page=9, share=0.5) for hit in hits]
        assert len(sampled) == len(set(sampled))
        assert 10 < len(sampled) < 50


@pytest.mark.parametrize("silent_first", [True, False])
def test_a_silent_address_is_passed_over(proxy: FaultProxy, silent_first: bool) -> None:
    """Several addresses are tried in turn, also when one takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        dead = f"http://127.0.0.1:{silent.getsockname()[1]}"
        urls = (dead, proxy.url) if silent_first else (proxy.url, dead)
        cluster = open_cluster(Connection(urls=urls, timeout_seconds=1.0), INDEX, pause=lambda _: None)
        for _ in range(2):
            found = cluster.search({"size": 0, "track_total_hits": True}, what="the documents")["hits"]["total"]
            assert found["value"] == len(LOG)
        cluster.close()


def test_a_path_that_the_cluster_does_not_know(proxy: FaultProxy, node: Node) -> None:
    """Elasticsearch names itself even so; what OpenSearch says then could be anybody's."""
    words, remedy = ("knows no such path", "source.url") if node.flavour == "elasticsearch" else ("not as a search cluster", "give the address")
    with pytest.raises(ClusterError, match=words) as caught:
        open_cluster(Connection(urls=(f"{proxy.url}/prefix",)), INDEX, pause=lambda _: None).search({"size": 0}, what="the documents")
    assert remedy in caught.value.remedy
