"""Counts of two deployments over nine days, as tables for backtests."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

DAY = 1440
START = 20_000 * DAY  # 2024-10-04T00:00:00Z
RISE = START + 8 * DAY + 13 * 60  # 2024-10-12T13:00:00Z


def counts() -> list[tuple[int, str, int, int]]:
    """(minute, deployment, requests, flagged) of two deployments on ten-minute bins over nine days; `chat` rises tenfold for an hour."""
    rng = np.random.default_rng(7)
    rows = []
    for minute in range(START, START + 9 * DAY, 10):
        for deployment in ("chat", "code"):
            n = int(rng.poisson(200))
            rate = 0.05 if deployment == "chat" and RISE <= minute < RISE + 60 else 0.005
            rows.append((minute, deployment, n, int(rng.binomial(n, rate))))
    return rows


def table(**columns: object) -> dict[str, object]:
    minutes, deployments, requests, flagged = zip(*counts(), strict=True)
    base = {"minute": minutes, "deployment": deployments, "signal": ["length_cutoff"] * len(minutes), "requests": requests, "flagged": flagged}
    return {name: column for name, column in {**base, **columns}.items() if column is not None}


def parquet(path: Path, columns: dict[str, object]) -> Path:
    pq.write_table(pa.table(columns), path)
    return path
