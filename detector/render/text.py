"""A report as terminal text, for someone who was just woken up: what, how many, since when, where, and what to do first."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from detector.findings import Finding
from detector.render.gaps import together
from detector.render.inert import plain
from detector.render.numbers import clock, of, percent, rate_line, several, span
from detector.report import Report

WIDTH = 110
MARK = {"critical": "CRITICAL", "warning": "WARNING", "info": "INFO"}


def text(report: Report) -> str:
    """The whole report as plain text, ending in a newline."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    tally = report.tally
    records = f" ({several(tally.records, 'answer')})" if tally.records != tally.requests else ""
    where = f", judged {span(report.window.start, report.window.end)}" if report.window and report.window.start else ""
    yield f"Read {several(tally.requests, 'request')}{records}{where}."
    for note in report.remarks:
        yield from _wrapped(f"  {plain(note, 600)}", "    ")
    if report.ignored:
        yield from _wrapped(f"  {report.ignored}", "    ")
    incidents = list(dict.fromkeys(finding.incident for finding in report.findings))
    advised: set[str] = set()  # rules whose advice stands above already
    for incident in incidents:
        members = [finding for finding in report.findings if finding.incident == incident]
        for index, finding in enumerate(members):
            yield ""
            yield from _finding(finding, more=index > 0, advise=finding.rule not in advised)
            advised.add(finding.rule)
    blocking = [entry for entry in report.could_not if entry.blocking]
    if not report.findings:
        yield ""
        yield "Nothing fires." if not blocking else "Nothing fires in what could be looked at; that is not the same as all being well:"
    for title, entries in (("Could not look at", blocking), ("Not judged", [entry for entry in report.could_not if not entry.blocking])):
        if entries:
            yield ""
            yield f"{title}:"
        for entry in together(entries):
            yield from _wrapped(f"  - {plain(entry.what, 600)}: {plain(entry.why, 400)}. {plain(entry.remedy, 400)}.", "    ")


def _finding(finding: Finding, *, more: bool, advise: bool) -> Iterator[str]:
    name = " / ".join(f"{plain(value)}" for value in finding.labels.values() if value and value.strip()) or f"requests without {' and '.join(finding.labels)}"
    head = f"{'  same incident: ' if more else ''}{MARK[finding.severity]}  {finding.title}  [{finding.rule}]"
    yield head
    yield f"  {name}"
    yield f"  {rate_line(finding)}"
    yield from _row("when", _when(finding))
    if finding.chronic and finding.baseline is not None:
        yield from _row("chronic", f"no higher than in the log before it, since {clock(finding.baseline.start)} UTC: a report line, not an alarm")
    if finding.subtypes:
        yield from _row("what", ", ".join(f"{count:,} {kind}" for kind, count in finding.subtypes.items()))
    if finding.also:
        yield from _row("also", ", ".join(f"{count:,} of them are {signal} too" for signal, count in finding.also.items()))
    for part in finding.slices:
        condition = ", ".join(f"{column} {plain(value)}" for column, value in part.conditions.items())
        inside, outside = part.flagged / part.requests, part.outside_flagged / part.outside_requests
        outside_text = f"{part.outside_flagged:,} of {part.outside_requests:,} ({percent(outside)})"
        yield from _row("where", f"{condition}: {part.flagged:,} of {part.requests:,} ({percent(inside)}), elsewhere {outside_text}")
    if not advise:
        yield from _row("do", "as above for this rule")
    else:
        yield from _advice(finding)
    if finding.request_ids:
        yield from _row("requests", ", ".join(plain(request_id, 60) for request_id in finding.request_ids))
    if finding.excerpt:
        yield from _row("text", finding.excerpt)
    for index, reason in enumerate(finding.reasons[:2]):
        yield from _row("because" if index == 0 else "", plain(reason))


def _advice(finding: Finding) -> Iterator[str]:
    if finding.impact:
        yield from _row("impact", finding.impact)
    for index, step in enumerate(finding.next_steps):
        yield from _row("do" if index == 0 else "", f"{index + 1}. {step}")
    for index, reference in enumerate(finding.references[:3]):
        yield from _row("upstream" if index == 0 else "", plain(reference))


def _when(finding: Finding) -> str:
    parts = []
    if finding.first and finding.last:
        first, last = clock(finding.first, seconds=True), clock(finding.last, day=clock(finding.first)[:10] != clock(finding.last)[:10], seconds=True)
        parts.append(f"first {first}, last {last} UTC")
    if finding.peak is not None:
        parts.append(f"fired over {span(finding.peak.start, finding.peak.end)}: {of(finding.peak)} ({percent(finding.peak.rate)})")
    expected = "" if finding.expected is None else f", {finding.expected:.1f} expected"
    parts.append(f"score {finding.score:.3g} (fires from {finding.threshold:g}{expected})")
    return "; ".join(parts)


def _row(name: str, value: str) -> Iterator[str]:
    yield from _wrapped(f"    {name:<9} {value}", " " * 14)


def _wrapped(line: str, indent: str) -> list[str]:
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [line]
