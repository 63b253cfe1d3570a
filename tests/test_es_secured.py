"""A real node with users, roles and TLS of its own authority: what the least-privilege role can do, and what is said where it can't."""

from __future__ import annotations

import hashlib
import json
import ssl
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from detector.cli import main
from detector.config import load_settings
from detector.observation import observe
from detector.secrets import Secrets
from detector.signals.base import SignalOptions, signals
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_cluster import Cluster, ClusterError, open_cluster
from detector.sources.es_connection import Connection, authorization
from tests.es_index import MAPPINGS, WINDOW, create, fill, own
from tests.fault_proxy import fault_proxy
from tests.llm_log import documents
from tests.nodes.nodes import ADMIN, BLIND, READER, Node

pytestmark = pytest.mark.elasticsearch9
ROLES = Path(__file__).parent / "nodes" / "roles.yml"
ROLE = Path(__file__).parents[1] / "deploy" / "elasticsearch" / "role.json"
LOG = documents(400)
INDEX = own("llm-secured")
ELSEWHERE = own("other")
WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure", "think_leak", "empty_content")}


def _basic(user: tuple[str, str]) -> str | None:
    return authorization(Secrets(es_username=user[0], es_password=user[1]))


def _open(node: Node, index: str = INDEX, *, user: tuple[str, str] = READER, **trust: object) -> Cluster:
    settings = trust or {"ca_file": node.ca}
    return open_cluster(Connection(urls=(node.url,), authorization=_basic(user), **settings), index, lambda _: None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def log(secured: Node) -> Node:
    """The node with a log and an index that the reader may not see."""
    create(secured, INDEX, MAPPINGS["text with keyword 256"])
    assert fill(secured, INDEX, LOG) == []
    create(secured, ELSEWHERE, {})
    return secured


@pytest.mark.parametrize("read_at_most", [10_000, 150])
def test_the_least_privilege_role_is_enough(log: Node, read_at_most: int) -> None:
    seen = observe(ClusterSource(lambda: _open(log), window=WINDOW, read_at_most=read_at_most), WANTED, SignalOptions())
    assert seen.tally.requests == len(LOG)
    assert not any(entry.blocking for entry in seen.tally.could_not)
    as_admin = observe(ClusterSource(lambda: _open(log, user=ADMIN), window=WINDOW, read_at_most=read_at_most), WANTED, SignalOptions())
    assert list(seen.ledger.rows()) == list(as_admin.ledger.rows())


def test_the_role_of_the_deployment_is_the_one_that_was_tested() -> None:
    told = json.loads(ROLE.read_text())
    assert told["cluster"] == []
    assert [sorted(entry["privileges"]) for entry in told["indices"]] == [["read", "view_index_metadata"]]
    tested = ROLES.read_text().partition("elsewhere:")[0]
    assert "cluster: []" in tested
    assert "privileges: [read, view_index_metadata]" in tested


def test_no_cluster_privilege_is_used(log: Node) -> None:
    cluster = _open(log)
    with pytest.raises(ClusterError) as caught:
        cluster.ask("GET", "/_cluster/health")
    assert caught.value.kind == "forbidden"
    assert cluster.version() is None


@pytest.mark.parametrize("index", [ELSEWHERE, f"{ELSEWHERE},{INDEX}"], ids=["alone", "beside one in reach"])
def test_an_index_out_of_reach(log: Node, index: str) -> None:
    with pytest.raises(ClusterError) as caught:
        observe(ClusterSource(lambda: _open(log, index), window=WINDOW), WANTED, SignalOptions())
    assert caught.value.kind == "forbidden"
    assert "role.json" in str(caught.value)


def test_a_pattern_that_hides_everything_is_not_an_empty_log(log: Node) -> None:
    with pytest.raises(ClusterError, match="may read none of those"):
        observe(ClusterSource(lambda: _open(log, "llm-*", user=BLIND), window=WINDOW), WANTED, SignalOptions())


@pytest.mark.parametrize("user", [("reader", "wrong-pass-word"), ("nobody", "some-pass-word")])
def test_wrong_credentials(log: Node, user: tuple[str, str]) -> None:
    with pytest.raises(ClusterError) as caught:
        _open(log, user=user)
    assert caught.value.kind == "unauthorized"
    assert user[1] not in str(caught.value)


def test_no_credentials(log: Node) -> None:
    with pytest.raises(ClusterError) as caught:
        open_cluster(Connection(urls=(log.url,), ca_file=log.ca), INDEX, lambda _: None)
    assert caught.value.kind == "unauthorized"
    assert "DETECTOR_ES_API_KEY" in caught.value.remedy


def _certificate(node: Node) -> bytes:
    parts = urlsplit(node.url)
    return ssl.PEM_cert_to_DER_cert(ssl.get_server_certificate((parts.hostname or "", parts.port or 0)))


def test_fingerprint(log: Node) -> None:
    digest = hashlib.sha256(_certificate(log)).hexdigest()
    colons = ":".join(digest[at : at + 2] for at in range(0, 64, 2)).upper()
    for given in (digest, colons):
        assert _open(log, fingerprint=given).flavour == "elasticsearch"


@pytest.mark.parametrize("wrong", ["no authority", "wrong authority", "wrong fingerprint"])
def test_a_server_that_can_not_be_trusted(log: Node, wrong: str, tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    other.write_text(ssl.DER_cert_to_PEM_cert(_certificate(log)))  # the server's own certificate is no authority
    trust: dict[str, object] = {
        "no authority": {"ca_file": None},
        "wrong authority": {"ca_file": str(other)},
        "wrong fingerprint": {"fingerprint": "ab" * 32},
    }[wrong]  # type: ignore[assignment]
    with pytest.raises(ClusterError) as caught:
        _open(log, **trust)
    if wrong == "wrong authority" and caught.value.kind != "tls":
        pytest.fail(f"{caught.value.kind}: {caught.value}")
    assert caught.value.kind == "tls"
    assert "fingerprint" in caught.value.remedy


class _ThroughProxy(Connection):
    """Loopback never goes through a proxy; here it must."""

    def proxy_for(self, url: str) -> str | None:
        return self.proxy


def test_trust_is_checked_through_a_tunnel(log: Node) -> None:
    digest = hashlib.sha256(_certificate(log)).hexdigest()
    with fault_proxy("http://127.0.0.1:9") as proxy:  # only its tunnel is used
        for trust, good in (({"ca_file": log.ca}, True), ({"fingerprint": digest}, True), ({}, False), ({"fingerprint": "ab" * 32}, False)):
            reached = _ThroughProxy(urls=(log.url,), authorization=_basic(READER), proxy=proxy.url, **trust)
            if good:
                cluster = open_cluster(reached, INDEX, lambda _: None)
                assert cluster.search({"size": 0}, what="documents")["_shards"]["total"] == 1
                cluster.close()
            else:
                with pytest.raises(ClusterError) as caught:
                    open_cluster(reached, INDEX, lambda _: None)
                assert caught.value.kind == "tls"
        assert {asked.method for asked in proxy.seen} == {"CONNECT"}


def test_verification_can_be_switched_off(log: Node) -> None:
    assert _open(log, verify=False).flavour == "elasticsearch"


def test_http_where_https_is_spoken(log: Node) -> None:
    with pytest.raises(ClusterError) as caught:
        open_cluster(Connection(urls=(log.url.replace("https:", "http:"),)), INDEX, lambda _: None)
    assert caught.value.kind in ("connection", "not_a_cluster")


def test_init_trusts_an_authority_of_their_own(log: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And writes it down, so that the next commands do too."""
    monkeypatch.setenv("DETECTOR_ES_USERNAME", READER[0])
    monkeypatch.setenv("DETECTOR_ES_PASSWORD", READER[1])
    made = tmp_path / "detector.yml"
    assert main(["init", log.url, "--index", INDEX, "--output", str(made)]) == 2
    assert not made.exists()
    assert main(["init", log.url, "--index", INDEX, "--ca-file", str(log.ca), "--output", str(made)]) == 0
    assert load_settings(str(made), {}).source.tls.ca_file == log.ca
    assert main(["init", log.url, "--index", INDEX, "--fingerprint", "12", "--output", "-"]) == 2
