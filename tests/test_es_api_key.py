"""API keys on a real secured node, made with the deployment's JSON: what they can do, and what is said once they were revoked or have expired."""

from __future__ import annotations

import json
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.window import iso
from tests.conftest import complete
from tests.es_index import MAPPINGS, create, fill, own
from tests.es_stream import add, sound, stream
from tests.nodes.nodes import Node
from tests.relay import transport

pytestmark = pytest.mark.elasticsearch9
KEY = json.loads((Path(__file__).parents[1] / "deploy" / "elasticsearch" / "api-key.json").read_text())
INDEX = own("llm-api-key")
HOUR = 3600.0


@dataclass
class Called:
    """One call of the command line; whatever it printed never holds a part of the key."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found


Call = Callable[..., Called]


@pytest.fixture(scope="module")
def node(secured: Node) -> Node:
    """The secured node with a sound log of the last hour, and an index elsewhere."""
    complete(secured)
    create(secured, INDEX, MAPPINGS["text with keyword 256"])
    assert fill(secured, INDEX, sound(300, time.time() - HOUR, HOUR - 200)) == []
    create(secured, own("other"), {})
    return secured


def _made(node: Node, **changes: Any) -> dict[str, str]:
    """A new key, made with the deployment's JSON."""
    key: dict[str, str] = node.ask("POST", "/_security/api_key", {**KEY, **changes})
    return key


@pytest.fixture
def call(node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    """Runs `detector COMMAND` with an API key in the environment."""

    def run(key: str, *args: str, index: str = INDEX) -> Called:
        config = tmp_path / "detector.yml"
        config.write_text(json.dumps({"source": {"url": node.url, "index": index, "tls": {"ca_file": node.ca}}}))
        monkeypatch.setenv("DETECTOR_ES_API_KEY", key)
        code = main([*args, "--config", str(config)])
        captured = capsys.readouterr()
        plain = key if ":" in key else b64decode(key).decode()
        for secret in (key, b64encode(plain.encode()).decode(), plain.partition(":")[2]):
            assert secret not in captured.out + captured.err
        return Called(code, captured.out, captured.err)

    return run


@pytest.mark.parametrize("form", ["id:key", "base64"])
def test_the_key_of_the_deployment(node: Node, call: Call, form: str) -> None:
    key = _made(node)
    given = f"{key['id']}:{key['api_key']}" if form == "id:key" else key["encoded"]
    now = time.time()
    checked = call(given, "check", "--format", "json", "--from", iso(now - HOUR), "--to", iso(now))
    assert checked.code == 0, checked.out
    assert checked.report["scanned"]["requests"] > 200
    assert checked.report["could_not"] == []
    examined = call(given, "doctor")
    assert examined.code == 0, examined.out
    assert f"read and view_index_metadata on {INDEX}; nothing more is needed" in examined.out
    assert "version unknown" in examined.out  # it may ask nothing of the cluster


def test_the_key_reads_nothing_else(node: Node, call: Call) -> None:
    refused = call(_made(node)["encoded"], "check", index=own("other"))
    assert refused.code == 2
    assert f"these credentials may not read {own('other')}" in refused.err


def _revoked(node: Node) -> dict[str, str]:
    key = _made(node)
    node.ask("DELETE", "/_security/api_key", {"ids": [key["id"]]})
    return key


def _expired(node: Node) -> dict[str, str]:
    key = _made(node, expiration="1ms")
    while int(key["expiration"]) >= time.time() * 1000:
        time.sleep(0.001)
    return key


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_revoked, "the API key was revoked"),
        (_expired, "the API key has expired"),
        (lambda node: {**_made(node), "id": "nosuchid"}, "the API key is not known to this cluster"),
        (lambda node: {**_made(node), "api_key": "not-the-right-one"}, "the API key is wrong"),
    ],
    ids=["revoked", "expired", "unknown", "wrong"],
)
def test_a_key_that_is_not_accepted(node: Node, call: Call, make: Callable[[Node], dict[str, str]], words: str) -> None:
    key = make(node)
    given = f"{key['id']}:{key['api_key']}"
    checked = call(given, "check")
    assert checked.code == 2
    assert f"{node.url} does not accept the credentials: {words} (HTTP 401, security_exception)" in checked.err
    assert "DETECTOR_ES_API_KEY" in checked.err
    examined = call(given, "doctor")
    assert examined.code == 2
    assert words in examined.out
    reported = call(given, "check", "--format", "json")
    assert reported.code == 2
    assert reported.report["could_not"]


def test_a_key_that_is_revoked_on_the_way(node: Node, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first requests succeed, the next is a 401: an error, never a quiet log."""
    from detector.sources import elasticsearch

    key = _made(node)
    look = elasticsearch.first_look

    def revoke(*args: Any, **settings: Any) -> Any:
        found = look(*args, **settings)
        node.ask("DELETE", "/_security/api_key", {"ids": [key["id"]]})
        return found

    monkeypatch.setattr(elasticsearch, "first_look", revoke)
    now = time.time()
    checked = call(key["encoded"], "check", "--format", "json", "--from", iso(now - HOUR), "--to", iso(now))
    assert checked.code == 2
    assert "the API key was revoked" in json.dumps(checked.report["could_not"])


def test_refused_documents_need_a_right_of_their_own(node: Node, call: Call) -> None:
    """Without `read_failure_store` the run goes on and says what it can't see; with it the refused document is seen."""
    name = stream(node, "llm-stream-key")
    now = float(int(time.time()))
    add(node, name, sound(200, now - HOUR, HOUR - 200))
    assert add(node, name, [{"@timestamp": int((now - 900) * 1000), "latency_ms": "soon"}]) == ["stored"]
    window = ("check", "--format", "json", "--from", iso(now - HOUR), "--to", iso(now))

    least = _made(node)["encoded"]
    checked = call(least, *window, index=name)
    assert checked.report["scanned"]["requests"] > 100
    told = [entry for entry in checked.report["could_not"] if "refused" in entry["what"]]
    assert len(told) == 1
    assert "grant read_failure_store" in told[0]["remedy"]
    pattern = call(least, *window, index=f"llm-stream-key*{name.rpartition('-')[2]}")  # a pattern passes over what may not be read, in silence
    assert [entry for entry in pattern.report["could_not"] if "refused" in entry["what"]] == told
    examined = call(least, "doctor", index=name)
    assert "grant read_failure_store" in examined.out

    role = {"cluster": [], "indices": [{"names": ["llm-*"], "privileges": ["read", "view_index_metadata", "read_failure_store"]}]}
    more = _made(node, role_descriptors={"llm_detector": role})["encoded"]
    checked = call(more, *window, index=name)
    assert checked.code == 2
    assert [entry["what"] for entry in checked.report["could_not"]] == ["1 document of the window"]


def test_a_remote_that_refuses_inside_of_a_good_answer(node: Node, call: Call) -> None:
    """The node is its own remote cluster; what may be skipped answers 200 and hides that it was forbidden."""
    alias, name = f"self{os.getpid()}", stream(node, "llm-stream-self")
    now = float(int(time.time()))
    add(node, name, sound(200, now - HOUR, HOUR - 200))
    least = _made(node)["encoded"]
    window = ("check", "--format", "json", "--from", iso(now - HOUR), "--to", iso(now))

    def settle(**settings: Any) -> None:
        node.ask("PUT", "/_cluster/settings", {"persistent": {f"cluster.remote.{alias}": settings}})

    settle(mode="proxy", proxy_address=transport(node), skip_unavailable=True)
    try:
        checked = call(least, *window, index=f"{alias}:{name}")
        assert checked.report["scanned"]["requests"] > 100
        told = {entry["what"]: entry for entry in checked.report["could_not"]}
        assert list(told) == [f"documents of {alias}:{name} that the cluster refused at indexing"]
        assert "grant read_failure_store" in told.popitem()[1]["remedy"]
        elsewhere = call(least, *window, index=f"{INDEX},{alias}:{own('other')}")
        assert elsewhere.code == 2
        assert any("skipped" in entry["why"] and "security_exception" in entry["why"] and "grant" in entry["remedy"] for entry in elsewhere.report["could_not"])
    finally:
        settle(mode=None, proxy_address=None, skip_unavailable=None)
