"""Receivers for tests that speak their real protocols over a real socket: a webhook that checks signatures, PagerDuty's Events API v2, Grafana's annotations.

Each refuses what the real one refuses, and can be told to fail its next calls: `faults` holds statuses, or "lost" (taken, but the answer never arrives).
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from detector.notify.webhook import signature

Answer = tuple[int, Any]


@dataclass
class Service:
    """What all have: requests seen, and faults to come."""

    requests: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    faults: list[int | str] = field(default_factory=list)

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """(status, JSON)."""
        raise NotImplementedError


@dataclass
class Webhook(Service):
    """Takes what is signed with `secret` and not older than five minutes; drops deliveries that it has."""

    secret: str = "whsec-test"
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        at = headers.get("X-Detector-Timestamp", "0")
        if headers.get("X-Detector-Signature") != signature(self.secret, at, body) or abs(time.time() - float(at)) > 300:
            return 401, {"error": "bad signature"}
        self.taken.setdefault(headers["X-Detector-Delivery"], json.loads(body))
        return 200, {"ok": True}


@dataclass
class PagerDuty(Service):
    """https://developer.pagerduty.com/docs/events-api-v2/: incidents by dedup key."""

    key: str = "a" * 32
    incidents: dict[str, str] = field(default_factory=dict)

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        event = json.loads(body)
        if event.get("routing_key") != self.key:
            return 400, {"status": "invalid event", "message": "Event object is invalid", "errors": ["invalid routing key"]}
        payload = event.get("payload") or {}
        trigger = event["event_action"] == "trigger"
        if len(event.get("dedup_key", "")) > 255 or (trigger and not (1 <= len(payload.get("summary", "")) <= 1024 and payload.get("source"))):
            return 400, {"status": "invalid event", "errors": ["Length of 'payload.summary' is incorrect"]}
        if trigger and payload["severity"] not in ("critical", "error", "warning", "info"):
            return 400, {"status": "invalid event", "errors": ["invalid severity"]}
        if trigger or event["dedup_key"] in self.incidents:
            before = self.incidents.get(event["dedup_key"])  # a trigger leaves one that was acknowledged so
            kept = before if trigger and before == "acknowledged" else "triggered"
            self.incidents[event["dedup_key"]] = kept if trigger else {"acknowledge": "acknowledged", "resolve": "resolved"}[event["event_action"]]
        return 202, {"status": "success", "message": "Event processed", "dedup_key": event["dedup_key"]}


@dataclass
class Grafana(Service):
    """https://grafana.com/docs/grafana/latest/developers/http_api/annotations/."""

    token: str = "glsa_test"
    annotations: dict[int, dict[str, Any]] = field(default_factory=dict)

    def serve(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        if headers.get("Authorization") != f"Bearer {self.token}":
            return 401, {"message": "Invalid API key"}
        parts = urlsplit(path)
        if not parts.path.startswith("/grafana/api/annotations"):
            return 404, {"message": "Not found"}
        if method == "GET":
            tags = parse_qs(parts.query)["tags"]
            return 200, [{"id": number, **one} for number, one in self.annotations.items() if set(tags) <= set(one["tags"])]
        sent = json.loads(body)
        if method == "POST":
            number = len(self.annotations) + 1
            self.annotations[number] = sent
            return 200, {"message": "Annotation added", "id": number}
        number = int(parts.path.rpartition("/")[2])
        if number not in self.annotations:
            return 404, {"message": "Annotation not found"}
        self.annotations[number] |= sent
        return 200, {"message": "Annotation patched"}


@contextmanager
def served(service: Service) -> Iterator[str]:
    """The address of a running service."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            service.requests.append((self.command, self.path, dict(self.headers), body))
            fault = service.faults.pop(0) if service.faults else None
            status, answer = (fault, {"message": "fault"}) if isinstance(fault, int) else service.serve(self.command, self.path, dict(self.headers), body)
            if fault == "lost":
                self.close_connection = True
                return
            data = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 429:
                self.send_header("Retry-After", "7")
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PATCH = do_PUT = _answer  # noqa: N815  # names that the base class asks for

        def log_message(self, *_: Any) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
