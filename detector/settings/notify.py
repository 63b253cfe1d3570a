"""`notify:` who is told, and how much at once. Secrets (tokens, signing keys) come from the environment, never from here."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from detector.errors import ConfigError
from detector.settings.values import TimeZone, WebAddress, WebAddresses, listed
from detector.strict_model import Strict

ReceiverName = Literal["slack", "webhook", "alertmanager", "grafana", "pagerduty", "file", "index"]
RECEIVERS: tuple[ReceiverName, ...] = ("slack", "webhook", "alertmanager", "grafana", "pagerduty", "file", "index")
Day = Literal["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
DAYS: tuple[Day, ...] = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_HOUR = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
_CHANNEL = re.compile(r"[CGD][A-Z0-9]{5,}")  # ids, not names: chat.update and reactions need the id, and names change
_INDEX = re.compile(r"[a-z0-9][a-z0-9._-]{0,254}")  # one index, no pattern: it is written to


def _channel_id(value: str) -> str:
    if not _CHANNEL.fullmatch(value):
        raise ValueError("is no channel id: open the channel's details in Slack and copy the id (C0123456789)")
    return value


def _matcher(value: str) -> str:
    from detector.storage.silences import matcher

    try:
        matcher(value)
    except ConfigError as error:
        raise ValueError(str(error)) from None
    return value


def _hour(value: Any) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        value = f"{value // 60:02d}:{value % 60:02d}"  # YAML reads 22:00 without quotes as a number to the base of sixty
    if not isinstance(value, str) or not _HOUR.fullmatch(value):
        raise ValueError("is no time of day: write HH:MM, such as 22:00")
    return value


HourOfDay = Annotated[str, BeforeValidator(_hour)]
ChannelId = Annotated[str, AfterValidator(_channel_id)]
Matchers = Annotated[tuple[Annotated[str, AfterValidator(_matcher)], ...], BeforeValidator(listed)]


class SlackSettings(Strict):
    """A Slack channel; the bot's token is DETECTOR_SLACK_TOKEN."""

    channel: ChannelId
    """Id of the channel (C0123456789), not its name."""
    base_url: WebAddress = "https://slack.com/api/"
    """Address of the API; another one for proxies and tests."""


class WebhookSettings(Strict):
    """A receiver of signed JSON; the signing key is DETECTOR_WEBHOOK_SECRET."""

    url: WebAddress
    """Where the JSON is posted."""
    unsigned: bool = False
    """true: send without a signature, when there is no signing key."""


class AlertmanagerSettings(Strict):
    """Alertmanager (API v2)."""

    url: WebAddresses = Field(min_length=1)
    """Address, up to but without `/api/v2`; several: each peer of a cluster."""


class PagerDutySettings(Strict):
    """PagerDuty (Events API v2); the integration key is DETECTOR_PAGERDUTY_KEY."""

    url: WebAddress = "https://events.pagerduty.com/v2/enqueue"
    """Address of the events API."""


class FileSettings(Strict):
    """A file that messages are appended to, or standard output."""

    path: str
    """File, relative to this one; `-` for standard output."""
    format: Literal["text", "markdown", "json"] = "text"
    """text: one line each; markdown: a section each; json: one line of the webhook's JSON each."""


class IndexSettings(Strict):
    """An index that findings are written to, for history and dashboards; in the source's cluster, with its credentials."""

    name: str
    """Name of the index, such as `detector-findings`."""

    @field_validator("name")
    @classmethod
    def _is_one_index(cls, value: str) -> str:
        if not _INDEX.fullmatch(value):
            raise ValueError("is no index name: lower case letters, digits, `.`, `_` and `-`, and no pattern")
        return value


class RouteSettings(Strict):
    """Where incidents go that match."""

    match: Matchers = ()
    """Matchers on the incident's labels, all must hold: `deployment=chat`, `severity=critical`, `model=~qwen.*`; none: every incident."""
    to: tuple[ReceiverName, ...] | None = None
    """Receivers that are told; all when left out, nobody when empty."""
    channel: ChannelId | None = None
    """Slack channel instead of `notify.slack.channel`."""
    owner: str | None = Field(None, max_length=80)
    """Who is asked to look: a name, or a Slack user or group id (U…, S…), which is mentioned."""


class QuietHours(Strict):
    """Hours of each week in which matching incidents are silenced, as by `detector incidents silence`; what goes on is told when they end."""

    match: Matchers = Field(min_length=1)
    """Matchers on the incident's labels, all must hold for every part of it."""
    days: Annotated[tuple[Day, ...], BeforeValidator(listed)] = ()
    """Days on which they begin (mon, tue, wed, thu, fri, sat, sun); every day when left out."""
    start: HourOfDay = Field(alias="from")
    """When they begin, as `22:00`."""
    end: HourOfDay = Field(alias="to")
    """When they end, as `07:00`; not later than `from`: on the next day."""
    timezone: TimeZone | None = None
    """Time zone of the hours (IANA name); `notify.timezone` when left out."""
    comment: str = ""
    """Why."""


class NotifySettings(Strict):
    """Receivers; without any, `detector check` only prints."""

    slack: SlackSettings | None = None
    slack_webhook: bool = False
    """true: post through the incoming webhook in DETECTOR_SLACK_WEBHOOK_URL instead of a bot. Degraded: no edits, threads, reactions; a lost answer doubles."""
    webhook: WebhookSettings | None = None
    alertmanager: AlertmanagerSettings | None = None
    grafana: bool = False
    """true: draw incidents as annotations in `grafana.url`; the token is DETECTOR_GRAFANA_TOKEN."""
    pagerduty: PagerDutySettings | None = None
    file: FileSettings | None = None
    index: IndexSettings | None = None
    routes: tuple[RouteSettings, ...] = ()
    """List of `{match, to, channel, owner}`; the first that matches an incident decides, and without a match everybody is told."""
    quiet: tuple[QuietHours, ...] = ()
    """List of `{match, days, from, to, timezone, comment}`: hours in which matching incidents are silenced."""
    timezone: TimeZone = "UTC"
    """Time zone that messages show beside UTC (IANA name)."""
    storm: int = Field(5, ge=1, strict=True)
    """More new incidents than this in one run become one summary."""
    docs_url: WebAddress | None = None
    """Where the pages of the rules are published; a rule's page is `<docs_url>/<rule id>.md`."""

    @property
    def named(self) -> tuple[ReceiverName, ...]:
        """Receivers that are configured."""
        return tuple(name for name in RECEIVERS if getattr(self, name) or (name == "slack" and self.slack_webhook))

    @model_validator(mode="after")
    def _routes_lead_somewhere(self) -> NotifySettings:
        if self.slack is not None and self.slack_webhook:
            raise ValueError("slack and slack_webhook exclude each other: a bot does all that a webhook does")
        for number, route in enumerate(self.routes, 1):
            lacking = [name for name in route.to or () if name not in self.named]
            if lacking:
                raise ValueError(f"routes: number {number} leads to {', '.join(lacking)}, which is not configured")
            if route.channel is not None and self.slack is None:
                raise ValueError(f"routes: number {number} names a channel, but there is no Slack bot (notify.slack.channel)")
        return self
