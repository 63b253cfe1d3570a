"""The ledger: equal counts whatever the order and the partition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.evidence import EXAMPLES_KEPT, Evidence, Example
from detector.ledger import SUBTYPE_MARK, Labels, Ledger
from detector.record import SERIES_LABELS

Row = tuple[int, Labels, str, int, int]
START = 29_000_000


def labels(deployment: str | None = None, model: str | None = None, pod: str | None = None) -> Labels:
    known = {"deployment": deployment, "model": model, "pod": pod}
    return tuple(known.get(name) for name in SERIES_LABELS)


SERIES = st.builds(labels, st.sampled_from([None, "a", "b"]), st.sampled_from([None, "m"]), st.sampled_from([None, "p0", "p1"]))
COUNTS = st.integers(0, 9).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))
ROWS = st.lists(st.tuples(st.integers(START, START + 40), SERIES, st.sampled_from(["length_cutoff", "garbage"]), COUNTS), max_size=30)


def ledger_of(rows: list[tuple[int, Labels, str, tuple[int, int]]]) -> Ledger:
    ledger = Ledger()
    for minute, series, signal, (requests, flagged) in rows:
        ledger.add(np.array([minute]), [series], signal, np.array([requests]), np.array([flagged]))
        if flagged:
            example = Example(minute * 60.0, f"r{minute}", "cut")
            ledger.add_evidence(minute, series, signal, Evidence({"cut": flagged}, {}, [example], minute * 60.0, minute * 60.0))
    return ledger


def content(ledger: Ledger) -> tuple[list[Row], dict[tuple[int, Labels, str], tuple[object, ...]]]:
    evidence = {key: (dict(sorted(e.subtypes.items())), e.examples, e.first, e.last) for key, e in ledger.evidence.items()}
    return list(ledger.rows()), evidence


@settings(deadline=None, max_examples=40)
@given(ROWS, ROWS, ROWS)
def test_merging_adds_in_any_order_and_grouping(one: list, two: list, three: list) -> None:
    whole = content(ledger_of(one + two + three))
    for order in ((one, two, three), (three, one, two), (two, three, one)):
        total = Ledger()
        for part in order:
            total.merge(ledger_of(part))
        assert content(total) == whole
    nested = ledger_of(two)
    nested.merge(ledger_of(three))
    first = ledger_of(one)
    first.merge(nested)
    assert content(first) == whole


@settings(deadline=None, max_examples=40)
@given(ROWS, ROWS)
def test_observing_the_same_minutes_twice_replaces_them(rows: list, late: list) -> None:
    ledger = ledger_of(rows)
    minutes = range(START, START + 20)
    again = ledger_of([row for row in rows + late if row[0] in minutes])
    ledger.replace(again, minutes)
    once = content(ledger)
    ledger.replace(again, minutes)
    assert content(ledger) == once
    assert once == content(ledger_of(rows + [row for row in late if row[0] in minutes]))


@settings(deadline=None, max_examples=40)
@given(ROWS)
def test_replacing_with_nothing_empties_the_minutes_and_no_others(rows: list) -> None:
    ledger = ledger_of(rows)
    ledger.replace(Ledger(), range(START, START + 20))
    assert content(ledger) == content(ledger_of([row for row in rows if row[0] >= START + 20]))


@settings(deadline=None, max_examples=40)
@given(ROWS, st.integers(1, 17), st.integers(START - 5, START + 20), st.integers(0, 50))
def test_a_panel_holds_exactly_the_rows_of_its_span(rows: list, step: int, start: int, length: int) -> None:
    panel = ledger_of(rows).panel("garbage", ("deployment",), start, start + length, step)
    inside = [row for row in rows if row[2] == "garbage" and start <= row[0] < start + length]
    assert panel.requests.sum() == sum(row[3][0] for row in inside)
    assert panel.flagged.sum() == sum(row[3][1] for row in inside)
    for series, own in enumerate(panel.labels):
        for at in range(panel.bins):
            low = start + at * step
            here = [row for row in inside if low <= row[0] < low + step and row[1][SERIES_LABELS.index("deployment")] == own["deployment"]]
            assert panel.requests[series, at] == sum(row[3][0] for row in here)


def test_series_of_a_panel_are_ordered_and_unknown_labels_are_a_series_of_their_own() -> None:
    ledger = ledger_of([(START, labels("b"), "garbage", (1, 0)), (START, labels(None), "garbage", (1, 1)), (START, labels("a"), "garbage", (1, 0))])
    panel = ledger.panel("garbage", ("deployment",), START, START + 1)
    assert [own["deployment"] for own in panel.labels] == [None, "a", "b"]
    assert panel.flagged[:, 0].tolist() == [1, 0, 0]
    assert ledger.series_count(("deployment",)) == 3


def test_a_panel_of_subtypes_counts_only_these_over_all_requests() -> None:
    ledger = Ledger()
    at, series = np.array([START]), [labels("d")]
    ledger.add(at, series, "length_cutoff", np.array([50]), np.array([9]))
    ledger.add(at, series, f"length_cutoff{SUBTYPE_MARK}answer_cut", np.array([0]), np.array([4]))
    ledger.add(at, series, f"length_cutoff{SUBTYPE_MARK}context_full", np.array([0]), np.array([5]))
    panel = ledger.panel("length_cutoff", ("deployment",), START, START + 1, 1, ("answer_cut",))
    assert (panel.requests.item(), panel.flagged.item()) == (50, 4)


def test_coded_rows_equal_rows_with_labels() -> None:
    minutes, n, k = np.array([START, START + 1, START]), np.array([5, 6, 7]), np.array([0, 1, 2])
    one, other = Ledger(), Ledger()
    one.add(minutes, [labels("a"), labels("b"), labels("a")], "garbage", n, k)
    other.add_coded(minutes, [labels("b"), labels("a")], np.array([1, 0, 1]), "garbage", n, k)
    assert list(one.rows()) == list(other.rows())


def test_many_rows_are_folded_as_they_come() -> None:
    ledger = Ledger()
    minutes = np.arange(START, START + 1000)
    for _ in range(600):
        ledger.add_coded(minutes, [labels("a")], np.zeros(1000, np.int64), "garbage", np.ones(1000, np.int64), np.zeros(1000, np.int64))
    assert sum(len(columns[0]) for columns in ledger._pending) < 300_000
    assert ledger.panel("garbage", (), START, START + 1000, 1000).requests.item() == 600_000


def test_the_earliest_examples_stay_and_are_few() -> None:
    total = Evidence()
    for at in (9, 3, 7, 1, 5, 8, 2):
        total.add(Evidence({"cut": 1}, {}, [Example(float(at), f"r{at}", "cut")], float(at), float(at)))
    assert [example.timestamp for example in total.examples] == [1, 2, 3, 5, 7]
    assert len(total.examples) == EXAMPLES_KEPT
    assert (total.first, total.last, total.subtypes) == (1, 9, {"cut": 7})


def test_an_empty_ledger_has_no_span_no_signals_and_no_rows() -> None:
    ledger = Ledger()
    assert (ledger.span(), ledger.signals, list(ledger.rows())) == (None, (), [])
    assert ledger.panel("garbage", ("deployment",), START, START + 10).requests.shape == (0, 10)
