"""Time and memory of `detector backtest` as a whole process: 300 series, 14 days, every 10 minutes, one rule. Target: at most 20 s.

usage: python bench/backtest.py [--series 300] [--days 14] [--runs 1]

Tables are made at random (Poisson requests, binomial failures at rates of 2e-4..2e-2, a tenfold hour here and there) with ten-minute rows and with minute
rows (six million), as Parquet and CSV.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq

START = 20_000 * 86_400  # seconds
TARGET = 20.0


def table(series: int, days: int, minutes: int) -> pa.Table:
    """Counts of every series, one row per `minutes` minutes."""
    rng = np.random.default_rng(11)
    bins = days * 1440 // minutes
    mean = 10 ** rng.uniform(0, 3, (series, 1)) * minutes / 10
    requests = rng.poisson(mean, (series, bins))
    p = np.tile(10 ** rng.uniform(-3.7, -1.7, (series, 1)), (1, bins))
    for one in range(0, series, 3):
        at = int(rng.integers(bins // 2, bins - 60 // minutes))
        p[one, at : at + 60 // minutes] *= 10
    flagged = rng.binomial(requests, np.minimum(p, 1))
    row, column = np.divmod(np.arange(series * bins), bins)
    names = pa.array([f"deployment-{one:03d}" for one in range(series)])
    return pa.table(
        {
            "minute": pa.array(START + column * minutes * 60, pa.timestamp("s", tz="UTC")),
            "deployment": pa.DictionaryArray.from_arrays(pa.array(row, pa.int32()), names),
            "model": pa.DictionaryArray.from_arrays(pa.array(np.zeros(row.size), pa.int32()), pa.array(["m"])),
            "signal": pa.DictionaryArray.from_arrays(pa.array(np.zeros(row.size), pa.int32()), pa.array(["length_cutoff"])),
            "requests": requests.reshape(-1),
            "flagged": flagged.reshape(-1),
        }
    )


def measured(path: Path, rules: Path) -> tuple[float, float, int]:
    """Wall-clock seconds, peak MB and lines of one backtest in a process of its own."""
    begin = time.perf_counter()
    command = [sys.executable, "-m", "detector.cli", "backtest", "--ledger", str(path), "--rules", str(rules), "--every", "10m", "--format", "jsonl"]
    with tempfile.TemporaryFile() as out, subprocess.Popen(command, stdout=out) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - begin
        if process.returncode not in (0, 1):
            raise SystemExit(f"backtest ended with {process.returncode}")
        out.seek(0)
        return seconds, usage.ru_maxrss / 1024, sum(1 for _ in out)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--series", type=int, default=300)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--runs", type=int, default=1)
    args = parser.parse_args()
    rules = Path(__file__).parents[1] / "rules" / "finish_reason_length_spike.yml"
    print(f"{args.series} series, {args.days} days, every 10 minutes, one spike rule; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print("rows              MB on disk   seconds (target)   peak MB   episodes")
    with tempfile.TemporaryDirectory() as folder:
        for minutes in (10, 1):
            rows = table(args.series, args.days, minutes)
            for suffix, write in (("parquet", pq.write_table), ("csv", csv.write_csv)):
                path = Path(folder) / f"counts.{suffix}"
                write(rows, path)
                for _ in range(args.runs):
                    seconds, peak, lines = measured(path, rules)
                    size = path.stat().st_size / 1e6
                    print(f"{rows.num_rows:9,} {suffix:8s} {size:8.1f}   {seconds:7.1f} (<= {TARGET:g})   {peak:7.0f}   {lines:6d}", flush=True)
                path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main())
