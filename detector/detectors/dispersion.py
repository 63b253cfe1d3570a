"""How noisy a series is by itself: weights over a grid of clustering and spread, instead of one guess of each.

A window of length w with mean M has variance `clustering * M + spread_w * M²`. Clustering: failures come in groups (retries). Spread: the rate itself wanders;
it depends on the window's length, because a window longer than the wandering averages some of it away. The grid is weighed by

* the likelihood of the series' own past windows, each as forecast at its own start from what was known then (so forecast error is in it);
* what the shorter windows of the same series said: clustering is kept, spread may stay, fall by two grid steps or rise by one (`_STEP`);
* a prior that the other series of the panel agree on (expectation-maximisation), pulled to `BUILT_IN` with the weight of `_PRIOR_SERIES` series: a single
  series is judged with nearly the built-in prior, a fleet of hundreds with its own.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from detector.detectors.forecast import BLOCK, Expectation, Forecast
from detector.detectors.negative_binomial import log_pmf, tail

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_CLUSTERING = np.array([1.02, 1.3, 2.0, 3.0, 5.0, 8.0])
_SPREAD = np.array([0.005, 0.02, 0.06, 0.12, 0.25, 0.5])
CELL_CLUSTERING = np.repeat(_CLUSTERING, _SPREAD.size)  # (cells,): the grid, flat
CELL_SPREAD = np.tile(_SPREAD, _CLUSTERING.size)
CELLS = CELL_CLUSTERING.size

# Grid weights of 10-minute windows, rows by clustering, columns by spread, in per mille: what expectation-maximisation finds in the four worlds of
# bench/spike.py (`--fit-prior --seeds 1010-1011`); a tenth of the mass is spread evenly, so that nothing is impossible.
_FITTED = (
    (263, 73, 76, 110, 79, 21),
    (12, 13, 11, 15, 5, 6),
    (6, 7, 14, 21, 24, 6),
    (18, 14, 12, 20, 8, 7),
    (5, 5, 4, 14, 8, 6),
    (16, 8, 15, 14, 11, 53),
)
BUILT_IN = np.array(_FITTED, np.float64).reshape(-1) / np.sum(_FITTED)
_PRIOR_SERIES = 10.0  # chosen between 1 and 40 on tuning seeds, where it hardly matters
_ROUNDS = 15
# A past window that would itself have been tested for a spike may have been an incident that nobody labelled: with this chance its count says nothing of the
# noise, and is drawn from five times the rate, widely. Without it one incident makes a series look noisy for two weeks and hides the next one.
_INCIDENT_CHANCE, _INCIDENT_RATIO, _INCIDENT_SPREAD = 1e-3, 5.0, 1.0
_CARRIED_FLOOR = 1e-6  # longer windows may overrule shorter ones, however sure those are
_STEP_DOWN, _STEP_UP, _STEP_MASS = 2, 1, 0.9
_NEGLIGIBLE = 1e-9  # weights below it can't matter at the tail probabilities that are asked for
_CHUNK = 1 << 15  # windows whose likelihood is computed at once: bounds memory at about 50 MB


def _step() -> Floats:
    """Chance of each spread at the next longer window, given the spread at this one: (spread, spread), rows sum to one."""
    size = _SPREAD.size
    step = np.full((size, size), (1 - _STEP_MASS) / size)
    for i in range(size):
        near = slice(max(0, i - _STEP_DOWN), min(size, i + _STEP_UP + 1))
        step[i, near] += _STEP_MASS / (near.stop - near.start)
    return step


_STEP = _step()


class Dispersion:
    """Weights over the grid, per series, window length and six-hour block.

    Args:
        forecast: rates of the panel. windows: lengths in minutes, ascending; each divides six hours. blocks: how many past blocks of windows are weighed.
    """

    def __init__(self, forecast: Forecast, windows: tuple[int, ...], blocks: int) -> None:
        self._forecast, self._windows, self._blocks = forecast, windows, blocks
        self._likelihoods: dict[tuple[int, int], Floats] = {}
        self._weights: dict[int, dict[int, Floats]] = {}

    def at(self, block: int) -> dict[int, Floats]:
        """Weights as known where a block begins, by window length: each (n_series, cells), rows sum to one."""
        if block not in self._weights:
            keep = self._forecast.kept(block, self._blocks)
            weights: dict[int, Floats] = {}
            carried = np.zeros((len(keep), CELLS))
            for window in self._windows:
                likelihood = np.zeros((len(keep), CELLS))
                for back in range(1, self._blocks + 1):
                    likelihood += self._likelihood(block - back, window) * keep[:, [-back]]
                weights[window] = weigh(likelihood + carried, np.any(likelihood != 0, axis=1))
                carried = np.log((weights[window].reshape(len(keep), _CLUSTERING.size, -1) @ _STEP).reshape(len(keep), -1) + _CARRIED_FLOOR)
            self._weights[block] = weights
        return self._weights[block]

    def _likelihood(self, block: int, window: int) -> Floats:
        """Log likelihood of one block's windows, as forecast at their starts: (n_series, cells)."""
        key = (block, window)
        if key not in self._likelihoods:
            forecast = self._forecast
            width = window // forecast.panel.step
            starts = forecast.first_bin(block) + np.arange(BLOCK // window) * width
            starts = starts[(starts >= 0) & (starts + width <= forecast.panel.bins)]
            before, after = forecast.requests[:, starts], forecast.requests[:, starts + width]
            result = np.zeros((len(before), CELLS))
            if ((before > 0) & (after > before)).any():  # else there is nothing to forecast, or nothing to forecast it from
                requests, flagged = after - before, forecast.flagged[:, starts + width] - forecast.flagged[:, starts]
                self._add(result, requests, flagged, forecast.at(block, starts))
            self._likelihoods[key] = result
        return self._likelihoods[key]

    def _add(self, result: Floats, requests: Ints, flagged: Ints, known: Expectation) -> None:
        """Add the log likelihood of windows, (n_series, n_windows), to `result`, (n_series, cells)."""
        rows, columns = np.nonzero((requests > 0) & (known.requests > 0))
        for low in range(0, rows.size, _CHUNK):
            row, column = rows[low : low + _CHUNK], columns[low : low + _CHUNK]
            mean = np.maximum(requests[row, column] * known.rate[row, column], 1e-6)
            ratio = CELL_CLUSTERING[:, None] * (1 + mean / (known.events[row, column] + 1)) + CELL_SPREAD[:, None] * mean
            values = _robust(flagged[row, column].astype(np.float64), mean, ratio)
            first = np.flatnonzero(np.diff(row, prepend=-1))  # rows ascend, so those of one series stand together
            result[row[first]] += np.add.reduceat(values, first, axis=1).T


def _robust(count: Floats, mean: Floats, ratio: Floats) -> Floats:
    """Log likelihood of windows, (cells, n), for `ratio` = variance / mean; a window that sticks out may have been an incident."""
    values = log_pmf(count, mean, ratio)
    odd = np.flatnonzero(_sticks_out(count, mean))
    incident = mean[odd] * _INCIDENT_RATIO
    values[:, odd] = np.logaddexp(values[:, odd], np.log(_INCIDENT_CHANCE) + log_pmf(count[odd], incident, 1 + _INCIDENT_SPREAD * incident[None]))
    return values


def _sticks_out(count: Floats, mean: Floats) -> npt.NDArray[np.bool_]:
    """Where a count is so far above its mean that it would be tested for a spike (the defaults of `spike`'s evidence gate)."""
    return np.asarray((count >= 4) & (count >= 2 * mean) & (count - mean >= 3))


def weigh(likelihood: Floats, informed: npt.NDArray[np.bool_], built_in: Floats = BUILT_IN) -> Floats:
    """Posterior weights (n_series, cells) of log likelihoods under a prior that the informed series and `_PRIOR_SERIES` built-in ones agree on."""
    weight = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    prior = built_in
    known = weight[informed]
    for _ in range(_ROUNDS if len(known) else 0):
        post = known * prior
        post /= post.sum(axis=1, keepdims=True)
        prior = (post.sum(axis=0) + _PRIOR_SERIES * built_in) / (len(known) + _PRIOR_SERIES)
    post = weight * prior
    return np.asarray(post / post.sum(axis=1, keepdims=True))


def mixture_tail(count: Floats, mean: Floats, events: Floats, weights: Floats) -> Floats:
    """P(X >= count) averaged over the grid: all (n,), `weights` (n, cells); `events`: flagged requests that the mean's rate rests on."""
    p = np.zeros(count.shape)
    for cell in range(CELLS):
        some = np.flatnonzero(weights[:, cell] > _NEGLIGIBLE)
        m = mean[some]
        spread = CELL_SPREAD[cell] + CELL_CLUSTERING[cell] / (events[some] + 1)
        p[some] += weights[some, cell] * tail(count[some], m, CELL_CLUSTERING[cell] * m + spread * m * m)
    return p
