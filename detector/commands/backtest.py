"""`detector backtest`: what the rules would have fired on past counts, and when."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import TYPE_CHECKING

from detector.arguments import Once, add_config, add_format, add_rules

if TYPE_CHECKING:
    from collections.abc import Sequence

    from detector.backtest import Alarm, Backtest
    from detector.ledger import Ledger
    from detector.rules import Rule
    from detector.sources.base import CouldNot

EPILOG = """\
One line per alarm episode: alarms of one rule and series at most an hour apart are one episode. fired_at: end of the first evaluation that fires (and
has fired for the rule's `for`). resolved_at: the first clean evaluation after the last alarm; none: not over yet. score, flagged, requests and
expected are those of the episode's highest score. Warnings go to stderr.

A table (Parquet or CSV) has the columns minute, signal, requests, flagged and, where known, deployment, model, engine, engine_version, pod, stream.
minute: ISO 8601, or minutes or seconds since 1970 UTC; rows may stand for longer bins. Rows of the same minute, signal and labels are added up, which is
said with their number: row 1 is the first after the header.

Exit codes: 0 looked and nothing would have fired, 1 something would have, 2 nothing would have but something could not be judged."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `backtest`."""
    parser = commands.add_parser(
        "backtest",
        help="say what the rules would have fired on past counts, and when",
        description="Say what the rules would have fired on past counts, and when; scored by the same code as `check`.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--ledger", metavar="TABLE", help="counts: a Parquet or CSV file")
    what.add_argument("--source", action=Once, metavar="PATH|URL", help="a log, as for `check` (default: the configuration's source)")
    parser.add_argument("--from", dest="start", metavar="TIME", help="first moment to evaluate after (default: the first count); what lies before is baseline")
    parser.add_argument("--to", dest="end", metavar="TIME", help="last moment to evaluate (default: the last count)")
    parser.add_argument("--every", metavar="DURATION", default="10m", help="distance of the evaluations (default: %(default)s)")
    add_rules(parser)
    add_config(parser)
    add_format(parser, "text", "jsonl")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="processes that read a log (default: %(default)s)")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Backtest and print; returns the exit code."""
    from detector.backtest import backtest, bin_minutes
    from detector.config import load_settings
    from detector.errors import ConfigError
    from detector.render.inert import LINE, plain
    from detector.rule_choice import replacements, rules_of
    from detector.window import MINUTE, instant, iso, minutes

    every = minutes(args.every)
    start = None if args.start is None else int(instant(args.start) // MINUTE)
    end = None if args.end is None else int(instant(args.end) // MINUTE)
    settings = load_settings(args.config, os.environ)
    rules = rules_of(settings, args.rules)
    ledger, warnings = _counted(args, rules, bin_minutes(rules, every))
    span = ledger.span()
    if span is None:
        start, end = start or 0, end or 0
    else:
        start = span[0] if start is None else start
        end = -(-span[1] // every) * every if end is None else end
    if span is not None and end <= start:
        raise ConfigError(f"nothing to evaluate: it would run from {iso(start * MINUTE)} to {iso(end * MINUTE)}; --from must be before --to")
    result = backtest(ledger, rules, start, end, every, all_subtypes=args.ledger is None)
    could_not = [*warnings, *result.could_not]
    for line in replacements(settings, args.rules):
        print(f"detector: {line}", file=sys.stderr)
    for entry in could_not:
        print(plain(f"detector: {entry.what}: {entry.why}; {entry.remedy}", LINE), file=sys.stderr)
    if args.format == "jsonl":
        sys.stdout.writelines(f"{json.dumps(_as_dict(alarm), ensure_ascii=False)}\n" for alarm in result.alarms)
    else:
        sys.stdout.write(_text(result, start, end, every))
    return 1 if result.alarms else 2 if span is None or any(entry.blocking for entry in could_not) else 0


def _counted(args: argparse.Namespace, rules: Sequence[Rule], step: int) -> tuple[Ledger, list[CouldNot]]:
    """The counts to judge, from a table or by observing a log, and what could not be counted."""
    from detector.errors import ConfigError
    from detector.sources.base import CouldNot

    if args.ledger is not None:
        if not args.ledger.strip():
            raise ConfigError("--ledger is empty: name a table (is a variable unset?)")
        from detector.ledger_table import read_table

        table = read_table(args.ledger, step)
        warnings = [CouldNot(f"{args.ledger}: column {name}", "not used", "labels are named as in the help", blocking=False) for name in table.unused]
        if table.repeated:
            rows = f"{table.repeated:,} {'row repeats' if table.repeated == 1 else 'rows repeat'}"
            why = f"{rows} the minute, signal and labels of an earlier row (first: row {table.repeated_at}); their counts were added up"
            warnings.append(CouldNot(args.ledger, why, "right for parts of one count; if the same rows were written twice, remove them", blocking=False))
        return table.ledger, warnings
    from detector.config import load_settings
    from detector.pipeline import observe_all
    from detector.placing import Span, place
    from detector.report import could_not_look
    from detector.signals.base import signals
    from detector.sources.choice import open_source

    settings, now, whole = load_settings(args.config, os.environ), time.time(), Span()
    parts = open_source(settings, args.source, jobs=args.jobs, format_of=None, span=whole, rules=rules, now=now)
    wanted = {rule.signal for rule in rules}
    seen = observe_all(parts, {name: signal for name, signal in signals().items() if name in wanted}, settings.signals.options())
    _, _, unplaced = place(seen, whole, now)
    return seen.ledger, [*could_not_look(seen, rules), *unplaced]


def _as_dict(alarm: Alarm) -> dict[str, object]:
    from detector.window import MINUTE, iso

    return {
        "rule": alarm.rule,
        "severity": alarm.severity,
        "signal": alarm.signal,
        "deployment": alarm.labels.get("deployment"),
        "model": alarm.labels.get("model"),
        "pod": alarm.labels.get("pod"),
        **{name: value for name, value in alarm.labels.items() if name not in ("deployment", "model", "pod")},
        "fired_at": iso(alarm.fired_at * MINUTE),
        "resolved_at": None if alarm.resolved_at is None else iso(alarm.resolved_at * MINUTE),
        "peak_at": iso(alarm.peak_at * MINUTE),
        "score": alarm.score,
        "flagged": alarm.flagged,
        "requests": alarm.requests,
        "expected": alarm.expected,
        "window_minutes": alarm.window,
    }


def _text(result: Backtest, start: int, end: int, every: int) -> str:
    """A table for people: one line per episode and a summary."""
    from detector.detectors.binomial import interval
    from detector.window import MINUTE, iso

    lines = []
    for alarm in result.alarms:
        over = "not over" if alarm.resolved_at is None else f"{_span(alarm.resolved_at - alarm.fired_at)}"
        where = " ".join(_inert(value) for value in alarm.labels.values() if value is not None) or "(no labels)"
        low, high = interval(min(alarm.flagged, alarm.requests), alarm.requests)
        usual = "" if alarm.expected is None else f", {alarm.expected:.3g} expected"
        counts = f"{alarm.flagged:,} of {alarm.requests:,} in {_span(alarm.window)} (95 % {100 * low:.2g}–{100 * high:.2g} %{usual})"
        lines.append(f"{iso(alarm.fired_at * MINUTE)}  {over:>9}  {alarm.rule}  {where}: {counts}, score {alarm.score:.1f}")
    number = len(result.alarms)
    rate = f", {1000 * number / result.series_days:.1f} per 1,000 series-days" if result.series_days else ""
    about = f"{number:,} alarm episode{'' if number == 1 else 's'} from {iso(start * MINUTE)} to {iso(end * MINUTE)}, evaluated every {_span(every)}{rate}"
    return "\n".join([*lines, about, ""])


def _span(minutes: int) -> str:
    for unit, size in (("d", 1440), ("h", 60)):
        if minutes >= size and minutes % size == 0:
            return f"{minutes // size}{unit}"
    return f"{minutes // 60}h{minutes % 60}m" if minutes > 60 else f"{minutes}m"


def _inert(value: str) -> str:
    """A label, which comes from a log, without anything that a terminal would obey."""
    return "".join(character if character.isprintable() else "�" for character in value)[:120]
