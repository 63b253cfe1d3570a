"""An incident as Slack blocks: a parent that is edited in place, and replies for its thread. Pure; sizes are bounded, and what was left out is said.

Limits: https://api.slack.com/reference/block-kit/blocks (section text 3000, fields 2000 × 10, header 150, context 10 elements); all blocks together about 12,000
characters before `msg_blocks_too_long` (slackapi/bolt-js#2509); we stay far below each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

from detector import __version__
from detector.findings import Finding
from detector.incidents import Incident
from detector.notify.base import Link, Telling
from detector.notify.slack_text import address, code, entities, inert
from detector.notify.wording import Language, duration, say
from detector.render.numbers import percent

COLOURS = {"critical": "#d0342c", "warning": "#e8a317", "info": "#6b7a90", "resolved": "#2e9e5b", "blind": "#8a8a8a"}
SECTION_LIMIT, FIELD_LIMIT, HEADER_LIMIT, TEXT_LIMIT, TOTAL_LIMIT = 2800, 1800, 148, 3500, 9000
SHOWN_FINDINGS, SHOWN_STORM = 6, 20
Blocks = list[dict[str, Any]]


@dataclass(frozen=True)
class SlackMessage:
    """One message: `text` is the notification and what screen readers get; `attachments` hold the blocks beside a colour bar."""

    text: str
    attachments: list[dict[str, Any]]

    def size(self) -> int:
        """Characters of all text in the blocks."""
        return sum(_size(attachment) for attachment in self.attachments)


@dataclass(frozen=True)
class Style:
    """How messages are written: language and the zone of local times."""

    language: Language = "en"
    zone: str = "UTC"


def parent(telling: Telling, style: Style) -> SlackMessage:
    """The incident's one message, as it stands now."""
    incident = telling.incident
    if telling.kind == "storm":
        return _storm(telling, style)
    head = _headline(incident, style)
    finding = incident.findings[0]
    fields = [(say(style.language, "state"), _state(incident, style)), (say(style.language, "share"), _share(finding, style))]
    fields.append((say(style.language, "window"), _period(incident, telling.at, style)))
    fields.append((say(style.language, "affected"), _where(incident, style)))
    if finding.subtypes:
        fields.append((say(style.language, "kinds"), ", ".join(f"{count:,} {inert(kind, 40)}" for kind, count in list(finding.subtypes.items())[:5])))
    if finding.also:
        fields.append(
            (
                say(style.language, "also"),
                "; ".join(say(style.language, "also_is", count=f"{n:,}", signal=inert(s, 40)) for s, n in list(finding.also.items())[:3]),
            )
        )
    blocks: Blocks = [_header(head), _section(_sentence(incident, telling, style))]
    blocks.append({"type": "section", "fields": [_mrkdwn(f"*{entities(name)}*\n{value}"[:FIELD_LIMIT]) for name, value in fields[:10]]})
    if incident.blind_since is not None and incident.open:
        blocks.insert(1, _section(f"⚠️ {say(style.language, 'blind', time=_time(incident.blind_since, style), why=inert(incident.blind_why, 200))}"))
    if telling.links:
        blocks.append(_section(_links(telling.links)))
    blocks.append(_context(f"{entities(', '.join(incident.rules))} · {incident.id} · detector {__version__}"))
    return SlackMessage(
        _cut(f"{head} — {_plain_share(finding, style)}", TEXT_LIMIT), [{"color": _colour(incident), "fallback": _cut(head, 200), "blocks": _fit(blocks, style)}]
    )


def reply(telling: Telling, style: Style) -> SlackMessage:
    """What a change adds to the thread. For a new incident: the details."""
    incident, language = telling.incident, style.language
    if telling.kind in ("fired", "reopened"):
        first = say(language, telling.kind, count=incident.opened)
        return SlackMessage(first, [{"color": _colour(incident), "fallback": first, "blocks": _fit(_details(telling, style), style)}])
    if telling.kind == "resolved":
        text = f"✅ {say(language, 'resolved_line', duration=duration((incident.resolved_at or telling.at) - incident.since, language))} {_totals(incident, style)}"
    elif telling.kind == "escalated":
        text = f"⬆️ {say(language, 'escalated', severity=say(language, incident.severity))}"
    elif telling.kind == "grew":
        text = f"➕ {say(language, 'grew', rules=entities(', '.join(incident.rules)))}"
    elif telling.kind == "blind":
        text = f"⚠️ {say(language, 'blind', time=_time(incident.blind_since or telling.at, style), why=inert(incident.blind_why, 200))}"
    else:
        text = say(language, telling.kind)
    blocks: Blocks = [_section(text)]
    if telling.kind in ("escalated", "grew"):
        blocks += [_section(_finding_line(finding, style)) for finding in incident.findings[:SHOWN_FINDINGS]]
    return SlackMessage(text, [{"color": _colour(incident), "fallback": _cut(text, 200), "blocks": _fit(blocks, style)}])


def _details(telling: Telling, style: Style) -> Blocks:
    """Findings, slices, impact, first checks and request ids."""
    incident, language = telling.incident, style.language
    blocks: Blocks = [_section(_finding_line(finding, style)) for finding in incident.findings[:SHOWN_FINDINGS]]
    if len(incident.findings) > SHOWN_FINDINGS:
        blocks.append(_context(say(language, "more", count=len(incident.findings) - SHOWN_FINDINGS)))
    finding = incident.findings[0]
    slices = [
        say(
            language,
            "slice",
            conditions=", ".join(f"{inert(column, 40)} {code(value, 60)}" for column, value in part.conditions.items()),
            flagged=f"{part.flagged:,}",
            requests=f"{part.requests:,}",
            rate=percent(part.flagged / part.requests),
            outside=percent(part.outside_flagged / part.outside_requests),
        )
        for part in finding.slices
    ]
    if slices:
        blocks.append(_section("\n".join(f"• {line}" for line in slices)))
    if finding.impact:
        blocks.append(_section(f"*{say(language, 'impact')}*\n{entities(finding.impact)}"))
    if finding.next_steps:
        steps = "\n".join(f"{number}. {entities(step)}" for number, step in enumerate(finding.next_steps, 1))
        blocks.append(_section(f"*{say(language, 'steps')}*\n{steps}"))
    if finding.request_ids:
        blocks.append(_section(f"*{say(language, 'requests')}*\n" + " ".join(code(request_id, 60) for request_id in finding.request_ids)))
    for request_id, excerpt in list(telling.excerpts.items())[:1]:
        blocks.append(
            {
                "type": "rich_text",
                "elements": [{"type": "rich_text_preformatted", "elements": [{"type": "text", "text": f"{request_id[:60]}\n{excerpt[:600]}"}]}],
            }
        )
    return blocks


def _storm(telling: Telling, style: Style) -> SlackMessage:
    language, members = style.language, telling.storm
    head = f"⛈ {say(language, 'storm', count=len(members))}"
    lines = [
        f"• *{say(language, incident.severity)}* {entities(incident.title)} — {_where(incident, style)}: {_share(incident.findings[0], style)}"
        for incident in members[:SHOWN_STORM]
    ]
    blocks: Blocks = [_header(head), _section(say(language, "storm_why", count=len(members)))]
    blocks += [_section(line) for line in lines]
    if len(members) > SHOWN_STORM:
        blocks.append(_context(say(language, "more", count=len(members) - SHOWN_STORM)))
    worst = "critical" if any(incident.severity == "critical" for incident in members) else "warning"
    return SlackMessage(head, [{"color": COLOURS[worst], "fallback": head, "blocks": _fit(blocks, style)}])


def _headline(incident: Incident, style: Style) -> str:
    word = "resolved" if incident.state == "resolved" else incident.severity
    mark = {"resolved": "✅", "critical": "🔴", "warning": "🟠", "info": "⚪"}[word]
    return _cut(f"{mark} {say(style.language, word)}: {incident.title} — {inert(incident.deployment or 'all', 60)}", HEADER_LIMIT)


def _sentence(incident: Incident, telling: Telling, style: Style) -> str:
    meaning = incident.findings[0].meaning
    if incident.state == "resolved":
        return f"{say(style.language, 'resolved_line', duration=duration((incident.resolved_at or telling.at) - incident.since, style.language))} {_totals(incident, style)}"
    return entities(_cut(meaning or incident.title, 600))


def _state(incident: Incident, style: Style) -> str:
    word = say(style.language, "state_resolved" if incident.state == "resolved" else incident.state)
    if incident.acked_by:
        word += f", {say(style.language, 'acked', who=inert(incident.acked_by, 40))}"
    if incident.snoozed_until:
        word += f", {say(style.language, 'snoozed', time=_time(incident.snoozed_until, style))}"
    return word


def _share(finding: Finding, style: Style) -> str:
    low, high = finding.interval
    counts = say(
        style.language,
        "of",
        flagged=f"{finding.counts.flagged:,}",
        requests=f"{finding.counts.requests:,}",
        rate=percent(finding.counts.rate),
        low=percent(low).removesuffix(" %"),
        high=percent(high),
    )
    usual = say(style.language, "usually", rate=percent(finding.baseline.rate)) if finding.baseline else say(style.language, "no_baseline")
    return f"{counts}, {usual}"


def _plain_share(finding: Finding, style: Style) -> str:
    return _share(finding, style)


def _finding_line(finding: Finding, style: Style) -> str:
    name = " / ".join(inert(value, 60) for value in finding.labels.values() if value)
    return _cut(f"*{entities(finding.title)}*\n{name}: {_share(finding, style)}", SECTION_LIMIT)


def _where(incident: Incident, style: Style) -> str:
    names = list(dict.fromkeys(" / ".join(inert(value, 60) for value in finding.labels.values() if value) or "—" for finding in incident.findings))
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} … ({say(style.language, 'series', count=len(names))})"


def _totals(incident: Incident, style: Style) -> str:
    return say(style.language, "total", flagged=f"{incident.peak_flagged:,}") + "."


def _period(incident: Incident, now: float, style: Style) -> str:
    if incident.state == "resolved":
        return f"{_time(incident.since, style)} – {_time(incident.active_at, style)}"
    return f"{say(style.language, 'since', time=_time(incident.since, style))} ({duration(now - incident.since, style.language)})"


def _time(at: float, style: Style) -> str:
    """Universal and local time: `2026-11-29 13:30 UTC (22:30 KST)`."""
    moment = datetime.fromtimestamp(at, UTC)
    text = moment.strftime("%Y-%m-%d %H:%M UTC")
    if style.zone == "UTC":
        return text
    local = moment.astimezone(ZoneInfo(style.zone))
    return f"{text} ({local.strftime('%m-%d ' if local.date() != moment.date() else '')}{local.strftime('%H:%M %Z')})"


def _links(links: Sequence[Link]) -> str:
    return " · ".join(f"<{address(link.url)}|{inert(link.title, 70)}>" for link in links[:8])


def _colour(incident: Incident) -> str:
    if incident.state == "resolved":
        return COLOURS["resolved"]
    return COLOURS["blind"] if incident.blind_since is not None else COLOURS[incident.severity]


def _header(text: str) -> dict[str, Any]:
    return {"type": "header", "text": {"type": "plain_text", "text": text, "emoji": True}}


def _section(text: str) -> dict[str, Any]:
    return {"type": "section", "text": _mrkdwn(_cut(text, SECTION_LIMIT))}


def _context(text: str) -> dict[str, Any]:
    return {"type": "context", "elements": [_mrkdwn(_cut(text, SECTION_LIMIT))]}


def _mrkdwn(text: str) -> dict[str, Any]:
    return {"type": "mrkdwn", "text": text, "verbatim": True}


def _cut(text: str, limit: int) -> str:
    """At most `limit` characters, never ending within an entity."""
    if len(text) <= limit:
        return text
    short = text[: limit - 1]
    open_entity = short.rfind("&")
    if open_entity > limit - 8 and ";" not in short[open_entity:]:
        short = short[:open_entity]
    return short + "…"


def _fit(blocks: Blocks, style: Style) -> Blocks:
    """The blocks that fit into one message; how many were left out is said."""
    kept: Blocks = []
    total = 0
    for index, block in enumerate(blocks):
        total += _size(block)
        if total > TOTAL_LIMIT or len(kept) >= 45:
            return [*kept, _context(say(style.language, "more", count=len(blocks) - index))]
        kept.append(block)
    return kept


def _size(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, dict):
        return sum(_size(part) for part in value.values())
    return sum(_size(part) for part in value) if isinstance(value, list) else 0
