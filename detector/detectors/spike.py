"""Spike: a rate above what the series' own past makes likely."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Annotated, ClassVar

import numpy as np
from pydantic import AfterValidator, Field

from detector.detectors.base import Floats, Horizon, Ints, Scores
from detector.detectors.dispersion import Dispersion, mixture_tail
from detector.detectors.forecast import BLOCK, DAY, Forecast
from detector.detectors.window_sums import ending_at
from detector.panel import Panel
from detector.strict_model import Minutes, Strict

_REASONS = (
    "",
    "no baseline: hardly any requests before the window",
    "no requests in the window",
    "fewer requests in the longest window than the rule asks for",
)
_BASELINE_REQUESTS = 50  # fewer say nothing of a rate; the same 50 as the weight that screening gives to its first guess
_LEAST_P = 1e-300


def _windows(lengths: tuple[int, ...]) -> tuple[int, ...]:
    for length in lengths:
        if BLOCK % length:
            raise ValueError(f"{length}m does not divide six hours")
    return tuple(sorted(set(lengths)))


class SpikeParameters(Strict):
    """Parameters of `spike`. Defaults: measured on tuning seeds of bench/spike.py."""

    windows: Annotated[tuple[Minutes, ...], Field(min_length=1), AfterValidator(_windows)] = (10, 30, 60, 120, 360)
    """Lengths that are tested; each divides six hours."""
    half_life_days: float = Field(default=5.0, gt=0)
    """Age at which a count of the baseline weighs half in the rate."""
    prior_events: float = Field(default=8.0, ge=0)
    """Weight, in flagged requests, of the undecayed baseline in the rate."""
    history_days: int = Field(default=14, ge=1, le=90)
    """How many days of past windows tell how noisy the series is."""
    min_events: int = Field(default=4, ge=1)
    """A window with fewer flagged requests scores 0."""
    min_ratio: float = Field(default=2.0, ge=1)
    """A window with less than this times the expected flagged requests scores 0."""
    min_excess: float = Field(default=3.0, ge=0)
    """A window with less than this many flagged requests above the expected scores 0."""


class Spike:
    """Detects: a rise of a signal's rate against the series' own past, from ten minutes to six hours long, at any traffic and any rate below about 10 %.

    Method: score = largest -log10 p over windows of 10 min to 6 h that end at the evaluation end. p = P(count >= flagged) for a negative binomial whose mean
        is requests times the rate known at the window's start (traffic itself is never modelled), averaged over what the series' own past says of its noise
        (`dispersion`). Rate: whole six-hour blocks of UTC before the window, without those that stick out, decayed, shrunk to the undecayed baseline, plus
        what came since the last block. Noise is learnt anew at 00, 06, 12 and 18 UTC. So a score depends on counts before its end only, within `warm_up`,
        never on which other ends are asked for: `check` and `backtest` agree. Windows with little evidence score 0. Customary threshold: 4.5.
    Fails when: the level was always bad (use `share`); the healthy rate is zero (`hits` is quicker); the rate has a daily cycle of more than about a factor
        of 2, or wanders over hours with heavy tails (some 15 false alarms per 1,000 series-days at 4.5 instead of 8); above about 10 % the negative binomial
        is too wide, so that the score is too low, never too high.
    Parameters: windows, half_life_days, prior_events, history_days, min_events, min_ratio, min_excess. `horizon.window` is not used; `horizon.min_requests`
        is asked of the longest window.
    Source: posterior predictive check (Gelman et al., Bayesian Data Analysis, ch. 6) with an empirical-Bayes prior; measured by bench/spike.py.
    """

    NAME: ClassVar[str] = "spike"
    PARAMETERS: ClassVar[type[SpikeParameters]] = SpikeParameters

    def __init__(self, parameters: SpikeParameters) -> None:
        self.parameters = parameters

    def warm_up(self, horizon: Horizon) -> int:
        """History, the baseline before its first block, the longest window and the block that it begins in; a shorter log is judged by what there is."""
        return self.parameters.history_days * DAY + max(horizon.baseline, BLOCK) + 2 * BLOCK + self.parameters.windows[-1]

    def grain(self, horizon: Horizon) -> int:
        """What divides every window."""
        return gcd(*self.parameters.windows)

    def score(self, panel: Panel, ends: Sequence[int], horizon: Horizon) -> Scores:
        """Score each series at each end (see the class). Raises ValueError: bins that do not make up six-hour blocks."""
        at = np.asarray(ends, np.int64)
        shape = (len(panel.labels), len(at))
        windows = self._usable(panel.step)
        forecast = Forecast(panel, horizon.baseline, self.parameters.half_life_days, self.parameters.prior_events)
        dispersion = Dispersion(forecast, windows, self.parameters.history_days * DAY // BLOCK)
        best = Scores(
            score=np.full(shape, -1.0),
            flagged=np.zeros(shape, np.int64),
            requests=np.zeros(shape, np.int64),
            expected=np.full(shape, np.nan),
            window=np.full(shape, windows[-1], np.int64),
            why_not=np.zeros(shape, np.int8),
            reasons=_REASONS,
        )
        for window in reversed(windows):
            self._test(best, forecast, dispersion, window, at)
        longest = ending_at(forecast.requests, at, windows[-1] // panel.step)
        best.why_not[:] = np.select([longest == 0, best.score < 0, longest < horizon.min_requests], [2, 1, 3], 0)
        unscored = best.score < 0
        best.requests[unscored] = longest[unscored]  # tells the time at which most could have been said
        best.score[best.why_not > 0] = np.nan
        np.round(best.score, 6, out=best.score)  # sums over series depend on their order in the last bits
        return best

    def _usable(self, step: int) -> tuple[int, ...]:
        """The windows that bins of `step` minutes can show; the bin itself in place of those that are shorter."""
        whole = tuple(window for window in self.parameters.windows if window % step == 0)
        return whole if len(whole) == len(self.parameters.windows) else tuple(sorted({step, *whole}))

    def _test(self, best: Scores, forecast: Forecast, dispersion: Dispersion, window: int, ends: Ints) -> None:
        """Put one window's scores into `best` where they are higher."""
        width = window // forecast.panel.step
        starts = ends - width
        blocks = forecast.block_of(starts)
        requests, flagged = ending_at(forecast.requests, ends, width), ending_at(forecast.flagged, ends, width)
        for block in np.unique(blocks[starts >= 0]).tolist():
            columns = np.flatnonzero((blocks == block) & (starts >= 0))
            known = forecast.at(block, starts[columns])
            n, k = requests[:, columns], flagged[:, columns]
            mean = np.maximum(n * known.rate, 1e-9)
            judged = known.requests >= _BASELINE_REQUESTS
            tested = judged & self._gate(k, mean)
            score = np.where(judged, 0.0, -1.0)
            if tested.any():
                weights = dispersion.at(block)[window][np.nonzero(tested)[0]]
                p = mixture_tail(k[tested].astype(np.float64), mean[tested], known.events[tested], weights)
                score[tested] = -np.log10(np.maximum(p, _LEAST_P))
            rows, at = np.nonzero(score > best.score[:, columns])
            place = (rows, columns[at])
            best.score[place] = score[rows, at]
            best.flagged[place], best.requests[place], best.expected[place], best.window[place] = k[rows, at], n[rows, at], mean[rows, at], window

    def _gate(self, flagged: Ints, mean: Floats) -> np.ndarray:
        """Enough evidence to be worth an alarm, whatever the probability."""
        p = self.parameters
        return np.asarray((flagged >= p.min_events) & (flagged >= p.min_ratio * mean) & (flagged - mean >= p.min_excess))
