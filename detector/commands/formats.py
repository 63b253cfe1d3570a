"""`detector formats`: which logs can be read, what a log is, and what its records are."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from detector.arguments import add_config, add_format, add_format_of, positive

if TYPE_CHECKING:
    from detector.formats.base import Document, Format
    from detector.record import Record
    from detector.sources.base import Tally

OK, COULD_NOT = 0, 2
_RUNS = 200  # runs of one format that `detect` prints for a mixed log
_ALWAYS = ("choice_index", "content_state")  # known for every record: 0 and not_captured are statements, too
_TIMES = ("timestamp", "ingested_at")


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `formats` with `list`, `detect` and `read`."""
    parser = commands.add_parser(
        "formats", help="what is this log, and what do we make of it", description="Formats of logs: list them, detect them, read them."
    )
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)

    listing = actions.add_parser(
        "list", help="every format: what its log shows and what it can't", description="Every format, with what its log shows and hides."
    )
    add_format(listing, "text", "json")
    listing.set_defaults(run=_list)

    detecting = actions.add_parser(
        "detect",
        help="name the format of a log, with the evidence",
        description="Name the format of each document of a log, with the evidence. Exit codes: 0 every document is known, 2 some or all are not.",
    )
    detecting.add_argument("paths", nargs="+", metavar="PATH", help="log files, folders, globs, or - for standard input")
    detecting.add_argument("--format", choices=("text", "jsonl"), default="text", help="a summary, or one line per document (default: %(default)s)")
    detecting.add_argument("--documents", type=positive, default=100_000, metavar="N", help="look at no more than N documents of each (default: %(default)s)")
    detecting.set_defaults(run=_detect)

    reading = actions.add_parser(
        "read",
        help="print the canonical records of a log",
        description="Print the canonical records of a log in its order: only columns that are known, times in UTC. Lines that can't be read or are no "
        "answer are counted on stderr. Exit codes: 0 everything was read, 2 something could not be.",
    )
    reading.add_argument("paths", nargs="+", metavar="PATH", help="log files, folders, globs, or - for standard input")
    reading.add_argument("--format", choices=("jsonl",), default="jsonl", help="one JSON object a line (the default)")
    add_format_of(reading)
    add_config(reading)
    reading.set_defaults(run=_read)


def _list(args: argparse.Namespace) -> int:
    from detector.formats.base import formats

    found = sorted(formats(), key=lambda fmt: fmt.name)
    if args.format == "json":
        print(json.dumps([_described(fmt) for fmt in found], ensure_ascii=False, indent=2))
        return OK
    for fmt in found:
        print(f"{fmt.name}: {fmt.title}")
        for word, lines in (("sees", fmt.sees), ("blind", fmt.blind)):
            for line in lines:
                print(f"    {word:<7}{line}")
        for word, line in (("trust", fmt.trust), ("units", fmt.units), ("off", ", ".join(fmt.off)), ("inferred", ", ".join(fmt.inferred))):
            if line:
                print(f"    {word:<7}{line}" if len(word) < 7 else f"    {word} {line}")
    return OK


def _described(fmt: Format) -> dict[str, Any]:
    return {
        "name": fmt.name,
        "title": fmt.title,
        "sees": list(fmt.sees),
        "blind": list(fmt.blind),
        "trust": fmt.trust,
        "units": fmt.units,
        "raw_text": fmt.raw_text,
        "joins": fmt.joiner is not None,
        "off": list(fmt.off),
        "inferred": list(fmt.inferred),
    }


def _detect(args: argparse.Namespace) -> int:
    from detector.render.inert import LINE, plain
    from detector.render.numbers import several
    from detector.sources.files import expand

    known = True
    for path in expand(args.paths):
        found = list(_detections(path, args.documents))
        if args.format == "jsonl":
            for place, name, evidence in found:
                print(json.dumps({"place": place, "format": name, "evidence": evidence}, ensure_ascii=False))
        else:
            _summarise(path, found)
        if len(found) >= args.documents:
            print(f"{plain(path, LINE)}: stopped after {several(args.documents, 'document')}", file=sys.stderr)
        known = known and bool(found) and all(name is not None for _, name, _ in found)
        if found and all(name is None for _, name, _ in found):
            print(f"{plain(path, LINE)}: if it holds answers, `detector init PATH` drafts a mapping of its fields for detector.yml", file=sys.stderr)
    return OK if known else COULD_NOT


def _detections(path: str, limit: int) -> Iterator[tuple[str, str | None, str]]:
    """(place, name of its format or None, evidence) of each document, in the order of the log."""
    from itertools import islice

    from detector.formats.detect import Detector, OtherLines
    from detector.formats.wrapping import Peeler

    detector, others = Detector(), OtherLines()
    peeler = Peeler(detector.detect)

    def inside() -> Iterator[Document]:
        for raw in _raw(path):
            yield from peeler.feed(raw)
        yield from peeler.finish()

    for document in islice(inside(), limit):
        found = detector.detect(document.body)
        fmt = found.format if found is not None else others.of(document.body)
        if found is not None:
            others.saw(found.format)
            yield document.place, found.format.name, found.evidence
        elif fmt is not None:
            yield document.place, fmt.name, "a line between lines of this log"
        else:
            yield document.place, None, "no format recognises it"


def _raw(path: str) -> Iterator[Document]:
    """The raw documents of one file; lines that are too long or no UTF-8 are left out, as `read` would tell."""
    from detector.formats.wrapping_lines import raw_documents
    from detector.sources.base import Tally
    from detector.sources.lines import Fault, texts
    from detector.sources.opening import Blocks, is_stream, sniff
    from detector.sources.parquet import rows

    if not is_stream(path) and sniff(path) == "parquet":
        return rows(path, Tally())
    return raw_documents(("" if isinstance(line, Fault) else line for line in texts(Blocks(path))), path)


def _summarise(path: str, found: list[tuple[str, str | None, str]]) -> None:
    from detector.render.inert import LINE, plain

    counts = Counter(name for _, name, _ in found)
    named = [f"{name or 'not recognised'} ({count} of {len(found)})" for name, count in counts.most_common()]
    print(f"{plain(path, LINE)}: {', '.join(named) if named else 'no document that can be read'}")
    told: set[tuple[str | None, str]] = set()
    for place, name, evidence in found:
        if (name, evidence) not in told and sum(known == name for known, _ in told) < 5:
            told.add((name, evidence))
            print(f"    {name or 'not recognised'}: {plain(evidence)} ({plain(place, LINE)})")
    if len(counts) > 1:
        for line in _runs(found):
            print(f"    {plain(line, LINE)}")


def _runs(found: list[tuple[str, str | None, str]]) -> Iterator[str]:
    """Neighbouring documents of one format, from place to place."""
    start, runs = 0, 0
    for at in range(1, len(found) + 1):
        if at < len(found) and found[at][1] == found[start][1]:
            continue
        first, last = found[start][0], found[at - 1][0]
        yield f"{first}{'' if first == last else ' to ' + last}: {found[start][1] or 'not recognised'}"
        start, runs = at, runs + 1
        if runs >= _RUNS and at < len(found):
            yield f"and {len(found) - at} more documents; --format jsonl lists them all"
            return


def _read(args: argparse.Namespace) -> int:
    from detector.config import load_settings
    from detector.reading import ReadingOptions
    from detector.sources.base import Tally
    from detector.sources.files import Files

    settings = load_settings(args.config, os.environ)
    options = ReadingOptions(args.format_of or settings.source.format, settings.source.mapping, settings.source.timezone, keep_duplicates=True, in_order=True)
    tally, records = Tally(), 0
    for batch in Files(args.paths, options).batches(tally):
        for row in range(batch.size):
            records += 1
            print(json_line(known_columns(batch.record(row))))
    sys.stdout.flush()
    _report(tally, records)
    return COULD_NOT if tally.unreadable or any(fault.blocking for fault in tally.could_not) else OK


def known_columns(record: Record) -> dict[str, Any]:
    """The columns of a record that its log determines, as JSON values; times as ISO 8601 in UTC."""
    from detector.record import COLUMNS

    found: dict[str, Any] = {}
    for name, column in COLUMNS.items():
        value = getattr(record, name)
        if value is None or (value == column.default and name not in _ALWAYS):
            continue
        if name in _TIMES:
            value = utc(value)
        found[name] = list(value) if isinstance(value, tuple) else value
    return found


def json_line(columns: dict[str, Any]) -> str:
    """One JSON object on a line; half surrogates, which logs hold and UTF-8 does not, are left as escapes."""
    line = json.dumps(columns, ensure_ascii=False)
    try:
        line.encode()
    except UnicodeEncodeError:
        return json.dumps(columns)
    return line


def utc(seconds: float) -> str | None:
    """ISO 8601 in UTC with microseconds; None outside the years that a calendar has."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):
        return None


def _report(tally: Tally, records: int) -> None:
    """What was read, and how many lines were not, with reasons and the first places."""
    from detector.render.inert import LINE, plain
    from detector.render.numbers import several

    formats = ", ".join(f"{name} {count}" for name, count in tally.formats.most_common())
    print(f"{several(records, 'record')}{f' ({formats})' if formats else ''}", file=sys.stderr)
    unreadable, ignored = sum(tally.unreadable.values()), sum(tally.ignored.values())
    print(f"{several(unreadable + ignored, 'line')} gave no record: {unreadable} unreadable, {ignored} no answer", file=sys.stderr)
    for word, counts in (("unreadable", tally.unreadable), ("no answer", tally.ignored)):
        for reason, count in counts.most_common():
            print(plain(f"    {word}: {count} {reason} ({', '.join(tally.places.get(reason, [])[:5])})", LINE), file=sys.stderr)
    for fault in tally.could_not:
        print(plain(f"could not look: {fault.what}: {fault.why}", LINE), file=sys.stderr)
