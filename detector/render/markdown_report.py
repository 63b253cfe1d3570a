"""A report as Markdown, for a ticket or a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterator

from detector.findings import Finding
from detector.render.gaps import together
from detector.render.inert import code_span, markdown
from detector.render.numbers import clock, percent, rate_line, several, span
from detector.report import Report

_ADDRESS = re.compile(r"https?://[^\s<>]+")


def as_markdown(report: Report) -> str:
    """The whole report as Markdown, ending in a newline."""
    return "\n".join(_lines(report)) + "\n"


def _lines(report: Report) -> Iterator[str]:
    where = f", {span(report.window.start, report.window.end)}" if report.window and report.window.start else ""
    yield f"# detector: {len(report.findings)} {'finding' if len(report.findings) == 1 else 'findings'}{where}"
    yield ""
    yield f"Read {several(report.tally.requests, 'request')}."
    for note in (*report.remarks, *([report.ignored] if report.ignored else [])):
        yield f"- {markdown(note, 600)}"
    for finding in report.findings:
        yield from _finding(finding)
    if not report.findings:
        yield ""
        yield "Nothing fires." if not report.exit_code else "**Nothing fires in what could be looked at.**"
    if report.could_not:
        yield ""
        yield "## Could not look at, or not judged"
        yield ""
        for entry in together(report.could_not):
            yield f"- **{markdown(entry.what, 600)}**: {markdown(entry.why, 400)}. {markdown(entry.remedy, 400)}."


def _finding(finding: Finding) -> Iterator[str]:
    name = " / ".join(markdown(value) for value in finding.labels.values() if value and value.strip()) or f"requests without {' and '.join(finding.labels)}"
    yield ""
    yield f"## {finding.severity}: {markdown(finding.title)}: {name}"
    yield ""
    yield f"{rate_line(finding)}."
    yield ""
    yield f"- rule `{finding.rule}`, incident `{finding.incident}`, score {finding.score:.3g} (fires from {finding.threshold:g})"
    if finding.first and finding.last:
        yield f"- first {clock(finding.first, seconds=True)}, last {clock(finding.last, seconds=True)} UTC"
    if finding.subtypes:
        yield "- " + ", ".join(f"{count:,} {markdown(kind)}" for kind, count in finding.subtypes.items())
    for signal, count in finding.also.items():
        yield f"- {count:,} of them are {markdown(signal)} too"
    for part in finding.slices:
        condition = ", ".join(f"{markdown(column)} {markdown(value)}" for column, value in part.conditions.items())
        outside = part.outside_flagged / part.outside_requests
        yield f"- {condition}: {part.flagged:,} of {part.requests:,} ({percent(part.flagged / part.requests)}), elsewhere {percent(outside)}"
    if finding.impact:
        yield f"- impact: {markdown(finding.impact, 600)}"
    for index, step in enumerate(finding.next_steps, 1):
        yield f"- step {index}: {step}"  # the rule's own text, with its own markup
    for reference in finding.references[:3]:
        yield f"- upstream: {f'<{reference}>' if _ADDRESS.fullmatch(reference) else markdown(reference)}"  # the rule's own too
    for reason in finding.reasons[:3]:
        yield f"- because: {markdown(reason, 400)}"
    if finding.request_ids:
        if finding.excerpt:
            yield f"- text: {markdown(finding.excerpt, 600)}"
        yield "- requests: " + ", ".join(code_span(request_id, 120) for request_id in finding.request_ids)
