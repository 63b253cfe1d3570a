"""A signed JSON webhook: the incident as data, with an HMAC over time and body, so that the receiver can tell us from others and new from replayed.

Headers: `X-Detector-Timestamp` (seconds since 1970), `X-Detector-Signature: v1=<hex HMAC-SHA256 of "v1:" + timestamp + ":" + body>`, `X-Detector-Delivery` (the
decision's key: the same for a repeated delivery). The scheme is Slack's (https://api.slack.com/authentication/verifying-requests-from-slack).
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from detector.notify.base import KINDS, Telling
from detector.notify.http import send_json
from detector.notify.summary import as_data


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """The signature header's value."""
    return "v1=" + hmac.new(secret.encode(), b"v1:" + timestamp.encode() + b":" + body, hashlib.sha256).hexdigest()


@dataclass
class WebhookReceiver:
    """One address. Without a secret the body goes unsigned. `clock`: seconds since 1970 UTC."""

    url: str
    secret: str | None
    clock: Callable[[], float]
    name: str = "webhook"
    kinds: frozenset[str] = frozenset(KINDS) - {"still"}
    silent: frozenset[str] = frozenset()

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Send one change. A repeated delivery carries the same key; the receiver is asked to drop it."""
        body = json.dumps(as_data(telling, key), ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        timestamp = str(int(self.clock()))
        headers = {"X-Detector-Timestamp": timestamp, "X-Detector-Delivery": key, "User-Agent": "llm-response-detector"}
        if self.secret is not None:
            headers["X-Detector-Signature"] = signature(self.secret, timestamp, body)
        send_json(self.name, "POST", self.url, body, headers)
        return {"delivery": key}
