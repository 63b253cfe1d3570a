"""False alarms and recall of `spike` at its customary threshold, target beside measured, on worlds of real traffic with synthetic failures.

usage: python bench/spike.py COUNTS.csv[.gz] [--seeds 2000-2003] [--worlds hard easy] [--threshold 4.5] [--every-threshold] [--alone] [--fit-prior]

COUNTS: one row per 10 minutes, a time column and one column of requests per client (ServeGen, Apache-2.0, as counts). Design choices and the built-in prior
come from seeds 1000-1011; report on others. Unit of recall is the incident (an alarm within it or one bin after); of false alarms the episode (gap 1 h)
outside incidents and six hours behind them, per 1,000 series-days of week 2. Worlds are described in bench/rate_worlds.py.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from pathlib import Path

import numpy as np

from detector.detectors import dispersion
from detector.detectors.base import Horizon, make
from detector.detectors.forecast import BLOCK, Forecast
from detector.panel import Panel

sys.path.insert(0, str(Path(__file__).parent))
from rate_worlds import BINS, DAY, KINDS, MARGIN, WEEK, Floats, World, read_traffic, world

HORIZON = Horizon(window=10, baseline=7 * 1440)
START = 20_000 * 1440
TARGETS = {"hard": (10, 0.69, 0.87), "easy": (2, 0.79, None)}  # false alarms, rec10, eff8


def panel(one: World, rows: slice = slice(None)) -> Panel:
    requests = one.requests[rows]
    return Panel(START, 10, tuple({"deployment": f"d{i}"} for i in range(len(requests))), requests, one.flagged[rows])


def scored(one: World, *, alone: bool) -> Floats:
    """Scores (n_series, BINS) of the end of each bin of week 2; 0 elsewhere and where it can't be judged."""
    ends = range(WEEK + 1, BINS + 1)
    parts = [slice(i, i + 1) for i in range(len(one.requests))] if alone else [slice(None)]
    scores = np.concatenate([make("spike").score(panel(one, rows), ends, HORIZON).score for rows in parts])
    return np.hstack([np.zeros((len(scores), WEEK)), np.nan_to_num(scores)])


def evaluate(worlds: list[World], scores: list[Floats], threshold: float) -> dict[str, float]:
    """False alarms per 1,000 series-days, recall over detectable incidents, median delay in minutes."""
    false, days, found = 0, 0.0, []
    for one, score in zip(worlds, scores, strict=True):
        by_series = {incident.series: incident for incident in one.incidents}
        for series in range(len(score)):
            alarms = WEEK + MARGIN + np.flatnonzero(score[series, WEEK + MARGIN :] >= threshold)
            incident = by_series.get(series)
            days += (BINS - WEEK - MARGIN - (incident.end - incident.start + MARGIN if incident else 0)) / DAY
            episodes = np.split(alarms, np.flatnonzero(np.diff(alarms) > 6) + 1) if alarms.size else []
            false += sum(incident is None or part[-1] < incident.start or part[0] >= incident.end + MARGIN for part in episodes)
            if incident:
                inside = alarms[(alarms >= incident.start) & (alarms <= incident.end)]
                found.append((incident.excess >= 10, incident.ratio >= 8, inside[0] - incident.start + 1 if inside.size else math.nan))
    strong, large, delay = (np.array(column) for column in zip(*found, strict=True))
    hit = ~np.isnan(delay)
    return {
        "false": 1000 * false / days,
        "rec10": hit[strong].mean(),
        "eff8": hit[strong & large].mean(),
        "delay": 10 * np.median(delay[strong & hit]),
        "incidents": int(strong.sum()),
        "large": int((strong & large).sum()),
    }


def line(kind: str, result: dict[str, float], threshold: float) -> str:
    false, rec10, eff8 = TARGETS.get(kind, (None, None, None))
    error = 100 * math.sqrt(result["rec10"] * (1 - result["rec10"]) / result["incidents"])

    def cell(value: float, target: float | None, sign: str, digits: int) -> str:
        return f"{value:6.{digits}f} " + (f"({sign} {target:g})" if target is not None else "").ljust(9)

    return (
        f"{kind:7s} {threshold:9.2f}  {cell(result['false'], false, '<=', 1)} {cell(result['rec10'], rec10, '>=', 3)} ±{error:.1f} %   "
        f"{cell(result['eff8'], eff8, '>=', 3)} {result['delay']:5.0f} min   {result['incidents']} / {result['large']}"
    )


def fitted_prior(traffic: Floats, seeds: list[int]) -> Floats:
    """Fleet prior of 10-minute windows, averaged over the worlds, in per mille, with a tenth of the mass spread evenly."""
    priors = []
    for kind in KINDS:
        for seed in seeds:
            forecast = Forecast(panel(world(kind, traffic, seed)), 7 * 1440, 5.0, 8.0)
            noise = dispersion.Dispersion(forecast, (10,), 7 * DAY // 36)
            for day in range(8, 15):
                weights = noise.at((START + day * 1440) // BLOCK)[10]
                priors.append(weights.mean(0))
    prior = 0.9 * np.mean(priors, 0) + 0.1 / dispersion.CELLS
    return np.asarray(1000 * prior).reshape(6, 6)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("counts", type=Path)
    parser.add_argument("--seeds", default="2000-2003")
    parser.add_argument("--worlds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--threshold", type=float, default=4.5)
    parser.add_argument("--every-threshold", action="store_true", help="also 3.5 to 6 in steps of a half")
    parser.add_argument("--alone", action="store_true", help="judge every series by itself, so with the built-in prior")
    parser.add_argument("--fit-prior", action="store_true", help="print the prior that dispersion.BUILT_IN holds, from these seeds")
    args = parser.parse_args()
    low, _, high = args.seeds.partition("-")
    seeds = list(range(int(low), int(high or low) + 1))
    traffic = read_traffic(args.counts)
    if args.fit_prior:
        print(np.array2string(np.round(fitted_prior(traffic, seeds)), precision=0, floatmode="fixed"))
        return 0
    print(f"seeds {args.seeds}, 300 series each{', every series alone' if args.alone else ''}; measured (target); ± one standard error")
    print("world   threshold  false alarms     rec10 (excess >= 10)      eff8 (and x8)    delay       incidents / x8")
    for kind in args.worlds:
        worlds = [world(kind, traffic, seed) for seed in seeds]
        begin = time.perf_counter()
        scores = [scored(one, alone=args.alone) for one in worlds]
        seconds = (time.perf_counter() - begin) / len(seeds)
        more = [3.5, 4.0, 4.5, 5.0, 5.5, 6.0] if args.every_threshold else []
        for threshold in sorted({args.threshold, *more}):
            print(line(kind, evaluate(worlds, scores, threshold), threshold), flush=True)
        print(f"        {seconds:.1f} s for 300 series, one week of evaluations every 10 minutes", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
