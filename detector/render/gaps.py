"""What could not be looked at, in few lines: entries with the same reason stand together."""

from __future__ import annotations

from collections.abc import Sequence

from detector.sources.base import CouldNot

NAMED = 6  # of entries with one reason; a folder of pictures must not bury what matters


def together(entries: Sequence[CouldNot]) -> list[CouldNot]:
    """One entry for all with the same reason and remedy, in the order of the first; it names the first of them. Remedies begin as sentences do."""
    groups: dict[tuple[str, str, bool], list[str]] = {}
    for entry in entries:
        groups.setdefault((entry.why, entry.remedy, entry.blocking), []).append(entry.what)
    found = []
    for (why, remedy, blocking), names in groups.items():
        more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
        found.append(CouldNot(f"{', '.join(names[:NAMED])}{more}", why, remedy[:1].upper() + remedy[1:], blocking))
    return found
