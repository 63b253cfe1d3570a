"""What somebody reads who was woken up because the log can't be read: which address was tried, why it failed, which index is wrong, what to do."""

from __future__ import annotations

import pickle
import socket
import ssl
import time
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.network_causes import cause
from detector.sources.es_cluster import ClusterError, open_cluster
from detector.sources.es_connection import Connection
from detector.sources.es_errors import cluster_error
from detector.sources.es_pattern import cluster_of, local, parts, remotes
from detector.sources.es_wire import WireError
from tests import fault_proxy as faults
from tests.es_index import MAPPINGS, create, fill, own
from tests.es_stream import sound
from tests.fault_proxy import fault_proxy
from tests.nodes.nodes import Node

INDEX = own("llm-errors")
HERE = Connection(urls=("http://127.0.0.1:9",))


def _dead() -> str:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{closed.getsockname()[1]}"


def _both(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """What `check` and `doctor` say about a source that can't be read; both end with 2."""
    assert main(["check", *args]) == 2
    said = capsys.readouterr().err
    assert main(["doctor", *args]) == 2
    shown = capsys.readouterr().out
    assert "PROBLEM" in shown
    assert said.removeprefix("detector: ").partition(": ")[0] in shown
    return said + shown


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration of the folder that the tests run in, and no real waiting between attempts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("detector.sources.es_cluster.FIRST_PAUSE_SECONDS", 0.001)


# -- nobody there --------------------------------------------------------------------------------------------------------------------------------
def test_a_dead_server_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    dead = _dead()
    assert f"no connection to {dead} (connection refused)" in _both(capsys, "--source", f"{dead}/llm-*")


def test_every_address_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = _dead(), _dead()
    config = tmp_path / "two.yml"
    config.write_text(f"source: {{url: [{one}, {two}], index: llm-*}}")
    assert f"no connection to {one} or {two} (connection refused)" in _both(capsys, "--config", str(config))


def test_a_server_that_never_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        config = tmp_path / "deaf.yml"
        config.write_text(f"source: {{url: {address}, index: llm-*, timeout: 1s}}")
        assert f"no answer from {address} within 1 s" in _both(capsys, "--config", str(config))


def test_a_server_that_dies_on_the_way(node: Node) -> None:
    """Through both clients."""
    with fault_proxy(node.url) as proxy:
        cluster = open_cluster(Connection(urls=(proxy.url,)), INDEX, lambda _: None)
    with pytest.raises(ClusterError) as caught:
        cluster.ask("GET", "/_field_caps")
    assert str(caught.value).startswith(f"no connection to {proxy.url} (connection refused): check `source.url`")


def test_a_server_that_becomes_slow(node: Node) -> None:
    with fault_proxy(node.url) as proxy:
        cluster = open_cluster(Connection(urls=(proxy.url,), timeout_seconds=3), INDEX, lambda _: None)
        proxy.faults = [faults.too_late]
        with pytest.raises(ClusterError) as caught:
            cluster.ask("GET", "/_field_caps")
    assert f"no answer from {proxy.url} within 3 s" in str(caught.value)


def test_tls_where_none_is_spoken(capsys: pytest.CaptureFixture[str]) -> None:
    with fault_proxy("http://127.0.0.1:9") as proxy:
        said = _both(capsys, "--source", proxy.url.replace("http:", "https:") + "/llm-*")
    assert "no TLS is spoken there" in said
    assert "write http:// in `source.url`" in said


@pytest.mark.elasticsearch9
def test_the_other_way_round(secured: Node, capsys: pytest.CaptureFixture[str]) -> None:
    plain = secured.url.replace("https:", "http:")
    said = _both(capsys, "--source", f"{plain}/llm-*")
    assert f"no connection to {plain} (closed without an answer)" in said
    assert "needs https://" in said
    said = _both(capsys, "--source", f"{secured.url}/llm-*")
    assert f"the certificate of {secured.url} is not trusted (signed by an authority that this machine does not know)" in said
    assert "source.tls.ca_file" in said


def test_a_proxy_is_named_without_its_password() -> None:
    reached = Connection(urls=("http://es.example:9200",), proxy="http://user:pass-word@127.0.0.1:9")
    with pytest.raises(ClusterError) as caught:
        open_cluster(reached, INDEX, lambda _: None)
    assert "no connection to http://es.example:9200 through the proxy http://127.0.0.1:9 (connection refused)" in str(caught.value)
    assert "pass-word" not in str(caught.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ConnectionResetError(104, "x"), "connection reset"),
        (OSError(113, "x"), "no route to the host"),
        (socket.gaierror(socket.EAI_NONAME, "x"), "the host name is not known"),
        (socket.gaierror(socket.EAI_AGAIN, "x"), "the host name can't be resolved just now"),
        (ValueError("text of an answer"), "ValueError"),
    ],
)
def test_causes(error: Exception, words: str) -> None:
    """Wherever a client keeps them."""
    assert cause(error) == words
    for keep in ("errors", "info", "__cause__", "__context__"):
        outer = RuntimeError("text of an answer")
        setattr(outer, keep, (error,) if keep == "errors" else error)
        assert cause(outer) == words
    assert cause(RuntimeError("text of an answer", error)) == words


@pytest.mark.parametrize(("code", "words"), [(10, "the certificate has expired"), (62, "the certificate is for another name"), (7, "it can't be verified")])
def test_certificates(code: int, words: str) -> None:
    error = ssl.SSLCertVerificationError(1, "x")
    error.verify_code = code
    failure = cluster_error(WireError("tls", detail=cause(error)), "llm-*", Connection(urls=("https://es.example:9200",)))
    assert f"the certificate of https://es.example:9200 is not trusted ({words})" in str(failure)
    assert ("ca_file" in failure.remedy) is (code == 7)


# -- somebody there, but not what was asked for --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            {"error": {"type": "index_not_found_exception", "root_cause": [{"type": "index_not_found_exception", "index": "llm-b"}]}},
            "no index llm-b, which is part of",
        ),
        (
            {"error": {"type": "index_not_found_exception", "root_cause": [{"type": "index_not_found_exception", "index": "secret"}]}},
            "no index llm-a,llm-b,-llm-c (",
        ),
        ({"error": {"type": "index_not_found_exception", "index": ["llm-b"]}}, "no index llm-a,llm-b,-llm-c ("),
        ({"error": {"type": "resource_not_found_exception"}}, "something asked for is gone"),
        ({"error": "secret"}, "no index llm-a,llm-b,-llm-c (HTTP 404)"),
        ("secret", "no index llm-a,llm-b,-llm-c (HTTP 404)"),
    ],
)
def test_what_is_missing(body: Any, words: str) -> None:
    failure = cluster_error(WireError("http", 404, body), "llm-a,llm-b,-llm-c", HERE)
    assert failure.kind == "missing"
    assert words in str(failure)
    assert "secret" not in str(failure)


def test_errors_travel_between_processes() -> None:
    failure = cluster_error(WireError("http", 429, {"error": {"type": "es_rejected_execution_exception"}}), "llm-*", HERE)
    again = pickle.loads(pickle.dumps(failure))
    assert (str(again), again.kind, again.types, again.status) == (str(failure), "rejected", ("es_rejected_execution_exception",), 429)


def test_patterns() -> None:
    asked = "llm-*,-llm-old*,tokyo:llm-*,-paris:x,*:y,<llm-{now/d{yyyy.MM.dd|+09:00}}>,ds::failures"
    assert parts(asked) == ["llm-*", "-llm-old*", "tokyo:llm-*", "-paris:x", "*:y", "<llm-{now/d{yyyy.MM.dd|+09:00}}>", "ds::failures"]
    assert remotes(asked) == ["tokyo", "*"]
    assert local(asked) == ["llm-*", "<llm-{now/d{yyyy.MM.dd|+09:00}}>", "ds::failures"]
    assert [cluster_of(name) for name in ("tokyo:.ds-a", "llm-a", "ds::failures", "tokyo:ds::failures")] == ["tokyo", "", "", "tokyo"]


@pytest.fixture
def site(node: Node) -> Node:
    """A node with a sound log of the last hour, and with indices that are no log."""
    create(node, INDEX, MAPPINGS["text with keyword 256"])
    assert fill(node, INDEX, sound(300, time.time() - 3600, 3400)) == []
    for index, properties in ((f"{INDEX}-timeless", {"a": {"type": "long"}}), (f"{INDEX}-empty", {}), (f"{INDEX}-shut", {"@timestamp": {"type": "date"}})):
        create(node, index, properties)
    node.ask("POST", f"/{INDEX}-shut/_close")
    return node


@pytest.mark.parametrize(
    ("asked", "words", "remedy"),
    [
        ("{}-nope", "there is no index {}-nope (HTTP 404, index_not_found_exception)", "check `source.index`"),
        ("{0},{0}-nope", "there is no index {0}-nope, which is part of {0},{0}-nope", "check `source.index`"),
        ("{}-nope*", "no index matches {}-nope*", "check `source.index`"),
        ("{}-shut", "the index {}-shut is closed", "open it, or leave it out of `source.index`"),
        ("{0},{0}-shut", "the index {0}-shut is closed", "open it, or leave it out of `source.index`"),
        ("{}-timeless", "{}-timeless: no date field", "if this is the log, map its time as `date`"),
        ("{}-empty", "{}-empty: no field is mapped, so no document has come yet", "check that the log is shipped to this index"),
    ],
)
def test_a_wrong_index_on_a_live_server(site: Node, capsys: pytest.CaptureFixture[str], asked: str, words: str, remedy: str) -> None:
    said = _both(capsys, "--source", f"{site.url}/{asked.format(INDEX)}")
    assert words.format(INDEX) in said
    assert said.count(remedy) == 2
    if "check `source.index`" in remedy:
        assert "these credentials see" in said
        assert INDEX in said.rpartition("these credentials see")[2]


def test_an_alias_is_as_good_as_its_index(site: Node, capsys: pytest.CaptureFixture[str]) -> None:
    alias = f"alias-{INDEX}"
    site.ask("POST", "/_aliases", {"actions": [{"add": {"index": INDEX, "alias": alias}}]})
    assert main(["check", "--source", f"{site.url}/{alias}"]) == 0
    assert "Read " in capsys.readouterr().out
    assert main(["doctor", "--source", f"{site.url}/{alias}"]) == 0
    assert f"{alias} matches 1: {INDEX}" in capsys.readouterr().out


def test_a_login_page(site: Node, capsys: pytest.CaptureFixture[str]) -> None:
    with fault_proxy(site.url) as proxy:
        proxy.faults = [faults.login_page()]
        said = _both(capsys, "--source", f"{proxy.url}/{INDEX}")
        assert f"{proxy.url} answers, but not as a search cluster" in said
        assert "not that of Kibana or of a login page" in said
        proxy.faults = [faults.on("_search", faults.login_page())]  # a session that ends on the way
        said = _both(capsys, "--source", f"{proxy.url}/{INDEX}")
        assert f"the answer of {proxy.url} is no JSON" in said
        assert "a login page" in said
