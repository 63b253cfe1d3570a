"""An incident as Slack messages: a parent that is edited in place, and replies for its thread. Pure; sizes are bounded, and what was left out is said."""

from __future__ import annotations

import re
from collections.abc import Sequence

from detector import __version__
from detector.findings import SEVERITIES, Finding
from detector.incidents import Incident
from detector.notify.base import EDITS, Link, Telling
from detector.notify.slack_parts import (
    COLOURS,
    MARKS,
    SECTION_LIMIT,
    TEXT_LIMIT,
    Blocks,
    SlackMessage,
    Style,
    colour,
    context,
    cut,
    fields,
    fit,
    header,
    joined,
    links_line,
    moment,
    section,
    series,
    share,
    state_word,
    trend,
    where,
)
from detector.notify.slack_text import code, entities, inert
from detector.notify.wording import duration, say
from detector.render.inert import plain
from detector.render.numbers import percent

SHOWN_RULES, SHOWN_SERIES, SHOWN_STORM, SHOWN_OWNERS = 6, 6, 16, 10
EXCERPT_LINES, EXCERPT_LINE = 8, 200
MENTIONED = frozenset({"fired", "reopened", "escalated", "reminder"})  # what an owner is called for
_PERSON, _GROUP = re.compile(r"[UW][A-Z0-9]{5,}"), re.compile(r"S[A-Z0-9]{5,}")

__all__ = ["SlackMessage", "Style", "moved", "parent", "reply"]


def parent(telling: Telling, style: Style) -> SlackMessage:
    """The incident's one message, as it stands now."""
    if telling.kind == "storm":
        return _storm(telling, style)
    incident, language = telling.incident, style.language
    head = _headline(incident, style)
    finding = incident.findings[0]
    blocks: Blocks = []
    if incident.blind_since is not None and incident.open:
        blocks.append(section(f"⚠️ {say(language, 'blind', time=moment(incident.blind_since, style), why=inert(incident.blind_why, 200))}"))
    blocks.append(section(_sentence(incident, telling, style)))
    pairs = [(say(language, "share"), share(finding, style)), (say(language, "affected"), where(incident, style))]
    pairs += [(say(language, "window"), _period(incident, telling.at, style)), (say(language, "state"), _state(incident, style))]
    if finding.subtypes:
        pairs.append((say(language, "kinds"), ", ".join(f"{count:,} {inert(kind, 40)}" for kind, count in list(finding.subtypes.items())[:5])))
    if finding.also:
        also = [say(language, "also_is", count=f"{count:,}", signal=inert(signal, 40)) for signal, count in list(finding.also.items())[:3]]
        pairs.append((say(language, "also"), "; ".join(also)))
    bars = trend(finding, style)
    if bars and incident.open:
        pairs.append((say(language, "trend"), bars))
    if telling.owner:
        pairs.append((say(language, "owner"), _owner(telling.owner)))
    blocks.append(fields(pairs))
    if telling.links:
        blocks.append(section(links_line(telling.links, style)))
    blocks.append(context(f"{entities(joined(incident.rules, ', ', 400, style))} · {incident.id} · detector {__version__}"))
    return _message(head, f"{head} — {share(finding, style)}", incident, blocks, style)


def moved(telling: Telling, channel: str, style: Style) -> SlackMessage:
    """The parent in a channel that the incident's route left: it goes on elsewhere."""
    head = _headline(telling.incident, style)
    return SlackMessage(
        head,
        [header(head)],
        [{"color": COLOURS["merged"], "fallback": cut(head, 200), "blocks": [section(say(style.language, "moved", channel=f"<#{channel}>"))]}],
    )


def reply(telling: Telling, style: Style) -> SlackMessage:
    """What a change adds to the thread. For a new incident, and for a parent that had to be posted anew: the details."""
    incident, language = telling.incident, style.language
    called = f" {_owner(telling.owner)}" if telling.owner and telling.kind in MENTIONED else ""
    if telling.kind in ("fired", "reopened", *EDITS):
        first = say(language, "reopened" if telling.kind == "reopened" else "fired", count=incident.opened) + called
        return SlackMessage(first, [section(first)], [{"color": colour(incident), "fallback": cut(first, 200), "blocks": fit(_details(telling, style), style)}])
    if telling.kind == "resolved":
        text = f"✅ {_ended(incident, telling.at, style)}"
    elif telling.kind == "escalated":
        text = f"⬆️ {say(language, 'escalated', severity=say(language, incident.severity), means=say(language, f'{incident.severity}_means'))}{called}"
    elif telling.kind == "grew":
        text = f"➕ {say(language, 'grew', rules=entities(joined(incident.rules, ', ', 800, style)))}"
    elif telling.kind == "blind":
        text = f"⚠️ {say(language, 'blind', time=moment(incident.blind_since or telling.at, style), why=inert(incident.blind_why, 200))}"
    elif telling.kind == "reminder":
        text = f"⏰ {say(language, 'reminder', duration=duration(telling.at - incident.since, language))}{called}"
    else:
        text = say(language, "joined" if telling.kind == "merged" else telling.kind)
    if telling.kind not in ("escalated", "grew"):
        return SlackMessage(text, [section(text)])
    return SlackMessage(text, [section(text)], [{"color": colour(incident), "fallback": cut(text, 200), "blocks": fit(_by_rule(incident, style), style)}])


def _message(head: str, text: str, incident: Incident, blocks: Blocks, style: Style) -> SlackMessage:
    return SlackMessage(cut(text, TEXT_LIMIT), [header(head)], [{"color": colour(incident), "fallback": cut(head, 200), "blocks": fit(blocks, style)}])


def _details(telling: Telling, style: Style) -> Blocks:
    """Findings, slices, impact, first checks and request ids."""
    incident, language = telling.incident, style.language
    blocks = _by_rule(incident, style)
    finding = incident.findings[0]
    slices = [
        "• "
        + say(
            language,
            "slice",
            conditions=", ".join(f"{inert(column, 40)} {code(value, 60)}" for column, value in part.conditions.items()),
            flagged=f"{part.flagged:,}",
            requests=f"{part.requests:,}",
            rate=percent(part.flagged / part.requests if part.requests else None),
            outside=percent(part.outside_flagged / part.outside_requests if part.outside_requests else None),
        )
        for part in finding.slices
    ]
    if slices:
        blocks.append(section(joined(slices, "\n", SECTION_LIMIT, style)))
    if finding.impact:
        blocks.append(section(f"*{say(language, 'impact')}*\n{entities(finding.impact)}"))
    if finding.next_steps:
        steps = [f"{number}. {entities(step)}" for number, step in enumerate(finding.next_steps, 1)]
        blocks.append(section(f"*{say(language, 'steps')}*\n{joined(steps, chr(10), SECTION_LIMIT - 80, style)}"))
    if finding.request_ids:
        blocks.append(section(f"*{say(language, 'requests')}*\n" + joined([code(one, 60) for one in finding.request_ids], "  ", SECTION_LIMIT - 80, style)))
    if finding.references:
        upstream = [Link("upstream", _short(address), address) for address in finding.references]
        blocks.append(section(f"*{say(language, 'references')}*\n{links_line(upstream, style)}"))
    for request_id, excerpt in list(telling.excerpts.items())[:1]:
        lines = [plain(line, EXCERPT_LINE) for line in excerpt.split("\n")[:EXCERPT_LINES]]
        shown = {"type": "text", "text": "\n".join([plain(request_id, 60), *lines])}  # rich text is literal: nothing in it is parsed
        blocks.append({"type": "rich_text", "elements": [{"type": "rich_text_preformatted", "elements": [shown]}]})
    return blocks


def _short(address: str) -> str:
    """`vllm-project/vllm 39697` of an issue's address; of any other without its scheme."""
    found = re.fullmatch(r"https://github\.com/([^/]+/[^/]+)/(?:issues|pull)/(\d+)", address)
    return f"{found[1]} {found[2]}" if found else address.partition("://")[2]


def _by_rule(incident: Incident, style: Style) -> Blocks:
    """A paragraph per rule: its title, and a line per series, most important first."""
    rules: dict[str, list[Finding]] = {}
    for finding in incident.findings:
        rules.setdefault(finding.rule, []).append(finding)
    blocks: Blocks = []
    for findings in list(rules.values())[:SHOWN_RULES]:
        lines = [f"• {series(finding)}: {share(finding, style)}" for finding in findings[:SHOWN_SERIES]]
        if len(findings) > SHOWN_SERIES:
            lines.append(say(style.language, "series", count=len(findings) - SHOWN_SERIES))
        blocks.append(section(f"*{entities(findings[0].title)}*\n" + joined(lines, "\n", SECTION_LIMIT - 200, style)))
    if len(rules) > SHOWN_RULES:
        blocks.append(context(say(style.language, "more", count=len(rules) - SHOWN_RULES)))
    return blocks


def _storm(telling: Telling, style: Style) -> SlackMessage:
    language, members = style.language, telling.storm
    going_on = [incident for incident in members if incident.open]
    head = f"⛈ {say(language, 'storm', count=len(members))}" if going_on else f"✅ {say(language, 'storm_over', count=len(members))}"
    blocks: Blocks = [section(say(language, "storm_why", count=len(members)))]
    blocks += [section(line) for line in _chunks([_storm_line(incident, style) for incident in members[:SHOWN_STORM]])]
    if len(members) > SHOWN_STORM:
        blocks.append(context(say(language, "more", count=len(members) - SHOWN_STORM)))
    if telling.owner:
        blocks.append(section(f"*{say(language, 'owner')}*  {' '.join(_owner(owner) for owner in telling.owner.split(chr(10))[:SHOWN_OWNERS])}"))
    blocks.append(context(f"detector incidents list · detector {__version__}"))
    worst = max((incident.severity for incident in going_on), key=SEVERITIES.index, default="resolved")
    return SlackMessage(head, [header(head)], [{"color": COLOURS[worst], "fallback": head, "blocks": fit(blocks, style)}])


def _storm_line(incident: Incident, style: Style) -> str:
    finding = incident.findings[0]
    since = say(style.language, "since", time=moment(incident.since, style))
    return cut(f"{MARKS[state_word(incident)]} *{entities(incident.title)}*\n{series(finding)}: {share(finding, style)}, {since}", 600)


def _chunks(lines: Sequence[str]) -> list[str]:
    """Lines in paragraphs of at most five, each within a section's limit."""
    return ["\n".join(lines[start : start + 4]) for start in range(0, len(lines), 4)]


def _headline(incident: Incident, style: Style) -> str:
    word = state_word(incident)
    return f"{MARKS[word]} {say(style.language, word)}: {entities(incident.title)} — {inert(incident.where or say(style.language, 'all'), 60)}"


def _sentence(incident: Incident, telling: Telling, style: Style) -> str:
    if incident.state == "resolved":
        return say(style.language, "joined") if incident.merged_into is not None else _ended(incident, telling.at, style)
    finding = incident.findings[0]
    return f"{entities(cut(finding.meaning or incident.title, 600))}"


def _ended(incident: Incident, at: float, style: Style) -> str:
    """How long it lasted, its peak, and who closed it, if a person did."""
    words = {"duration": duration(incident.active_at - incident.since, style.language), "time": moment(incident.active_at, style)}
    counts = {"total": f"{incident.total_flagged:,}", "flagged": f"{incident.peak_flagged:,}"}
    text = f"{say(style.language, 'resolved_line', **words)} {say(style.language, 'total', **counts)}"
    if incident.closed_by:
        text = f"{say(style.language, 'closed_early', duration=duration(at - incident.since, style.language))} {say(style.language, 'total', **counts)}"
    return f"{text} {say(style.language, 'closed', who=_owner(incident.closed_by))}" if incident.closed_by else text


def _state(incident: Incident, style: Style) -> str:
    if not incident.open:
        return say(style.language, "merged_state" if incident.merged_into is not None else "state_resolved")
    word = f"{say(style.language, incident.state)} · {say(style.language, f'{incident.severity}_means')}"
    if incident.clean_from is not None:
        word += f"\n{say(style.language, 'clean', time=moment(incident.clean_from, style))}"
    if incident.acked_by:
        word += f"\n{say(style.language, 'acked', who=_owner(incident.acked_by))}"
    if incident.snoozed_until:
        word += f"\n{say(style.language, 'snoozed', time=moment(incident.snoozed_until, style))}"
    return word


def _owner(who: str) -> str:
    """A Slack id as a mention, any other name as inert text. Owners come from the configuration, ids of people from Slack."""
    if _PERSON.fullmatch(who):
        return f"<@{who}>"
    return f"<!subteam^{who}>" if _GROUP.fullmatch(who) else inert(who, 80)


def _period(incident: Incident, now: float, style: Style) -> str:
    if incident.state == "resolved":
        return f"{moment(incident.since, style)} – {moment(incident.active_at, style)}"
    return f"{say(style.language, 'since', time=moment(incident.since, style))} ({duration(now - incident.since, style.language)})"
