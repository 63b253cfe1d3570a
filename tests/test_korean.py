"""Korean messages: every shipped rule speaks it, with the same names in it, and reports stay as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from detector.cli import main
from detector.notify.translation import translated
from detector.rules import Rule, read_rule
from tests.answers import START, days, leak, write
from tests.incident_cases import RULES, T0, finding
from tests.servers.slack import CHANNEL, TOKEN, slack

HANGUL = re.compile(r"[가-힣]")


def codes(text: str) -> list[str]:
    """What stands in backticks."""
    return sorted(re.findall(r"`([^`]*)`", text))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.id)
def test_every_shipped_rule_speaks_korean(rule: Rule) -> None:
    """All of its texts; field names, markers and options are those of the English ones."""
    korean = rule.korean
    assert korean is not None
    for text in (korean.title, korean.meaning, korean.impact, *korean.next_steps):
        assert len(HANGUL.findall(text)) >= 5
    assert len(korean.title) <= 60
    assert codes(korean.meaning) == codes(rule.meaning)
    for one, other in zip(korean.next_steps, rule.next_steps, strict=True):
        assert codes(one) == codes(other)


def test_only_where_it_is_chosen_and_there_is_one() -> None:
    rules = [*RULES.values()]
    (korean,) = translated((finding(T0),), rules, "ko")
    assert korean.title == "답변에 생각 표시가 보임"
    assert (korean.signal, korean.counts, korean.labels) == (finding(T0).signal, finding(T0).counts, finding(T0).labels)
    assert translated((finding(T0),), rules, "en") == (finding(T0),)
    without = [rule.model_copy(update={"korean": None}) for rule in rules]
    assert translated((finding(T0),), without, "ko") == (finding(T0),)


def test_half_a_translation_is_a_fault(tmp_path: Path) -> None:
    """A step too few, a text that is missing: told with the line."""
    text = (Path(__file__).parent.parent / "rules" / "think_tag_leak.yml").read_text()
    (tmp_path / "mine.yml").write_text(re.sub(r"(korean:.*?next_steps:\n)    - [^\n]*\n", r"\1", text, flags=re.DOTALL))
    rule, (fault,) = read_rule(tmp_path / "mine.yml")
    assert rule is None
    assert "korean has 3 next_steps, the rule has 4" in str(fault)
    (tmp_path / "mine.yml").write_text(re.sub(r"(korean:\n)  title: [^\n]*\n", r"\1", text))
    rule, (fault,) = read_rule(tmp_path / "mine.yml")
    assert rule is None
    assert "korean.title: is missing" in str(fault)


def test_the_channel_reads_korean_and_the_terminal_english(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DETECTOR_SLACK_TOKEN", TOKEN)
    write(tmp_path / "log.jsonl", [*days(1, 60), *(leak(9_000 + number, START) for number in range(5))])
    with slack() as (url, workspace):
        (tmp_path / "detector.yml").write_text(f"language: ko\nnotify: {{slack: {{channel: {CHANNEL}, base_url: {url!r}}}, timezone: Asia/Seoul}}\n")
        main(["check", "--all", "--notify", "--source", "log.jsonl"])
        (parent,) = workspace.parents()
        assert "생각 표시" in parent.text
        assert "Thinking markers" not in str(parent.attachments) + str(workspace.replies(parent)[0].attachments)
    assert "Thinking markers" in capsys.readouterr().out
