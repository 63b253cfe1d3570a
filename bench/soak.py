"""A soak of the worker: `detector run` every ten seconds on a growing log, with incidents, Slack's faults, rotation, a killed worker and a second one.

    python bench/soak.py [--minutes 10] [--source file|elasticsearch8|elasticsearch9]

Prints one line a minute (runs, run time, lag of the judged window, memory, messages), then what was lost or doubled. Exit code 1 when anything was.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.answers import envelope  # noqa: E402  # the path above
from tests.nodes.nodes import running  # noqa: E402
from tests.servers.slack import CHANNEL, TOKEN, Workspace, slack  # noqa: E402

EVERY = 10  # seconds between runs
RATE = 5  # answers a second
LEAK = "So I should add it up.\n</think>\n\nThe crates are due at noon."
FAULTS = ("429", "500", "500stored", "lost", "html", "timeout", "429long")
METRIC = re.compile(r"^(\w+)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)
RULE = """\
title: Thinking markers appear in answers
status: stable
severity: warning
signal: think_leak
detector: {hits: {within: 2m}}
threshold: 3
group_by: [deployment, model]
window: 2m
meaning: Answers that hold a reasoning marker, in the last two minutes.
impact: Users read what was not meant for them.
next_steps: ["Look at the listed requests of the last 2 min."]
causes: [release_regression]
panels: [finish_reason]
false_positives: ["An answer that explains the marker."]
references: [https://github.com/vllm-project/vllm/issues/39697]
tests:
  - name: fires on three
    current: [{count: 50, content: fine}, {count: 3, content: "so </think> yes"}]
    firing: [{deployment: d, model: m}]
  - name: silent at two
    current: [{count: 50, content: fine}, {count: 2, content: "so </think> yes"}]
    firing: []
"""


class FileLog:
    """A log file that grows and is rotated."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "logs"
        self.folder.mkdir()
        self.setting = f"path: {self.folder}"

    def write(self, rows: list[dict[str, Any]]) -> None:
        with (self.folder / "llm.jsonl").open("a") as file:
            file.write("".join(json.dumps(row) + "\n" for row in rows))

    def rotate(self) -> str:
        (self.folder / "llm.jsonl").rename(self.folder / "llm.jsonl.1")
        return "log rotated"

    def pack(self) -> str:
        old = self.folder / "llm.jsonl.1"
        (self.folder / "llm.jsonl.1.gz").write_bytes(gzip.compress(old.read_bytes()))
        old.unlink()
        return "rotated log packed"


class ClusterLog:
    """An index that grows."""

    def __init__(self, url: str) -> None:
        self.url, self.index = url, f"llm-soak-{os.getpid()}"  # a node is shared
        self.setting = f"{{url: '{url}', index: {self.index}, lag: 5s}}"
        mapping = {"mappings": {"properties": {"@timestamp": {"type": "date"}}}}
        self._send("PUT", f"/{self.index}", json.dumps(mapping).encode(), "application/json")

    def _send(self, method: str, path: str, body: bytes, kind: str) -> None:
        request = urllib.request.Request(self.url + path, body, {"Content-Type": kind}, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()

    def write(self, rows: list[dict[str, Any]]) -> None:
        for at in range(0, len(rows), 2000):
            lines = [json.dumps({"index": {}}) + "\n" + json.dumps({**row, "@timestamp": row["timestamp"]}) + "\n" for row in rows[at : at + 2000]]
            self._send("POST", f"/{self.index}/_bulk?refresh=true", "".join(lines).encode(), "application/x-ndjson")

    def rotate(self) -> str:
        return ""

    def pack(self) -> str:
        return ""


@contextlib.contextmanager
def opened(source: str, folder: Path) -> Iterator[FileLog | ClusterLog]:
    """The log to write to."""
    if source == "file":
        yield FileLog(folder)
    else:
        with running(source) as node:
            yield ClusterLog(node.url)


@dataclass
class Process:
    """One worker."""

    folder: Path
    name: str
    port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        config = self.folder / "detector.yml"
        mine = self.folder / f"{self.name}.yml"
        mine.write_text(config.read_text().replace("LISTEN", f"127.0.0.1:{self.port}"))
        with (self.folder / f"{self.name}.log").open("ab") as log:
            command = [sys.executable, "-m", "detector.cli", "run", "--config", str(mine)]
            environment = {**os.environ, "DETECTOR_SLACK_TOKEN": TOKEN, "PYTHONPATH": str(ROOT)}
            self.process = subprocess.Popen(command, stderr=log, env=environment)

    def kill(self, number: int) -> int:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(120)

    def metrics(self) -> dict[str, float]:
        """Sums of /metrics by name and outcome; empty while the worker does not answer."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=2) as answer:
                page = answer.read().decode()
        except OSError:
            return {}
        found: Counter[str] = Counter()
        for name, labels, value in METRIC.findall(page):
            outcome = re.search(r'outcome="(\w+)"', labels)
            found[f"{name}.{outcome[1]}" if outcome else name] += float(value)
        return dict(found)


@dataclass
class Plan:
    """What happens when, in seconds from the start; and which deployments must have been told of."""

    expected: set[str] = field(default_factory=set)
    ending: set[str] = field(default_factory=set)

    def leaking(self, second: float, total: float) -> list[str]:
        """Deployments that leak at this second: one after the other for half a minute each, the last early enough to be told."""
        found = []
        for number in range(int(total // 75)):
            begin = 20 + number * 75
            if begin <= second < begin + 30 and begin + 150 < total:
                found.append(f"dep-{number}")
                self.expected.add(f"dep-{number}")
                if begin + 30 + 3 * 120 + 90 < total:  # the rule's window, the judged one, the clean time, and some runs
                    self.ending.add(f"dep-{number}")
        return found


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def soak(minutes: float, source: str, folder: Path, base_url: str, workspace: Workspace) -> int:
    dice = random.Random(7)
    plan, total = Plan(), minutes * 60
    with opened(source, folder) as log, contextlib.ExitStack() as ends:
        (folder / "rules").mkdir()
        for rule in (ROOT / "rules").glob("*.yml"):
            if not rule.name.startswith("think_tag_leak"):  # its window of six hours would let no incident end
                shutil.copy(rule, folder / "rules")
        (folder / "rules" / "soak_leak.yml").write_text(RULE)
        lag = "" if source != "file" else ", lag: 0s"
        setting = log.setting if source != "file" else f"{{{log.setting}{lag}}}"
        (folder / "detector.yml").write_text(
            f"source: {setting}\nrules: [rules/]\nstore: sqlite:///state.db\n"
            f"schedule: {{every: {EVERY}s, jitter: 0s, window: 2m, listen: 'LISTEN'}}\nincidents: {{shortest_clean: 2m, clean_windows: 1}}\n"
            f"notify: {{slack: {{channel: {CHANNEL}, base_url: '{base_url}'}}}}\n"
        )
        now = datetime.now(UTC)
        history = [envelope(number, now - timedelta(days=8) + timedelta(seconds=30 * number)) for number in range(8 * 2880)]
        log.write(history)
        number = len(history)
        first, second_worker = Process(folder, "first", free_port()), Process(folder, "second", free_port())
        for process in (first, second_worker):  # also when the soak breaks off
            ends.callback(lambda process=process: process.process and process.kill(signal.SIGKILL))
        first.start()
        started = time.time()
        told_minute, seen = -1, {}
        events: list[tuple[float, str]] = []
        once: set[str] = set()

        def at(share: float, name: str) -> bool:
            due = time.time() - started >= share * total and name not in once
            if due:
                once.add(name)
            return due

        print("minute  runs(quiet/firing/blind/undelivered/failed/overlapped)  run s  lag s  MiB  sent  waiting  parents", flush=True)
        while (elapsed := time.time() - started) < total:
            leaking = plan.leaking(elapsed, total)
            moment = datetime.now(UTC)
            rows = []
            for _ in range(RATE):
                number += 1
                rows.append(envelope(number, moment, deployment=f"dep-{number % 8}"))
            rows += [envelope(number * 1000 + k, moment, deployment=name, content=LEAK) for k, name in enumerate(leaking)]
            log.write(rows)
            if elapsed < total - 120 and dice.random() < 1 / 25:
                fault = dice.choice(FAULTS[:-1] if elapsed > total - 700 else FAULTS)
                method = dice.choice(("chat.postMessage", "chat.update", "reactions.get", "*"))
                workspace.faults.append((method, fault))
                events.append((elapsed, f"Slack {method}: {fault}"))
            if at(0.35, "kill"):
                first.kill(signal.SIGKILL)
                first.start()
                events.append((elapsed, "worker killed (SIGKILL) and started again"))
            if at(0.5, "rotate") and (said := log.rotate()):
                events.append((elapsed, said))
            if at(0.6, "pack") and (said := log.pack()):
                events.append((elapsed, said))
            if at(0.55, "second"):
                second_worker.start()
                events.append((elapsed, "second worker on the same store"))
            if at(0.75, "end second"):
                events.append((elapsed, f"second worker ended with code {second_worker.kill(signal.SIGTERM)}"))
            if int(elapsed // 60) != told_minute:
                told_minute = int(elapsed // 60)
                seen = first.metrics() or seen
                outcomes = "/".join(
                    f"{seen.get(f'detector_runs_total.{name}', 0):.0f}" for name in ("quiet", "firing", "blind", "undelivered", "failed", "overlapped")
                )
                print(
                    f"{told_minute:6d}  {outcomes:58s}  {seen.get('detector_run_seconds', 0):5.2f}  {seen.get('detector_window_lag_seconds', 0):5.0f}"
                    f"  {seen.get('process_resident_memory_bytes', 0) / 2**20:4.0f}  {seen.get('detector_messages_sent_total', 0):4.0f}"
                    f"  {seen.get('detector_messages_waiting', 0):7.0f}  {len(workspace.parents()):7d}",
                    flush=True,
                )
            time.sleep(max(0.0, 1 - (time.time() - started - elapsed)))
        code = first.kill(signal.SIGTERM)
        events.append((time.time() - started, f"worker ended with code {code}"))
    for second, what in events:
        print(f"{second:6.0f} s  {what}")
    return judged(plan, workspace)


def judged(plan: Plan, workspace: Workspace) -> int:
    """Print what was lost, doubled, or not resolved; 1 when anything was."""
    parents = Counter(message.metadata["event_payload"]["deployment"] for message in workspace.parents())
    states = {message.metadata["event_payload"]["deployment"]: message.metadata["event_payload"]["state"] for message in workspace.parents()}
    keys = Counter(message.metadata["event_payload"]["key"] for message in workspace.messages)
    lost = sorted(plan.expected - set(parents))
    doubled = sorted([name for name, count in parents.items() if count > 1] + [key for key, count in keys.items() if count > 1])
    unresolved = sorted(name for name in plan.ending if states.get(name) != "resolved")
    print(f"incidents injected {len(plan.expected)}, parents {sum(parents.values())}, messages {len(workspace.messages)}, calls {len(workspace.calls)}")
    print(f"lost {len(lost)} {lost}, doubled {len(doubled)} {doubled}, should have ended and did not {len(unresolved)} {unresolved}")
    extra = sorted(set(parents) - plan.expected)
    print(f"told though nothing was wrong: {len(extra)} {extra}")
    return 1 if lost or doubled or unresolved or extra else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--source", choices=("file", "elasticsearch8", "elasticsearch9"), default="file")
    parser.add_argument("--keep", metavar="FOLDER", help="work in this folder and leave it")
    args = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(args.keep) if args.keep else Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(parents=True, exist_ok=True)
        base_url, workspace = stack.enter_context(slack())
        return soak(args.minutes, args.source, folder, base_url, workspace)


if __name__ == "__main__":
    sys.exit(main())
