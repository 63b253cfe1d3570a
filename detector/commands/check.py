"""`detector check`: judge a stretch of a log and print what fires."""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import TYPE_CHECKING

from detector.arguments import Once, add_config, add_format, add_format_of, add_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detector.config import Settings
    from detector.placing import Span
    from detector.report import Report
    from detector.rules import Rule

FORGETFUL = ("sqlite://", "sqlite:///:memory:")  # stores that end with the process
EPILOG = """\
Exit codes: 0 looked and nothing fires, 1 something fires (even if a part could not be seen, which is said), 2 nothing fires but something could
not be looked at, 3 (with --notify) a message could not be delivered and waits for the next run. What lies before the window is the baseline. In a file,
--since counts from the newest record."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `check`."""
    parser = commands.add_parser(
        "check",
        help="judge a stretch of a log and print what fires",
        description="Judge a stretch of a log and print what fires.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    window = parser.add_argument_group("window")
    window.add_argument("--since", metavar="DURATION", help="the last 15m, 1h, 7d … (default: 1h)")
    window.add_argument("--from", dest="start", metavar="TIME", help="start, ISO 8601 (UTC where it bears no zone)")
    window.add_argument("--to", dest="end", metavar="TIME", help="end, exclusive")
    window.add_argument("--all", action="store_true", help="the whole log")
    parser.add_argument(
        "--source",
        action=Once,
        metavar="PATH|URL",
        help="file, folder, glob, - for standard input, or http(s)://HOST:PORT/INDEX_PATTERN; default: the configuration's source",
    )
    add_format_of(parser)
    add_config(parser)
    add_rules(parser)
    add_format(parser, "text", "json", "markdown")
    parser.add_argument("--every", metavar="DURATION", default="5m", help="distance of the evaluations inside the window (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that read (default: %(default)s); the findings do not depend on it")
    parser.add_argument("--notify", action="store_true", help="one scheduled run: keep incidents in the store and tell the configured receivers")
    parser.add_argument("--show-content", action="store_true", help="show an inert excerpt of one answer per finding; the log is read a second time")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Check and print; returns the exit code."""
    from detector.config import load_settings
    from detector.errors import SourceError
    from detector.report import blind_report
    from detector.rule_choice import rules_of

    span = span_of(args.since, args.start, args.end, whole=args.all)
    settings = load_settings(args.config, os.environ)
    rules = rules_of(settings, args.rules)
    if args.notify:
        return _notify(settings, rules, span, args)
    try:
        report = checked(settings, rules, span, args)
    except SourceError as error:
        if args.format == "json":  # whoever reads JSON gets a report also when nothing could be read
            print_report(blind_report(None, error), args.format)
        raise
    print_report(report, args.format)
    return report.exit_code


def _notify(settings: Settings, rules: Sequence[Rule], span: Span, args: argparse.Namespace) -> int:
    """One scheduled run: check, advance the incidents, tell; the report is printed as without --notify."""
    from detector.errors import ConfigError, SourceError
    from detector.notify.choice import audience_of
    from detector.report import blind_report
    from detector.scheduled import run_once
    from detector.storage.store import Store

    if args.format == "json" and settings.notify.file is not None and settings.notify.file.path == "-":
        raise ConfigError("--format json and notify.file.path `-` both write to standard output: name a file there, or print text")
    audience = audience_of(settings)
    if settings.store in FORGETFUL:
        print(f"detector: store: {settings.store} keeps nothing: every run tells anew of what still fires", file=sys.stderr)
    store = Store(settings.store, settings.secrets.store_password)

    def look() -> Report:
        try:
            return checked(settings, rules, span, args)
        except SourceError as error:
            return blind_report(None, error)

    try:
        done = run_once(look, rules, store, audience, time.time)
    finally:
        store.close()
    print_report(done.report, args.format)
    for line in (*done.remarks, *done.delivered.failures):
        print(f"detector: {line}", file=sys.stderr)
    return done.exit_code


def checked(settings: Settings, rules: Sequence[Rule], span: Span, args: argparse.Namespace) -> Report:
    """Open the source and check it."""
    from dataclasses import replace

    from detector.excerpts import read_answers, wanted_ids, with_excerpts
    from detector.pipeline import check
    from detector.rule_choice import replacements
    from detector.sources.choice import open_source
    from detector.sources.files import Files
    from detector.sources.opening import is_stream
    from detector.window import minutes

    now = time.time()
    every = minutes(args.every)  # a wrong option is told before anything is read
    sources = open_source(settings, args.source, jobs=args.jobs, format_of=args.format_of, span=span, rules=rules, now=now)
    report = check(sources, rules, settings.signals.options(), span, now, every)
    report = replace(report, notes=(*replacements(settings, args.rules), *report.notes))
    if not args.show_content or not report.findings:
        return report
    if any(is_stream(path) for source in sources if isinstance(source, Files) for path in source.paths):
        print("detector: --show-content reads the log a second time, which standard input and pipes don't allow: save it to a file", file=sys.stderr)
        return report
    again = open_source(settings, args.source, jobs=1, format_of=args.format_of, span=span, rules=rules, now=now)
    return replace(report, findings=with_excerpts(report.findings, read_answers(again, wanted_ids(report.findings))))


def span_of(since: str | None, start: str | None, end: str | None, *, whole: bool) -> Span:
    """The stretch that the options name; the last hour when they name none. Raises ConfigError."""
    from detector.errors import ConfigError
    from detector.placing import Span
    from detector.window import Window, instant, seconds

    if sum((since is not None, start is not None or end is not None, whole)) > 1:
        raise ConfigError("--since, --from/--to and --all exclude each other: give one of them")
    if start is not None or end is not None:
        if start is None or end is None:
            raise ConfigError("--from and --to belong together: give both")
        window = Window(instant(start), instant(end))
        return Span(start=window.start, end=window.end)
    return Span() if whole else Span(since=seconds("1h" if since is None else since))


def print_report(report: Report, form: str) -> None:
    """Print a report on stdout."""
    if form == "json":
        from detector.render.json_report import as_json

        sys.stdout.write(as_json(report))
    elif form == "markdown":
        from detector.render.markdown_report import as_markdown

        sys.stdout.write(as_markdown(report))
    else:
        from detector.render.text import text

        sys.stdout.write(text(report))
