"""Slack by incoming webhook: a degraded mode, which says so in its messages and at every run.

A webhook tells neither where a message stands nor what is in the channel, so nothing is edited, threaded or looked up: each change is a message of its own,
and one whose answer was lost may come twice.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from detector.notify.base import Telling
from detector.notify.http import send_json
from detector.notify.slack_message import SlackMessage, parent, reply
from detector.notify.slack_parts import Style, context
from detector.notify.wording import say

DEGRADED = (
    "slack works through a webhook: no edits, no threads, no reactions, and a message whose answer is lost may come twice; "
    "a bot (notify.slack.channel and DETECTOR_SLACK_TOKEN) does better"
)
SECONDS_BETWEEN_POSTS = 1.0  # https://api.slack.com/docs/rate-limits


@dataclass
class SlackWebhookReceiver:
    """One incoming webhook.

    Args:
        url: of the webhook; a secret.
        clock: a monotonic clock in seconds, for pacing. sleep: waits that many seconds.
    """

    url: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    style: Style = field(default_factory=Style)
    name: str = "slack"
    kinds: frozenset[str] = frozenset({"fired", "reopened", "escalated", "reminder", "blind", "resolved", "merged", "storm"})
    silent: frozenset[str] = frozenset()
    _last_post: float | None = None

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Post the incident as it stands now, with what changed above it."""
        if self._last_post is not None and (wait := self._last_post + SECONDS_BETWEEN_POSTS - self.clock()) > 0:
            self.sleep(wait)
        shown = self._with_change(telling)
        try:
            send_json(self.name, "POST", self.url, {"text": shown.text, "blocks": shown.blocks, "attachments": shown.attachments})
        finally:
            self._last_post = self.clock()
        return {"webhook": True}

    def _with_change(self, telling: Telling) -> SlackMessage:
        whole = parent(telling, self.style)
        note = context(say(self.style.language, "degraded"))
        if telling.kind in ("fired", "reopened", "storm", "resolved", "merged"):
            return SlackMessage(whole.text, [*whole.blocks, note], whole.attachments)
        change = reply(telling, self.style)
        return SlackMessage(change.text, [*whole.blocks, *change.blocks, note], whole.attachments)
