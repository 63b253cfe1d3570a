"""`detector doctor`: can everything be reached and read, how is it evaluated, what does it cost; each problem with its remedy."""

from __future__ import annotations

import argparse
import os
import time

from detector.arguments import Once, add_config

MARKS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}
LONGEST = 1000  # characters of one line; long lists are cut where they are made


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `doctor`."""
    parser = commands.add_parser(
        "doctor",
        help="examine source, fields and settings, and say how each signal is evaluated",
        description="Examine source, fields and settings. Nothing is judged and nothing is sent but questions. Exit code 2 when there is a problem.",
    )
    parser.add_argument(
        "--source", action=Once, metavar="PATH|URL", help="file, folder, glob or http(s)://HOST:PORT/INDEX_PATTERN; default: the configuration's source"
    )
    add_config(parser)
    parser.add_argument("--since", metavar="DURATION", default="1h", help="how far back to look in a cluster (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Examine and print; 0 when there is no problem, else 2."""
    from detector.checkups.base import Asked, examine_all
    from detector.config import load_settings
    from detector.render.inert import plain
    from detector.window import seconds

    settings = load_settings(args.config, os.environ)
    problems = 0
    for line in examine_all(settings, Asked(args.source, seconds(args.since)), time.time()):
        problems += line.state == "problem"
        print(f"{MARKS[line.state]}  {plain(line.what)}: {plain(line.seen, LONGEST)}")
        if line.remedy:
            print(f"{' ' * 9}-> {plain(line.remedy, LONGEST)}")
    print(f"{problems} problem{'' if problems == 1 else 's'}" if problems else "No problem found.")
    return 2 if problems else 0
