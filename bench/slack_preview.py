"""Render the Slack messages of a few incidents as an HTML page that looks like Slack, to be looked at: `python -m bench.slack_preview OUT.html [en|ko]`.

It draws what the blocks say, not what Slack's own code would draw; sizes and colours are close. To a picture: `chromium --headless --screenshot=OUT.png file://OUT.html`.
"""

from __future__ import annotations

import html
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from detector.findings import Finding
from detector.incidents import Incident
from detector.notify.base import Link, Telling
from detector.notify.slack_message import parent, reply
from detector.notify.slack_parts import SlackMessage, Style
from detector.notify.translation import translated
from detector.notify.wording import Language
from tests.incident_cases import RULES, SLICE, T0, fired
from tests.incident_cases import finding as english

LINKS = (
    Link("kibana", "Kibana", "https://kibana.example/app/discover#/?_g=()&_a=()"),
    Link("grafana", "Grafana: e2e_latency", "https://grafana.example/d/vllm/vllm?viewPanel=4", "e2e_latency"),
    Link("grafana", "Grafana: token_throughput", "https://grafana.example/d/vllm/vllm?viewPanel=7", "token_throughput"),
    Link("rule", "think_tag_leak", "https://docs.example/rules/think_tag_leak.md"),
)
CSS = """
body { font: 15px/1.46 'Lato', 'Noto Sans', 'Noto Sans CJK KR', 'NanumGothic', sans-serif; color: #1d1c1d; background: #fff; margin: 14px 20px; width:
760px } .message { display: flex; gap: 8px; padding: 6px 0 10px } .icon { width: 36px; height: 36px; border-radius: 6px; background: #3f0e40; color:
#fff; text-align: center; line-height: 36px; font-weight: 700; flex: none } .body { flex: 1; min-width: 0 } .name { font-weight: 900 } .app { font-
size: 10px; background: #e8e8e8; color: #616061; border-radius: 2px; padding: 1px 3px; margin: 0 4px; font-weight: 700 } .time { font-size: 12px;
color: #616061 } h3 { font-size: 18px; line-height: 1.33; margin: 6px 0 2px } .attachment { border-left: 4px solid; border-radius: 4px; padding: 2px 0
2px 12px; margin-top: 4px; font-size: 15px } .section { margin: 4px 0 8px; white-space: pre-wrap; overflow-wrap: anywhere } .fields { display: grid;
grid-template-columns: 1fr 1fr; gap: 6px 16px; margin: 4px 0 8px; white-space: pre-wrap; overflow-wrap: anywhere } .context { font-size: 12px; color:
#616061; margin: 4px 0 } code { font: 12px monospace; color: #c01343; background: #f6f6f6; border: 1px solid #ddd; border-radius: 3px; padding: 1px
3px } pre { font: 12px monospace; background: #f6f6f6; border: 1px solid #ddd; border-radius: 4px; padding: 8px; white-space: pre-wrap } a { color:
#1264a3; text-decoration: none } .thread { margin-left: 44px; border-left: 2px solid #ddd; padding-left: 12px } .title { color: #616061; font-size:
12px; border-top: 1px solid #eee; padding-top: 6px; margin-top: 8px } .mention { background: #e8f5fa; color: #1264a3; border-radius: 3px; padding: 0
2px }
"""


def scenes(language: Language) -> list[tuple[str, list[SlackMessage]]]:
    """(what it shows, parent and thread replies)."""
    style = Style(language, "Asia/Seoul")

    def finding(*given: Any, **more: Any) -> Finding:
        made = english(*given, **more)
        return translated((replace(made, references=RULES[made.rule].references),), list(RULES.values()), language)[0]

    case = finding(T0, slices=(SLICE,), also={"length_cutoff": 19}, since=T0 - 600)
    first = fired(case)
    first = replace(first, since=T0 - 600)

    def both(kind: str, incident: Incident, at: float, **more: Any) -> list[SlackMessage]:
        telling = Telling(kind, "", at, incident, LINKS, **more)
        return [parent(telling, style), reply(telling, style)]

    worse = finding(T0 + 3600, "think_tag_leak_level", severity="critical", flagged=310, requests=1320, interval=(0.212, 0.258), slices=(SLICE,))
    escalated = replace(first, severity="critical", findings=(worse, case), rules=("think_tag_leak", "think_tag_leak_level"), acked_by="U0KIM0001")
    pods = fired(*(finding(T0, pod=f"chat-7f9c-{name}", flagged=30 - number) for number, name in enumerate(("x2", "k8", "m4", "p1", "q9", "z7", "b3", "c6"))))
    storm = tuple(
        replace(fired(finding(T0, rule, deployment=name, severity=severity)), id=name)
        for rule, name, severity in (
            ("think_tag_leak", "chat", "critical"), ("empty_content_spike", "summaries", "warning"), ("finish_reason_length_spike", "code", "warning"),
            ("garbled_text_spike", "search", "warning"), ("think_tag_leak", "tutor", "warning"), ("empty_content_spike", "voice", "critical"),
        )
    )  # fmt: skip
    blind = replace(first, blind_since=T0 + 1800, blind_why="the log: no connection (connection refused)")
    over = replace(first, state="resolved", resolved_at=T0 + 12_000, active_at=T0 + 8_000, peak_flagged=41, totals={"think_tag_leak": (188, 0.0)})
    return [
        ("first firing", both("fired", first, T0, owner="S0LLMOPS1")),
        ("escalation, taken", both("escalated", escalated, T0 + 3600)),
        ("many pods", both("fired", pods, T0)),
        ("storm", [parent(Telling("storm", "", T0, storm[0], (), storm), style)]),
        ("could not look", both("blind", blind, T0 + 1800)),
        ("resolved", both("resolved", over, T0 + 12_000)),
    ]


def page(language: Language, chosen: str = "") -> str:
    """All scenes as HTML."""
    parts = []
    for title, messages in scenes(language):
        if chosen in title:
            parts.append(f'<div class="title">{title}</div>' if not chosen else "")
            parts += [f'<div class="{"thread" if index else ""}">{_message(message)}</div>' for index, message in enumerate(messages)]
    return f'<!doctype html><meta charset="utf-8"><style>{CSS}</style><body>{"".join(parts)}'


def _message(message: SlackMessage) -> str:
    attachments = "".join(
        f'<div class="attachment" style="border-color: {part["color"]}">{"".join(_block(block) for block in part["blocks"])}</div>'
        for part in message.attachments
    )
    blocks = "".join(_block(block) for block in message.blocks)
    head = '<span class="name">detector</span><span class="app">APP</span> <span class="time">22:30</span>'
    return f'<div class="message"><div class="icon">d</div><div class="body">{head}{blocks}{attachments}</div></div>'


def _block(block: dict[str, Any]) -> str:
    kind = block["type"]
    if kind == "header":
        return f"<h3>{_decoded(block['text']['text'])}</h3>"
    if kind == "context":
        return f'<div class="context">{" ".join(_mrkdwn(part["text"]) for part in block["elements"])}</div>'
    if kind == "rich_text":
        return f"<pre>{html.escape(block['elements'][0]['elements'][0]['text'])}</pre>"
    if "fields" in block:
        cells = [_mrkdwn(part["text"]) for part in block["fields"]]
        return f'<div class="fields">{"".join(f"<div>{cell}</div>" for cell in cells)}</div>'
    return f'<div class="section">{_mrkdwn(block["text"]["text"])}</div>'


PICTURES = {"🔴": "#d0342c", "🟠": "#e8a317", "⚪": "#bbb"}  # drawn, as not every machine has a font with emoji


def _decoded(text: str) -> str:
    return _drawn(html.escape(html.unescape(text)))


def _drawn(text: str) -> str:
    for picture, colour in PICTURES.items():
        text = text.replace(picture, f'<span style="color: {colour}">●</span>')
    return text.replace("✅", '<span style="color: #2e9e5b">✔</span>').replace("⛈", "⚡").replace("⬆️", "↑").replace("⚠️", "⚠")


def _mrkdwn(text: str) -> str:
    text = re.sub(r"<(https?://[^|>]*)\|([^>]*)>", r'<a href="\1">\2</a>', text)
    text = re.sub(r"<(@|!subteam\^|#)([A-Z0-9]+)>", r'<span class="mention">@\2</span>', text)
    text = re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text)
    return _drawn(re.sub(r"\*([^*\n]+)\*", r"<b>\1</b>", text))


if __name__ == "__main__":
    wanted: Language = "ko" if "ko" in sys.argv[2:3] else "en"
    Path(sys.argv[1]).write_text(page(wanted, sys.argv[3] if len(sys.argv) > 3 else ""))
