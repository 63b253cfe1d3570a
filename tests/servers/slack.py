"""A Slack workspace for tests: the real protocol (methods, errors, rate limits, metadata, history, threads, reactions) over a real socket.

Not a mock: it keeps channels and messages, refuses what Slack refuses (limits of Block Kit included), and can be told to fail the next calls in Slack's ways.
Behaviour follows https://api.slack.com/methods and the errors listed there.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

TOKEN = "xoxb-test-token"
CHANNEL = "C0123456789"
OTHER_CHANNEL = "C9876543210"


@dataclass
class Message:
    """One stored message."""

    ts: str
    text: str
    attachments: list[dict[str, Any]]
    metadata: dict[str, Any]
    blocks: list[dict[str, Any]] = field(default_factory=list)
    thread_ts: str | None = None
    reactions: list[dict[str, Any]] = field(default_factory=list)
    edits: int = 0
    deleted: bool = False
    channel: str = CHANNEL


class Workspace:
    """The state of the workspace; `faults` are consumed by the next calls of a method: (method, fault), method `*` matches any."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.faults: list[tuple[str, str]] = []
        self.channels = (CHANNEL, OTHER_CHANNEL)
        self.archived = False
        self.revoked = False
        self.post_times: list[float] = []
        self._lock = threading.Lock()
        self._next = int(time.time() * 1_000_000)

    # -- what tests look at
    def parents(self, channel: str | None = None) -> list[Message]:
        """Messages outside threads that still stand, of one channel or all."""
        return [message for message in self.messages if message.thread_ts is None and not message.deleted and channel in (None, message.channel)]

    def replies(self, parent: Message) -> list[Message]:
        """Messages in a parent's thread."""
        return [message for message in self.messages if message.thread_ts == parent.ts and not message.deleted]

    def find(self, ts: str) -> Message | None:
        """The message with this ts, unless it was deleted."""
        return next((message for message in self.messages if message.ts == ts and not message.deleted), None)

    # -- the API
    def answer(self, method: str, token: str, args: dict[str, Any]) -> tuple[int, dict[str, str], dict[str, Any] | None]:
        """(status, headers, body); body None: hang up without an answer, with status 0: only once the caller has."""
        with self._lock:
            self.calls.append((method, args))
            fault = self._fault(method)
        with self._lock:
            if fault == "timeout":
                return 0, {}, None
            if fault == "429":
                return 429, {"Retry-After": "1"}, {"ok": False, "error": "ratelimited"}
            if fault == "429long":
                return 429, {"Retry-After": "600"}, {"ok": False, "error": "ratelimited"}
            if fault == "500":
                return 500, {}, {"ok": False, "error": "internal_error"}
            if fault == "html":
                return 502, {}, {"__html__": True}
            body = self._served(method, token, args)
            if fault == "timeoutstored":
                return 0, {}, None
            if fault == "lost":  # accepted and stored, but the answer never arrives
                return 200, {}, None
            if fault == "500stored":
                return 500, {}, {"ok": False, "error": "internal_error"}
            return 200, {}, body

    def _fault(self, method: str) -> str | None:
        for index, (wanted, fault) in enumerate(self.faults):
            if wanted in ("*", method):
                del self.faults[index]
                return fault
        return None

    def _served(self, method: str, token: str, args: dict[str, Any]) -> dict[str, Any]:
        if self.revoked:
            return {"ok": False, "error": "token_revoked"}
        if token != TOKEN:
            return {"ok": False, "error": "invalid_auth" if token else "not_authed"}
        if args.get("channel") not in (*self.channels, None):
            return {"ok": False, "error": "channel_not_found"}
        handler = getattr(self, "_" + method.replace(".", "_"), None)
        if handler is None:
            return {"ok": False, "error": "unknown_method"}
        result: dict[str, Any] = handler(args)
        return result

    def _chat_postMessage(self, args: dict[str, Any]) -> dict[str, Any]:
        if self.archived:
            return {"ok": False, "error": "is_archived"}
        problem = refusal(args)
        if problem:
            return {"ok": False, "error": problem}
        self._next += 100
        ts = f"{self._next // 1_000_000}.{self._next % 1_000_000:06d}"
        thread = args.get("thread_ts")
        if thread and self.find(thread) is None:
            thread = None  # Slack posts it un-threaded, silently
        message = Message(
            ts, args.get("text", ""), args.get("attachments") or [], args.get("metadata") or {}, args.get("blocks") or [], thread, channel=args["channel"]
        )
        self.messages.append(message)
        self.post_times.append(time.monotonic())
        return {"ok": True, "channel": args["channel"], "ts": ts, "message": _shown(message, metadata=True)}

    def _chat_update(self, args: dict[str, Any]) -> dict[str, Any]:
        if self.archived:
            return {"ok": False, "error": "is_inactive"}
        message = self.find(args.get("ts", ""))
        if message is None:
            return {"ok": False, "error": "message_not_found"}
        problem = refusal(args)
        if problem:
            return {"ok": False, "error": problem}
        message.text, message.attachments, message.blocks = args.get("text", ""), args.get("attachments") or [], args.get("blocks") or []
        message.metadata = args.get("metadata") or message.metadata
        message.edits += 1
        return {"ok": True, "channel": message.channel, "ts": message.ts, "text": message.text}

    def _conversations_history(self, args: dict[str, Any]) -> dict[str, Any]:
        shown = [_shown(message, metadata=_true(args.get("include_all_metadata"))) for message in reversed(self.parents(args["channel"]))]
        oldest = float(args.get("oldest") or 0)
        shown = [message for message in shown if float(message["ts"]) >= oldest]
        return _page(shown, args)

    def _conversations_replies(self, args: dict[str, Any]) -> dict[str, Any]:
        parent = self.find(args.get("ts", ""))
        if parent is None:
            return {"ok": False, "error": "thread_not_found"}
        shown = [_shown(message, metadata=_true(args.get("include_all_metadata"))) for message in (parent, *self.replies(parent))]
        return _page(shown, args)

    def _reactions_get(self, args: dict[str, Any]) -> dict[str, Any]:
        message = self.find(args.get("timestamp", ""))
        if message is None:
            return {"ok": False, "error": "message_not_found"}
        body = _shown(message, metadata=False)
        if message.reactions:
            body["reactions"] = message.reactions
        return {"ok": True, "type": "message", "channel": message.channel, "message": body}

    def _auth_test(self, args: dict[str, Any]) -> dict[str, Any]:
        return {"ok": True, "url": "https://test.slack.com/", "team": "Test", "user": "detector", "team_id": "T1", "user_id": "U0BOT", "bot_id": "B1"}


def _true(value: Any) -> bool:
    return value in (True, "true", "1", 1)


def _page(shown: list[dict[str, Any]], args: dict[str, Any]) -> dict[str, Any]:
    limit, at = int(args.get("limit") or 100), int(args.get("cursor") or 0)
    more = at + limit < len(shown)
    return {"ok": True, "messages": shown[at : at + limit], "has_more": more, "response_metadata": {"next_cursor": str(at + limit) if more else ""}}


def _shown(message: Message, *, metadata: bool) -> dict[str, Any]:
    body: dict[str, Any] = {"type": "message", "bot_id": "B1", "ts": message.ts, "text": message.text, "blocks": message.blocks}
    body["attachments"] = message.attachments
    if metadata and message.metadata:
        body["metadata"] = message.metadata
    if message.thread_ts:
        body["thread_ts"] = message.thread_ts
    return body


def refusal(args: dict[str, Any]) -> str | None:
    """What Slack would refuse: no text at all, too many or too large blocks, wrong shapes."""
    attachments = args.get("attachments") or []
    blocks = list(args.get("blocks") or [])
    for attachment in attachments:
        blocks += attachment.get("blocks") or []
    if not args.get("text") and not blocks:
        return "no_text"
    if len(args.get("text", "")) > 40_000:
        return "msg_too_long"
    if len(blocks) > 50:
        return "invalid_blocks"
    for block in blocks:
        if _block_problem(block):
            return "invalid_blocks"
    if len(json.dumps(blocks, ensure_ascii=False)) > 26_000 or sum(_text_size(block) for block in blocks) > 12_000:
        return "msg_blocks_too_long"
    metadata = args.get("metadata")
    if metadata and not (isinstance(metadata.get("event_type"), str) and isinstance(metadata.get("event_payload"), dict)):
        return "metadata_must_be_json_object"
    return None


def _block_problem(block: dict[str, Any]) -> bool:
    kind = block.get("type")
    if kind == "header":
        return block["text"]["type"] != "plain_text" or not 1 <= len(block["text"]["text"]) <= 150
    if kind == "section":
        fields = block.get("fields") or []
        text = block.get("text")
        if text is None and not fields:
            return True
        return (text is not None and not 1 <= len(text["text"]) <= 3000) or len(fields) > 10 or any(not 1 <= len(part["text"]) <= 2000 for part in fields)
    if kind == "context":
        return not 1 <= len(block["elements"]) <= 10
    return kind not in ("divider", "rich_text", "actions", "image", "markdown")


def _text_size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_text_size(part) if key != "type" else 0 for key, part in value.items())
    if isinstance(value, list):
        return sum(_text_size(part) for part in value)
    return len(value) if isinstance(value, str) else 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    workspace: Workspace

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if "json" in (self.headers.get("Content-Type") or ""):
            args = json.loads(raw or b"{}")
        else:
            args = {key: values[-1] for key, values in parse_qs(raw.decode(), keep_blank_values=True).items()}
            for key in ("attachments", "metadata", "blocks"):
                if key in args:
                    args[key] = json.loads(args[key])

        self._serve(args)

    def do_GET(self) -> None:
        query = self.path.partition("?")[2]
        self._serve({key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()})

    def _serve(self, args: dict[str, Any]) -> None:
        method = self.path.partition("?")[0].rsplit("/", 1)[-1]
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ") or args.pop("token", "")
        status, headers, body = self.workspace.answer(method, token, args)
        if body is None:
            self.close_connection = True
            if status == 0:  # no clock of ours: however slow the machine is, it is the caller whose patience ends
                self.connection.settimeout(60)
                with suppress(OSError):
                    self.connection.recv(1)
            return
        html = body.get("__html__")
        data = b"<html><body>Bad Gateway</body></html>" if html else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if html else "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Quiet: tests look at `Workspace.calls`."""


@contextmanager
def slack() -> Iterator[tuple[str, Workspace]]:
    """A running workspace: (base URL, state)."""
    workspace = Workspace()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"workspace": workspace}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/api/", workspace
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
