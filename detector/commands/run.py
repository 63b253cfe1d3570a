"""`detector run`: the worker."""

from __future__ import annotations

import argparse
import os
import time


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `run`."""
    parser = commands.add_parser(
        "run",
        help="the worker: check on a schedule and tell the configured receivers",
        description="Check on the configuration's schedule, keep incidents in its store, and tell its receivers. "
        "Ends after the run in progress on SIGTERM or SIGINT.",
    )
    parser.add_argument("--config", metavar="FILE", help="configuration (default: ./detector.yml if there is one)")
    parser.add_argument("--once", action="store_true", help="one run of every group, then end")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run until stopped; 0 on a clean end. Raises ConfigError before the first run when something is missing."""
    from detector.commands.check import rules_of
    from detector.config import load_settings
    from detector.errors import SourceError
    from detector.notify.choice import telling_of
    from detector.pipeline import Span, check
    from detector.report import Report
    from detector.scheduled import Run, blind_report, run_once
    from detector.sources.choice import open_source
    from detector.storage.memory import LedgerMemory
    from detector.storage.store import Store
    from detector.window import MINUTE, Window
    from detector.worker import Group, Worker, end_on_signals, groups_of, listen, to_stderr

    settings = load_settings(args.config, os.environ)
    schedule, source = settings.schedule, settings.source
    rules = rules_of(settings, [])
    telling = telling_of(settings)
    store = Store(settings.store, settings.secrets.store_password)
    what = repr((source.url, source.cloud_id, source.index, source.mapping, source.format, source.timezone))
    memory = LedgerMemory(store, what, source.lag)

    def look(group: Group) -> Run:
        def checked() -> Report:
            now = time.time()
            end = (now - source.lag) // MINUTE * MINUTE
            last = store.fact(f"looked.{group.name}")
            behind = end - float(last) if last is not None else 0.0
            length = min(max(schedule.window, behind), max(schedule.window, schedule.catch_up))
            if behind > length:
                to_stderr(f"group {group.name}: nobody looked for {behind:.0f} s; only the last {length:.0f} s are made up for (schedule.catch_up)")
            window = Window(end - length, end)
            span = Span(start=window.start, end=window.end)
            try:
                sources = open_source(settings, None, jobs=1, format_of=None, span=span, rules=group.rules, now=now)
                report = check(sources, group.rules, settings.signals.options(), span, now, memory=memory, deadline=schedule.deadline)
            except SourceError as error:
                return blind_report(window, error)
            if not any(entry.blocking for entry in report.could_not):
                store.keep_fact(f"looked.{group.name}", window.end)
            return report

        elsewhere = frozenset(rule.id for rule in rules) - {rule.id for rule in group.rules}
        return run_once(checked, group.rules, store, telling, time.time, one_shot=args.once, elsewhere=elsewhere)

    def beat() -> None:
        if schedule.heartbeat is not None:
            from detector.notify.http import send_json

            send_json("heartbeat", "GET", schedule.heartbeat, b"")

    worker = Worker(groups_of(rules, schedule), look, time.time, to_stderr, beat)
    server = listen(worker, schedule.listen) if schedule.listen and not args.once else None
    try:
        if args.once:
            runs = [worker.run_group(group) for group in worker.groups]
            return max((one.exit_code if one is not None else 2) for one in runs)
        end_on_signals(worker)
        to_stderr(f"{len(rules)} rules in {len(worker.groups)} groups; receivers: {', '.join(telling.receivers)}")
        worker.serve(timezone=schedule.timezone)
        to_stderr("ended")
    finally:
        if server is not None:
            server.shutdown()
            server.server_close()
        store.close()
    return 0
