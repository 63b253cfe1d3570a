"""`detector demo`: check the bundled log; no server, no configuration, no network."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from detector.arguments import add_format

LOG = Path(__file__).resolve().parent.parent / "demo" / "log.jsonl.zst"
WINDOW = "10h"  # the failure fills the log's last ten hours (detector/demo/README.md)

STORY = f"""\
The bundled log: 147 real answers of a real vLLM server, replayed on the arrivals of real traffic (eight days, one deployment). In its last ten hours a
known failure is re-enacted: 21 of 2,854 answers (0.7 %) run into their token cap although a thinking budget is set, with a </think> in what the user reads.
How it was made: {LOG.parent.name}/README.md in the package. The same by hand:
"""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `demo`."""
    parser = commands.add_parser(
        "demo",
        help="check a bundled log: no server, no configuration",
        description="Check a bundled log of real answers: no server, no configuration, no network. Exit code 0: it fires, as it must.",
    )
    add_format(parser, "text", "json", "markdown")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check the bundled log and print the report; 0 when it fires, as it must."""
    from detector.commands.check import print_report, span_of
    from detector.config import Settings
    from detector.pipeline import check
    from detector.rules import load_rules
    from detector.signals.base import SignalOptions
    from detector.sources.choice import open_source

    if args.format == "text":
        print(STORY)
        print(f"$ detector check --since {WINDOW} --source {LOG}\n")
    now, span, rules = time.time(), span_of(WINDOW, None, None, whole=False), load_rules()
    sources = open_source(Settings(), str(LOG), jobs=1, format_of=None, span=span, rules=rules, now=now)
    report = check(sources, rules, SignalOptions(), span, now)
    print_report(report, args.format)
    return 0 if report.findings else 1
