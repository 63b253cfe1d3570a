"""Who is told: the receivers that the configuration names, and where each incident goes."""

from __future__ import annotations

import time
from collections.abc import Callable

from detector.config import Settings
from detector.errors import ConfigError
from detector.incidents import Incident, Policy
from detector.links.incident import links_of
from detector.links.kibana_view import KnownView
from detector.notify.base import Receiver, Route
from detector.notify.quiet_hours import quiet_at
from detector.scheduled import Audience
from detector.storage.silences import matcher, matches

UNKNOWN_INTERVAL = 3600.0  # seconds between two runs by cron expression: an alert must not go stale between them


def audience_of(settings: Settings) -> Audience:
    """The receivers of the configuration, with routes and links. Raises ConfigError with everything that is missing, or when there is no receiver."""
    receivers: dict[str, Receiver] = {}
    complaints: list[str] = []
    for name in settings.notify.named:
        try:
            receivers[name] = _BUILDERS[name](settings)
        except ConfigError as error:
            complaints.append(str(error))
    if complaints:
        raise ConfigError("\n".join(complaints))
    if not receivers:
        raise ConfigError("nobody to notify: set notify.slack, notify.webhook, notify.alertmanager or another receiver in detector.yml")
    calm = settings.incidents
    view = KnownView(settings)
    return Audience(
        receivers,
        routes_of(settings, tuple(receivers)),
        lambda incident: links_of(incident, settings, view()),
        settings.notify.storm,
        _excerpts(settings),
        Policy(calm.clean_windows, calm.shortest_clean, calm.reopen, calm.remind),
        settings.retention,
        _remarks(settings),
        (view,),
        settings.language,
        lambda at: quiet_at(settings.notify.quiet, settings.notify.timezone, at),
    )


def routes_of(settings: Settings, everybody: tuple[str, ...]) -> Callable[[Incident], Route]:
    """Where an incident goes: the first route that matches, else everybody."""
    routes = [([matcher(text) for text in route.match], route) for route in settings.notify.routes]

    def route_of(incident: Incident) -> Route:
        for matchers, route in routes:
            if matches(incident, matchers):
                return Route(tuple(route.to) if route.to is not None else everybody, route.channel, route.owner)
        return Route(everybody)

    return route_of


def _excerpts(settings: Settings) -> Callable[[Incident], dict[str, str]]:
    if settings.privacy.content == "off":
        return lambda incident: {}
    from detector.notify.excerpts import Excerpts

    return Excerpts(settings)


def _remarks(settings: Settings) -> tuple[str, ...]:
    from detector.notify.slack_webhook import DEGRADED

    return (DEGRADED,) if settings.notify.slack_webhook else ()


def _secret(value: str | None, key: str, what: str, variable: str) -> str:
    if value is None:
        raise ConfigError(f"{key}: {what} is missing: set {variable} or {variable}_FILE")
    return value


def _slack(settings: Settings) -> Receiver:
    from detector.notify.slack import SlackReceiver
    from detector.notify.slack_parts import Style
    from detector.notify.slack_webhook import SlackWebhookReceiver

    chosen = settings.notify.slack
    style = Style(settings.language, settings.notify.timezone)
    if chosen is None:
        url = _secret(settings.secrets.slack_webhook_url, "notify.slack_webhook", "the webhook's address", "DETECTOR_SLACK_WEBHOOK_URL")
        if not url.startswith(("https://", "http://")):
            raise ConfigError("notify.slack_webhook: DETECTOR_SLACK_WEBHOOK_URL holds no web address")
        return SlackWebhookReceiver(url, time.monotonic, time.sleep, style)
    token = _secret(settings.secrets.slack_token, "notify.slack", "the bot's token", "DETECTOR_SLACK_TOKEN")
    return SlackReceiver(token, chosen.channel, time.monotonic, time.sleep, base_url=chosen.base_url, style=style)


def _webhook(settings: Settings) -> Receiver:
    from detector.notify.webhook import WebhookReceiver

    chosen = settings.notify.webhook
    assert chosen is not None  # noqa: S101
    secret = settings.secrets.webhook_secret
    if not chosen.unsigned:
        secret = _secret(secret, "notify.webhook", "the signing key", "DETECTOR_WEBHOOK_SECRET")
    return WebhookReceiver(chosen.url, secret, time.time)


def _alertmanager(settings: Settings) -> Receiver:
    from detector.notify.alertmanager import AlertmanagerReceiver

    chosen = settings.notify.alertmanager
    assert chosen is not None  # noqa: S101
    schedule = settings.schedule
    interval = max([schedule.every, *(group.every or UNKNOWN_INTERVAL for group in schedule.groups.values())])
    return AlertmanagerReceiver(chosen.url, max(interval, UNKNOWN_INTERVAL) if schedule.cron else interval, time.time)


def _grafana(settings: Settings) -> Receiver:
    from detector.notify.annotations import AnnotationReceiver

    if settings.grafana is None:
        raise ConfigError("notify.grafana: the address of Grafana is missing: set grafana.url")
    return AnnotationReceiver(settings.grafana.url, _secret(settings.secrets.grafana_token, "notify.grafana", "a token", "DETECTOR_GRAFANA_TOKEN"))


def _pagerduty(settings: Settings) -> Receiver:
    from detector.notify.pagerduty import PagerDutyReceiver

    chosen = settings.notify.pagerduty
    assert chosen is not None  # noqa: S101
    return PagerDutyReceiver(_secret(settings.secrets.pagerduty_key, "notify.pagerduty", "the integration key", "DETECTOR_PAGERDUTY_KEY"), chosen.url)


def _file(settings: Settings) -> Receiver:
    from detector.notify.file import FileReceiver

    chosen = settings.notify.file
    assert chosen is not None  # noqa: S101
    return FileReceiver(chosen.path, chosen.format)


def _index(settings: Settings) -> Receiver:
    from detector.notify.index import IndexReceiver
    from detector.sources.es_cluster import open_cluster
    from detector.sources.es_connection import connection

    chosen = settings.notify.index
    assert chosen is not None  # noqa: S101
    if not (settings.source.url or settings.source.cloud_id):
        raise ConfigError("notify.index: findings are written to the source's cluster, but the source is no cluster: set source.url")
    reached = connection(settings.source, settings.secrets)
    return IndexReceiver(lambda: open_cluster(reached, f"{chosen.name}*"), chosen.name)  # a pattern: the index need not be there yet


_BUILDERS: dict[str, Callable[[Settings], Receiver]] = {
    "slack": _slack,
    "webhook": _webhook,
    "alertmanager": _alertmanager,
    "grafana": _grafana,
    "pagerduty": _pagerduty,
    "file": _file,
    "index": _index,
}
