"""What rules say, in the language of messages. Reports stay in English: commands print them, programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from detector.findings import Finding
from detector.notify.wording import Language
from detector.rules import Rule


def translated(findings: Sequence[Finding], rules: Sequence[Rule], language: Language) -> tuple[Finding, ...]:
    """The findings with the texts of their rules in this language; as they are where a rule has none."""
    texts = {rule.id: rule.korean for rule in rules} if language == "ko" else {}
    return tuple(
        finding
        if (text := texts.get(finding.rule)) is None
        else replace(finding, title=text.title, meaning=text.meaning, impact=text.impact, next_steps=text.next_steps)
        for finding in findings
    )
