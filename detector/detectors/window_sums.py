"""Sums over the windows that end at given bins. Pure array arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from detector.panel import Panel

Ints = npt.NDArray[np.int64]


def bins_of(minutes: int, panel: Panel) -> int:
    """How many bins of this panel make up `minutes`, at least one."""
    return max(1, round(minutes / panel.step))


def totals_before(counts: Ints) -> Ints:
    """Running totals along the bins: shape (n_series, n_bins + 1), column `j` is the sum of the first `j` bins."""
    totals = np.zeros((counts.shape[0], counts.shape[1] + 1), np.int64)
    np.cumsum(counts, axis=1, out=totals[:, 1:])
    return totals


def ending_at(totals: Ints, ends: Sequence[int] | Ints, bins: int) -> Ints:
    """Sums of the `bins` bins before each end: (n_series, n_ends); bins before the panel's start count as empty."""
    at = np.asarray(ends, np.int64)
    return totals[:, at] - totals[:, np.maximum(at - bins, 0)]
