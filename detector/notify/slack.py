"""Slack (bot token): one parent message per incident, edited in place; changes in its thread; people's reactions read back.

Posting has no idempotency key of its own, so each message carries ours in its metadata, and a doubtful one is looked up in the channel before it is sent again.
slack_sdk's retry handlers are switched off for the same reason: a post whose answer was lost must not be repeated blindly.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from http.client import HTTPException
from typing import Any
from urllib.error import URLError

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from detector.errors import NotifyError
from detector.incidents import Incident
from detector.network_causes import NEVER_SENT, cause
from detector.notify.base import EDITS, KINDS, Heard, Telling
from detector.notify.http import shown
from detector.notify.slack_errors import GoneError, RefusedError, mapped, retry_after
from detector.notify.slack_message import SlackMessage, Style, moved, parent, reply

EVENT_TYPE = "llm_incident"
SECONDS_BETWEEN_POSTS = 1.0  # https://api.slack.com/docs/rate-limits: about one message per second and channel
LONGEST_WAIT = 30.0  # seconds that a Retry-After may ask of a run; longer ones wait in the outbox
PAGES, PAGE = 25, 200  # how far the channel is searched for a doubtful message: 5,000 messages since what it tells of
CLOCK_SKEW = 3600.0  # seconds that our clock and Slack's may differ
MOST_ASKED = 40  # parents whose reactions a run reads, newest first: Slack allows 50 such calls a minute
PLAIN_LIMIT = 2000  # characters of a message without blocks

BROADCAST = frozenset(
    {"escalated", "reopened", "reminder"}
)  # an edit and a reply notify nobody who does not follow the thread; what got worse is shown in the channel too

REACTIONS = {"eyes": "ack", "no_bell": "snooze", "white_check_mark": "resolve", "heavy_check_mark": "resolve"}


@dataclass
class SlackReceiver:
    """One workspace; `channel` is where incidents go whose route names none.

    Args:
        clock: a monotonic clock in seconds, for pacing. sleep: waits that many seconds.
    """

    token: str
    channel: str
    clock: Callable[[], float]
    sleep: Callable[[float], None]
    base_url: str = "https://slack.com/api/"
    style: Style = Style()
    name: str = "slack"
    kinds: frozenset[str] = frozenset(KINDS) - {"still"}
    silent: frozenset[str] = EDITS
    timeout: float = 15
    _last_posts: dict[str, float] = field(default_factory=dict)
    _client: WebClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        base = self.base_url if self.base_url.endswith("/") else self.base_url + "/"
        self._client = WebClient(token=self.token, base_url=base, timeout=self.timeout, retry_handlers=[])  # type: ignore[arg-type]  # urllib takes fractions

    def tell(self, telling: Telling, key: str, thread: dict[str, Any] | None, *, tried_at: float | None) -> dict[str, Any] | None:
        """Post or edit the parent, then add to its thread. See `detector.notify.base.Receiver`."""
        channel = telling.channel or self.channel
        over = telling.kind in ("resolved", "merged")
        if thread is not None and thread.get("storm") and telling.kind != "storm":
            return self._in_storm(telling, key, thread, tried_at=tried_at)
        if thread is not None and (thread["channel"] == channel or over):  # whoever was told that it fires is told that it ended, wherever new ones go by now
            if self._edit(telling, thread):
                if telling.kind not in EDITS:
                    self._reply(telling, key, thread, tried_at=tried_at, told=True)
                return thread
            if telling.quiet and not over:
                return thread  # a person deleted it, and a silence is in force: it is posted anew after that
        elif thread is not None and telling.quiet:
            return thread
        elif thread is not None:
            self._say_moved(telling, thread, channel)
        if over:
            return None  # the parent is gone: nobody sees it turn green, and an end alone is no news
        found = self._find(channel, f"{key}.parent", tried_at) if tried_at is not None else None
        reference = found or self._post(channel, parent(telling, self.style), telling, f"{key}.parent", None)
        if telling.kind == "storm":
            return {**reference, "storm": True}
        self._reply(telling, key, reference, tried_at=tried_at, told=False)
        return reference

    def heard(self, threads: Mapping[str, dict[str, Any]]) -> dict[str, list[Heard]]:
        """Reactions that stand on the parents of these incidents (id -> where the parent stands). Raises NotifyError."""
        found: dict[str, list[Heard]] = {}
        parents = [(thread["ts"], incident_id, thread) for incident_id, thread in threads.items() if not thread.get("storm")]  # a summary's names no incident
        for _, incident_id, thread in sorted(parents, reverse=True)[:MOST_ASKED]:
            try:
                answer = self._call("reactions_get", channel=thread["channel"], timestamp=thread["ts"], full=True)
            except GoneError:
                continue
            found[incident_id] = []
            for reaction in (answer.get("message") or {}).get("reactions") or []:
                action = REACTIONS.get(str(reaction.get("name", "")).split("::")[0])
                if action is not None:
                    found[incident_id] += [Heard(incident_id, action, str(user)) for user in reaction.get("users") or ["someone"]]
        return found

    # -- inside
    def _edit(self, telling: Telling, thread: dict[str, Any], message: SlackMessage | None = None) -> bool:
        """Bring the parent up to date; False when it is gone."""
        shown = message or parent(telling, self.style)
        metadata = _metadata(telling, str(thread.get("key", "")))
        try:
            self._shown("chat_update", shown, channel=thread["channel"], ts=thread["ts"], metadata=metadata)
        except GoneError:
            return False
        return True

    def _say_moved(self, telling: Telling, thread: dict[str, Any], channel: str) -> None:
        """The route changed: the old parent says where the incident goes on. If it can't be edited (which may be why the route changed), so be it."""
        with contextlib.suppress(NotifyError):
            self._edit(telling, thread, moved(telling, channel, self.style))

    def _reply(self, telling: Telling, key: str, thread: dict[str, Any], *, tried_at: float | None, told: bool) -> None:
        """Add to the thread, once. `told`: its parent stood there before, so nobody is notified of it now."""
        if tried_at is not None and self._find(thread["channel"], key, tried_at, thread["ts"]) is not None:
            return
        self._post(thread["channel"], reply(telling, self.style), telling, key, thread["ts"], broadcast=told and telling.kind in BROADCAST)

    def _in_storm(self, telling: Telling, key: str, thread: dict[str, Any], *, tried_at: float | None) -> dict[str, Any]:
        """An incident that was told in a summary goes on in that summary's thread. If a person deleted the summary, it gets a parent of its own."""
        if telling.kind in EDITS:
            return thread
        if tried_at is None or self._find(thread["channel"], key, tried_at, thread["ts"]) is None:
            found = self._find(thread["channel"], key, tried_at) if tried_at is not None else None
            broadcast = telling.kind in BROADCAST
            reference = found or self._post(thread["channel"], parent(telling, self.style), telling, key, thread["ts"], broadcast=broadcast)
            if not reference.get("in_thread"):
                return reference
        if telling.siblings:  # the summary shows which of them go on, and turns green with the last
            whole = replace(telling, kind="storm", incident=telling.siblings[0], storm=telling.siblings)
            self._edit(whole, thread)
        return thread

    def _post(self, channel: str, message: SlackMessage, telling: Telling, key: str, thread_ts: str | None, *, broadcast: bool = False) -> dict[str, Any]:
        """Post one message, paced; returns where it stands. Slack posts a reply to a deleted parent un-threaded, in silence: `in_thread` tells."""
        last = self._last_posts.get(channel)
        if last is not None:
            wait = last + SECONDS_BETWEEN_POSTS - self.clock()
            if wait > 0:
                self.sleep(wait)
        arguments: dict[str, Any] = {"thread_ts": thread_ts} if thread_ts else {}
        if broadcast:
            arguments["reply_broadcast"] = True
        try:
            answer = self._shown(
                "chat_postMessage", message, channel=channel, metadata=_metadata(telling, key), unfurl_links=False, unfurl_media=False, **arguments
            )
        except GoneError as error:
            raise NotifyError(f"slack: {error}", retryable=True) from None
        finally:
            self._last_posts[channel] = self.clock()
        in_thread = bool(thread_ts) and (answer.get("message") or {}).get("thread_ts") == thread_ts
        return {"channel": answer["channel"], "ts": answer["ts"], "key": key, "in_thread": in_thread}

    def _shown(self, method: str, message: SlackMessage, **arguments: Any) -> dict[str, Any]:
        """Post or edit with blocks; where Slack refuses those, with text alone: a plain message is worth more than a pretty one that never comes."""
        try:
            return self._call(method, text=message.text, blocks=message.blocks, attachments=message.attachments, **arguments)
        except RefusedError as error:
            plain = f"{message.text[:PLAIN_LIMIT]}\n({error}; details: detector incidents list)"
            try:
                return self._call(method, text=plain, blocks=[], attachments=[], **arguments)
            except RefusedError as again:
                raise NotifyError(f"slack: it refuses the message ({again})", retryable=False) from None

    def _find(self, channel: str, key: str, since: float, thread_ts: str | None = None) -> dict[str, Any] | None:
        """Our own message with this key, in the channel or in a thread, posted since the first try. Raises NotifyError when nobody can tell."""
        cursor = ""
        oldest = f"{max(0.0, since - CLOCK_SKEW):.6f}"
        for _ in range(PAGES):
            more = {"cursor": cursor} if cursor else {}
            if thread_ts is None:
                answer = self._call("conversations_history", channel=channel, limit=PAGE, include_all_metadata=True, oldest=oldest, **more)
            else:
                try:
                    answer = self._call("conversations_replies", channel=channel, ts=thread_ts, limit=PAGE, include_all_metadata=True, **more)
                except GoneError:
                    return None
            for message in answer.get("messages") or []:
                metadata = message.get("metadata") or {}
                if metadata.get("event_type") == EVENT_TYPE and (metadata.get("event_payload") or {}).get("key") == key:
                    return {"channel": channel, "ts": message["ts"], "key": key}
            cursor = (answer.get("response_metadata") or {}).get("next_cursor") or ""
            if not cursor:
                return None
        raise NotifyError(f"slack: it is not known whether a message arrived, and the channel's last {PAGES * PAGE:,} messages do not tell", retryable=True)

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """One call of the API, waiting once or twice where it says how long. Raises NotifyError, or GoneError for a message that is no more."""
        for attempt in range(3):
            try:
                answer = getattr(self._client, method)(**arguments)
            except SlackApiError as error:
                wait = retry_after(error)
                if wait is not None and wait <= LONGEST_WAIT and attempt < 2:
                    self.sleep(wait)  # refused, so not stored: asking again can't double anything
                    continue
                raise mapped(error) from None
            except (URLError, OSError, HTTPException, SlackClientError, ValueError) as error:
                why = cause(error)
                arrived = "" if why in NEVER_SENT else "; it may have arrived, which is looked up before the next try"
                raise NotifyError(f"slack: no answer from {shown(self.base_url)} ({why}){arrived}", retryable=True) from None
            data = answer.data
            if not isinstance(data, dict):
                raise NotifyError("slack: the answer is no JSON object; is base_url right?", retryable=True)
            return data
        raise NotifyError("slack: still rate limited", retryable=True)


def _metadata(telling: Telling, key: str) -> dict[str, Any]:
    incident: Incident = telling.incident
    payload = {
        "fingerprint": incident.id,
        "state": incident.state,
        "deployment": incident.deployment or "",
        "severity": incident.severity,
        "key": key,
    }
    return {"event_type": EVENT_TYPE, "event_payload": payload}
