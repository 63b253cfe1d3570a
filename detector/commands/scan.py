"""`detector scan`: label every answer of a log, one line each."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from detector.arguments import add_config, add_format, add_format_of

if TYPE_CHECKING:
    from detector.batch import Batch
    from detector.formats.base import Rejected
    from detector.signals.base import Flag, Signal, SignalOptions
    from detector.sources.base import Tally

OK, UNREADABLE = 0, 2


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `scan`."""
    parser = commands.add_parser(
        "scan",
        help="label every answer: what went wrong in it",
        description="Label every answer of a log, one line each and in the order of the log, also those without a label. Lines that are no answer or can't be "
        "read are named on stderr. Exit codes: 0 every answer is labelled, 2 something could not be read, or there is no answer.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="log files, folders, globs, or - for standard input")
    add_format(parser, "text", "jsonl")
    add_format_of(parser)
    add_config(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from detector.config import load_settings
    from detector.reading import ReadingOptions
    from detector.render.inert import LINE, plain
    from detector.signals.base import signals
    from detector.sources.base import Tally
    from detector.sources.files import Files

    settings = load_settings(args.config, os.environ)
    named = args.format_of or settings.source.format
    reading = ReadingOptions(named, settings.source.mapping, settings.source.timezone, keep_duplicates=True, in_order=True)
    tally = Tally()
    source = Files(args.paths, reading, _told)
    wanted, options = signals(), settings.signals.options()
    answers = flagged = 0
    for batch in source.batches(tally):
        for answer in labelled(batch, wanted, options):
            answers += 1
            flagged += bool(answer["labels"])
            print(json.dumps(answer, ensure_ascii=False) if args.format == "jsonl" else _text(answer))
    sys.stdout.flush()
    for fault in tally.could_not:
        print(plain(f"{fault.what}: {fault.why}", LINE), file=sys.stderr)
    if not tally.documents and not tally.could_not:  # a file that unpacks to nothing, or holds blank lines
        print("the log is empty", file=sys.stderr)
    print(f"{_summary(tally, answers, flagged)}", file=sys.stderr)
    return UNREADABLE if tally.unreadable or not answers or any(fault.blocking for fault in tally.could_not) else OK


def labelled(batch: Batch, wanted: dict[str, Signal], options: SignalOptions) -> Iterator[dict[str, Any]]:
    """`{"id", "labels", "subtypes", "reasons"}` of every row: labels in alphabetical order, subtypes and reasons beside them."""
    flags: list[dict[str, Flag]] = [{} for _ in range(batch.size)]
    for name, signal in wanted.items():
        visible = signal.visible(batch)
        for row in signal.candidates(batch, options):
            if visible[row]:
                flag = signal.judge(batch.record(row), options)
                if flag is not None:
                    flags[row][name] = flag
    names = identities(batch)
    for row, found in enumerate(flags):
        labels = sorted(found)
        yield {"id": names[row], "labels": labels, "subtypes": [found[label].subtype for label in labels], "reasons": [found[label].reason for label in labels]}


def identities(batch: Batch) -> list[str]:
    """The id of every row: the log line's own, else the API's, else its place; `#choice` where a response has several choices."""
    records, requests = batch.column("record_id"), batch.column("request_id")
    files, lines, choices = batch.column("doc_index"), batch.column("doc_id"), batch.column("choice_index")
    names = [record or request or f"{file or ''}:{line or ''}" for record, request, file, line in zip(records, requests, files, lines, strict=True)]
    several = [choices[row] > 0 for row in range(batch.size)]
    for row in range(1, batch.size):  # the first choice of several bears its number, too, wherever it stands among them
        if (choices[row] or choices[row - 1]) and choices[row] != choices[row - 1] and names[row] == names[row - 1] and lines[row] == lines[row - 1]:
            several[row] = several[row - 1] = True
    return [f"{name}#{choices[row]}" if several[row] else name for row, name in enumerate(names)]


def _told(outcome: Rejected) -> None:
    from detector.render.inert import LINE, plain

    kind = "no answer" if outcome.ignored else "unreadable"
    print(plain(f"{outcome.document.place}: {kind}: {outcome.reason}", LINE), file=sys.stderr)


def _text(answer: dict[str, Any]) -> str:
    from detector.render.inert import plain

    name = plain(answer["id"])
    if not answer["labels"]:
        return f"{name}  ok"
    found = (f"{label} ({subtype}: {reason})" for label, subtype, reason in zip(answer["labels"], answer["subtypes"], answer["reasons"], strict=True))
    return f"{name}  {plain(', '.join(found), 1000)}"


def _summary(tally: Tally, answers: int, flagged: int) -> str:
    from detector.render.numbers import several

    unreadable, ignored = sum(tally.unreadable.values()), sum(tally.ignored.values())
    return f"{several(answers, 'answer')}, {flagged:,} flagged; {several(unreadable, 'line')} unreadable, {several(ignored, 'line')} no answer"
