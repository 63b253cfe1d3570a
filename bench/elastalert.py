"""ElastAlert2 beside `detector check`, on the same index of a real OpenSearch node: wall time, requests, peak memory, what each found.

    python bench/elastalert.py --venv FOLDER [--documents 100000] [--hours 6]

FOLDER is a virtual environment of its own with `elastalert2` (Python 3.12 or newer); ElastAlert2 pins an old Elasticsearch client. Both tools go through
the same counting proxy. ElastAlert2 gets the rules that come nearest: `frequency` on failures, `percentage_match` on cut answers, and `frequency` on the
term `think`, which is all that an analysed field can be asked for.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # in place of this folder

from bench.cluster_log import SECONDS, START, filled  # noqa: E402
from detector.window import iso  # noqa: E402
from tests.fault_proxy import FaultProxy, fault_proxy  # noqa: E402
from tests.nodes.nodes import running  # noqa: E402

COMMON = """
index: {index}
use_strftime_index: false
timestamp_field: "@timestamp"
query_key: deployment
alert: [debug]
realert: {{minutes: 15}}
"""
RULES = {
    "failures": """
name: failures
type: frequency
num_events: 2
timeframe: {{hours: 3}}
filter: [{{range: {{status: {{gte: 500}}}}}}]
""",
    "cut": """
name: cut
type: percentage_match
match_bucket_filter: [{{term: {{response.choices.finish_reason.keyword: length}}}}]
max_percentage: 3
min_denominator: 5
buffer_time: {{hours: 1}}
filter: [{{exists: {{field: response.choices.finish_reason}}}}]
""",
    "think": """
name: think
type: frequency
num_events: 2
timeframe: {{hours: 3}}
filter: [{{match: {{response.choices.message.content: think}}}}]
""",
}
CONFIG = """
rules_folder: {rules}
run_every: {{minutes: 1}}
buffer_time: {{hours: 1}}
es_host: 127.0.0.1
es_port: {port}
writeback_index: elastalert_status
alert_time_limit: {{days: 2}}
"""


def peak_of(command: list[str], **settings: Any) -> tuple[float, int, str]:
    """Wall seconds, peak MiB and output of a command, its children included."""
    wrapper = "import resource, subprocess, sys\nsubprocess.run(sys.argv[1:])\nprint('PEAK', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    begun = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", wrapper, *command], capture_output=True, text=True, check=True, **settings)
    seconds = time.perf_counter() - begun
    found = re.search(r"PEAK (\d+)", done.stdout)
    return seconds, int(found.group(1)) // 1024 if found else 0, done.stdout + done.stderr


def elastalert(venv: Path, proxy: FaultProxy, index: str, start: float, end: float) -> None:
    """Run ElastAlert2 over a window and print its line."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules").mkdir()
        for rule, text in RULES.items():
            (folder / "rules" / f"{rule}.yaml").write_text((text + COMMON).format(index=index))
        config = folder / "config.yaml"
        config.write_text(CONFIG.format(rules=folder / "rules", port=proxy.url.rpartition(":")[2]))
        create = [str(venv / "bin" / "elastalert-create-index"), "--config", str(config), "--recreate", "True"]
        subprocess.run(create, check=True, capture_output=True, cwd=folder)
        proxy.seen.clear()
        command = [str(venv / "bin" / "elastalert"), "--config", str(config), "--start", iso(start), "--end", iso(end), "--verbose"]
        seconds, peak, output = peak_of(command, cwd=folder)
        alerts = {rule: len(re.findall(rf"Alert for {rule}[, ]", output)) for rule in RULES}
        errors = len(re.findall(r"ERROR", output))
        print(f"  ElastAlert2       {seconds:7.1f} s {len(proxy.seen):5} requests {peak:5} MiB  alerts {alerts}, {errors} errors")
        if errors or not any(alerts.values()):
            print("    " + "\n    ".join(output.splitlines()[-8:]))


def detector(proxy: FaultProxy, index: str, start: float, end: float) -> None:
    """Run `detector check` over a window and print its line."""
    proxy.seen.clear()
    command = [sys.executable, "-m", "detector.cli", "check", "--source", f"{proxy.url}/{index}", "--from", iso(start), "--to", iso(end), "--format", "json"]
    with tempfile.TemporaryDirectory() as name:
        seconds, peak, output = peak_of(command, cwd=name, env={**os.environ, "PYTHONPATH": str(ROOT)})
    report, _ = json.JSONDecoder().raw_decode(output[output.index("{") :])
    found: dict[str, int] = {}
    for one in report["findings"]:
        found[one["rule"]] = found.get(one["rule"], 0) + 1
    print(f"  detector check    {seconds:7.1f} s {len(proxy.seen):5} requests {peak:5} MiB  findings {found}")
    for entry in report["could_not"]:
        print(f"    could not: {entry['what'][:70]}: {entry['why'][:110]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--hours", type=float, default=6)
    args = parser.parse_args()
    with running("opensearch") as node, fault_proxy(node.url) as proxy:
        index = filled(node, args.documents)
        end = START + SECONDS
        start = end - args.hours * 3600
        print(f"{node.flavour} {node.version}, {args.documents:,} documents in 2 days, the last {args.hours:g} hours judged")
        detector(proxy, index, start, end)
        elastalert(args.venv.absolute(), proxy, index, start, end)


if __name__ == "__main__":
    main()
