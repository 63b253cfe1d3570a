"""`notify:` who is told, and how much at once. Secrets (tokens, signing keys) come from the environment, never from here."""

from __future__ import annotations

import re

from pydantic import Field, field_validator

from detector.settings.values import WebAddress
from detector.strict_model import Strict

_CHANNEL = re.compile(r"[CGD][A-Z0-9]{5,}")  # ids, not names: chat.update and reactions need the id, and names change


class SlackSettings(Strict):
    """A Slack channel; the bot's token is DETECTOR_SLACK_TOKEN."""

    channel: str
    """Id of the channel (C0123456789), not its name."""
    base_url: WebAddress = "https://slack.com/api/"
    """Address of the API; another one for proxies and tests."""

    @field_validator("channel")
    @classmethod
    def _is_id(cls, value: str) -> str:
        if not _CHANNEL.fullmatch(value):
            raise ValueError("is no channel id: open the channel's details in Slack and copy the id (C0123456789)")
        return value


class WebhookSettings(Strict):
    """A receiver of signed JSON; the signing key is DETECTOR_WEBHOOK_SECRET."""

    url: WebAddress
    """Where the JSON is posted."""


class AlertmanagerSettings(Strict):
    """An Alertmanager (API v2)."""

    url: WebAddress
    """Address of the Alertmanager, up to but without `/api/v2`."""


class NotifySettings(Strict):
    """Receivers; without any, `detector check` only prints."""

    slack: SlackSettings | None = None
    webhook: WebhookSettings | None = None
    alertmanager: AlertmanagerSettings | None = None
    storm: int = Field(5, ge=1, strict=True)
    """More new incidents than this in one run become one summary."""
    docs_url: WebAddress | None = None
    """Where the pages of the rules are published; a rule's page is `<docs_url>/<rule id>.md`."""
