"""Shared rows of the ledger: requests that every signal could judge, kept once, read as if each signal had its own."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from detector.ledger import Labels, Ledger

SIGNALS = ("garbage", "length_cutoff", "repetition")
SERIES: tuple[Labels, ...] = (("a", "m", None, None, "p", "true"), ("a", "m", None, None, "q", None), ("b", None, None, None, None, None))

answers = st.lists(
    st.tuples(st.integers(-1, 6), st.sampled_from(SERIES), st.tuples(*(st.booleans() for _ in SIGNALS)), st.tuples(*(st.booleans() for _ in SIGNALS))),
    max_size=40,
)


def shared(rows: list[tuple[int, Labels, tuple[bool, ...], tuple[bool, ...]]]) -> Ledger:
    ledger = Ledger()
    for minute, labels, visible, flagged in rows:
        minutes, ids = np.array([minute]), ledger.series_ids([labels])
        ledger.add_shared(minutes, ids, SIGNALS, np.array([1]))
        for name, seen, hit in zip(SIGNALS, visible, flagged, strict=True):
            ledger.add_numbered(minutes, ids, name, np.array([0 if seen else -1]), np.array([int(seen and hit)]))
    return ledger


def separate(rows: list[tuple[int, Labels, tuple[bool, ...], tuple[bool, ...]]]) -> Ledger:
    ledger = Ledger()
    for minute, labels, visible, flagged in rows:
        for name, seen, hit in zip(SIGNALS, visible, flagged, strict=True):
            ledger.add(np.array([minute]), [labels], name, np.array([int(seen)]), np.array([int(seen and hit)]))
    return ledger


@given(answers)
def test_shared_rows_read_as_rows_of_each_signal(rows: list[tuple[int, Labels, tuple[bool, ...], tuple[bool, ...]]]) -> None:
    one, other = shared(rows), separate(rows)
    assert list(one.rows()) == list(other.rows())
    assert one.signals == other.signals
    assert one.requests_in(-1, 7) == other.requests_in(-1, 7)
    for name in SIGNALS:
        panel, expected = (ledger.panel(name, ("deployment", "pod"), 0, 7, 2) for ledger in (one, other))
        assert panel.labels == expected.labels
        assert (panel.requests == expected.requests).all()
        assert (panel.flagged == expected.flagged).all()


@given(answers, answers)
def test_merging_is_adding(
    first: list[tuple[int, Labels, tuple[bool, ...], tuple[bool, ...]]], second: list[tuple[int, Labels, tuple[bool, ...], tuple[bool, ...]]]
) -> None:
    merged = shared(first)
    merged.merge(shared(second))
    assert list(merged.rows()) == list(separate(first + second).rows())
