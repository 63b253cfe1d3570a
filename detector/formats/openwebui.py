"""Open WebUI: chat exports, chat rows of its database, and exported ratings with the chat inside; assistant messages are answers.

Source: open-webui backend models/chats.py; an exported chat holds its messages twice, in `history.messages` and again in a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.openai import error_columns, usage_columns
from detector.formats.openai_message import message_columns
from detector.formats.values import flag, instant, mapping, seconds, text
from detector.record import Record

_DETAILS = re.compile(r'<details type="reasoning"[^>]*>\s*(?:<summary>.*?</summary>)?(.*?)</details>\s*', re.DOTALL)
_MOST_DETAILS = 200  # blocks of one answer; more is text that quotes them
_TOOL_DETAILS = re.compile(r'<details type="tool_calls"[^>]*\bname="([^"]{0,200})"[^>]*>.*?</details>\s*', re.DOTALL)

NO_ANSWERS = "chat without an answer"


def _chat(body: Mapping[str, Any]) -> Mapping[str, Any]:
    body = _row(body)
    chat = mapping(body.get("chat"))
    return chat if chat else body


def _row(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chat's row: the object itself, or what an exported rating (feedback) keeps of the chat that was rated."""
    return mapping(mapping(body.get("snapshot")).get("chat")) or body


def _messages(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Messages of a chat, each once: the history has them all, the list only the current branch."""
    history = mapping(mapping(chat.get("history")).get("messages"))
    given = chat.get("messages")
    listed: list[Mapping[str, Any]] = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    if not history:
        return listed
    found: list[Mapping[str, Any]] = [{"id": key, **message} for key, message in history.items() if isinstance(message, dict)]
    known = {str(message.get("id")) for message in found}
    return found + [message for message in listed if str(message.get("id")) not in known]


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    body = _row(body)
    chat = _chat(body)
    if isinstance(mapping(chat.get("history")).get("messages"), dict):
        return "a chat with history.messages and currentId" if "currentId" in mapping(chat["history"]) else "a chat with history.messages"
    if "chat" in body and isinstance(chat.get("messages"), list) and ("user_id" in body or "models" in chat):
        return "a chat row with its messages"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        made = False
        if isinstance(document.body, dict):
            for record in _records(document.body):
                made = True
                yield record
        if not made:
            yield Rejected(document, NO_ANSWERS, ignored=True)


def _records(body: Mapping[str, Any]) -> Iterator[Record]:
    body = _row(body)
    chat = _chat(body)
    session, user = text(body.get("id")), text(body.get("user_id"))
    parameters = mapping(chat.get("params"))
    messages = _messages(chat)
    asked = {str(message.get("id")): message for message in messages}
    for message in messages:
        if message.get("role") != "assistant":
            continue
        record = _record(message)
        record.session, record.user, record.last_role = session, user, "user"
        cap = parameters.get("max_tokens")
        if isinstance(cap, int) and not isinstance(cap, bool) and cap > 0:
            record.max_tokens = cap
        question = asked.get(str(message.get("parentId")), {}).get("content")
        record.user_text = question if isinstance(question, str) else None
        infer_length(record)
        yield record


def _record(message: Mapping[str, Any]) -> Record:
    info = mapping(message.get("info"))
    usage = mapping(message.get("usage")) or mapping(info.get("usage")) or info
    columns = {**usage_columns(usage), **message_columns(_without_details(message))}
    if message.get("error"):
        columns.update(error_columns(message["error"] if isinstance(message["error"], (dict, str)) else "error"))
        given = mapping(message["error"]).get("content")
        if isinstance(given, str):
            columns["error_message"] = given
        columns.setdefault("error_type", "error")
        if not columns.get("content"):
            columns["content"], columns["content_state"] = None, "not_captured"
    else:
        columns["stream_done"] = flag(message.get("done"))  # false: interrupted, no finished answer
    record = Record(**columns)
    record.record_id = text(message.get("id"))
    record.model = text(message.get("model")) or text(message.get("modelName"))
    record.timestamp = instant(message.get("timestamp"))
    record.content_is_raw = False
    given = message.get("finish_reason", mapping(message.get("usage")).get("finish_reason", info.get("done_reason")))
    found = reason(given)
    if found.raw is not None:
        record.finish_reason, record.finish_reason_raw, record.finish_reason_source = found.canonical, found.raw, "gateway"
    record.latency_seconds = seconds(usage.get("total_duration"), "ns")  # Ollama's figures
    if record.prompt_tokens is None and isinstance(usage.get("prompt_eval_count"), int):
        record.prompt_tokens = usage["prompt_eval_count"]
    if record.completion_tokens is None and isinstance(usage.get("eval_count"), int):
        record.completion_tokens = usage["eval_count"]
    return record


def _without_details(message: Mapping[str, Any]) -> dict[str, Any]:
    """The interface folds reasoning and tool calls into `<details>` blocks of the content: they are taken apart again."""
    content = message.get("content")
    taken = {key: message[key] for key in ("content", "tool_calls", "reasoning_content", "reasoning") if key in message}
    if not isinstance(content, str) or not 0 < content.count("<details") <= _MOST_DETAILS:
        return taken
    thoughts = [match.strip() for match in _DETAILS.findall(content)]
    names = _TOOL_DETAILS.findall(content)
    taken["content"] = _TOOL_DETAILS.sub("", _DETAILS.sub("", content))
    if thoughts:
        taken["reasoning"] = "\n".join(re.sub(r"^> ?", "", thought, flags=re.MULTILINE) for thought in thoughts)
    if names:
        taken["tool_calls"] = [{"function": {"name": name, "arguments": ""}} for name in names]
    return taken


FORMAT = Format(
    name="openwebui",
    title="Open WebUI chat export",
    sees=(
        "text of answers as the user read it",
        "reasoning that the interface folded away",
        "token counts where the backend sent usage",
        "errors that the user saw",
    ),
    blind=("finish reasons", "latency", "HTTP status", "answers that the user deleted", "caps set outside the chat"),
    recognise=_recognise,
    read=_read,
    rank=25,
    keys=frozenset(("chat", "history", "messages", "snapshot")),
    lines=False,
    trust="none is stored (newer versions may keep the gateway's word)",
    units="timestamp in seconds since 1970, when the answer was stored",
    raw_text=False,
    off=("latency",),
    inferred=("length_cutoff",),
)
