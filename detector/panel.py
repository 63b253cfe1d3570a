"""A panel: counts of several series on one time grid, what detectors score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Panel:
    """Counts of several series on one time grid: what detectors score.

    `requests`, `flagged`: int64 arrays of shape (n_series, n_bins); bin `j` covers minutes `[start + j*step, start + (j+1)*step)`;
    `start`, `step` in minutes (since 1970 UTC); `labels[i]` names series `i`. `known_from` is the first bin (index) with any request per series, -1 if none.
    """

    start: int
    step: int
    labels: tuple[dict[str, str | None], ...]
    requests: npt.NDArray[np.int64]
    flagged: npt.NDArray[np.int64]

    @property
    def bins(self) -> int:
        return int(self.requests.shape[1])
