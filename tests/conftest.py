"""Fixtures shared by all tests: the real search servers, and the list of those that really ran at the end of the session."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.es_index import drop_all
from tests.nodes.nodes import SERVERS, Node, NodeMissingError, running
from tests.servers.required import MISSING, RAN

settings.register_profile("untimed", deadline=None)  # no test is about time: a busy machine must not fail one
settings.load_profile("untimed")

REQUIRED = os.environ.get("DETECTOR_REQUIRE_NODES") == "1"  # set by .ci/run: a server that can't be had is a failure there, not a skip
_ran: dict[str, str] = {}
_missing: dict[str, str] = {}
NEEDED_MIB = 1200  # 512 MiB of heap and what the JVM takes beside it


def _available_mib() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return NEEDED_MIB
    return next((int(line.split()[1]) // 1024 for line in lines if line.startswith("MemAvailable")), NEEDED_MIB)


def _node(name: str) -> Iterator[Node]:
    try:
        if _available_mib() < NEEDED_MIB:
            raise NodeMissingError(f"{name}: only {_available_mib()} MiB of memory are free, {NEEDED_MIB} are needed")
        context = running(name)
        node = context.__enter__()
    except NodeMissingError as error:
        _missing[name] = str(error)
        if REQUIRED:
            pytest.fail(f"DETECTOR_REQUIRE_NODES=1, but {error}", pytrace=False)
        pytest.skip(str(error))
    _ran[name] = f"{SERVERS[name].flavour} {node.version}{' (secured, TLS)' if node.ca else ''}, ready in {node.seconds} s"
    try:
        yield node
    finally:
        drop_all()
        context.__exit__(None, None, None)


@pytest.fixture(scope="session")
def elasticsearch8() -> Iterator[Node]:
    """A real Elasticsearch 8 node."""
    yield from _node("elasticsearch8")


@pytest.fixture(scope="session")
def elasticsearch9() -> Iterator[Node]:
    """A real Elasticsearch 9 node."""
    yield from _node("elasticsearch9")


@pytest.fixture(scope="session")
def opensearch() -> Iterator[Node]:
    """A real OpenSearch 3 node."""
    yield from _node("opensearch")


@pytest.fixture(scope="session")
def secured() -> Iterator[Node]:
    """A real Elasticsearch 9 node with users, roles and TLS with a certificate authority of its own."""
    yield from _node("secured")


def complete(node: Node) -> Node:
    """The node, where API keys and failure stores can be had (`tests/nodes/plugin.py`); the test is skipped with the reason otherwise."""
    if node.lacks:
        why = f"{node.name} has no API keys and failure stores here: {node.lacks}"
        _missing[f"{node.name}, API keys and failure stores"] = why
        if REQUIRED:
            pytest.fail(f"DETECTOR_REQUIRE_NODES=1, but {why}", pytrace=False)
        pytest.skip(why)
    return node


ANY_NODE = [
    pytest.param("elasticsearch8", marks=pytest.mark.elasticsearch8),
    pytest.param("elasticsearch9", marks=pytest.mark.elasticsearch9),
    pytest.param("opensearch", marks=pytest.mark.opensearch),
]


@pytest.fixture(params=ANY_NODE)
def node(request: pytest.FixtureRequest) -> Node:
    """Each of the three servers in turn."""
    found: Node = request.getfixturevalue(request.param)
    return found


# -- what really ran -----------------------------------------------------------------------------------------------------------------------------
def pytest_sessionfinish(session: pytest.Session) -> None:
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:  # a worker of pytest-xdist tells its controller
        output["servers"] = ({**RAN, **_ran}, {**MISSING, **_missing})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    ran, missing = getattr(node, "workeroutput", {}).get("servers", ({}, {}))
    _ran.update(ran)
    _missing.update(missing)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Which real servers and versions ran, so that 'skipped' is never read as 'passed'."""
    _ran.update(RAN)
    _missing.update({name: why for name, why in MISSING.items() if name not in _ran})
    if not _ran and not _missing:
        return
    terminalreporter.section("real servers")
    for name in sorted({*_ran, *_missing}):
        terminalreporter.write_line(f"{name}: ran {_ran[name]}" if name in _ran else f"{name}: DID NOT RUN: {_missing[name]}")
