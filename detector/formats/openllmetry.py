"""OpenLLMetry (Traceloop): one attribute per field and index (`gen_ai.completion.0.content`), and its newer spans with JSON messages.

Sources: traceloop/openllmetry semconv-ai and instrumentation-openai; LiteLLM's OpenTelemetry callback writes the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.genai_columns import call_columns, choice_reasons, records
from detector.formats.genai_events import span_messages
from detector.formats.genai_messages import Messages, entries, output_messages, turn_columns
from detector.formats.telemetry import Telemetry, attributes, may_hold_attributes, telemetry
from detector.formats.values import decoded, text
from detector.record import Record

_FLAT = ("gen_ai_completion_", "gen_ai_prompt_", "llm_completions_", "llm_prompts_")
_OWN = ("llm_request_type", "llm_is_streaming", "llm_request_functions_0_name", "llm_usage_total_tokens")
_NO_ANSWER = ("embedding", "embeddings", "rerank", "unknown")

NO_CALL = "span that is no answer of a model"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    given = attributes(body)
    if not given:
        return None
    for name in given:
        if name.startswith(_FLAT) and name[len("gen_ai_prompt_") - 1 :].lstrip("_n")[:1].isdigit():
            return "attributes gen_ai.completion.N or gen_ai.prompt.N"
    if any(name in given for name in _OWN):
        return "attributes llm.request.type or llm.is_streaming"
    if any(name.startswith("traceloop_") for name in given):
        return "attributes traceloop.*"
    return None


def flat_messages(given: Mapping[str, Any]) -> Messages | None:
    """Completions flattened by index: an index has role, content, finish_reason, tool_calls.M.*; those that were not captured have only some."""
    found = entries(given, "gen_ai_completion") or entries(given, "llm_completions")
    choices, raw = [], []
    for number, flat in found:
        turn: dict[str, Any] = {name: value for name, value in flat.items() if not name.startswith(("tool_calls_", "function_call_"))}
        calls = [call for _, call in entries(flat, "tool_calls")]
        if calls:
            turn["tool_calls"] = [{name.removeprefix("function_"): value for name, value in call.items()} for call in calls]
        elif "function_call_name" in flat:
            turn["function_call"] = {"name": flat["function_call_name"], "arguments": flat.get("function_call_arguments")}
        columns = {"choice_index": number, **turn_columns(turn)}
        if columns.get("content_state") is None and not columns.get("tool_calls"):
            columns.pop("tool_calls", None)  # nothing of the answer was captured
        choices.append(columns)
        raw.append(flat.get("finish_reason"))
    return Messages(choices, raw) if choices else None


def read_span(call: Telemetry, envelope: Mapping[str, Any], source: str = "engine") -> list[Record]:
    """Records of one span; `source`: who said its finish reasons."""
    messages = flat_messages(call.attributes) or output_messages(call.attributes) or span_messages(call)
    found = choice_reasons(call, messages)
    choices: list[dict[str, Any]] = messages.choices if messages is not None else [{} for _ in found]
    if text(call.first("llm_request_type", "gen_ai_operation_name")) in ("completion", "text_completion"):
        choices = [{**choice, "content_is_raw": True} if choice.get("content_state") in ("present", "truncated") else choice for choice in choices]
    base = {**{name: value for name, value in envelope.items() if value is not None}, **call_columns(call)}
    return records(base, choices, found, source)


def is_answer(call: Telemetry) -> bool:
    """The span is a call of a model, not a workflow, task, tool or embedding."""
    if text(decoded(call.first("llm_request_type"))) in _NO_ANSWER or text(call.first("gen_ai_operation_name")) in (
        "embeddings",
        "execute_tool",
        "invoke_agent",
    ):
        return False
    return any(
        name.startswith(("gen_ai_response_", "gen_ai_usage_", "gen_ai_request_", "gen_ai_completion", "llm_", "gen_ai_output")) for name in call.attributes
    )


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        call = telemetry(document.body) if isinstance(document.body, dict) else None
        if call is None or not is_answer(call):
            yield Rejected(document, NO_CALL, ignored=True)
        else:
            yield from read_span(call, document.envelope)


FORMAT = Format(
    name="openllmetry",
    view="tracer",
    title="OpenLLMetry (Traceloop) spans",
    sees=("text, tool calls and finish reason of each choice", "token counts, caps, errors and duration"),
    blind=(
        "a streamed answer without text: its reason and messages are dropped, so it looks like one without capture (traceloop/openllmetry#4361)",
        "text where tracing of content is off (TRACELOOP_TRACE_CONTENT=false)",
        "the engine's pod",
    ),
    recognise=_recognise,
    read=_read,
    shape=may_hold_attributes,
    rank=40,
    lines=False,
    trust="as the API returned them; `unknown` is written where there was none",
    units="durations of spans in nanoseconds; times are UTC, at the start of the call",
    raw_text=False,
    inferred=("length_cutoff",),
)
