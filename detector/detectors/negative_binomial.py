"""The negative binomial by mean and variance: a count whose rate is itself uncertain or noisy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_LEAST_RATIO = 1.0001  # variance / mean is held above this: at 1 the shape would be infinite (Poisson)


def tail(count: Floats, mean: Floats, variance: Floats) -> Floats:
    """P(X >= count), elementwise, for count >= 1 and mean > 0."""
    from scipy.special import betainc  # 0.15 s at import: only where it is needed

    shape = mean * mean / (np.maximum(variance, mean * _LEAST_RATIO) - mean)
    p: Floats = betainc(count, shape, mean / (shape + mean))
    return p


def log_pmf(count: Floats, mean: Floats, ratio: Floats) -> Floats:
    """log P(X = count) without the term that depends on `count` alone. `count`, `mean`: (n,); `ratio` = variance / mean: (cells, n); result (cells, n)."""
    from scipy.special import gammaln

    ratio = np.maximum(ratio, _LEAST_RATIO)
    shape = mean / (ratio - 1)
    result: Floats = -shape * np.log(ratio)
    some = np.flatnonzero(count)  # most windows of a rare failure are empty: the dear part is for the others
    k, r = count[some], shape[:, some]
    result[:, some] += gammaln(k + r) - gammaln(r) + k * np.log1p(-1 / ratio[:, some])
    return result
