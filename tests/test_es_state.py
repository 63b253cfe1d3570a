"""Minutes that need not be read again, documents that come late, and hostile names of series."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from detector.ledger import Ledger
from detector.observation import observe
from detector.signals.base import SignalOptions, signals
from detector.sources.es_state import MOST_WINDOWS, late_minutes, settles, unread
from detector.window import MINUTE, Window
from tests.es_index import WINDOW, create, fill, own, reach, source
from tests.llm_log import START, documents
from tests.nodes.nodes import Node

WANTED = {name: signals()[name] for name in ("length_cutoff", "request_failure")}
FIRST = int(START // MINUTE)
PROPERTIES = {"@timestamp": {"type": "date"}, "event": {"properties": {"ingested": {"type": "date"}}}}


@given(st.sets(st.integers(FIRST, FIRST + 59)), st.floats(0, 59), st.floats(61, 3600))
def test_unread_covers_exactly_what_is_not_settled(settled: set[int], start: float, length: float) -> None:
    window = Window(START + start, START + start + length)
    found = unread(window, settled)
    covered = {minute for one in found for minute in range(one.first_minute, one.end_minute)}
    wanted = set(range(window.first_minute, window.end_minute)) - settled
    assert wanted <= covered
    assert len(found) <= MOST_WINDOWS
    if len(found) < MOST_WINDOWS:
        assert covered == wanted
    assert all(window.start <= one.start < one.end <= window.end for one in found)
    assert all(before.end <= after.start for before, after in pairwise(found))


def test_settled_is_what_lies_before_the_lag() -> None:
    window = Window(START, START + 600)
    assert settles([window], START + 600, 120) == {FIRST + minute for minute in range(8)}
    assert settles([window], START + 600 + 59, 120) == {FIRST + minute for minute in range(8)}
    assert settles([window], START + 10_000, 120) == {FIRST + minute for minute in range(10)}


def test_a_second_run_reads_only_new_and_late_minutes(node: Node) -> None:
    """Two runs with a kept ledger give what one run over everything gives, and the second asks for little."""
    index = own("llm-state")
    log = documents(600)
    late = log[:100:10]
    early = [document for document in log if document not in late]
    first_run = START + 1800
    for document in early:
        document["event"] = {"ingested": int(START * 1000)}
    for document in late:
        document["event"] = {"ingested": int((first_run + 5) * 1000)}
    create(node, index, PROPERTIES)
    known = [document for number, document in enumerate(early) if START + 3600 * number / len(early) < first_run]
    assert fill(node, index, known) == []
    kept = Ledger()
    past = Window(START, first_run)
    kept.merge(observe(source(node, index, window=past), WANTED, SignalOptions()).ledger)
    settled = settles([past], first_run, 120)

    assert fill(node, index, [*early[len(known) :], *late], first=1000) == []
    now = source(node, index, window=WINDOW)
    again = late_minutes(reach(node, index), now.fields, "@timestamp", past, first_run)
    assert again
    now.settled = settled - again
    seen = observe(now, WANTED, SignalOptions())
    read = {minute for one in unread(WINDOW, now.settled) for minute in range(one.first_minute, one.end_minute)}
    kept.replace(seen.ledger, read)

    whole = observe(source(node, index, window=WINDOW), WANTED, SignalOptions())
    assert list(kept.rows()) == list(whole.ledger.rows())
    assert seen.tally.requests < whole.tally.requests


def test_without_a_field_of_receipt_no_minute_is_late(node: Node) -> None:
    create(node, own("llm-state"), {"@timestamp": {"type": "date"}})
    assert fill(node, own("llm-state"), documents(10)) == []
    cluster = reach(node, own("llm-state"))
    assert late_minutes(cluster, source(node, own("llm-state")).fields, "@timestamp", WINDOW, START) == set()


HOSTILE = ('x" OR *:*', "*", "a:b AND (c)", "</script>", "{{_source}}", "모델/긴 이름 ", "\\", "..", "_all", "${jndi:x}", "'; DROP TABLE")


def test_names_of_series_are_only_ever_values(node: Node) -> None:
    index = own("llm-hostile")
    log = documents(330)
    for number, document in enumerate(log):
        document["deployment"] = HOSTILE[number % len(HOSTILE)]
        document["pod"] = HOSTILE[number % 3]
    create(node, index, {"@timestamp": {"type": "date"}, "deployment": {"type": "keyword"}, "pod": {"type": "keyword"}})
    assert fill(node, index, log) == []
    whole = observe(source(node, index), WANTED, SignalOptions())
    counted = observe(source(node, index, read_at_most=100), WANTED, SignalOptions())
    assert counted.tally.could_not == []
    assert list(counted.ledger.rows()) == list(whole.ledger.rows())
    assert {row[1][0] for row in counted.ledger.rows()} == set(HOSTILE)


def test_an_index_pattern_stays_one_segment(node: Node) -> None:
    cluster = reach(node, "llm-*/_search?q=secret&x=#")
    assert cluster.path.count("/") == 1
    assert "?" not in cluster.path
    assert "#" not in cluster.path
