"""What Slack's refusals mean: gone, refused for its looks, try again, or never, with the remedy."""

from __future__ import annotations

from slack_sdk.errors import SlackApiError

from detector.errors import NotifyError

GONE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed", "thread_not_found"})
REFUSED = frozenset(
    {"invalid_blocks", "invalid_blocks_format", "invalid_attachments", "msg_blocks_too_long", "msg_too_long", "too_many_attachments", "block_mismatch"}
)
TRANSIENT = frozenset({"internal_error", "fatal_error", "service_unavailable", "request_timeout", "ratelimited", "rate_limited", "team_added_to_org"})
REMEDIES = {
    "is_archived": "the channel is archived: unarchive it, or name another one in notify.slack.channel",
    "is_inactive": "the channel is archived: unarchive it, or name another one in notify.slack.channel",
    "channel_not_found": "there is no such channel for this bot: check notify.slack.channel (an id such as C0123456789)",
    "not_in_channel": "the bot is not in the channel: invite it with /invite",
    "token_revoked": "the token was revoked: set a new DETECTOR_SLACK_TOKEN",
    "token_expired": "the token expired: set a new DETECTOR_SLACK_TOKEN",
    "invalid_auth": "the token is wrong: check DETECTOR_SLACK_TOKEN",
    "not_authed": "there is no token: set DETECTOR_SLACK_TOKEN",
    "account_inactive": "the bot was switched off or its workspace is gone: check the Slack app",
    "missing_scope": "the bot lacks a scope: it needs chat:write, channels:history, reactions:read and metadata.message:read",
}


class GoneError(Exception):
    """The message that a call named is no more."""


class RefusedError(Exception):
    """Slack refuses what the message looks like."""


def retry_after(error: SlackApiError) -> float | None:
    """Seconds that a 429 asks to wait, or None when this is no rate limit."""
    response = error.response
    if getattr(response, "status_code", 0) != 429:
        return None
    headers = {str(name).lower(): value for name, value in (getattr(response, "headers", None) or {}).items()}
    value = headers.get("retry-after", "1")
    try:
        return max(0.0, float(value[0] if isinstance(value, list) else value))
    except ValueError:
        return 1.0


def mapped(error: SlackApiError) -> Exception:
    """What to raise for Slack's refusal: GoneError, RefusedError or NotifyError."""
    response = error.response
    status = getattr(response, "status_code", 0)
    data = getattr(response, "data", response)
    code = str(data.get("error", "")) if isinstance(data, dict) else ""
    if code in GONE:
        return GoneError(code)
    if code in REFUSED:
        return RefusedError(code)
    if status == 429 or code in TRANSIENT or status >= 500:
        said = "rate limited" if status == 429 else f"HTTP {status}{f', {code}' if code else ''}"
        return NotifyError(f"slack: {said}; it is tried again", retryable=True, retry_after_seconds=retry_after(error))
    return NotifyError(f"slack: {REMEDIES.get(code, code or f'HTTP {status}')}", retryable=False)
