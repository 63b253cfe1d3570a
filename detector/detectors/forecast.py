"""What a series' own past says about its rate at any moment: robust, decayed, shrunk. Pure arithmetic on counts; conditions on the number of requests.

Everything that is known at a moment comes from counts before it: whole six-hour blocks (00, 06, 12, 18 UTC), screened (blocks that stick out are left out, so
that a past incident does not hide the next one), and the bins since the last block as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from detector.detectors.negative_binomial import tail
from detector.detectors.window_sums import totals_before
from detector.panel import Panel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

DAY = 1440  # minutes
BLOCK = 360  # minutes; unit of screening and decay
_SCREENINGS = 4  # at most so many blocks of a series are left out
_SCREEN_P = 1e-4  # tail probability below which a block sticks out; with _SCREEN_EVENTS and _SCREEN_RATIO from the NB v2 measurements
_SCREEN_EVENTS = 4
_SCREEN_RATIO = 2.5


@dataclass(frozen=True)
class Expectation:
    """Rates at given moments, all arrays (n_series, n_moments); `events` flagged requests and `requests` requests are what they rest on."""

    rate: Floats
    events: Floats
    requests: Floats


@dataclass(frozen=True)
class _Anchor:
    """What is known where a block begins: sums over the baseline, (n_series,), and over the fleet."""

    bin: int
    flagged: Floats
    requests: Floats
    recent_flagged: Floats
    recent_requests: Floats
    fleet_flagged: float
    fleet_requests: float


class Forecast:
    """Rates of every series of a panel.

    Args:
        panel: counts; its step must divide six hours, its start must be a multiple of the step.
        baseline: minutes of past that give the rate.
        half_life: days after which a count weighs half. prior_events: weight, in events, of the undecayed baseline.
    """

    def __init__(self, panel: Panel, baseline: int, half_life: float, prior_events: float) -> None:
        if BLOCK % panel.step or panel.start % panel.step:
            raise ValueError(f"bins of {panel.step} minutes from minute {panel.start} do not make up six-hour blocks")
        self.panel = panel
        self.requests, self.flagged = totals_before(panel.requests), totals_before(panel.flagged)
        self.baseline_blocks = max(1, round(baseline / BLOCK))
        self.half_life, self.prior_events = half_life, prior_events
        self._first_block = panel.start // BLOCK
        self._block_requests, self._block_flagged = self._blocks(self.requests), self._blocks(self.flagged)
        self._anchors: dict[int, _Anchor] = {}

    def block_of(self, moments: Ints) -> Ints:
        """Number, since 1970 UTC, of the six-hour block that holds each bin index."""
        return (self.panel.start + moments * self.panel.step) // BLOCK

    def first_bin(self, block: int) -> int:
        """Bin index (negative: before the panel) at which a block begins."""
        return (block * BLOCK - self.panel.start) // self.panel.step

    def kept(self, block: int, number: int) -> Bools:
        """(n_series, number): which of the `number` blocks before a block do not stick out."""
        return screened(self._past(self._block_requests, block, number), self._past(self._block_flagged, block, number))

    def at(self, block: int, moments: Ints) -> Expectation:
        """The rates at bin indexes that all lie in one block."""
        known = self._anchor(block)
        start = max(known.bin, 0)
        flagged_since = (self.flagged[:, moments] - self.flagged[:, [start]]).astype(np.float64)
        requests_since = (self.requests[:, moments] - self.requests[:, [start]]).astype(np.float64)
        fleet = (known.fleet_flagged + flagged_since.sum(0) + 0.5) / (known.fleet_requests + requests_since.sum(0) + 1)
        events, requests = known.flagged[:, None] + flagged_since, known.requests[:, None] + requests_since
        level = (events + 0.5) / (requests + 0.5 / fleet)
        recent = known.recent_flagged[:, None] + flagged_since + self.prior_events
        rate = recent / (known.recent_requests[:, None] + requests_since + self.prior_events / level)
        return Expectation(np.minimum(rate, 1.0), np.minimum(recent, events + 0.5), requests)

    def _blocks(self, totals: Ints) -> Ints:
        edges = (
            np.arange(self._first_block, (self.panel.start + self.panel.bins * self.panel.step) // BLOCK + 2) * BLOCK - self.panel.start
        ) // self.panel.step
        at = np.clip(edges, 0, self.panel.bins)
        return totals[:, at[1:]] - totals[:, at[:-1]]

    def _past(self, counts: Ints, block: int, number: int) -> Floats:
        """Counts of the `number` blocks before a block; those before the panel are empty."""
        stop = block - self._first_block
        start = stop - number
        past = np.zeros((len(counts), number))
        if stop > 0:
            past[:, max(0, -start) :] = counts[:, max(0, start) : stop]
        return past

    def _anchor(self, block: int) -> _Anchor:
        if block not in self._anchors:
            n, k = (self._past(counts, block, self.baseline_blocks) for counts in (self._block_requests, self._block_flagged))
            keep = screened(n, k)
            kept_n, kept_k = n * keep, k * keep
            age = (np.arange(self.baseline_blocks, 0, -1) - 0.5) * BLOCK / DAY
            weight = 0.5 ** (age / self.half_life)
            self._anchors[block] = _Anchor(
                self.first_bin(block), kept_k.sum(1), kept_n.sum(1), kept_k @ weight, kept_n @ weight, float(k.sum()), float(n.sum())
            )
        return self._anchors[block]


def screened(requests: Floats, flagged: Floats) -> Bools:
    """Blocks to keep, (n_series, n_blocks): the block that sticks out most against all others is left out, again and again, a few times.

    Whole blocks, not bins: where less than one event per bin is expected, down-weighting single bins would throw every event away.
    """
    keep = np.ones(requests.shape, bool)
    for _ in range(_SCREENINGS):
        events = (flagged * keep).sum(1, keepdims=True) - flagged * keep
        others = (requests * keep).sum(1, keepdims=True) - requests * keep
        expected = np.maximum(requests * (events + 0.5) / (others + 50), 1e-9)
        outlier = keep & (flagged >= _SCREEN_EVENTS) & (flagged > _SCREEN_RATIO * expected) & (others > 0)
        if not outlier.any():
            break
        p = np.ones(requests.shape)
        m = expected[outlier]
        p[outlier] = tail(flagged[outlier], m, 2 * m + m * m * (0.25 + 2 / (np.broadcast_to(events, p.shape)[outlier] + 1)))
        worst = p.argmin(1)
        rows = np.flatnonzero(p[np.arange(len(p)), worst] < _SCREEN_P)
        if not rows.size:
            break
        keep[rows, worst[rows]] = False
    return keep
