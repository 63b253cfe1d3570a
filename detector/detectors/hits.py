"""Hits: counts for signals that never fire on a healthy system."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import ClassVar

import numpy as np

from detector.detectors.base import Horizon, Ints, Scores
from detector.detectors.window_sums import bins_of, ending_at, totals_before
from detector.panel import Panel
from detector.strict_model import Minutes, Strict

_REASONS = ("", "no requests in the window", "fewer requests in the window than the rule asks for")


class HitsParameters(Strict):
    """Parameters of `hits`."""

    within: Minutes = 360
    """How far back hits are counted."""
    young: Minutes = 1440
    """A version first seen less than this ago is young: one hit less is needed there."""


class Hits:
    """Detects: any repeated occurrence of a signal whose healthy rate is exactly zero (a leaked `</think>`, tool-call markup in content, null content).

    Method: score = flagged requests of the last `within` (6 h), plus 1 where the series is a version that was first seen less than `young` (24 h) ago, after
        another version of the same deployment. A threshold of 3 so means: 3 hits in 6 h, or 2 within a new version. Both windows end at the evaluation end;
        `horizon.window` and `horizon.baseline` are not used.
    Fails when: the healthy rate is not zero (then use `spike`); versions are seen only where `engine_version` is one of the rule's group labels.
    Parameters: within, young (durations).
    Source: rule of the replay of a leaked marker at 0.2 %: 3 hits are expected after 3/(n p), that is 150 min at 100 requests per 10 min.
    """

    NAME: ClassVar[str] = "hits"
    PARAMETERS: ClassVar[type[HitsParameters]] = HitsParameters

    def __init__(self, parameters: HitsParameters) -> None:
        self.parameters = parameters

    def warm_up(self, horizon: Horizon) -> int:
        """The counted window, and two young ages: a new version is told by an older one before it."""
        return max(self.parameters.within, 2 * self.parameters.young)

    def grain(self, horizon: Horizon) -> int:
        """What divides both lengths."""
        return gcd(self.parameters.within, self.parameters.young)

    def score(self, panel: Panel, ends: Sequence[int], horizon: Horizon) -> Scores:
        """Hits before each end (see the class)."""
        width = bins_of(self.parameters.within, panel)
        at = np.asarray(ends, np.int64)
        totals = totals_before(panel.requests)
        requests = ending_at(totals, at, width)
        flagged = ending_at(totals_before(panel.flagged), at, width)
        why_not = np.select([requests == 0, requests < horizon.min_requests], [1, 2], 0).astype(np.int8)
        score = flagged + ((flagged > 0) & self._is_young(panel, at))
        return Scores(
            score=np.where(why_not > 0, np.nan, score.astype(np.float64)),
            flagged=flagged,
            requests=requests,
            expected=np.zeros(score.shape),
            window=np.full(score.shape, width * panel.step, np.int64),
            why_not=why_not,
            reasons=_REASONS,
        )

    def _is_young(self, panel: Panel, ends: Ints) -> np.ndarray:
        """(n_series, n_ends): first request younger than `young`, while another version of the same group was there before."""
        young = np.zeros((len(panel.labels), len(ends)), bool)
        families: dict[tuple[tuple[str, str | None], ...], list[int]] = {}
        for series, labels in enumerate(panel.labels):
            if labels.get("engine_version") is not None:
                family = tuple(sorted((name, value) for name, value in labels.items() if name not in ("engine_version", "pod")))
                families.setdefault(family, []).append(series)
        age = bins_of(self.parameters.young, panel)
        for members in families.values():
            versions = {panel.labels[series]["engine_version"] for series in members}
            if len(versions) < 2:
                continue
            first = _first_seen(panel.requests[members], ends, 2 * age)
            for version in versions:
                mine = np.array([panel.labels[series]["engine_version"] == version for series in members])
                own = first[mine].min(axis=0)
                is_new = (own > ends - age) & (first[~mine].min(axis=0) < own)
                young[np.array(members)[mine]] = is_new
        return young


def _first_seen(requests: Ints, ends: Ints, back: int) -> Ints:
    """First bin with a request in the `back` bins before each end, (n_series, n_ends); the end itself where there is none."""
    bins = requests.shape[1]
    place = np.where(requests > 0, np.arange(bins), bins)
    following = np.full((len(requests), bins + 1), bins, np.int64)
    following[:, :bins] = np.minimum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    return np.minimum(following[:, np.maximum(ends - back, 0)], ends)
