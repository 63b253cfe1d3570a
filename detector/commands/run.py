"""`detector run`: the worker."""

from __future__ import annotations

import argparse
import math
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from detector.arguments import add_config

if TYPE_CHECKING:
    from detector.config import Settings

DAY = 86400.0
EPILOG = """\
Exit codes: 0 ended by SIGTERM or SIGINT. With --once as `check --notify`: 0 nothing fires, 1 something fires, 2 something could not be looked at,
3 a message could not be delivered (it is kept for the next run)."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run`."""
    parser = commands.add_parser(
        "run",
        help="the worker: check on a schedule and tell the configured receivers",
        description="Check on the configuration's schedule, keep incidents in its store, and tell its receivers. "
        "Ends after the run in progress on SIGTERM or SIGINT.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_config(parser)
    parser.add_argument("--once", action="store_true", help="one run of every group, then end")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run until stopped; 0 on a clean end. Raises ConfigError before the first run when something is missing."""
    from detector.config import load_settings
    from detector.looking import Looking
    from detector.render.numbers import several
    from detector.rule_choice import replacements
    from detector.storage.store import Store
    from detector.worker import Worker, end_on_signals, exit_code, to_stderr
    from detector.worker_pages import listen

    settings = load_settings(args.config, os.environ)
    rules, groups, audience = _prepared(settings)
    schedule = settings.schedule
    store = Store(settings.store, settings.secrets.store_password)
    looking = Looking(settings, rules, store, audience, time.time, to_stderr, one_shot=args.once)

    def beat() -> None:
        if schedule.heartbeat is not None:
            from detector.notify.http import send_json

            send_json("heartbeat", "GET", schedule.heartbeat, b"")

    for line in replacements(settings, []):
        to_stderr(line)
    worker = Worker(groups, looking.run, time.time, to_stderr, beat, schedule.jitter)
    server = None
    try:
        if args.once:
            return exit_code([worker.run_group(group) for group in worker.groups])
        if schedule.listen:
            server = listen(worker, schedule.listen)
        end_on_signals(worker)
        to_stderr(f"{several(len(rules), 'rule')} in {several(len(worker.groups), 'group')}; receivers: {', '.join(audience.receivers)}")
        worker.serve(timezone=schedule.timezone)
        to_stderr("ended")
    finally:
        if server is not None:
            server.shutdown()
            server.server_close()
        store.close()
    return 0


def _prepared(settings: Settings) -> tuple[Any, Any, Any]:
    """Rules, groups and receivers. Raises ConfigError with everything that is missing, so that a worker does not start to fail one by one."""
    from detector.errors import ConfigError, DetectorError
    from detector.notify.choice import audience_of
    from detector.reading import ReadingOptions
    from detector.rule_choice import rules_of
    from detector.window import MINUTE
    from detector.worker import groups_of

    complaints: list[str] = []

    def tried(attempt: Callable[[], Any]) -> Any:
        try:
            return attempt()
        except DetectorError as error:
            complaints.append(str(error))
            return None

    source = settings.source
    if not (source.path or source.url or source.cloud_id):
        complaints.append("source: no log is named: set source.path, or source.url and source.index")
    tried(lambda: ReadingOptions(only=source.format).chosen())
    rules = tried(lambda: rules_of(settings, []))
    groups = tried(lambda: groups_of(rules, settings.schedule)) if rules is not None else None
    longest = max(rules or (), key=lambda rule: rule.baseline_minutes + rule.window_minutes, default=None)
    if longest is not None and settings.retention < (reach := (longest.baseline_minutes + longest.window_minutes) * MINUTE):
        complaints.append(
            f"retention: {settings.retention / DAY:g}d is shorter than what rules compare with ({longest.id} looks {reach / DAY:.1f}d back), "
            f"so their baselines would shrink: choose at least {math.ceil(reach / DAY)}d"
        )
    audience = tried(lambda: audience_of(settings))
    if complaints:
        raise ConfigError("\n".join(complaints))
    return rules, groups, audience
