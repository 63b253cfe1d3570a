"""The rules that ship with `detector`: each case of each, and what all of them are held to. A new rule is tested the moment its file exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from detector.diagnosis.cause_ids import INNOCENT_CAUSES
from detector.judgement import judge
from detector.ledger import Labels, Ledger
from detector.rule_case import Case
from detector.rule_test import CASE_END, is_blunt, run_case
from detector.rule_text import page, pages
from detector.rules import Rule, default_folder, load_rules
from detector.signals.base import SignalOptions, signals
from detector.window import Window

RULES = load_rules()
BY_ID = {rule.id: rule for rule in RULES}
CASES = [(rule, case) for rule in RULES for case in rule.tests]
DOCS = Path(__file__).parent.parent / "docs" / "rules"
OPTIONS = SignalOptions()


@pytest.mark.parametrize(("rule", "case"), [pytest.param(rule, case, id=f"{rule.id}: {case.name}") for rule, case in CASES])
def test_case(rule: Rule, case: Case) -> None:
    assert run_case(rule, case, OPTIONS).complaints == ()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
class TestEveryRule:
    def test_a_silent_case_would_fire_at_half_the_threshold(self, rule: Rule) -> None:
        """Else the threshold could be halved carelessly and no case would notice."""
        assert not is_blunt([run_case(rule, case, OPTIONS) for case in rule.tests])
        careless = rule.model_copy(update={"threshold": rule.threshold / 2})
        assert not all(run_case(careless, case, OPTIONS).passed for case in rule.tests if not case.firing)

    def test_a_firing_case_would_be_silent_at_ten_times_the_threshold(self, rule: Rule) -> None:
        deaf = rule.model_copy(update={"threshold": rule.threshold * 10})
        firing = [case for case in rule.tests if case.firing]
        assert not all(run_case(deaf, case, OPTIONS).passed for case in firing)

    def test_first_checks_name_a_time_span_and_fields(self, rule: Rule) -> None:
        """ "Check the client" is too vague for someone who was just woken up."""
        text = " ".join(rule.next_steps)
        assert len(rule.next_steps) >= 2
        assert re.search(r"\b(hours?|minutes?|\d+ h|rollout)\b", text), "no time span"
        assert re.search(r"`\w+", text), "no field name"

    def test_an_innocent_explanation_is_among_causes_or_false_positives(self, rule: Rule) -> None:
        assert rule.false_positives or INNOCENT_CAUSES & set(rule.causes)

    def test_it_names_causes_panels_and_upstream_reports(self, rule: Rule) -> None:
        assert rule.causes
        assert rule.panels
        assert rule.references

    def test_its_page_is_written_and_up_to_date(self, rule: Rule) -> None:
        """`detector rules docs --output docs/rules` writes the pages."""
        assert (DOCS / f"{rule.id}.md").read_text(encoding="utf-8") == page(rule)


def test_no_page_is_left_of_a_rule_that_is_gone() -> None:
    assert {path.name for path in DOCS.glob("*.md")} == set(pages(RULES))


def test_the_table_of_rules_is_up_to_date() -> None:
    assert (DOCS / "README.md").read_text(encoding="utf-8") == pages(RULES)["README.md"]


def test_every_signal_has_a_stable_rule() -> None:
    assert set(signals()) <= {rule.signal for rule in RULES if rule.status == "stable"}


def test_only_shipped_folders_are_read() -> None:
    assert default_folder().name in {"rules", "_rules"}
    assert {path.stem for path in default_folder().glob("*.yml")} == set(BY_ID)


def day(random: np.random.Generator, rates: dict[str, float], requests_per_minute: float) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Requests and flagged requests per minute of eight days, Poisson and binomial, for each signal."""
    minutes = 8 * 1440
    wave = 1 + 0.4 * np.sin(np.arange(minutes) * 2 * np.pi / 1440)
    requests = random.poisson(requests_per_minute * wave)
    for signal, rate in rates.items():
        yield signal, requests, random.binomial(requests, rate)


def ledger_of(rates: dict[str, float], requests_per_minute: float, extra: dict[str, float] | None = None) -> Ledger:
    """Eight days of one deployment; `extra` rates come on top during the last two hours."""
    random = np.random.default_rng(7)
    labels: Labels = ("chat", "qwen3", None, None, None, None)
    minutes = np.arange(CASE_END - 8 * 1440, CASE_END)
    ledger = Ledger()
    for signal, requests, flagged in day(random, rates, requests_per_minute):
        late = np.arange(len(minutes)) >= len(minutes) - 120
        more = random.binomial(requests, (extra or {}).get(signal, 0.0)) * late
        ledger.add(minutes, [labels] * len(minutes), signal, requests, np.minimum(requests, flagged + more))
    return ledger


HEALTHY = {
    "length_cutoff": 0.01,
    "think_leak": 0.0,
    "special_token_leak": 0.0,
    "empty_content": 0.001,
    "repetition": 0.0005,
    "request_failure": 0.002,
    "garbage": 0.0005,
}
LAST_DAY = Window((CASE_END - 1440) * 60.0, CASE_END * 60.0)


@pytest.mark.parametrize("requests_per_minute", [0.5, 10.0, 200.0])
def test_a_healthy_day_raises_no_alarm(requests_per_minute: float) -> None:
    assert judge(ledger_of(HEALTHY, requests_per_minute), RULES, LAST_DAY).findings == ()


@pytest.mark.parametrize(
    ("signal", "rate", "expected"),
    [
        ("length_cutoff", 0.03, {"finish_reason_length_spike"}),
        ("think_leak", 0.01, {"think_tag_leak"}),
        ("think_leak", 0.5, {"think_tag_leak", "think_tag_leak_level"}),
        ("special_token_leak", 0.01, {"special_token_leak"}),
        ("empty_content", 0.02, {"empty_content_spike"}),
        ("repetition", 0.01, {"repeated_text_spike"}),
        ("request_failure", 0.03, {"request_failure_spike"}),
        ("garbage", 0.01, {"garbled_text_spike"}),
    ],
)
def test_one_fault_is_one_or_two_findings_of_one_incident(signal: str, rate: float, expected: set[str]) -> None:
    findings = judge(ledger_of(HEALTHY, 30.0, {signal: rate}), RULES, LAST_DAY).findings
    assert {finding.rule for finding in findings} == expected
    assert len({finding.incident for finding in findings}) == 1
