"""Answers inside events of OpenTelemetry GenAI: choice events as documents, span events of the generations before 1.37, and bodies of events.

Sources: open-telemetry/semantic-conventions v1.26 (span events gen_ai.content.*), v1.28 to v1.36 (log events gen_ai.choice), v1.37 (operation.details).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from detector.formats.genai_messages import Messages, output_messages, turn_columns
from detector.formats.telemetry import SpanEvent, Telemetry, attributes
from detector.formats.values import count, decoded

DETAILS = "gen_ai.client.inference.operation.details"
CHOICE = "gen_ai.choice"
COMPLETION = "gen_ai.content.completion"


def choice_text(body: Mapping[str, Any]) -> dict[str, Any]:
    """Text and tool calls of a choice event. A message without content and calls was not captured."""
    raw = body.get("message")
    message = decoded(raw)
    if isinstance(raw, str) and not (isinstance(message, dict) and message.keys() & {"role", "content", "parts", "tool_calls"}):
        message = {"content": raw}
    if not isinstance(message, dict):
        message = {key: decoded(body[key]) for key in ("content", "tool_calls", "reasoning") if key in body}
    if isinstance(body.get("tool_calls"), list) and "tool_calls" not in message:
        message = {**message, "tool_calls": body["tool_calls"]}
    columns = turn_columns(message)
    if "content" not in message and "parts" not in message and not columns.get("tool_calls") and "content_state" not in columns:
        columns.pop("tool_calls", None)
    return columns


def span_messages(call: Telemetry) -> Messages | None:
    """The answer's messages: attributes of the span or event, its span events, or the body of the event."""
    found = output_messages(call.attributes)
    if found is None and isinstance(call.body, dict):
        inner = attributes(call.body) or {f"gen_ai_{name}": value for name, value in call.body.items() if name in ("output_messages", "output.messages")}
        found = output_messages({name.replace(".", "_"): value for name, value in inner.items()})
    if found is not None:
        return found
    of_events = [event for event in call.events if event.name in (CHOICE, COMPLETION, DETAILS)]
    if of_events:
        return _of_span_events(of_events)
    kept = decoded(call.attributes.get("response_data"))  # Logfire's integrations
    if isinstance(kept, dict) and (isinstance(kept.get("message"), dict) or isinstance(kept.get("combined_chunk_content"), str)):
        return Messages([turn_columns(kept.get("message") or {"content": kept["combined_chunk_content"]})], [kept.get("finish_reason")])
    for name in ("gen_ai_completion", "gen_ai_response_text", "gen_ai_response_content", "output"):
        raw = call.attributes.get(name)
        value = decoded(raw)
        turns = value if isinstance(value, list) else [value]
        if turns and all(isinstance(turn, dict) and turn.keys() & {"role", "content", "parts", "tool_calls"} for turn in turns):
            return output_messages({"gen_ai_output_messages": value})
        if isinstance(raw, str):
            return Messages([turn_columns({"content": raw})], [None])
    return None


def _of_span_events(events: Sequence[SpanEvent]) -> Messages | None:
    choices: list[dict[str, Any]] = []
    raw: list[Any] = []
    for event in events:
        given = event.attributes
        if event.name == CHOICE:
            body = {key: given[key] for key in ("index", "message", "tool_calls", "content") if given.get(key) is not None}
            kept = decoded(given.get("gen_ai_event_content"))  # Azure's SDKs: the whole choice as JSON
            if isinstance(kept, dict):
                body = {**kept, **body}
            message = {key[len("message_") :]: value for key, value in given.items() if key.startswith("message_")}
            if message and "message" not in body:
                body["message"] = message
            choices.append({**({"choice_index": count(body["index"]) or 0} if "index" in body else {}), **choice_text(body)})
            raw.append(given.get("finish_reason", body.get("finish_reason")))
        else:
            found = output_messages({"gen_ai_output_messages": given.get("gen_ai_completion", given.get("gen_ai_output_messages"))})
            if found is not None:
                choices.extend(found.choices)
                raw.extend(found.reasons)
    return Messages(choices, raw) if choices else None
