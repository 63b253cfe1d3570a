"""What `notify:` lacks or says wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.errors import ConfigError
from detector.notify.alertmanager import AlertmanagerReceiver
from detector.notify.annotations import AnnotationReceiver
from detector.notify.base import KINDS, Route
from detector.notify.choice import audience_of
from detector.notify.file import FileReceiver
from detector.notify.pagerduty import PagerDutyReceiver
from detector.notify.slack_webhook import SlackWebhookReceiver
from detector.notify.webhook import WebhookReceiver
from tests.incident_cases import T0, finding, fired


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ("notify: {slack: {channel: C0123456789}}", "DETECTOR_SLACK_TOKEN"),
        ("notify: {slack_webhook: true}", "DETECTOR_SLACK_WEBHOOK_URL"),
        ("notify: {webhook: {url: 'http://127.0.0.1:1/x'}}", "DETECTOR_WEBHOOK_SECRET"),
        ("notify: {grafana: true}\ngrafana: {url: 'http://127.0.0.1:1'}", "DETECTOR_GRAFANA_TOKEN"),
        ("notify: {grafana: true}", "grafana.url"),
        ("notify: {pagerduty: {}}", "DETECTOR_PAGERDUTY_KEY"),
        ("notify: {index: {name: detector-findings}}", "source.url"),
        ("language: en", "notify.slack"),
    ],
)
def test_what_a_receiver_lacks_is_named(text: str, variable: str, tmp_path: Path) -> None:
    """Before the first run."""
    from detector.config import load_settings

    config = tmp_path / "detector.yml"
    config.write_text(text)
    with pytest.raises(ConfigError, match=variable.replace(".", r"\.")):
        audience_of(load_settings(config, {}))


def test_routes_first_match_wins(tmp_path: Path) -> None:
    """By labels; to some, to all, to nobody."""
    from detector.config import load_settings

    config = tmp_path / "detector.yml"
    config.write_text(
        """
notify:
  slack: {channel: C0123456789}
  file: {path: out.txt}
  routes:
    - {match: [deployment=chat, severity=critical], channel: C9876543210, owner: S0123456}
    - {match: "deployment=~test-.*", to: []}
    - {match: severity=warning, to: [file]}
"""
    )
    route = audience_of(load_settings(config, {"DETECTOR_SLACK_TOKEN": "xoxb-1"})).routes
    assert route(fired(finding(T0, severity="critical"))) == Route(("slack", "file"), "C9876543210", "S0123456")
    assert route(fired(finding(T0, deployment="test-1"))) == Route(())
    assert route(fired(finding(T0))) == Route(("file",))
    assert route(fired(finding(T0, deployment="other", severity="critical"))) == Route(("slack", "file"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("routes: [{match: [deploymet=x]}]", "no label of an incident"),
        ("routes: [{to: [pagerduty]}]", "pagerduty, which is not configured"),
        ("routes: [{channel: C0123456789}]", "there is no Slack bot"),
        ("slack: {channel: general}", "no channel id"),
        ("slack: {channel: C0123456789}\n  slack_webhook: true", "exclude each other"),
        ("timezone: Mars/Base", "no time zone"),
        ("index: {name: 'llm-*'}", "no index name"),
    ],
)
def test_faults_of_the_section_are_told(text: str, said: str, tmp_path: Path) -> None:
    """At the start."""
    from detector.config import load_settings

    config = tmp_path / "detector.yml"
    config.write_text(f"notify:\n  {text}\n")
    with pytest.raises(ConfigError, match=said):
        load_settings(config, {})


def test_every_kind_is_known_to_some_receiver() -> None:
    """No kind that a receiver asks for is a word that no decision makes."""
    for receiver in (AlertmanagerReceiver, AnnotationReceiver, FileReceiver, PagerDutyReceiver, SlackWebhookReceiver, WebhookReceiver):
        assert receiver.__dataclass_fields__["kinds"].default <= frozenset(KINDS)
