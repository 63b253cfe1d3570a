"""Text of the few answers that a finding names, for those who ask for it: read again from the log, cut to the place that matters, made inert.

Off by default everywhere: content is private. Nothing is kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from detector.findings import Finding
from detector.record import Record
from detector.render.inert import plain
from detector.sources.base import Source, Tally

AROUND = 120  # characters shown on each side of the place
_PLACE = re.compile(r"\bat character (\d+) of (content|reasoning)")


def read_answers(sources: Iterable[Source], ids: set[str]) -> dict[str, Record]:
    """The records of these request ids (as findings name them), first choice first; reading stops when all are found. Raises SourceError."""
    found: dict[str, Record] = {}
    for source in sources:
        for batch in source.batches(Tally()):
            names = zip(batch.column("request_id"), batch.column("record_id"), batch.column("doc_id"), strict=True)
            for row, candidates in enumerate(names):
                name = next((str(value) for value in candidates if value), "")
                if name in ids and name not in found:
                    found[name] = batch.record(row)
            if len(found) == len(ids):
                return found
    return found


def wanted_ids(findings: Sequence[Finding], each: int = 1) -> set[str]:
    """The first `each` request ids of every finding."""
    return {request_id for finding in findings for request_id in finding.request_ids[:each]}


def excerpt(record: Record, reason: str = "") -> str:
    """One line of the answer around the place that a reason names (`at character N of content`), else its beginning and end; inert."""
    place = _PLACE.search(reason)
    text = (record.reasoning if place and place[2] == "reasoning" else record.content or record.reasoning) or ""
    if not text:
        return "(no text)"
    if place:
        at = min(int(place[1]), len(text))
        start, end = max(0, at - AROUND), min(len(text), at + AROUND)
    elif len(text) > 2 * AROUND:
        return f"{plain(text[:AROUND], AROUND)} … {plain(text[-AROUND:], AROUND)}"
    else:
        start, end = 0, len(text)
    return f"{'…' if start else ''}{plain(text[start:end], 2 * AROUND)}{'…' if end < len(text) else ''}"


def with_excerpts(findings: Sequence[Finding], answers: Mapping[str, Record]) -> tuple[Finding, ...]:
    """The findings, each with an excerpt of the first answer that it names."""
    out = []
    for finding in findings:
        record = answers.get(finding.request_ids[0]) if finding.request_ids else None
        reason = finding.reasons[0] if finding.reasons else ""
        out.append(finding if record is None else replace(finding, excerpt=excerpt(record, reason)))
    return tuple(out)
