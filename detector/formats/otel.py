"""OpenTelemetry GenAI: spans and events of both generations, and the spans of the engines themselves. Documents of one span make one call.

A call may be one span, a span and its `…operation.details` event (capture `span_and_event`), or a span and several events (a message each, a choice each).
Sources: open-telemetry/semantic-conventions v1.26 to v1.42 docs/gen-ai, semantic-conventions-genai, opentelemetry-util-genai, vllm/tracing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Placed, Rejected
from detector.formats.finish_reason import reason
from detector.formats.genai_columns import call_columns, choice_reasons, records
from detector.formats.genai_messages import Messages, output_messages, turn_columns
from detector.formats.joining import ByKey
from detector.formats.telemetry import SpanEvent, Telemetry, attributes, is_telemetry, telemetry
from detector.formats.values import count, decoded, text
from detector.record import Record

_NO_ANSWER_OPERATIONS = frozenset(
    (
        "embeddings",
        "embedding",
        "execute_tool",
        "create_agent",
        "invoke_agent",
        "invoke_workflow",
        "retrieval",
        "rerank",
        "plan",
        "create_memory",
        "search_memory",
    )
)
_DETAILS = "gen_ai.client.inference.operation.details"
_CHOICE = "gen_ai.choice"
_COMPLETION = "gen_ai.content.completion"
_ANSWERS = (_DETAILS, _CHOICE, _COMPLETION)
_OF_CALL = ("gen_ai_response_", "gen_ai_usage_", "gen_ai_output_", "gen_ai_completion", "gen_ai_request_", "gen_ai_latency_")

MESSAGE = "message of a request, no answer"
NO_CALL = "span or event that is no answer of a model"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    name = _event_name(body)
    if name.startswith("gen_ai."):
        return f"event {name}"
    given = attributes(body)
    found = next((key for key in given if key.startswith("gen_ai_")), None)
    if found is not None:
        return "attributes gen_ai.*"
    return "a span or log record of OpenTelemetry without GenAI attributes" if is_telemetry(body) and not _carries_text(body) else None


def _event_name(body: Mapping[str, Any]) -> str:
    for key in ("event_name", "eventName", "EventName"):
        if isinstance(body.get(key), str):
            return str(body[key])
    for key in ("attributes", "Attributes", "LogAttributes"):
        inner = body.get(key)
        if isinstance(inner, dict):
            event = inner.get("event.name", inner.get("event"))
            event = event.get("name") if isinstance(event, dict) else event
            if isinstance(event, str):
                return event
    return ""


def _carries_text(body: Mapping[str, Any]) -> bool:
    """A log record whose body is a line that some process wrote: its format is that line's."""
    inner = body.get("body", body.get("Body"))
    return isinstance(inner, str) or (isinstance(inner, dict) and bool(inner.keys() & {"text", "stringValue"})) or "body_text" in body


def _key(document: Document) -> str | None:
    """What the documents of one call share: trace and span."""
    call = telemetry(document.body) if isinstance(document.body, dict) else None
    return f"{call.trace_id}/{call.span_id}" if call is not None and call.trace_id and call.span_id else None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    """Outcomes of the documents of one span, or of unrelated documents, which come in groups of one."""
    groups: dict[str | int, list[Document]] = {}
    for place, document in enumerate(documents):
        groups.setdefault(_key(document) or place, []).append(document)
    for group in groups.values():
        yield from _call(group)


def _call(group: Sequence[Document]) -> Iterator[Outcome]:
    whole: list[tuple[Document, Telemetry]] = []
    choices: list[tuple[Document, Telemetry]] = []
    asked: list[Any] = []
    for document in group:
        seen = telemetry(document.body) if isinstance(document.body, dict) else None
        if seen is None or not _is_answer(seen):
            if seen is not None and seen.event is not None and seen.event.startswith("gen_ai.") and seen.event.endswith(".message"):
                asked.append((seen.event, seen.body))
                yield Rejected(document, MESSAGE, ignored=True)
            else:
                yield Rejected(document, NO_CALL, ignored=True)
        elif seen.event == _CHOICE:
            choices.append((document, seen))
        else:
            whole.append((document, seen))
    if not whole and not choices:
        return
    call = _merged([seen for _, seen in (whole or choices)], asked)
    base = {**_surroundings(group), **call_columns(call)}
    if choices:
        yield from _of_choice_events(choices, base, call)
    else:
        yield from (Placed(record, whole[0][0]) for record in _of_span(call, base))


def _is_answer(seen: Telemetry) -> bool:
    if seen.event is not None and (seen.event.startswith("gen_ai.") or seen.event == "exception"):
        return seen.event in _ANSWERS
    operation = text(seen.first("gen_ai_operation_name"))
    if operation in _NO_ANSWER_OPERATIONS or text(seen.first("llm_request_type")) in ("embedding", "rerank"):
        return False
    return any(name.startswith(_OF_CALL) for name in seen.attributes)


def _merged(parts: Sequence[Telemetry], asked: Sequence[tuple[str, Any]]) -> Telemetry:
    """One call out of span and event: the span, which has the duration, first."""
    ordered = sorted(parts, key=lambda part: part.duration is None)
    call = ordered[0]
    for other in ordered[1:]:
        for name, value in other.attributes.items():
            if call.attributes.get(name) in (None, [], ""):
                call.attributes[name] = value
        call.events.extend(other.events)
        call.failed = call.failed or other.failed
        call.message = call.message or other.message
    if asked and "gen_ai_input_messages" not in call.attributes:
        turns = [{"role": name.split(".")[1], **body} for name, body in asked if isinstance(body, dict)]
        call.attributes["gen_ai_input_messages"] = turns
    return call


def _surroundings(group: Sequence[Document]) -> dict[str, Any]:
    """What any document of the call knows about where it ran."""
    return {name: value for document in reversed(group) for name in ("deployment", "pod") if (value := document.envelope.get(name)) is not None}


def _of_choice_events(choices: Sequence[tuple[Document, Telemetry]], base: dict[str, Any], call: Telemetry) -> Iterator[Outcome]:
    spoken = choice_reasons(call, None)
    for place, (document, seen) in enumerate(choices):
        body = seen.body if isinstance(seen.body, dict) else {}
        body = {**{name: seen.attributes[name] for name in ("index", "finish_reason", "message") if name in seen.attributes}, **body}
        found = reason(body.get("finish_reason"))
        if found.canonical in (None, "unknown") and len(spoken) == len(choices):
            found = spoken[place]
        known = {**call_columns(seen), **base} if seen is not call else base
        columns: dict[str, Any] = {"choice_index": count(body.get("index")) or 0}
        columns.update(_choice_text(body))
        if call.duration is None and seen.start is not None:
            columns["timestamp"] = seen.start
        made = records({key: value for key, value in known.items() if key not in columns}, [columns], [found])
        if len(choices) > 1 and made[0].finish_reason_source == "inferred":
            made = records({**known, "n": len(choices)}, [columns], [found])
        yield Placed(made[0], document)


def _choice_text(body: Mapping[str, Any]) -> dict[str, Any]:
    """Text and tool calls of a choice event. A message without content and calls was not captured."""
    message = decoded(body.get("message"))
    if isinstance(message, str):
        message = {"content": message}
    if not isinstance(message, dict):
        message = {key: decoded(body[key]) for key in ("content", "tool_calls", "reasoning") if key in body}
    if isinstance(body.get("tool_calls"), list) and "tool_calls" not in message:
        message = {**message, "tool_calls": body["tool_calls"]}
    columns = turn_columns(message)
    if "content" not in message and "parts" not in message and not columns.get("tool_calls") and "content_state" not in columns:
        columns.pop("tool_calls", None)
    return columns


def _of_span(call: Telemetry, base: dict[str, Any]) -> list[Record]:
    messages = span_messages(call)
    found = choice_reasons(call, messages)
    choices: list[dict[str, Any]] = messages.choices if messages is not None else [{} for _ in found]
    if text(call.first("gen_ai_operation_name")) == "text_completion":  # no reasoning parser runs there
        choices = [{**choice, "content_is_raw": True} if choice.get("content_state") in ("present", "truncated") else choice for choice in choices]
    return records(base, choices, found)


def span_messages(call: Telemetry) -> Messages | None:
    """The answer's messages: attributes of the span or event, its span events, or the body of the event."""
    found = output_messages(call.attributes)
    if found is None and isinstance(call.body, dict):
        inner = attributes(call.body) or {f"gen_ai_{name}": value for name, value in call.body.items() if name in ("output_messages", "output.messages")}
        found = output_messages({name.replace(".", "_"): value for name, value in inner.items()})
    if found is not None:
        return found
    of_events = [event for event in call.events if event.name in (_CHOICE, _COMPLETION, _DETAILS)]
    if of_events:
        return _of_span_events(of_events)
    for name in ("gen_ai_completion", "gen_ai_response_text", "gen_ai_response_content"):
        value = decoded(call.attributes.get(name))
        if isinstance(value, (list, dict)) and value:
            return output_messages({"gen_ai_output_messages": value})
        if isinstance(value, str):
            return Messages([turn_columns({"content": value})], [None])
    return None


def _of_span_events(events: Sequence[SpanEvent]) -> Messages | None:
    choices: list[dict[str, Any]] = []
    raw: list[Any] = []
    for event in events:
        given = event.attributes
        if event.name == _CHOICE:
            body = {"index": given.get("index"), "message": given.get("message"), "tool_calls": given.get("tool_calls"), "content": given.get("content")}
            body = {key: value for key, value in body.items() if value is not None}
            message = {key[len("message_") :]: value for key, value in given.items() if key.startswith("message_")}
            if message and "message" not in body:
                body["message"] = message
            choices.append({**({"choice_index": count(body["index"]) or 0} if "index" in body else {}), **_choice_text(body)})
            raw.append(given.get("finish_reason"))
        else:
            found = output_messages({"gen_ai_output_messages": given.get("gen_ai_completion", given.get("gen_ai_output_messages"))})
            if found is not None:
                choices.extend(found.choices)
                raw.extend(found.reasons)
    return Messages(choices, raw) if choices else None


FORMAT = Format(
    name="otel",
    title="OpenTelemetry GenAI spans and events (semantic conventions 1.26 to today; engines' own spans)",
    sees=("finish reasons, token counts, caps, errors and duration of every call", "text, reasoning and tool calls where content capture is switched on"),
    blind=(
        "text where capture is off, which is the default (gen_ai.output.messages is opt-in)",
        "the pod of the engine: resource attributes name the caller",
        "vLLM's own spans: no finish reason and no text, `length` only by inference",
    ),
    recognise=_recognise,
    read=_read,
    rank=45,
    lines=False,
    joiner=lambda: ByKey(_key, _read),
    trust="as the API returned them to the caller; `error` also means that none was received; inferred from token counts where there is none",
    units="durations of spans in nanoseconds (microseconds in APM documents), gen_ai.* times in seconds; times are UTC, at the start of the call",
    raw_text=False,
    inferred=("length_cutoff",),
)
