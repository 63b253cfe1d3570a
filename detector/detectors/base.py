"""What a detector is: a statistic that scores series of counts against their own past.

A detector file defines one class with `NAME` and a pydantic model of its parameters; names are found by scanning the folder. Detectors see counts only:
they never group, fetch, log, know the time, apply a threshold or know severity. Higher scores are more anomalous. NaN means "cannot judge".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from detector.ledger import Panel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Scores of every series at every evaluation end; all arrays have shape (n_series, n_ends).

    `score`: NaN where the detector cannot judge. `flagged`, `requests`: counts of the window that gave the score. `expected`: flagged requests expected
    in that window. `window`: its length in minutes. `why_not`: for NaN scores a short reason code → text is in `reasons`.
    """

    score: Floats
    flagged: Ints
    requests: Ints
    expected: Floats
    window: Ints
    why_not: npt.NDArray[np.int8]
    reasons: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Horizon:
    """How far a rule looks: `window` minutes that are judged, `baseline` minutes before them, `min_requests` in the window (fewer: cannot judge)."""

    window: int
    baseline: int
    min_requests: int = 0


class Detector(Protocol):
    """One statistic. `score` is a pure function; row order of series does not change a series' score."""

    NAME: str

    def score(self, panel: Panel, ends: Sequence[int], horizon: Horizon) -> Scores:
        """Score each series at each of `ends` (bin indexes, exclusive, ascending): only bins before an end are seen by that end."""
        ...

    def warm_up(self, horizon: Horizon) -> int:
        """Minutes of counts before an end that this detector may look at (the panel should reach that far back)."""
        ...
