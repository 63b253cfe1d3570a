"""`detector init`: look at a sample of a log and write a configuration that reads it."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from detector.discovery.draft import Place
    from detector.discovery.sample import Sample

OK, COULD_NOT = 0, 2


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `init`."""
    parser = commands.add_parser(
        "init",
        help="look at a log and write a configuration that reads it",
        description="Look at a sample of a log and write a commented configuration: the recognised format or a mapping, coverage of each column, and what is "
        "missing for which signal. An existing file is left alone. Exit codes: 0 written, 2 no answer could be read (a file is written all the same, as a "
        "start), or nothing could be looked at.",
    )
    parser.add_argument("log", metavar="PATH|URL", nargs="+", help="files, folders or globs, or http(s)://HOST:PORT/INDEX_PATTERN")
    parser.add_argument("--index", metavar="PATTERN", help="index, data stream or pattern, for a URL without one")
    parser.add_argument("--ca-file", metavar="FILE", help="certificates (PEM) of the authority that signed the cluster's, as source.tls.ca_file")
    parser.add_argument("--fingerprint", metavar="SHA256", help="fingerprint of the cluster's certificate, as source.tls.fingerprint")
    parser.add_argument("--output", metavar="FILE", default="detector.yml", help="file to write, - for standard output (default: %(default)s)")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    from detector.discovery.draft import draft
    from detector.discovery.mapping_guess import guess
    from detector.discovery.sample import read_mapped
    from detector.errors import ConfigError
    from detector.settings.source import ColumnMapping

    target = None if args.output == "-" else Path(args.output)
    if target is not None and target.exists():
        raise ConfigError(f"{target} is there already: move it away, or name another file with --output")
    place, sample = _look(args, target)
    guesses = guess(sample.objects) if sample.is_unknown else []
    places = {found.column: ColumnMapping.model_validate({"path": found.path, "unit": found.unit, "values": found.values}) for found in guesses}
    records = [*sample.records, *read_mapped(sample.objects, places)] if places else sample.records
    text = draft(place, sample, guesses, records)
    if target is None:
        print(text, end="")
    else:
        try:
            with target.open("x", encoding="utf-8") as file:  # never over a file that appeared meanwhile
                file.write(text)
        except FileExistsError:
            raise ConfigError(f"{target} is there already: move it away, or name another file with --output") from None
        except OSError as error:
            raise ConfigError(f"{target} can't be written: {error.strerror or type(error).__name__}") from None
    print(_summary(sample, len(records), len(guesses), args.output), file=sys.stderr)
    return OK if records else COULD_NOT


def _look(args: argparse.Namespace, target: Path | None) -> tuple[Place, Sample]:
    """Where the log is, as the configuration will say it, and a sample of it. Raises ConfigError and SourceError."""
    from detector.config import Settings
    from detector.discovery.draft import Place
    from detector.discovery.sample import sample_cluster, sample_files
    from detector.errors import ConfigError
    from detector.secrets import load_secrets
    from detector.sources.choice import cluster_address, is_address

    tls = {name: value for name, value in (("ca_file", args.ca_file), ("fingerprint", args.fingerprint)) if value}
    if not is_address(args.log[0]):
        if args.index or tls:
            named = "--index" if args.index else "--ca-file and --fingerprint"
            raise ConfigError(f"{named} belong{'s' if args.index else ''} to the address of a cluster, not to files")
        sample = _mapped_rather(sample_files(args.log)[0], lambda: sample_files(args.log, ())[0])
        return Place(paths=tuple(_as_written(path, target) for path in args.log)), sample
    if len(args.log) > 1:
        raise ConfigError("one address at a time: a source is one cluster")
    url, index = cluster_address(args.log[0], "the argument", args.index, ", or give --index")
    try:
        empty = Settings.model_validate({"source": {"url": url, "index": index, "tls": tls}})
    except ValueError:  # only the fingerprint has a form of its own
        raise ConfigError("--fingerprint: must be the SHA-256 of a certificate: 64 hexadecimal digits, with or without colons") from None
    empty._secrets = load_secrets(os.environ)
    return Place(url=url, index=index, tls=tls), _mapped_rather(sample_cluster(empty), lambda: sample_cluster(empty, ()))


def _mapped_rather(sample: Sample, again: Callable[[], Sample]) -> Sample:
    """The sample as it is, or as plain objects where the format that claims them finds no answer in them and a mapping does."""
    from detector.discovery.mapping_guess import guess

    if not sample.shows_no_answer:
        return sample
    plain = again()
    return plain if {"content", "finish_reason", "response"} & {found.column for found in guess(plain.objects)} else sample


def _as_written(path: str, target: Path | None) -> str:
    """The path as the file has to say it: what it names is relative to the file."""
    if path == "-" or os.path.isabs(path) or target is None or target.parent == Path():
        return path
    return str(Path(path).resolve())


def _summary(sample: Sample, records: int, mapped: int, output: str) -> str:
    from detector.render.numbers import several

    known = [f"{name} {number}" for name, number in sample.formats.most_common()]
    found = ", ".join([*known, f"a mapping of {several(mapped, 'column')}"] if mapped else known) or "nothing"
    where = "" if output == "-" else f"; written to {output}"
    return f"{several(sample.documents, 'document')}, {several(records, 'answer')}: {found}{where}"
