"""Documents that a real Elasticsearch refused and keeps in a data stream's failure store: said, and never taken for a healthy log."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.observation import observe
from detector.signals.base import SignalOptions, signals
from detector.sources import es_refused
from detector.sources.base import CouldNot
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_refused import Store as FailureStore
from detector.sources.es_refused import data_streams, failure_store
from detector.storage.memory import LedgerMemory
from detector.storage.store import Store
from detector.window import Window
from tests import fault_proxy as faults
from tests.conftest import complete
from tests.es_index import create, reach
from tests.es_stream import PROPERTIES, add, sound, stream
from tests.fault_proxy import fault_proxy
from tests.nodes.nodes import Node

HOUR = 3600.0
NODES = [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("elasticsearch8", "elasticsearch9")]
WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure")}


@pytest.fixture(params=NODES)
def streaming(request: pytest.FixtureRequest) -> Node:
    """Each Elasticsearch in turn, if it can have failure stores here."""
    return complete(request.getfixturevalue(request.param))


def _bad(at: float, **fields: Any) -> dict[str, Any]:
    """An answer that the mapping refuses."""
    return {**sound(20, at)[0], "@timestamp": int(at * 1000), "latency_ms": "soon", **fields}


@pytest.fixture
def now() -> float:
    return float(int(time.time()))


def _told(node: Node, index: str, window: Window, baseline: float = 0.0) -> list[CouldNot]:
    source = ClusterSource(lambda: reach(node, index), window=window, baseline_from=window.start - baseline)
    return observe(source, WANTED, SignalOptions()).tally.could_not


def _checked(capsys: pytest.CaptureFixture[str], node: Node, index: str, start: float, end: float) -> tuple[int, dict[str, Any]]:
    times = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (start, end)]
    code = main(["check", "--format", "json", "--source", f"{node.url}/{index}", "--from", times[0], "--to", times[1]])
    return code, json.loads(capsys.readouterr().out)


def test_check_and_doctor_tell(streaming: Node, now: float, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name = stream(streaming, "stream-told")
    rows = sound(300, now - HOUR + 60, HOUR - 120)
    assert set(add(streaming, name, rows)) == {"created"}
    code, report = _checked(capsys, streaming, name, now - HOUR, now)
    assert (code, report["could_not"], report["findings"]) == (0, [], [])
    assert main(["doctor", "--source", f"{streaming.url}/{name}"]) == 0
    assert "nothing of this time was refused" in capsys.readouterr().out

    assert add(streaming, name, [_bad(now - 900), _bad(now - 800), _bad(now - 700)]) == ["stored"] * 3
    code, report = _checked(capsys, streaming, name, now - HOUR, now)
    assert code == 2
    assert report["scanned"]["requests"] == len(rows)
    told = report["could_not"]
    assert [entry["what"] for entry in told] == ["3 documents of the window"]
    assert "document_parsing_exception" in told[0]["why"]
    assert f"{name}::failures" in told[0]["remedy"]
    assert "soon" not in json.dumps(told)
    assert main(["doctor", "--source", f"{streaming.url}/{name}"]) == 2
    shown = capsys.readouterr().out
    assert "PROBLEM  3 documents of the window: refused at indexing" in shown
    assert f"{name}::failures" in shown


def test_all_were_refused(streaming: Node, now: float) -> None:
    name = stream(streaming, "stream-none")
    assert add(streaming, name, [_bad(now - 900), _bad(now - 800)]) == ["stored"] * 2
    told = _told(streaming, name, Window(now - HOUR, now))
    assert {entry.what for entry in told} == {f"the documents of {name}", "2 documents of the window"}


def test_a_failing_pipeline(streaming: Node, now: float) -> None:
    """The test distribution has no processor, so none can fail in it; a pipeline that was deleted refuses documents in the same way."""
    name = stream(streaming, "stream-pipeline", pipeline="was-deleted")
    assert add(streaming, name, sound(20, now - 1000, 600)[:4]) == ["stored"] * 4
    told = [entry for entry in _told(streaming, name, Window(now - HOUR, now)) if entry.what == "4 documents of the window"]
    assert len(told) == 1
    assert told[0].blocking


def test_which_are_of_the_window(streaming: Node, now: float) -> None:
    """All are refused now; what counts is the time that they bear."""
    name = stream(streaming, "stream-times")
    start = now - 12 * HOUR
    window = Window(start, start + HOUR)
    assert set(add(streaming, name, sound(60, start, HOUR - 60))) == {"created"}
    bad = [_bad(at) for at in (start - 5 * HOUR, start - 2 * HOUR, start, start + HOUR - 1, start + HOUR, start + 4 * HOUR)]
    nowhere = [{**_bad(start), "@timestamp": "no time at all"}]  # of which only the refusal's time is known: long after the window
    assert add(streaming, name, bad + nowhere) == ["stored"] * 7
    told = {entry.what: entry.blocking for entry in _told(streaming, name, window, baseline=3 * HOUR) if "refused" in entry.why}
    cluster = reach(streaming, name)
    indices = (f".ds-{name}-2026.11.30-000001",)
    store = failure_store(cluster, indices, "@timestamp", Window(start - 3 * HOUR, window.end), window)
    assert store is not None
    assert (store.inside, store.before) == (2, 1)
    assert told == {"2 documents of the window": True, "1 document of the time before the window, the baseline": False}
    every = failure_store(cluster, indices, "@timestamp", None, None)
    assert every is not None
    assert every.inside == 7
    recent = failure_store(cluster, indices, "@timestamp", Window(now - 60, now + 60), None)
    assert recent is not None
    assert recent.inside == 1


def test_refused_documents_are_said_and_what_was_read_is_kept(streaming: Node, now: float, tmp_path: Path) -> None:
    """They block the judgement as long as they are of the window; the minutes beside them need not be read again for that."""
    name = stream(streaming, "stream-kept")
    window = Window(now // 60 * 60 - HOUR, now // 60 * 60)
    rows = sound(120, window.start, HOUR - 60)
    assert set(add(streaming, name, rows)) == {"created"}
    assert add(streaming, name, [_bad(window.start + 600)]) == ["stored"]
    with closing(Store(f"sqlite:///{tmp_path}/state.db")) as store:
        memory = LedgerMemory(store, name, 120.0)
        counts = []
        for _ in range(2):
            source = ClusterSource(lambda: reach(streaming, name), window=window)
            seen = memory.observe(source, window, WANTED, SignalOptions(), window.end + 300)
            assert seen is not None
            assert [entry.what for entry in seen.tally.could_not if entry.blocking] == ["1 document of the window"]
            counts.append((len(source.settled), seen.tally.requests))
    assert counts == [(0, len(rows)), (60, len(rows))]


def test_more_than_are_looked_at(streaming: Node, now: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es_refused, "LOOKED_AT", 2)
    name = stream(streaming, "stream-many")
    assert add(streaming, name, [_bad(now - 60 * number) for number in range(1, 6)]) == ["stored"] * 5
    store = failure_store(reach(streaming, name), (f".ds-{name}-2026.11.30-000001",), "@timestamp", Window(now - HOUR, now), Window(now - 600, now))
    assert store is not None
    assert (store.inside, store.before) == (5, 0)


def test_patterns_aliases_and_plain_indices(streaming: Node, now: float) -> None:
    one, two = stream(streaming, "stream-a"), stream(streaming, "stream-b")
    plain = stream(streaming, "plain-c").replace("plain", "plainly")
    create(streaming, plain, PROPERTIES)
    for name in (one, two):
        assert add(streaming, name, [sound(20, now - 1000)[0] | {"@timestamp": int((now - 900) * 1000)}, _bad(now - 900)]) == ["created", "stored"]
    streaming.ask("POST", "/_aliases", {"actions": [{"add": {"index": one, "alias": f"alias-{one}"}}]})
    ending = one.rpartition("-")[2]
    for asked, count in ((f"stream-a*{ending}", 1), (f"{one},{two}", 2), (f"{plain},{one}", 1), (f"alias-{one}", 1), (plain, 0)):
        told = [entry.what for entry in _told(streaming, asked, Window(now - HOUR, now)) if "refused" in entry.why]
        assert told == ([f"{count} document{'s' if count > 1 else ''} of the window"] if count else []), asked


@pytest.fixture
def seen_by_none(streaming: Node, now: float) -> Iterator[tuple[faults.FaultProxy, str]]:
    """A stream with a refused document, behind a proxy where the credentials may not read its failure store."""
    name = stream(streaming, "stream-shut")
    assert add(streaming, name, [*sound(60, now - 1800, 1700), _bad(now - 900)])[-1] == "stored"
    with fault_proxy(streaming.url) as proxy:
        proxy.faults = [faults.on("::failures", faults.error(403, "security_exception"))]
        yield proxy, name


@pytest.mark.parametrize(
    ("answer", "blocking"),
    [
        (None, [False]),  # the test distribution does not answer: it may be, so it is said
        ({"enabled": True, "indices": []}, [True]),
        ({"enabled": False, "indices": [{"index_name": ".fs-x"}]}, [True]),
        ({"enabled": False, "indices": []}, []),
    ],
    ids=["not told", "enabled", "was enabled", "never enabled"],
)
def test_without_the_right_to_read_it(seen_by_none: tuple[faults.FaultProxy, str], now: float, answer: dict[str, Any] | None, blocking: list[bool]) -> None:
    """What the whole distribution tells of a stream's options (GET _data_stream) decides whether something may be unseen."""
    proxy, name = seen_by_none
    if answer is not None:
        body = json.dumps({"data_streams": [{"name": name, "failure_store": answer}]}).encode()
        sent = {"content-type": "application/json", "x-elastic-product": "Elasticsearch"}
        proxy.faults.append(faults.on("/_data_stream/", lambda asked, forward: faults.Answer(200, sent, body)))
    node = Node("proxy", "elasticsearch", "", proxy.url, 0)
    told = [entry for entry in _told(node, name, Window(now - HOUR, now)) if "refused" in entry.what]
    assert [entry.blocking for entry in told] == blocking
    assert all("read_failure_store" in entry.remedy for entry in told)


@pytest.mark.parametrize(("status", "kind"), [(404, "index_not_found_exception"), (400, "invalid_index_name_exception")])
def test_a_version_without_failure_stores(seen_by_none: tuple[faults.FaultProxy, str], now: float, status: int, kind: str) -> None:
    proxy, name = seen_by_none
    proxy.faults = [faults.on("::failures", faults.error(status, kind))]
    assert not any("refused" in entry.what for entry in _told(Node("proxy", "elasticsearch", "", proxy.url, 0), name, Window(now - HOUR, now)))


def test_a_store_that_does_not_answer(seen_by_none: tuple[faults.FaultProxy, str], now: float) -> None:
    proxy, name = seen_by_none
    proxy.faults = [faults.on("::failures", faults.error(503, "search_phase_execution_exception"))]
    told = [entry for entry in _told(Node("proxy", "elasticsearch", "", proxy.url, 0), name, Window(now - HOUR, now)) if "refused" in entry.what]
    assert [entry.blocking for entry in told] == [True]


def test_names_of_backing_indices() -> None:
    indices = (
        ".ds-llm-a-2026.11.30-000001",
        ".ds-llm-a-2026.12.01-000002",
        "tokyo:.ds-logs-x.y-default-2026.12.01-000012",
        "llm-plain",
        "partial-.ds-b-2026.11.30-000003",
    )
    assert data_streams(indices) == ["b", "llm-a", "tokyo:logs-x.y-default"]


def test_what_a_store_says() -> None:
    store = FailureStore(("a", "b", "c", "d"), inside=1, before=2, types=["document_parsing_exception"])
    told = list(store.could_not())
    assert [(entry.what, entry.blocking) for entry in told] == [
        ("1 document of the window", True),
        ("2 documents of the time before the window, the baseline", False),
    ]
    assert "a, b, c and 1 more" in told[0].why
