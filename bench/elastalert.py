"""ElastAlert2 beside `detector check`, on the same hour of the same index of a real OpenSearch node: what each costs, and what each finds.

    python bench/elastalert.py --venv FOLDER [--documents 100000] [--runs 3]

Prints the table of docs/elasticsearch.md. FOLDER is a virtual environment of its own with `elastalert2` (Python 3.12 or newer), which pins an old
Elasticsearch client. Both go through one counting proxy. The log is `cluster_log.with_incidents`; what is wrong in it is counted apart from both tools.

ElastAlert2's rules are those of its documentation for such questions, with thresholds that its user would choose after a look at a healthy day: 5 failures
of a deployment in 10 minutes (usual: 0 or 1), 5 % cut answers in an hour (usual: 0.5 %). For leaks it is the term `think`, which is all that an analysed
field can be asked for, 3 times in an hour, as in `rules/think_tag_leak.yml`. They fetch no more fields than they need (`include`), and alert once an hour
and deployment. Given a window in the past, ElastAlert2 starts each rule after a random wait of up to 15 s, runs it once, and sleeps until `run_every` is
over. None of that is work: its time here is what it takes until "Starting up" and what it notes itself for each rule (`time_taken`), and it is stopped
when the last rule has run.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # in place of this folder

from bench.cluster_log import PLANTED, SECONDS, START, filled, wrong_in_last_hour  # noqa: E402
from detector.window import iso  # noqa: E402
from tests.fault_proxy import Answer, Asked, FaultProxy, fault_proxy  # noqa: E402
from tests.nodes.nodes import Node, running  # noqa: E402

END = START + SECONDS
CONFIG = {"run_every": {"minutes": 5}, "buffer_time": {"hours": 1}, "es_host": "127.0.0.1", "writeback_index": "elastalert_status"}
COMMON = {"timestamp_field": "@timestamp", "query_key": "deployment", "include": ["id", "status"], "realert": {"hours": 1}, "alert": ["debug"]}
RULES: dict[str, dict[str, Any]] = {  # signal → the rule that comes nearest
    "request_failure": {"type": "frequency", "num_events": 5, "timeframe": {"minutes": 10}, "filter": [{"range": {"status": {"gte": 500}}}]},
    "length_cutoff": {
        "type": "percentage_match",
        "match_bucket_filter": [{"term": {"response.choices.finish_reason.keyword": "length"}}],
        "max_percentage": 5,
        "min_denominator": 50,
        "filter": [{"exists": {"field": "response.choices.finish_reason"}}],
    },
    "think_leak": {
        "type": "frequency",
        "num_events": 3,
        "timeframe": {"hours": 1},
        "filter": [{"match": {"response.choices.message.content": "think"}}],
    },
}
SAME_SIGNALS = ("request_failure_*.yml", "finish_reason_length_*.yml", "think_tag_leak*.yml")  # files of the shipped rules
WORDS = {"request_failure": "failures", "length_cutoff": "cut answers", "think_leak": "leaks"}


@dataclass
class Run:
    """What a command cost, and what it said."""

    seconds: float
    cpu: float
    peak: int  # MiB: the sum of the peaks of all its processes
    requests: int
    to_log: int  # of them not to ElastAlert2's own indices
    answered: float  # MiB
    lines: list[tuple[float, str]] = field(repr=False)  # of its output, each with the seconds after which it came
    code: int
    told: dict[tuple[str, str], str] = field(default_factory=dict)  # (signal, deployment) → how much

    def output(self) -> str:
        return "".join(line for _, line in self.lines)


def measured(command: list[str], proxy: FaultProxy, *, done: Callable[[str], bool] | None = None, **settings: Any) -> Run:
    """Run a command; `done`: read its messages too, and interrupt it after the line of which this is true."""
    marks: dict[str, int] = {}
    lines: list[tuple[float, str]] = []
    sizes: list[int] = []
    over = threading.Event()

    def passed(asked: Asked, forward: Callable[[], Answer]) -> Answer:
        answer = forward()
        sizes.append(len(answer.body))
        return answer

    def watch() -> None:
        while not over.wait(0.1):
            marks.update(high_marks(process.pid))

    proxy.seen.clear()
    proxy.faults[:] = [passed]
    begun = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT if done else None, text=True, start_new_session=True, **settings)
    watcher = threading.Thread(target=watch)
    watcher.start()
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.append((time.perf_counter() - begun, line))
            if done and done(line):
                os.kill(process.pid, signal.SIGINT)
                done = None
    (_, status, used), seconds = os.wait4(process.pid, 0), time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    over.set()
    watcher.join()
    to_log = sum("/elastalert_status" not in asked.path for asked in proxy.seen)
    memory, cpu = sum(marks.values()) // 1024, used.ru_utime + used.ru_stime
    return Run(seconds, cpu, memory, len(proxy.seen), to_log, sum(sizes) / 2**20, lines, process.returncode)


def high_marks(group: int) -> dict[str, int]:
    """The kernel's high mark of memory, in KiB, of every process of a group."""
    found: dict[str, int] = {}
    for entry in os.scandir("/proc"):
        with suppress(OSError):  # ended meanwhile
            if entry.name.isdigit() and os.getpgid(int(entry.name)) == group:
                mark = re.search(r"VmHWM:\s+(\d+)", Path(entry.path, "status").read_text())
                found |= {entry.name: int(mark.group(1))} if mark else {}  # a process that has just ended has none
    return found


def elastalert(venv: Path, node: Node, proxy: FaultProxy, index: str) -> Run:
    """Run ElastAlert2 over the window. What it told is read from the index in which it keeps its alerts."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rules").mkdir()
        for rule, text in RULES.items():
            (folder / "rules" / f"{rule}.yaml").write_text(yaml.safe_dump({"name": rule, "index": index, **COMMON, **text}))
        config = folder / "config.yaml"
        config.write_text(yaml.safe_dump({**CONFIG, "rules_folder": str(folder / "rules"), "es_port": int(proxy.url.rpartition(":")[2])}))
        create = [str(venv / "bin" / "elastalert-create-index"), "--config", str(config), "--recreate", "True"]
        subprocess.run(create, check=True, capture_output=True, cwd=folder)
        left = set(RULES)

        def done(line: str) -> bool:
            left.difference_update(re.findall(r"Ran (\w+) from ", line))
            return not left

        command = [str(venv / "bin" / "elastalert"), "--config", str(config), "--start", iso(END - 3600), "--end", iso(END), "--verbose"]
        run = measured(command, proxy, done=done, cwd=folder)
    node.ask("POST", "/elastalert_status*/_refresh")
    alerts, rules, errors = (node.ask("GET", f"/elastalert_status{kind}/_search?size=1000")["hits"]["hits"] for kind in ("", "_status", "_error"))
    if left or errors or len(rules) != len(RULES):
        raise RuntimeError(f"ElastAlert2 did not run every rule once:\n{run.output()[-3000:]}")
    run.seconds = next(seconds for seconds, line in run.lines if "Starting up" in line) + sum(rule["_source"]["time_taken"] for rule in rules)
    for alert in (hit["_source"] for hit in alerts):
        rule, match = alert["rule_name"], alert["match_body"]
        share = f"{match['percentage']:.1f} % of {match['denominator']:,}" if "percentage" in match else f"{RULES[rule]['num_events']} or more"
        run.told[rule, match["deployment"]] = share
    return run


def detector(proxy: FaultProxy, index: str, rules: tuple[str, ...]) -> Run:
    """Run `detector check` over the window, with these rules or with all."""
    command = [sys.executable, "-m", "detector.cli", "check", "--source", f"{proxy.url}/{index}", "--from", iso(END - 3600), "--to", iso(END)]
    files = sorted(str(file) for pattern in rules for file in (ROOT / "rules").glob(pattern))
    command += ["--format", "json", *(word for file in files for word in ("--rules", file))]
    with tempfile.TemporaryDirectory() as name:
        run = measured(command, proxy, cwd=name, env={**os.environ, "PYTHONPATH": str(ROOT)})
    if run.code not in (0, 1):
        raise RuntimeError(f"detector check ended with {run.code}")
    series: dict[tuple[str, str], dict[str, tuple[int, int]]] = defaultdict(dict)
    for one in json.loads(run.output())["findings"]:
        series[one["signal"], one["deployment"]][one["model"]] = one["flagged"], one["requests"]
    run.told = {key: of(counts) for key, counts in series.items()}
    return run


def of(counts: dict[str, tuple[int, int]]) -> str:
    """Flagged requests of all requests, of the models of a deployment of which any are flagged."""
    flagged, requests = (sum(pair[at] for pair in counts.values() if pair[0]) for at in (0, 1))
    return f"{flagged:,} of {requests:,}"


def row(name: str, runs: list[Run]) -> str:
    """A row of the table: the least time (and the most), the least of CPU and requests, the most memory. What was told must be the same in every run."""
    if any(run.told != runs[0].told for run in runs):
        raise RuntimeError(f"{name} did not say the same in every run: {[run.told for run in runs]}")
    seconds = [run.seconds for run in runs]
    sent, to_log = min((run.requests, run.to_log) for run in runs)
    answered = runs[0].answered
    false: dict[str, list[str]] = defaultdict(list)
    for what, where in sorted(runs[0].told):
        if PLANTED.get(what) != where:
            false[WORDS.get(what, what)].append(where)
    cells = [
        name,
        f"{min(seconds):.1f} s (to {max(seconds):.1f})",
        f"{min(run.cpu for run in runs):.1f} s",
        f"{sent}, {to_log} of them to the log" if to_log < sent else str(sent),
        f"{answered:.0f} MiB" if answered >= 1 else f"{1024 * answered:.0f} KiB",
        f"{max(run.peak for run in runs)} MiB",
        found(runs[0].told),
        "; ".join(f"{what} in {', '.join(where)}" for what, where in false.items()) or "none",
    ]
    return f"| {' | '.join(cells)} |"


def found(told: dict[tuple[str, str], str]) -> str:
    """What of `PLANTED` was told, and what not."""
    return "; ".join(f"{WORDS[what]} in {where}: {told.get((what, where), 'not seen')}" for what, where in PLANTED.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, required=True)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    venv = args.venv.absolute()
    ask = [str(venv / "bin" / "python"), "-c", "from importlib.metadata import version; print(version('elastalert2'))"]
    version = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    with running("opensearch") as node, fault_proxy(node.url) as proxy:
        index = filled(node, args.documents, incident=True)
        tools: dict[str, Callable[[], Run]] = {
            f"ElastAlert2 {version}, three rules": lambda: elastalert(venv, node, proxy, index),
            "`detector check`, the six rules for these three signals": lambda: detector(proxy, index, SAME_SIGNALS),
            "`detector check`, all rules": lambda: detector(proxy, index, ()),
        }
        for tool in tools.values():
            tool()  # not counted: it fills the caches of the server, of the disk and of compiled code
        runs: dict[str, list[Run]] = {name: [] for name in tools}
        load = []
        for _ in range(args.runs):  # in turn, so that a busy moment meets all alike
            for name, tool in tools.items():
                load.append(os.getloadavg()[0])
                runs[name].append(tool())
    print("| | time | CPU | requests | answers | peak memory | found | false alarms |\n|---|---|---|---|---|---|---|---|")
    print(f"| what is wrong in the hour | | | | | | {found({key: of(counts) for key, counts in wrong_in_last_hour(args.documents).items()})} | |")
    for name, several in runs.items():
        print(row(name, several))
    machine = f"load {min(load):.1f} to {max(load):.1f} on {os.cpu_count()} cores"
    print(f"\n{node.flavour} {node.version}, {args.documents:,} documents, least (and most) of {args.runs} runs in turn, {machine}.")


if __name__ == "__main__":
    main()
