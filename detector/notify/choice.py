"""Who is told: the receivers that the configuration names."""

from __future__ import annotations

import time

from detector.config import Settings
from detector.errors import ConfigError
from detector.incidents import Incident
from detector.links.incident import links_of
from detector.notify.base import Receiver
from detector.scheduled import Telling


def telling_of(settings: Settings) -> Telling:
    """The receivers of the configuration, with routes and links. Raises ConfigError when one lacks its secret, or when there is none."""
    receivers: dict[str, Receiver] = {}
    if settings.notify.slack is not None:
        from detector.notify.slack import SlackReceiver
        from detector.notify.slack_message import Style

        if settings.secrets.slack_token is None:
            raise ConfigError("notify.slack: the bot's token is missing: set DETECTOR_SLACK_TOKEN or DETECTOR_SLACK_TOKEN_FILE")
        receivers["slack"] = SlackReceiver(
            settings.secrets.slack_token,
            settings.notify.slack.channel,
            time.monotonic,
            time.sleep,
            base_url=settings.notify.slack.base_url,
            style=Style(settings.language),
        )
    if not receivers:
        raise ConfigError("nobody to notify: set notify.slack, notify.webhook or notify.alertmanager in detector.yml")
    names = tuple(receivers)

    def routes(incident: Incident) -> tuple[str, ...]:
        return names

    return Telling(receivers, routes, lambda incident: links_of(incident, settings), settings.notify.storm)
