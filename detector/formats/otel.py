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
from detector.formats.genai_events import CHOICE, COMPLETION, DETAILS, choice_text, span_messages
from detector.formats.joining import ByKey
from detector.formats.paths import get
from detector.formats.telemetry import SPAN_KEYS, Telemetry, attributes, is_telemetry, may_hold_attributes, span_key, telemetry
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
_ANSWERS = (DETAILS, CHOICE, COMPLETION)
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


_EVENT_KEYS = frozenset(("event_name", "eventName", "EventName", "attributes.event.name", "Attributes.event.name"))


def _event_name(body: Mapping[str, Any]) -> str:
    for key in ("event_name", "eventName", "EventName", "attributes.event.name", "Attributes.event.name"):
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
    return span_key(document.body) if isinstance(document.body, dict) else None


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
        if seen is None or _is_figures(document.body) or not _is_answer(seen):
            if seen is not None and seen.event is not None and seen.event.startswith("gen_ai.") and seen.event.endswith(".message"):
                asked.append((seen.event, seen.body))
                yield Rejected(document, MESSAGE, ignored=True)
            else:
                yield Rejected(document, NO_CALL, ignored=True)
        elif seen.event == CHOICE:
            choices.append((document, seen))
        else:
            whole.append((document, seen))
    if choices:
        yield from _of_choice_events(choices, _surroundings(group), _merged([seen for _, seen in (whole or choices[:1])], asked))
        return
    for document, parts in _calls(whole):
        call = _merged(parts, asked)
        yield from (Placed(record, document) for record in _of_span(call, {**_surroundings(group), **call_columns(call)}))


def _is_figures(body: Mapping[str, Any]) -> bool:
    """A metric's document, or an error that APM stores beside its span: both repeat attributes of calls."""
    return "metrics" in body or get(body, "data_stream.type") == "metrics" or get(body, "processor.event") in ("metric", "error")


def _calls(whole: Sequence[tuple[Document, Telemetry]]) -> Iterator[tuple[Document, list[Telemetry]]]:
    """Calls among span and events of one span id, each in the place of its first document.

    An instrumentation that makes no span of its own puts the events of many calls under the span that is active: they are told apart by response id, and
    events without one stand alone.
    """
    events = [entry for entry in whole if entry[1].event is not None]
    if len(events) <= 1:
        if whole:
            yield whole[0][0], [seen for _, seen in whole]
        return
    by_id: dict[str | int, list[tuple[Document, Telemetry]]] = {}
    for place, entry in enumerate(whole):
        by_id.setdefault(text(entry[1].first("gen_ai_response_id")) or place, []).append(entry)
    for entries in by_id.values():
        yield entries[0][0], [seen for _, seen in entries]


def _is_answer(seen: Telemetry) -> bool:
    if seen.event is not None and (seen.event.startswith("gen_ai.") or seen.event == "exception"):
        return seen.event in _ANSWERS
    operation = text(seen.first("gen_ai_operation_name"))
    if operation in _NO_ANSWER_OPERATIONS or text(seen.first("llm_request_type")) in ("embedding", "rerank"):
        return False
    return bool(operation) or any(name.startswith(_OF_CALL) for name in seen.attributes)


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
    """One record per event. Where an index comes twice, several calls share the span, and what the span says belongs to none of them alone."""
    bodies = [_choice_body(seen) for _, seen in choices]
    numbers = [count(body.get("index")) or 0 for body in bodies]
    shared = {**base, **call_columns(call)} if len(set(numbers)) == len(numbers) else base
    spoken = choice_reasons(call, None)
    for place, (document, seen) in enumerate(choices):
        found = reason(bodies[place].get("finish_reason"))
        if found.canonical in (None, "unknown") and len(spoken) == len(choices) and shared is not base:
            found = spoken[place]
        known = {**call_columns(seen), **shared}
        columns: dict[str, Any] = {"choice_index": numbers[place], **choice_text(bodies[place])}
        if (call.duration is None or shared is base) and seen.start is not None:
            columns["timestamp"] = seen.start
        if len(choices) > 1:
            known["n"] = known.get("n") or len(set(numbers))
        yield Placed(records({key: value for key, value in known.items() if key not in columns}, [columns], [found])[0], document)


def _choice_body(seen: Telemetry) -> dict[str, Any]:
    """The event's body; some instrumentations put its fields into attributes."""
    beside = {name: seen.attributes[name] for name in ("index", "finish_reason", "message") if name in seen.attributes}
    kept = decoded(seen.attributes.get("gen_ai_event_content"))
    beside = {**(kept if isinstance(kept, dict) else {}), **beside}
    return {**beside, **(seen.body if isinstance(seen.body, dict) else {})}


def _of_span(call: Telemetry, base: dict[str, Any]) -> list[Record]:
    messages = span_messages(call)
    found = choice_reasons(call, messages)
    choices: list[dict[str, Any]] = messages.choices if messages is not None else [{} for _ in found]
    if text(call.first("gen_ai_operation_name")) == "text_completion":  # no reasoning parser runs there
        choices = [{**choice, "content_is_raw": True} if choice.get("content_state") in ("present", "truncated") else choice for choice in choices]
    return records(base, choices, found)


FORMAT = Format(
    name="otel",
    view="tracer",
    title="OpenTelemetry GenAI spans and events (semantic conventions 1.26 to today; engines' own spans)",
    sees=("finish reasons, token counts, caps, errors and duration of every call", "text, reasoning and tool calls where content capture is switched on"),
    blind=(
        "text where capture is off, which is the default (gen_ai.output.messages is opt-in)",
        "the pod of the engine: resource attributes name the caller",
        "vLLM's own spans: no finish reason and no text, `length` only by inference",
    ),
    recognise=_recognise,
    read=_read,
    shape=lambda keys: may_hold_attributes(keys) or not SPAN_KEYS.isdisjoint(keys) or not _EVENT_KEYS.isdisjoint(keys),
    rank=45,
    lines=False,
    joiner=lambda: ByKey(_key, _read),
    trust="as the API returned them to the caller; `error` also means that none was received; inferred from token counts where there is none",
    units="durations of spans in nanoseconds (microseconds in APM documents), gen_ai.* times in seconds; times are UTC, at the start of the call",
    raw_text=False,
    inferred=("length_cutoff",),
)
