"""Alarm episodes: when a rule that is evaluated again and again would have been said to fire, and to be over. Pure.

Alarms (evaluations at or above the threshold) that lie at most `GAP` minutes apart are one episode. An episode fires at its first alarm that is at least
`for` after its first one; without such an alarm it never fires. It is resolved at the first evaluation after its last alarm that could be judged and is
below the threshold. Evaluations that can't be judged neither alarm nor resolve: an episode goes on across them however long they last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

GAP = 60  # minutes; alarms closer than one hour are one episode in every measurement of the false-alarm rate


@dataclass(frozen=True)
class Episode:
    """Indexes into the evaluation ends: first alarm, the alarm that fired, highest score, last alarm, resolving evaluation (None: not over yet)."""

    first: int
    fired: int
    peak: int
    last: int
    resolved: int | None


def episodes(score: npt.NDArray[np.float64], ends: npt.NDArray[np.int64], threshold: float, for_minutes: int = 0, gap: int = GAP) -> list[Episode]:
    """Episodes of one series. `score`: (n_ends,), NaN where it can't be judged; `ends`: minutes, ascending."""
    with np.errstate(invalid="ignore"):
        alarms = np.flatnonzero(score >= threshold)
        clean = np.flatnonzero(score < threshold)
    if not alarms.size:
        return []
    following = np.searchsorted(clean, alarms)  # index into `clean` of the first clean evaluation after each alarm
    was_clean = following[:-1] < following[1:]
    breaks = np.flatnonzero((np.diff(ends[alarms]) > gap) & was_clean) + 1
    found = []
    for group in np.split(np.arange(alarms.size), breaks):
        own = alarms[group]
        held = own[ends[own] >= ends[own[0]] + for_minutes]
        if held.size:
            after = following[group[-1]]
            resolved = int(clean[after]) if after < clean.size else None
            found.append(Episode(int(own[0]), int(held[0]), int(own[np.argmax(score[own])]), int(own[-1]), resolved))
    return found
