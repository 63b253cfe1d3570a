"""Share: the absolute level of a signal, whatever its past."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from pydantic import Field

from detector.detectors.base import Horizon, Scores
from detector.detectors.binomial import CONFIDENCE, clopper_pearson
from detector.detectors.window_sums import bins_of, ending_at, totals_before
from detector.panel import Panel
from detector.strict_model import Strict

_REASONS = ("", "no requests in the window", "fewer requests in the window than the rule asks for")


class ShareParameters(Strict):
    """Parameters of `share`."""

    confidence: float = Field(default=CONFIDENCE, gt=0.5, lt=1)
    """Confidence of the two-sided exact interval whose lower limit is the score."""


class Share:
    """Detects: a level that is too high for its users, also when it has always been so: what no comparison with the past can see.

    Method: score = lower limit of the exact (Clopper-Pearson) interval of flagged / requests over the rule's window, a fraction between 0 and 1. A threshold
        of 0.02 so means: we are sure at 95 % (two-sided) that more than 2 % of the answers are flagged. `expected` is NaN: no past is consulted.
    Fails when: what is acceptable differs between series; failures come in clusters (the interval assumes independent requests and is then too narrow).
    Parameters: confidence (0.95).
    Source: C. J. Clopper and E. S. Pearson, Biometrika 26 (1934); default confidence: the customary 95 %.
    """

    NAME: ClassVar[str] = "share"
    PARAMETERS: ClassVar[type[ShareParameters]] = ShareParameters

    def __init__(self, parameters: ShareParameters) -> None:
        self.parameters = parameters

    def warm_up(self, horizon: Horizon) -> int:
        """The rule's window."""
        return horizon.window

    def grain(self, horizon: Horizon) -> int:
        """The rule's window."""
        return horizon.window

    def score(self, panel: Panel, ends: Sequence[int], horizon: Horizon) -> Scores:
        """Lower limit of the rate over the window before each end (see the class)."""
        width = bins_of(horizon.window, panel)
        requests = ending_at(totals_before(panel.requests), ends, width)
        flagged = ending_at(totals_before(panel.flagged), ends, width)
        why_not = np.select([requests == 0, requests < horizon.min_requests], [1, 2], 0).astype(np.int8)
        score = np.where(why_not > 0, np.nan, 0.0)
        some = np.nonzero((why_not == 0) & (flagged > 0))
        if some[0].size:
            score[some] = clopper_pearson(flagged[some], requests[some], self.parameters.confidence)[0]
        return Scores(
            score=score,
            flagged=flagged,
            requests=requests,
            expected=np.full(score.shape, np.nan),
            window=np.full(score.shape, width * panel.step, np.int64),
            why_not=why_not,
            reasons=_REASONS,
        )
