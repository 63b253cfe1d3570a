"""What reading a log from a cluster costs: counting, candidates, everything; as ratios to raw paging in the same run.

    python bench/cluster.py [--server elasticsearch8] [--documents 100000 400000]

Every measurement runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[0] = str(ROOT)  # in place of this folder

from bench.cluster_log import SECONDS, START, filled  # noqa: E402
from detector.observation import Observation, observe, observe_batch  # noqa: E402
from detector.signals.base import Signal, SignalOptions, signals  # noqa: E402
from detector.sources.elasticsearch import ClusterSource  # noqa: E402
from detector.sources.es_cluster import open_cluster  # noqa: E402
from detector.sources.es_connection import Connection  # noqa: E402
from detector.sources.es_hits import HitBatches  # noqa: E402
from detector.sources.es_looking import first_look, time_field  # noqa: E402
from detector.sources.es_paging import all_of, pages, source_filter, within  # noqa: E402
from detector.sources.es_plan import make_plan  # noqa: E402
from detector.window import Window  # noqa: E402
from tests.nodes.nodes import SERVERS, current, running  # noqa: E402

COUNTING = ("length_cutoff", "request_failure")
TEXT = ("think_leak",)
WINDOW = Window(START, START + SECONDS)


def measure(job: str, url: str, index: str) -> dict[str, Any]:
    """One measurement, in this process."""
    connection = Connection(urls=(url,))
    cluster = open_cluster(connection, index)
    before = cluster.sent
    if job.startswith("raw"):
        query: Any = within("@timestamp", WINDOW)
        if job == "raw candidates":
            query = all_of(query, candidates(ClusterSource(lambda: cluster, window=WINDOW))[0])
        before = cluster.sent
        begun = time.perf_counter()
        documents = raw_paging(cluster, query)
        seconds = time.perf_counter() - begun
        return _result(seconds, cluster.sent - before, documents)
    if job == "verify candidates":
        _warm(TEXT)
        source = ClusterSource(lambda: cluster, window=WINDOW)
        query, wanted = candidates(source)
        before = cluster.sent
        begun = time.perf_counter()
        judged = Observation()
        found = pages(cluster, all_of(within("@timestamp", WINDOW), query), "@timestamp", what="candidates", source=source_filter(source.fields.by_name))
        for batch in HitBatches(source.options, judged.tally).of(found):
            observe_batch(batch, wanted, SignalOptions(), judged)
        return _result(time.perf_counter() - begun, cluster.sent - before, judged.tally.documents)
    names = {"count": COUNTING, "text": TEXT, "all": tuple(signals())}[job.partition(" ")[0]]
    window = Window(WINDOW.end - 3600, WINDOW.end) if job.endswith("last hour") else WINDOW
    _warm(names)
    begun = time.perf_counter()
    seen = observe(
        ClusterSource(lambda: cluster, window=window, read_at_most=20_000),
        {name: signals()[name] for name in names},
        SignalOptions(),
    )
    seconds = time.perf_counter() - begun
    result = _result(seconds, cluster.sent - before, seen.tally.requests)  # before the ledger is written out as rows, which takes memory of its own
    flagged = dict.fromkeys(names, 0)
    for _, _, name, _, hits in seen.ledger.rows():
        if name in flagged:
            flagged[name] += hits
    return result | {"flagged": flagged, "said": [entry.why for entry in seen.tally.could_not]}


def candidates(source: ClusterSource) -> tuple[Any, dict[str, Signal]]:
    """The query for candidates of the text rule, and its signals."""
    wanted = {name: signals()[name] for name in TEXT}
    view = first_look(source.cluster, source.fields, WINDOW, source.options, at_field=time_field(source.fields))
    plan = make_plan(source.cluster, view, WINDOW, wanted, SignalOptions(), source.options)
    return plan.signals[0].query, wanted


def raw_paging(cluster: Any, query: Any) -> int:
    """The barest reading: point in time, pages of 1,000 in index order, nothing done with them."""
    documents = 0
    with cluster.point_in_time() as view:
        body: dict[str, Any] = {"query": query, "size": 1000, "track_total_hits": False, "sort": ["_shard_doc"]}
        while True:
            answer = cluster.ask("POST", "/_search", {**body, "pit": {"id": view[0], "keep_alive": "2m"}})
            hits = answer["hits"]["hits"]
            documents += len(hits)
            if len(hits) < 1000:
                return documents
            body["search_after"] = hits[-1]["sort"]


def _warm(names: tuple[str, ...]) -> None:
    """Compile what is compiled at first use: it happens once per installation."""
    from detector.batch import Batch
    from detector.record import Record

    batch = Batch.from_records([Record(content="a b c " * 50, content_state="present", finish_reason="stop")])
    for name in names:
        list(signals()[name].candidates(batch, SignalOptions()))
        signals()[name].judge(batch.record(0), SignalOptions())


def _result(seconds: float, requests: int, documents: int) -> dict[str, Any]:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(seconds, 3), "requests": requests, "documents": documents, "peak_mib": round(peak)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default="elasticsearch8", choices=[name for name, server in SERVERS.items() if not server.secured])
    parser.add_argument("--documents", type=int, nargs="+", default=[100_000])
    parser.add_argument("--job", nargs=3, metavar=("JOB", "URL", "INDEX"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        print(json.dumps(measure(*args.job)))
        return
    jobs = ("raw all", "raw candidates", "verify candidates", "count", "count last hour", "text", "all", "all last hour")
    with running(args.server) as node:
        assert current(SERVERS[args.server]) is not None
        for count in args.documents:
            begun = time.perf_counter()
            index = filled(node, count)
            print(f"{node.flavour} {node.version}, {count:,} documents, 2 days, 50 series (ready in {time.perf_counter() - begun:.0f} s)")
            found: dict[str, dict[str, Any]] = {}
            for job in jobs:
                command = [sys.executable, __file__, "--job", job, node.url, index]
                runs = [
                    json.loads(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)
                    for _ in range(1 if job == "raw all" else 2)
                ]
                one = found[job] = min(runs, key=lambda run: run["seconds"])
                said = "; ".join(one.get("said", ()))
                cost = f"{one['seconds']:8.2f} s {one['requests']:5} requests {one['documents']:9,} documents {one['peak_mib']:5} MiB"
                print(f"  {job:18}{cost}  {one.get('flagged', '')} {said[:90]}", flush=True)
            for name, top, bottom, limit in (
                ("counting rules / paging everything", "count", "raw all", 1 / 20),
                ("text rule / paging its candidates", "verify candidates", "raw candidates", 1.3),
            ):
                print(f"  {name}: {found[top]['seconds'] / found[bottom]['seconds']:.3f} (aim: at most {limit:.3f})")


if __name__ == "__main__":
    main()
