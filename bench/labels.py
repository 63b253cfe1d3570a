"""Scores `detector scan` on labelled answers: precision and recall per label, and every answer that differs.

usage: python bench/labels.py CASES.jsonl     lines with `id`, `expect`, `may` beside `request` and `response`; a label outside both is a false alarm
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def main() -> int:
    path = Path(sys.argv[1])
    cases = {case["id"]: case for case in map(json.loads, path.read_text(encoding="utf-8").rstrip("\n").split("\n"))}
    scan = subprocess.run([sys.executable, "-m", "detector.cli", "scan", str(path), "--format", "jsonl"], capture_output=True, text=True, check=False)
    found: dict[str, set[str]] = {name: set() for name in cases}
    for line in map(json.loads, filter(None, scan.stdout.split("\n"))):
        found.setdefault(line["id"].split("#")[0], set()).update(line["labels"])
    hit, missed, false = Counter(), Counter(), Counter()
    for name, case in cases.items():
        expect, may = set(case["expect"]), set(case["may"])
        for label in expect:
            (hit if label in found[name] else missed)[label] += 1
        for label in found[name] - expect - may:
            false[label] += 1
        if not expect <= found[name] <= expect | may:
            print(f"{name} expected {sorted(expect)} (may {sorted(may)}), got {sorted(found[name])}: {case.get('why', '')}")
    for label in sorted(hit | missed | false):
        precision = hit[label] / max(1, hit[label] + false[label])
        recall = hit[label] / max(1, hit[label] + missed[label])
        counts = f"found {hit[label]:3d}  missed {missed[label]:3d}  false {false[label]:3d}"
        print(f"{label:20s} {counts}  precision {precision:.3f} (target 0.99)  recall {recall:.3f} (target 0.98)")
    benign = [name for name, case in cases.items() if not case["expect"] and not case["may"]]
    print(f"false alarms on benign answers: {sum(bool(found[name]) for name in benign)} of {len(benign)} (target 0)")
    print(scan.stderr.strip().splitlines()[-1] if scan.stderr.strip() else "", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
