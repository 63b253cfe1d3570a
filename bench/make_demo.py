"""Makes detector/demo/log.jsonl.zst: real vLLM answers replayed on a time line of real arrivals, with the failure of a real incident in its last hours.

usage: python bench/make_demo.py ANSWERS.jsonl.gz LABELS.jsonl SERVEGEN_COUNTS.csv.gz
Deterministic: the same inputs give the same file. What it is made of stands in detector/demo/README.md.
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import zstandard

OUT = Path(__file__).resolve().parent.parent / "detector" / "demo" / "log.jsonl.zst"
START = datetime(2026, 11, 21, tzinfo=UTC)
DAYS, BIN_MINUTES, TARGET = 8, 10, 70  # days of log; length of a ServeGen bin; mean requests a bin after thinning
INCIDENT_HOURS = 10  # the failure fills the last hours of the log
BASE_RATE, INCIDENT_RATE = 0.0002, 0.004  # share of cut answers before and during it; incident 2 went the other way: 0.2 % -> 0.02 %
DEPLOYMENT = "shop-assistant"


def answers(path: str, labels_path: str) -> tuple[list[dict], list[dict], list[dict]]:
    """(sound answers, cut ones without a leak, cut ones with an end marker in content), as recorded."""
    labels = {row["record_id"]: set(row["labels"]) for row in map(json.loads, Path(labels_path).read_text().splitlines())}
    sound, cut, leaked = [], [], []
    with gzip.open(path, "rt") as file:
        for row in map(json.loads, file):
            own = labels[row["record_id"]]
            for name in ("sse", "category", "lang", "concurrency", "client_timeout_s", "server", "stream_done"):
                row.pop(name, None)
            if len(json.dumps(row)) > 4000:
                continue
            if own == {"normal"}:
                sound.append(row)
            elif own == {"length"} and (row["request"].get("max_tokens") or 0) >= 32 and _text(row):
                cut.append(row)
            elif {"length", "end_marker_leak"} <= own and not any(label.startswith("repetition") for label in own):
                leaked.append(row)
    return sound, cut, leaked


def _text(row: dict) -> str:
    return (row["response"]["choices"][0]["message"].get("content") or "").strip()


def main() -> None:
    rng = random.Random(20261129)
    sound, cut, leaked = answers(sys.argv[1], sys.argv[2])
    with gzip.open(sys.argv[3], "rt") as file:
        rows = list(csv.DictReader(file))
    clients = [name for name in rows[0] if name and sum(float(row[name] or 0) for row in rows[: DAYS * 144]) / (DAYS * 144) > TARGET]
    client = min(clients, key=lambda name: sum(float(row[name] or 0) == 0 for row in rows))  # the steadiest of the busy ones
    counts = [int(float(row[client] or 0)) for row in rows[: DAYS * 144]]
    keep = TARGET / (sum(counts) / len(counts))
    end = START + timedelta(minutes=BIN_MINUTES * len(counts))
    lines, number = [], 0
    for index, count in enumerate(counts):
        begin = START + timedelta(minutes=BIN_MINUTES * index)
        arrivals = sorted(rng.uniform(0, BIN_MINUTES * 60) for _ in range(count) if rng.random() < keep)
        for offset in arrivals:
            at = begin + timedelta(seconds=round(offset, 3))
            incident = at >= end - timedelta(hours=INCIDENT_HOURS)
            bad = rng.random() < (INCIDENT_RATE if incident else BASE_RATE)
            row = dict(rng.choice((leaked if incident else cut) if bad else sound))
            number += 1
            row["record_id"], row["request_id"] = f"demo-{number:06d}", f"chatcmpl-demo{number:06d}"
            row["timestamp"] = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            row["deployment"], row["model"] = DEPLOYMENT, "smollm2-135m-think"
            row["pod"] = f"shop-assistant-{rng.randrange(3)}"
            row["request"] = {**row["request"], "thinking_token_budget": 256}
            row["response"] = {**row["response"], "id": row["request_id"]}
            lines.append(json.dumps(row, ensure_ascii=False))
    data = "\n".join(lines).encode() + b"\n"
    parameters = zstandard.ZstdCompressionParameters.from_level(15, window_log=23, enable_ldm=True)
    OUT.write_bytes(zstandard.ZstdCompressor(compression_params=parameters).compress(data))
    print(f"{len(lines):,} answers of {len(sound)} sound, {len(cut)} cut, {len(leaked)} leaked recordings; client {client}")
    print(f"{len(data) / 1e6:.0f} MB, {OUT.stat().st_size / 1e6:.2f} MB packed")


if __name__ == "__main__":
    main()
