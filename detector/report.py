"""The report: what one check saw, found and could not look at. Plain data; `detector.render` makes text of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from detector.errors import SourceError
from detector.findings import Finding
from detector.formats.reader import OTHER_DOCUMENT
from detector.observation import Observation
from detector.render.inert import plain
from detector.render.numbers import several
from detector.rules import Rule
from detector.signals.base import signals
from detector.sources.base import ONLY_LOGS, CouldNot, Tally
from detector.window import Window

LISTED_SHARE, BLOCKING_SHARE = 0.01, 0.2  # of all requests: from here on a part that can't show a signal is listed, and counts as not looked at
WHAT_IS_IT = "`detector formats detect PATH` tells what a file is, `detector init PATH` drafts a mapping for a layout of your own"
DRAFT = "where they hold answers, map their fields in detector.yml (source.mapping; `detector init PATH` drafts it)"
QUIET, FIRING, BLIND = 0, 1, 2  # exit codes; 3 (a message could not be delivered) belongs to notify


@dataclass(frozen=True)
class Report:
    """One check. `window` is None when the log held nothing to judge. `notes` are remarks on how it was read."""

    window: Window | None
    tally: Tally
    findings: tuple[Finding, ...]
    could_not: tuple[CouldNot, ...]
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 looked and nothing fires, 1 something fires, 2 nothing fires but something could not be looked at."""
        if self.findings:
            return FIRING
        return BLIND if any(entry.blocking for entry in self.could_not) else QUIET

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and those that the reading counted."""
        counted = sorted(self.tally.notes.items())
        return (*self.notes, *(f"{count:,} {'answer ' + note[8:] if count == 1 and note.startswith('answers ') else note}" for note, count in counted))

    @property
    def ignored(self) -> str | None:
        """`3 lines are no answer: 2 health checks, …`; None when every line is one."""
        kinds = ", ".join(f"{count:,} {plain(reason)}" for reason, count in sorted(self.tally.ignored.items()))
        total = sum(self.tally.ignored.values())
        return f"{total:,} {'line is' if total == 1 else 'lines are'} no answer: {kinds}" if total else None


def blind_report(window: Window | None, error: SourceError) -> Report:
    """The report of a run whose source could not be read at all: nothing was looked at, and nothing resolves."""
    return Report(window, Tally(), (), (CouldNot("the log", error.why, error.remedy),))


def source_notes(documents: Mapping[str, int], wanted: Collection[str]) -> tuple[str, ...]:
    """One line per recognised format that hides something: which signals are off or only inferred there, and its first blind spots.

    `documents`: how many were of each format.
    """
    from detector.formats.base import formats

    notes = []
    for fmt in formats():
        count = documents.get(fmt.name, 0)
        off, inferred = (sorted(set(names) & set(wanted)) for names in (fmt.off, fmt.inferred))
        if not count or not (off or inferred or fmt.blind):
            continue
        parts = [f"off: {', '.join(off)}"] if off else []
        parts += [f"inferred: {', '.join(inferred)}"] if inferred else []
        parts += [f"it does not show {', '.join(fmt.blind[:3])}"] if fmt.blind else []
        notes.append(f"{several(count, 'document')} read as {fmt.name}: {'; '.join(parts)} (detector formats list)")
    return tuple(notes)


def could_not_look(seen: Observation, rules: Sequence[Rule], *, why_empty_is_told: bool = False) -> list[CouldNot]:
    """What the reading itself could not see: nothing at all, unreadable lines, and signals that no record can show."""
    entries = list(seen.tally.could_not)
    tally = seen.tally
    if not tally.records and not why_empty_is_told:
        empty = "nothing in it could be read" if any(entry.blocking for entry in entries) else "the log is empty"
        documents = "1 document was" if tally.documents == 1 else f"{tally.documents:,} documents were"
        read = f"{documents} read, none is an answer" if tally.documents else empty
        entries.append(CouldNot("the log", read, f"point --source at a request log; {WHAT_IS_IT}"))
    slight = sum(tally.unreadable.values()) < LISTED_SHARE * tally.documents
    for reason, count in sorted(tally.unreadable.items()):
        places = ", ".join(tally.places.get(reason, []))
        entries.append(
            CouldNot(
                several(count, "unreadable line"),
                f"{reason} ({places})",
                f"{DRAFT if reason == OTHER_DOCUMENT else 'mend or remove them'}; where they are of no log, {ONLY_LOGS}; the rest was read",
                slight=slight,
            )
        )
    for name in sorted({rule.signal for rule in rules}):
        signal = signals().get(name)
        if signal is not None and tally.requests and seen.invisible.get(name, 0) >= tally.requests:
            needs = " or ".join(signal.needs)
            entries.append(
                CouldNot(
                    f"signal {name}",
                    f"no request in this log shows it: it needs {signal.needed}",
                    f"log {needs}, or map it in detector.yml; rules on it are off for this log",
                    signals=(name,),
                )
            )
    entries += _hidden(seen, rules)
    return entries


def _hidden(seen: Observation, rules: Sequence[Rule]) -> list[CouldNot]:
    """Signals that a part of the answered requests can't show (no text in the log, no reason): one entry for signals with the same count."""
    total = seen.tally.requests
    groups: dict[int, list[str]] = {}
    for name in sorted({rule.signal for rule in rules}):
        count = seen.unexplained.get(name, 0)
        if seen.invisible.get(name, 0) < total and count >= LISTED_SHARE * total and count:
            groups.setdefault(count, []).append(name)
    return [
        CouldNot(
            f"{', '.join(names)} in {count:,} of {total:,} requests",
            "they were answered, but the log does not hold what these signals need (text, finish reason or token counts)",
            "log it for all requests; those that show it were judged",
            blocking=count >= BLOCKING_SHARE * total,
            signals=tuple(names),
        )
        for count, names in sorted(groups.items(), reverse=True)
    ]
