"""Intervals against published values and their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.detectors.binomial import clopper_pearson, interval


@pytest.mark.parametrize(
    ("flagged", "requests", "low", "high"),
    [  # Newcombe, Statistics in Medicine 17 (1998), table I, method 3 (Wilson without continuity correction)
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_as_published(flagged: int, requests: int, low: float, high: float) -> None:
    assert interval(flagged, requests) == pytest.approx((low, high), abs=5e-5)


@pytest.mark.parametrize(
    ("flagged", "requests", "low", "high"),
    [  # the same table, method 5 (Clopper-Pearson)
        (81, 263, 0.2527, 0.3676),
        (15, 148, 0.0578, 0.1617),
        (0, 20, 0.0, 0.1684),
        (1, 29, 0.0009, 0.1776),
    ],
)
def test_clopper_pearson_as_published(flagged: int, requests: int, low: float, high: float) -> None:
    lower, upper = clopper_pearson(np.array([flagged]), np.array([requests]))
    assert (lower[0], upper[0]) == pytest.approx((low, high), abs=5e-5)


@settings(deadline=None)
@given(st.integers(0, 400), st.integers(0, 400))
def test_both_hold_the_rate_and_mirror(one: int, other: int) -> None:
    flagged, requests = one, one + other
    low, high = interval(flagged, requests)
    assert 0 <= low <= high <= 1
    if requests:
        assert low <= flagged / requests <= high
        mirrored = interval(other, requests)
        assert (1 - mirrored[1], 1 - mirrored[0]) == pytest.approx((low, high), abs=1e-9)
        exact = clopper_pearson(np.array([flagged]), np.array([requests]))
        assert exact[0][0] <= flagged / requests <= exact[1][0]


def test_nothing_seen_is_nothing_known() -> None:
    assert interval(0, 0) == (0.0, 1.0)
    assert np.isnan(clopper_pearson(np.array([0]), np.array([0]))[0][0])


def test_all_flagged_ends_at_one() -> None:
    assert interval(7, 7)[1] == 1.0
    assert clopper_pearson(np.array([7]), np.array([7]))[1][0] == 1.0


def test_exact_covers_at_least_as_often_as_it_says() -> None:
    """Definition: P(X >= k | lower limit) = P(X <= k | upper limit) = 2.5 %."""
    from scipy.stats import binom

    low, high = clopper_pearson(np.array([9]), np.array([120]))
    assert binom.sf(8, 120, low[0]) == pytest.approx(0.025, abs=1e-9)
    assert binom.cdf(9, 120, high[0]) == pytest.approx(0.025, abs=1e-9)


@pytest.mark.parametrize(("flagged", "requests", "confidence"), [(-1, 5, 0.95), (6, 5, 0.95), (1, 5, 1.0)])
def test_impossible_counts_are_refused(flagged: int, requests: int, confidence: float) -> None:
    with pytest.raises(ValueError, match="not"):
        interval(flagged, requests, confidence)
