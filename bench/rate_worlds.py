"""Worlds of request and failure counts for `bench/spike.py`: real traffic, synthetic failures and incidents. 14 days of 10-minute bins, 300 series a seed.

hard    base rate 2e-4..2e-2; daily cycle of log p up to ±0.5; AR(1) noise on log p (sd 0.1-0.5, rho 0.8); failures in clusters of mean 1, 1.5 or 3;
        30 % of the series shift for good at a deploy (x0.6..1.5)
easy    plain binomial at a constant rate
slow    heavy-tailed noise that moves over hours (Student t with 3 degrees of freedom, rho 0.98, sd 0.1-0.6 of log p)
storms  retries: clusters of mean 1 to 8, daily cycle
In all: 30 % of the series hold an unlabelled tenfold six-hour incident in the first week; 60 % an incident in the second week (x3, x10 or x30, for
10 min, 30 min, 2 h or 24 h, on all or a quarter of the traffic).
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

DAY, BINS = 144, 14 * 144
WEEK = BINS // 2
MARGIN = 36  # bins; incidents keep this far from the beginning of week 2, and false alarms this far behind an incident are not counted
KINDS = ("hard", "easy", "slow", "storms")

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Incident:
    """Bins `[start, end)` of one series; `excess`: expected extra failures; `ratio`: blended rate over the usual rate."""

    series: int
    start: int
    end: int
    excess: float
    ratio: float


@dataclass(frozen=True)
class World:
    """Counts (n_series, BINS) and what was put into them."""

    requests: Ints
    flagged: Ints
    incidents: tuple[Incident, ...]


def read_traffic(path: Path) -> Floats:
    """Requests per 10 minutes of real clients, (bins, clients), from a CSV (also .gz) with a time column first."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        rows = list(csv.reader(file))
    counts = np.array([[float(cell or 0) for cell in row[1:]] for row in rows[1 : BINS + 1]])
    if len(counts) < BINS:
        raise SystemExit(f"{path}: {len(counts)} rows of 10 minutes; {BINS} are needed")
    return counts[:, counts.sum(0) > 2000]


def world(kind: str, traffic: Floats, seed: int, series: int = 300) -> World:
    """One world; equal seeds give equal worlds."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    requests = _requests(traffic, rng, series)
    p, cluster = _rates(kind, series, rng)
    flagged = _draw(requests, p, cluster, rng)
    incidents = []
    for one in range(series):
        if rng.random() < 0.3:
            _add(requests, flagged, p, cluster, one, int(rng.integers(0, WEEK - 80)), 36, 9.0, rng)
        busy = WEEK + MARGIN + np.flatnonzero(requests[one, WEEK + MARGIN : BINS - DAY - 18])
        if rng.random() < 0.6 and busy.size:
            times, share, length = rng.choice([3, 10, 30]), rng.choice([1.0, 0.25]), int(rng.choice([1, 3, 12, 144]))
            start = int(rng.choice(busy))
            excess = _add(requests, flagged, p, cluster, one, start, length, (times - 1) * share, rng)
            incidents.append(Incident(one, start, start + length, excess, 1 + (times - 1) * share))
    return World(requests, flagged, tuple(incidents))


def _requests(traffic: Floats, rng: np.random.Generator, series: int) -> Ints:
    """Deployments: sums of 1, 3 or 10 real clients, thinned to 5 to 50,000 requests per bin on average."""
    rows: list[Ints] = []
    while len(rows) < series:
        clients = rng.choice(traffic.shape[1], rng.choice([1, 3, 10], p=[0.35, 0.35, 0.3]), replace=False)
        total = traffic[:, clients].sum(1)
        wanted = 10 ** rng.uniform(0.7, 4.7)
        row = rng.binomial(total.astype(np.int64), min(1.0, wanted / total.mean()))
        if row.sum() > 3000:
            rows.append(row)
    return np.array(rows)


def _rates(kind: str, series: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Failure probability per bin, and mean size of a cluster of failures per series."""
    log_p = np.tile(rng.uniform(np.log(2e-4), np.log(2e-2), (series, 1)), (1, BINS))
    cluster = np.ones(series)
    if kind in ("hard", "storms"):
        phase = np.arange(BINS) / DAY + rng.uniform(0, 1, (series, 1))
        log_p += rng.uniform(0, 0.5, (series, 1)) * np.sin(2 * np.pi * phase)
    if kind == "hard":
        sd = rng.uniform(0.1, 0.5, (series, 1))
        log_p += sd * _autoregressive(rng.normal(size=(series, BINS)), 0.8) - sd**2 / 2
        for one in np.flatnonzero(rng.random(series) < 0.3):
            log_p[one, rng.integers(WEEK // 2, BINS) :] += np.log(rng.uniform(0.6, 1.5))
        cluster = rng.choice([1.0, 1.5, 3.0], series, p=[0.6, 0.25, 0.15])
    elif kind == "slow":
        log_p += rng.uniform(0.1, 0.6, (series, 1)) * _autoregressive(rng.standard_t(3, (series, BINS)) / np.sqrt(3), 0.98)
    elif kind == "storms":
        cluster = rng.choice([1.0, 2.0, 4.0, 8.0], series, p=[0.4, 0.25, 0.2, 0.15])
    return np.minimum(np.exp(log_p), 0.5), cluster


def _autoregressive(shocks: Floats, rho: float) -> Floats:
    state = shocks.copy()
    for at in range(1, BINS):
        state[:, at] = rho * state[:, at - 1] + np.sqrt(1 - rho * rho) * shocks[:, at]
    return state


def _draw(requests: Ints, p: Floats, cluster: Floats, rng: np.random.Generator) -> Ints:
    """Failures: binomial, or Poisson many clusters of geometric size."""
    flagged = rng.binomial(requests, p)
    for one in np.flatnonzero(cluster > 1):
        number = rng.poisson(requests[one] * p[one] / cluster[one])
        sizes = rng.geometric(1 / cluster[one], number.sum())
        ends = np.cumsum(number)
        total = np.concatenate([[0], np.cumsum(sizes)])
        flagged[one] = np.minimum(total[ends] - total[ends - number], requests[one])
    return flagged


def _add(requests: Ints, flagged: Ints, p: Floats, cluster: Floats, one: int, start: int, length: int, factor: float, rng: np.random.Generator) -> float:
    """Put extra failures of `factor` times the usual rate into some bins of one series; how many were expected."""
    span = slice(start, start + length)
    extra = np.minimum(p[one, span] * factor, 0.9)
    drawn = _draw(requests[[one], span], extra[None], cluster[[one]], rng)[0]
    flagged[one, span] = np.minimum(flagged[one, span] + drawn, requests[one, span])
    return float((requests[one, span] * extra).sum())
