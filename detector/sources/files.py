"""Log files as a source: paths, folders, globs, standard input; NDJSON, JSON arrays, pretty-printed JSON, text logs, Parquet; packed or not.

Reading is a pure function of a unit (see `detector.sources.partition`). What can't be read is counted in the tally with reason and place.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from detector.batch import Batch
from detector.errors import SourceError
from detector.formats.base import Document, Rejected, View
from detector.formats.detect import Detector
from detector.formats.values import decoded
from detector.formats.wrapping import Peeler
from detector.reading import ReadingOptions
from detector.sources.base import ONLY_LOGS, CouldNot, Tally
from detector.sources.copies import without_copies
from detector.sources.folders import files_below
from detector.sources.lines import Fault, raw_lines
from detector.sources.opening import STDIN, Blocks, is_stream, sniff
from detector.sources.partition import UNIT_BYTES, Unit, cut, lines_before, shares
from detector.sources.unit import UnitReading

_SAMPLE_LINES = 16  # lines that decide whether a file may be cut
_SAMPLE_LONGEST = 4 << 20


@dataclass
class Files:
    """Files as a source of batches; `partitions` gives sources of the same kind that together read the same units.

    Args:
        paths: files, folders (all files in them, hidden ones left out), globs, or `-` for standard input.
        rejected: told about every document that gave no record.
        views: from where each file sees answers, where they have to be read side by side (`detector.sources.several_views`); found while planning.
    """

    paths: Sequence[str]
    options: ReadingOptions = field(default_factory=ReadingOptions)
    rejected: Callable[[Rejected], None] | None = None
    units: list[Unit] | None = None
    faults: list[CouldNot] = field(default_factory=list)
    views: dict[str, View] = field(default_factory=dict)

    def batches(self, tally: Tally) -> Iterator[Batch]:
        """Every batch of these files. Raises SourceError when no path leads to a file."""
        units = self._planned()
        tally.could_not.extend(fault for fault in self.faults if fault not in tally.could_not)
        if self.views:
            yield from self._side_by_side(tally)
            return
        before: tuple[str, int] = ("", 0)
        for unit in units:
            first_line = 1 if unit.start == 0 else before[1] if before[0] == unit.path else 1 + lines_before(unit.path, unit.start)
            reading = UnitReading(unit, first_line, self.options, tally, self.rejected)
            yield from reading.batches()
            before = (unit.path, reading.next_line)

    def _side_by_side(self, tally: Tally) -> Iterator[Batch]:
        from detector.sources.several_views import Stream, add_reading, side_by_side

        tallies = [Tally() for _ in self.views]
        readings = [UnitReading(Unit(path, sniff(path), 0), 1, self.options, own, self.rejected) for path, own in zip(self.views, tallies, strict=True)]
        streams = [Stream(path, view, reading.batches()) for (path, view), reading in zip(self.views.items(), readings, strict=True)]
        yield from side_by_side(streams, tally)
        for own in tallies:
            add_reading(tally, own)

    def partitions(self, jobs: int) -> list[Files]:
        """At most `jobs` sources that read these files together; faults met while planning are told by the first. Files that have to be read side by
        side are one source."""
        if self._planned() and self.views:
            return [self]
        found = [replace(self, units=share, faults=[]) for share in shares(self._planned(), jobs)]
        if not found:
            return [self]
        found[0].faults = self.faults
        return found

    def _planned(self) -> list[Unit]:
        if self.units is None:
            self.units = []
            for path in without_copies(expand(self.paths, self.faults), self.faults):
                self.units.extend(_plan(path, self.options, self.faults))
            self.views = self._several_views([unit.path for unit in self.units])
        return self.units

    def _several_views(self, paths: Sequence[str]) -> dict[str, View]:
        """From where each file sees answers, if they see them from several places; empty if not, or if every document is wanted as it stands."""
        from detector.sources.several_views import MOST_FILES, view_of

        names = list(dict.fromkeys(paths))
        if self.options.keep_duplicates or self.options.in_order or self.options.only or any(map(is_stream, names)) or not 1 < len(names) <= MOST_FILES:
            return {}
        found = {name: view_of(name, self.options) if sniff(name) != "parquet" else None for name in names}
        views = {view for view in found.values() if view not in (None, "client")}
        return {name: view or "client" for name, view in found.items()} if len(views) > 1 else {}


def expand(paths: Sequence[str], faults: list[CouldNot] | None = None) -> list[str]:
    """The files that some paths, folders and globs name: sorted within a folder or glob, each file once; what of a folder can't be opened joins `faults`.

    Raises SourceError when a path names nothing.
    """
    faults = [] if faults is None else faults
    found: dict[tuple[int, int] | str, str] = {}
    for path in paths:
        if path == STDIN:
            found.setdefault(STDIN, STDIN)
            continue
        if not path.strip():  # an empty path would be the folder that we stand in
            raise SourceError("the path of the log is empty: name a file or a folder (is a variable unset?)")
        told = len(faults)
        if os.path.isdir(path):
            names = files_below(path, faults)
        elif os.path.exists(path):
            names = [path]
        else:
            names = sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name)) if glob.has_magic(path) else []
        if not names:
            raise SourceError(f"{faults[told].what}: {faults[told].why}" if faults[told:] else f"{path}: {_nothing_at(path)}")
        for name in names:
            try:
                status = os.stat(name)
            except OSError:  # gone meanwhile, or closed to us: told when it is opened
                found.setdefault(name, name)
                continue
            found.setdefault((status.st_dev, status.st_ino), name)
    return list(found.values())


def _nothing_at(path: str) -> str:
    if os.path.isdir(path):
        return "no file in this folder"
    try:
        os.stat(path)
    except PermissionError:
        return "it can't be opened: a folder on its way is closed to us; check its permissions"
    except (OSError, ValueError):  # nothing there, a link to itself, a zero byte in the name
        pass
    if re.match(r"https?://", path, re.IGNORECASE):
        return "files are read here, not addresses; `detector check --source` reads a cluster"
    if "$" in path or path.lstrip("./").startswith("~") or "/~/" in path:
        return "no such file (`~` and variables are not replaced: write the path out)"
    return "no file is named like that" if glob.has_magic(path) else "no such file"


def _plan(path: str, options: ReadingOptions, faults: list[CouldNot]) -> list[Unit]:
    """The units of one file; files that hold nothing readable give none and a reason."""
    if is_stream(path):
        return [Unit(path, "plain", 0)]
    try:
        kind, size = sniff(path), Path(path).stat().st_size
    except OSError as error:
        faults.append(CouldNot(path, f"it can't be opened: {error.strerror or type(error).__name__}", "check its permissions"))
        return []
    if kind == "empty":
        faults.append(CouldNot(path, "the file is empty", f"check that the log is being written; if it is no log, {ONLY_LOGS}"))
        return []
    if kind == "binary":
        remedy = f"unpack or convert it; if it is no log, {ONLY_LOGS}"
        faults.append(CouldNot(path, "it is a binary file (zero bytes at its start), not a log in UTF-8", remedy))
        return []
    if kind == "plain" and size > UNIT_BYTES and is_self_contained(path, options):
        return cut(path, kind, size)
    return [Unit(path, kind, size)]


def is_self_contained(path: str, options: ReadingOptions) -> bool:
    """Every line at the file's start is a whole JSON object of a format that does not join lines."""
    sample = list(islice(raw_lines(Blocks(path), _SAMPLE_LONGEST), _SAMPLE_LINES))
    if 1 < len(sample) < _SAMPLE_LINES and isinstance(sample[-1], bytes) and not isinstance(decoded(sample[-1]), dict):
        del sample[-1]  # the log's last line, which is just being written
    detector, only = Detector(options.asked()), options.chosen()
    peeler = Peeler(detector.detect)
    for line in sample:
        raw = None if isinstance(line, Fault) else decoded(line)
        documents = peeler.feed(Document(raw, "")) if isinstance(raw, dict) else []
        for document in documents:
            found = detector.detect(document.body)
            fmt = only or (None if found is None else found.format)
            if fmt is None or fmt.joiner is not None:
                return False
        if not documents:
            return False
    return bool(sample)
