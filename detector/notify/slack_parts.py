"""Pieces of Slack messages: blocks, sizes, and the sentences that parents and replies share. Pure.

Limits: https://api.slack.com/reference/block-kit/blocks (section text 3000, fields 2000 × 10, header 150, context 10 elements); all blocks together about
12,000 characters before `msg_blocks_too_long` (slackapi/bolt-js#2509); we stay far below each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from detector.findings import Finding
from detector.incidents import Incident
from detector.notify.base import Link
from detector.notify.slack_text import address, entities, inert
from detector.notify.wording import Language, say
from detector.render.numbers import percent, percents

COLOURS = {"critical": "#d0342c", "warning": "#e8a317", "info": "#6b7a90", "resolved": "#2e9e5b", "blind": "#8a8a8a", "merged": "#6b7a90"}
MARKS = {"critical": "🔴", "warning": "🟠", "info": "⚪", "resolved": "✅", "merged": "➡️"}
SECTION_LIMIT, FIELD_LIMIT, HEADER_LIMIT, TEXT_LIMIT, TOTAL_LIMIT, BLOCK_LIMIT = 2800, 1800, 148, 3500, 9000, 45
BARS = "▁▂▃▄▅▆▇█"
Blocks = list[dict[str, Any]]


@dataclass(frozen=True)
class SlackMessage:
    """One message: `text` is the notification and what screen readers get; `blocks` stand above the `attachments`, whose colour bar tells the state."""

    text: str
    blocks: Blocks
    attachments: list[dict[str, Any]] = field(default_factory=list)

    def size(self) -> int:
        """Characters of all text in the blocks."""
        return size(self.blocks) + size(self.attachments)


@dataclass(frozen=True)
class Style:
    """How messages are written: language and the zone of local times."""

    language: Language = "en"
    zone: str = "UTC"


def state_word(incident: Incident) -> str:
    """merged, resolved or the severity: what marks and colours go by."""
    if incident.merged_into is not None:
        return "merged"
    return "resolved" if incident.state == "resolved" else incident.severity


def colour(incident: Incident) -> str:
    """The bar's colour."""
    blind = incident.open and incident.blind_since is not None
    return COLOURS["blind" if blind else state_word(incident)]


def share(finding: Finding, style: Style) -> str:
    """`25 of 1,204 requests (2.1 %, 1.4–3.0 %), usually 0.2 %`."""
    low, high = finding.interval
    counts = say(
        style.language,
        "of",
        flagged=f"{finding.counts.flagged:,}",
        requests=f"{finding.counts.requests:,}",
        rate=percent(finding.counts.rate),
        interval=percents(low, high),
    )
    usual = say(style.language, "usually", rate=percent(finding.baseline.rate)) if finding.baseline else say(style.language, "no_baseline")
    return f"{counts}, {usual}"


def series(finding: Finding) -> str:
    """The names of a finding's series, inert."""
    return " / ".join(inert(value, 60) for value in finding.labels.values() if value) or "—"


def where(incident: Incident, style: Style) -> str:
    """The series concerned: three by name, the rest by number; pods are counted where there are many."""
    names = list(dict.fromkeys(series(finding) for finding in incident.findings))
    shown = joined(names[:3], "\n", FIELD_LIMIT, style)
    return shown if len(names) <= 3 else f"{shown}\n{say(style.language, 'series', count=len(names) - 3)}"


def trend(finding: Finding, style: Style) -> str:
    """A small chart of the rate, oldest first: `▁▁▁▁▂▇█ up to 3.2 %`; a dot where there were no requests. Empty when there is nothing to see."""
    rates = [flagged / requests if requests else None for flagged, requests in finding.trend]
    highest = max((rate for rate in rates if rate is not None), default=0.0)
    if not highest:
        return ""
    bars = "".join("·" if rate is None else BARS[min(len(BARS) - 1, int(rate / highest * (len(BARS) - 1) + 0.5))] for rate in rates)
    return f"{bars} {say(style.language, 'up_to', rate=percent(highest).replace(' ', chr(0xA0)))}"


def moment(at: float, style: Style) -> str:
    """Universal and local time: `2026-11-29 13:30 UTC (22:30 KST)`."""
    utc = datetime.fromtimestamp(at, UTC)
    text = utc.strftime("%Y-%m-%d %H:%M UTC")
    if style.zone == "UTC":
        return text
    local = utc.astimezone(ZoneInfo(style.zone))
    return f"{text} ({local.strftime('%m-%d ' if local.date() != utc.date() else '')}{local.strftime('%H:%M %Z')})"


def links_line(links: Sequence[Link], style: Style) -> str:
    """Links as mrkdwn, whole ones only."""
    return joined([f"<{address(link.url)}|{inert(link.title, 70)}>" for link in links], " · ", SECTION_LIMIT, style)


def header(text: str) -> dict[str, Any]:
    """Large type; `emoji` off, so that `:words:` in names stay words."""
    return {"type": "header", "text": {"type": "plain_text", "text": cut(text, HEADER_LIMIT), "emoji": False}}


def section(text: str) -> dict[str, Any]:
    """A paragraph."""
    return {"type": "section", "text": mrkdwn(cut(text, SECTION_LIMIT))}


def fields(pairs: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Up to ten names with their values, two in a row."""
    return {"type": "section", "fields": [mrkdwn(cut(f"*{entities(name)}*\n{value}", FIELD_LIMIT)) for name, value in list(pairs)[:10]]}


def context(text: str) -> dict[str, Any]:
    """Small type."""
    return {"type": "context", "elements": [mrkdwn(cut(text, SECTION_LIMIT))]}


def mrkdwn(text: str) -> dict[str, Any]:
    """Text whose bare names and addresses stay text."""
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def joined(items: Sequence[str], separator: str, limit: int, style: Style) -> str:
    """Whole items while they fit into `limit` characters; how many were left out is said."""
    room = limit - 60
    kept: list[str] = []
    for item in items:
        room -= len(item) + len(separator)
        if room < 0:
            return separator.join([*kept, say(style.language, "more", count=len(items) - len(kept))])
        kept.append(item)
    return separator.join(kept)


def cut(text: str, limit: int) -> str:
    """At most `limit` characters, never ending within an entity or an open code span. Names are cut by graphemes before they come here."""
    if len(text) <= limit:
        return text
    short = text[: limit - 2]
    ampersand = short.rfind("&")
    if ampersand > len(short) - 6 and ";" not in short[ampersand:]:
        short = short[:ampersand]
    return f"{short}{'`' if short.count('`') % 2 else ''}…"


def fit(blocks: Blocks, style: Style, room: int = TOTAL_LIMIT) -> Blocks:
    """The blocks that fit into one message; how many were left out is said."""
    kept: Blocks = []
    for index, block in enumerate(blocks):
        room -= size(block)
        if room < 0 or len(kept) >= BLOCK_LIMIT:
            return [*kept, context(say(style.language, "more", count=len(blocks) - index))]
        kept.append(block)
    return kept


def size(value: Any) -> int:
    """Characters of all strings in it."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(size(part) for part in value.values())
    return sum(size(part) for part in value) if isinstance(value, list) else 0
