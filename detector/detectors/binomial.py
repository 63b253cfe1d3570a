"""Intervals of a rate: flagged of requests.

`interval` (Wilson) is what every screen, message and JSON shows: short, close to its nominal coverage on average, needs no special functions. `clopper_pearson`
(exact: covers at least as often as it says) is what a decision about an absolute level uses (`share`).

Sources: E. B. Wilson, JASA 22 (1927); C. J. Clopper and E. S. Pearson, Biometrika 26 (1934); comparison: L. D. Brown, T. T. Cai, A. DasGupta,
Statistical Science 16 (2001), who recommend Wilson for showing and call Clopper-Pearson "wastefully conservative" but safe.
"""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

CONFIDENCE = 0.95


def interval(flagged: int, requests: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Two-sided Wilson score interval of the rate, as fractions; (0, 1) without requests: nothing is known.

    Raises:
        ValueError: counts are negative, more are flagged than requested, or confidence is not between 0 and 1.
    """
    if not 0 <= flagged <= requests:
        raise ValueError(f"{flagged} of {requests} is not a count of flagged requests")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence {confidence} is not between 0 and 1")
    if not requests:
        return 0.0, 1.0
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    rate, inflation = flagged / requests, 1 + z * z / requests
    middle = (rate + z * z / (2 * requests)) / inflation
    half = z * math.sqrt(rate * (1 - rate) / requests + z * z / (4 * requests * requests)) / inflation
    low = 0.0 if flagged == 0 else max(0.0, middle - half)
    high = 1.0 if flagged == requests else min(1.0, middle + half)
    return low, high


def clopper_pearson(flagged: Ints, requests: Ints, confidence: float = CONFIDENCE) -> tuple[Floats, Floats]:
    """Two-sided exact interval of the rate, elementwise: arrays of lower and upper limits as fractions; NaN where there are no requests."""
    from scipy.special import betaincinv  # 0.15 s at import: only where it is needed

    k, n = np.asarray(flagged, np.float64), np.asarray(requests, np.float64)
    tail = (1 - confidence) / 2
    low = np.where(k > 0, betaincinv(np.maximum(k, 1), np.maximum(n - k + 1, 1), tail), 0.0)
    high = np.where(k < n, betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail), 1.0)
    nothing = n <= 0
    return np.where(nothing, np.nan, low), np.where(nothing, np.nan, high)
