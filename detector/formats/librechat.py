"""LibreChat: messages of its database or of an exported conversation, and the lines of its application log.

Source: danny-avila/LibreChat packages/data-schemas message schema; api winston JSON log lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.openai_message import message_columns
from detector.formats.paths import scalar
from detector.formats.values import count, flag, instant, mapping, text
from detector.record import Record

_WORDS = ("messageId", "conversationId", "isCreatedByUser", "parentMessageId", "sender")
_LEVELS = frozenset(("error", "warn", "info", "http", "verbose", "debug", "activity", "silly"))
_LOG_KEYS = frozenset(("level", "message", "timestamp", "stack", "splat", "service", "name", "code", "status", "type", "error", "meta", "userId", "requestId"))

USER_TURN = "message of the user, no answer"
LOG_LINE = "application log line, no answer"
NO_ANSWERS = "conversation without an answer"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    named = [key for key in _WORDS if key in body]
    if "messageId" in body and len(named) >= 2:
        return f"a message with {', '.join(named)}"
    listed = body.get("messages")
    if isinstance(listed, list) and "conversationId" in body and any(isinstance(entry, dict) and "messageId" in entry for entry in listed):
        return "an exported conversation"
    message = body.get("message")
    if str(body.get("level")) in _LEVELS and isinstance(message, str) and "timestamp" in body and body.keys() <= _LOG_KEYS:  # winston
        return "a log line of winston with level, message and timestamp"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body
        if not isinstance(body, dict) or not ("messageId" in body or "messages" in body):
            yield Rejected(document, LOG_LINE, ignored=True)
        elif isinstance(body.get("messages"), list) and "messageId" not in body:
            records = [_record(message, body) for message in _flat(body["messages"]) if _is_answer(message)]
            if not records:
                yield Rejected(document, NO_ANSWERS, ignored=True)
            yield from records
        elif _is_answer(body):
            yield _record(body, body)
        else:
            yield Rejected(document, USER_TURN, ignored=True)


def _flat(messages: Iterable[Any], depth: int = 64) -> list[Mapping[str, Any]]:
    """Messages of an export, also of its tree form (`children`)."""
    found: list[Mapping[str, Any]] = []
    for message in messages:
        if isinstance(message, dict):
            found.append(message)
            if depth and isinstance(message.get("children"), list):
                found.extend(_flat(message["children"], depth - 1))
    return found


def _is_answer(message: Mapping[str, Any]) -> bool:
    by_user = flag(message.get("isCreatedByUser"))
    return by_user is False if by_user is not None else str(message.get("sender", "")).lower() not in ("user", "")


def _record(message: Mapping[str, Any], conversation: Mapping[str, Any]) -> Record:
    failed = flag(message.get("error")) is True
    content = message.get("content")
    columns: dict[str, Any] = {}
    if isinstance(content, list) and content and not failed:
        columns = _parts(content)
    elif not failed:
        given = message.get("text")
        columns = message_columns({"content": given} if "text" in message else {})
    record = Record(**columns)
    if failed:
        record.error_type, record.error_message = "error", text(message.get("text"))
    else:
        unfinished = flag(message.get("unfinished"))
        record.stream_done = None if unfinished is None else not unfinished
    record.record_id = text(message.get("messageId"))
    record.session = text(message.get("conversationId")) or text(conversation.get("conversationId"))
    record.user = text(message.get("user"))
    record.model = text(message.get("model")) or text(conversation.get("model"))
    record.deployment = text(message.get("endpoint")) or text(conversation.get("endpoint"))
    record.timestamp = _time(message.get("createdAt")) or _time(message.get("updatedAt"))
    record.completion_tokens = count(message.get("tokenCount"))
    record.content_is_raw = False
    found = reason(message.get("finish_reason"))
    if found.raw is not None and not failed:
        record.finish_reason, record.finish_reason_raw, record.finish_reason_source = found.canonical, found.raw, "gateway"
    infer_length(record)
    return record


def _time(value: Any) -> float | None:
    """A time as JSON text or as MongoDB's extended JSON (`{"$date": …}`)."""
    given = mapping(value).get("$date", value) if isinstance(value, dict) else value
    if isinstance(given, dict):
        given = given.get("$numberLong")
    return instant(scalar(given))


def _parts(parts: list[Any]) -> dict[str, Any]:
    """Typed parts: text, think, tool_call, error."""
    content: list[str] = []
    thought: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if kind == "text":
            given = part.get("text")
            value = given.get("value") if isinstance(given, dict) else given
            content.append(value if isinstance(value, str) else "")
        elif kind == "think":
            given = part.get("think")
            value = given.get("value") if isinstance(given, dict) else given
            thought.append(value if isinstance(value, str) else "")
        elif kind == "tool_call":
            call = mapping(part.get("tool_call"))
            function = mapping(call.get("function"))
            calls.append({"function": {"name": call.get("name") or function.get("name"), "arguments": call.get("args", function.get("arguments"))}})
    message: dict[str, Any] = {"content": "".join(content), "tool_calls": calls}
    if thought:
        message["reasoning"] = "".join(thought)
    return message_columns(message)


FORMAT = Format(
    name="librechat",
    title="LibreChat messages and log",
    sees=("text of answers as the user read it", "reasoning and tool calls in typed parts", "answers that broke off (unfinished) and errors that the user saw"),
    blind=("latency", "HTTP status", "prompt tokens", "caps of requests", "answers in its application log"),
    recognise=_recognise,
    read=_read,
    rank=65,
    keys=frozenset(("messageId", "messages", "level")),
    lines=False,
    trust="the gateway's word, where the message keeps one",
    units="createdAt in ISO 8601 or MongoDB's $date, when the message was stored",
    raw_text=False,
    off=("latency",),
)
