"""Cross-cluster search on real nodes: Elasticsearch 9 asks Elasticsearch 8, OpenSearch asks itself. A remote that is away is said, and half a log is no log.

The remote is reached through a relay, so that it can go away while tests share the node behind it.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_cluster import ClusterError
from detector.sources.es_looking import read_capabilities
from detector.sources.es_paging import pages, within
from detector.window import Window, iso
from tests.conftest import complete
from tests.es_index import MAPPINGS, WINDOW, create, fill, own, reach
from tests.es_stream import PROPERTIES, add, sound, stream
from tests.llm_log import START, documents
from tests.nodes.nodes import Node
from tests.relay import Relay, relay, transport

NEAR, FAR = own("llm-near"), own("llm-far")
ALIAS = f"far{os.getpid()}"
WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure", "think_leak", "empty_content")}
LOGS = {index: [{**document, "id": f"{index}-{document['id']}"} for document in documents(400, seed=seed)] for seed, index in enumerate((NEAR, FAR), 1)}
PAIRS = [
    pytest.param(("elasticsearch9", "elasticsearch8"), marks=[pytest.mark.elasticsearch8, pytest.mark.elasticsearch9]),
    pytest.param(("opensearch", "opensearch"), marks=pytest.mark.opensearch),
]


@dataclass
class Two:
    """A node with a remote cluster; `wire` is the way there."""

    near: Node
    far: Node
    wire: Relay

    def settle(self, **settings: Any) -> None:
        """The near node's settings for the remote cluster."""
        self.near.ask("PUT", "/_cluster/settings", {"persistent": {f"cluster.remote.{ALIAS}": settings}})

    def connect(self, skip: bool) -> None:
        self.settle(mode="proxy", proxy_address=self.wire.address, skip_unavailable=skip)
        self.wait(True)

    def cut(self) -> None:
        self.wire.stop()
        self.wait(False)

    def wait(self, connected: bool) -> None:
        until = time.monotonic() + 60
        while self.near.ask("GET", "/_remote/info").get(ALIAS, {}).get("connected") is not connected:
            assert time.monotonic() < until, f"the remote cluster is {'not ' if connected else ''}connected after 60 s"
            time.sleep(0.1)

    def told(self, asked: str) -> Observation:
        return observe(ClusterSource(lambda: reach(self.near, asked), window=WINDOW), WANTED, SignalOptions())


@pytest.fixture(params=PAIRS)
def two(request: pytest.FixtureRequest) -> Iterator[Two]:
    """Two clusters with a log each; not connected yet."""
    near, far = (request.getfixturevalue(name) for name in request.param)
    for node, index in ((near, NEAR), (far, FAR)):
        try:
            ready = node.ask("GET", f"/{index}/_count")["count"] == len(LOGS[index])
        except OSError:
            ready = False
        if not ready:
            create(node, index, MAPPINGS["text with keyword 256"])
            assert fill(node, index, LOGS[index]) == []
    with relay(transport(far)) as wire:
        both = Two(near, far, wire)
        try:
            yield both
        finally:
            both.settle(mode=None, proxy_address=None, seeds=None, skip_unavailable=None)


def _rows(*seen: Observation) -> list[tuple[Any, ...]]:
    """Counts of several observations together."""
    total = seen[0].ledger
    for other in seen[1:]:
        total.merge(other.ledger)
    return list(total.rows())


@pytest.mark.parametrize("read_at_most", [10_000, 150], ids=["read", "counted"])
@pytest.mark.parametrize("mode", ["sniff", "proxy"])
def test_as_if_it_were_one(two: Two, mode: str, read_at_most: int) -> None:
    if mode == "proxy":
        two.connect(skip=True)
    else:
        two.settle(seeds=[transport(two.far)])
        two.wait(True)

    def seen(node: Node, asked: str) -> Observation:
        found = observe(ClusterSource(lambda: reach(node, asked), window=WINDOW, read_at_most=read_at_most), WANTED, SignalOptions())
        assert [entry for entry in found.tally.could_not if entry.blocking] == []
        return found

    far = f"{ALIAS}:{FAR}"
    assert _rows(seen(two.near, far)) == _rows(seen(two.far, FAR))
    both = seen(two.near, f"{NEAR},{far}")
    assert both.tally.requests == len(LOGS[NEAR]) + len(LOGS[FAR])
    if read_at_most > 400:  # what is counted depends on the documents looked at, which differ
        assert _rows(both) == _rows(seen(two.near, NEAR), seen(two.far, FAR))
    assert seen(two.near, f"{ALIAS[:-1]}*:{FAR}").tally.requests == len(LOGS[FAR])


def test_documents_name_their_cluster(two: Two) -> None:
    two.connect(skip=True)
    cluster = reach(two.near, f"{NEAR},{ALIAS}:{FAR}")
    found = [hit for page in pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents", page=70) for hit in page]
    assert {hit["_index"] for hit in found} == {NEAR, f"{ALIAS}:{FAR}"}
    assert len({(hit["_index"], hit["_id"]) for hit in found}) == len(found) == 800  # the same ids stand in both
    assert cluster.gaps == []


def test_a_remote_that_may_be_skipped_is_away(two: Two) -> None:
    two.connect(skip=True)
    two.cut()
    seen = two.told(f"{NEAR},{ALIAS}:{FAR}")
    assert seen.tally.requests == len(LOGS[NEAR])
    told = [entry for entry in seen.tally.could_not if entry.blocking]
    words = f"the documents of remote cluster {ALIAS}: it was skipped" if two.near.flavour == "elasticsearch" else "1 of 2 clusters: skipped"
    assert any(words in f"{entry.what}: {entry.why}" for entry in told)
    assert all("_remote/info" in entry.remedy for entry in told)


def test_a_remote_that_may_not_be_skipped_is_away(two: Two) -> None:
    two.connect(skip=False)
    two.cut()
    for asked in (f"{ALIAS}:{FAR}", f"{NEAR},{ALIAS}:{FAR}"):
        with pytest.raises(ClusterError) as caught:
            two.told(asked)
        assert caught.value.kind == "remote"
        assert f"the remote cluster {ALIAS} can't be reached" in str(caught.value)


def test_nothing_but_a_remote_that_is_away(two: Two) -> None:
    two.connect(skip=True)
    two.cut()
    with pytest.raises(ClusterError) as caught:
        two.told(f"{ALIAS}:{FAR}")
    assert caught.value.kind == "remote"
    assert ALIAS in str(caught.value)


@pytest.mark.parametrize("looked", [True, False], ids=["after a look", "at the first request"])
def test_a_view_that_was_opened_while_a_remote_was_away(two: Two, looked: bool) -> None:
    """The view holds the near half only, and its answers do not say so."""
    two.connect(skip=True)
    cluster = reach(two.near, f"{NEAR},{ALIAS}:{FAR}")
    read_capabilities(cluster)
    if looked:
        cluster.search({"size": 0}, what="documents")
    two.cut()
    found = [hit for page in pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents") for hit in page]
    assert len(found) == len(LOGS[NEAR])
    assert any("_remote/info" in gap.remedy and gap.blocking for gap in cluster.gaps)


def test_a_remote_goes_away_between_two_pages(two: Two) -> None:
    two.connect(skip=True)
    cluster = reach(two.near, f"{NEAR},{ALIAS}:{FAR}")
    reading = pages(cluster, within("@timestamp", WINDOW), "@timestamp", what="documents", page=50)
    next(reading)
    two.cut()
    try:
        found = 50 + sum(len(page) for page in reading)
    except ClusterError:
        return  # a stretch that breaks off is not counted at all
    assert found < 800
    assert any(gap.blocking for gap in cluster.gaps)


@pytest.mark.parametrize("skip", [True, False])
def test_a_remote_without_the_index(two: Two, skip: bool) -> None:
    two.connect(skip)
    asked = f"{NEAR},{ALIAS}:llm-there-is-none"
    if skip:
        words = "index_not_found_exception" if two.near.flavour == "elasticsearch" else "1 of 2 clusters: skipped"
        assert any(entry.blocking and words in entry.why for entry in two.told(asked).tally.could_not)
        return
    with pytest.raises(ClusterError) as caught:
        two.told(asked)
    assert caught.value.kind == "missing"
    assert f"{ALIAS}:llm-there-is-none" in str(caught.value)


def test_a_remote_that_is_not_known(two: Two) -> None:
    with pytest.raises(ClusterError) as caught:
        two.told(f"{NEAR},nowhere:{FAR}")
    # OpenSearch takes a name that it does not know for that of an index
    words = "knows no remote cluster nowhere" if two.near.flavour == "elasticsearch" else f"there is no index nowhere:{FAR}"
    assert words in str(caught.value)


def test_the_command_never_takes_half_a_log_for_a_healthy_one(
    two: Two, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [own(f"llm-sound-{side}") for side in ("near", "far")]
    for node, index in zip((two.near, two.far), names, strict=True):
        create(node, index, MAPPINGS["text with keyword 256"])
        assert fill(node, index, [{**row, "id": f"{index}-{row['id']}"} for row in sound(300, START)]) == []
    source = f"{two.near.url}/{names[0]},{ALIAS}:{names[1]}"
    args = ["check", "--format", "json", "--source", source, "--from", iso(WINDOW.start), "--to", iso(WINDOW.end)]
    two.connect(skip=True)
    assert main(args) == 0
    whole = json.loads(capsys.readouterr().out)
    assert whole["could_not"] == []
    two.cut()
    assert main(args) == 2
    half = json.loads(capsys.readouterr().out)
    assert half["scanned"]["requests"] * 2 == whole["scanned"]["requests"]
    assert half["findings"] == []
    assert half["could_not"]
    assert main(["doctor", "--since", "36500d", "--source", source]) == 2
    assert "PROBLEM  the documents of" in capsys.readouterr().out


@pytest.mark.elasticsearch8
@pytest.mark.elasticsearch9
def test_refused_documents_of_a_remote(elasticsearch9: Node, elasticsearch8: Node) -> None:
    now = float(int(time.time()))
    name = stream(complete(elasticsearch8), "stream-remote")
    add(elasticsearch8, name, sound(30, now - 1800, 1700))
    assert add(elasticsearch8, name, [{"@timestamp": int((now - 900) * 1000), "latency_ms": "soon"}]) == ["stored"]
    create(elasticsearch9, own("plain-remote"), PROPERTIES)
    with relay(transport(elasticsearch8)) as wire:
        two = Two(elasticsearch9, elasticsearch8, wire)
        try:
            two.connect(skip=True)
            asked = f"{own('plain-remote')},{ALIAS}:{name}"
            seen = observe(ClusterSource(lambda: reach(elasticsearch9, asked), window=Window(now - 3600, now)), WANTED, SignalOptions())
        finally:
            two.settle(mode=None, proxy_address=None, skip_unavailable=None)
    told = [entry for entry in seen.tally.could_not if "refused" in entry.why]
    assert [(entry.what, entry.blocking) for entry in told] == [("1 document of the window", True)]
    assert f"{ALIAS}:{name}::failures" in told[0].remedy
