"""OpenInference (Phoenix): `llm.*` attributes flattened by index, and the API's bodies as JSON in `input.value` and `output.value`.

Also rows and exports of Phoenix (`attributes.llm…` columns, nested objects). Sources: Arize-ai/openinference semconv and instrumentations; `llm.finish_reason`
exists since mid 2026 (openinference#3550), before that a reason can only be read from `output.value`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.cut_json import repaired
from detector.formats.finish_reason import reason, reasons
from detector.formats.genai_columns import call_columns, records
from detector.formats.genai_messages import Messages, entries, mark_cut, turn_columns
from detector.formats.kept_body import kept_body, recorded
from detector.formats.langfuse_output import generations_of
from detector.formats.openai import is_body, records_of_body
from detector.formats.openai_request import request_columns
from detector.formats.paths import leaves
from detector.formats.telemetry import Telemetry, attributes, may_hold_attributes, telemetry
from detector.formats.values import compact, count, decoded, text
from detector.record import DEFAULTS, Record

_OWN = ("openinference_", "llm_output_messages", "llm_input_messages", "llm_token_count", "llm_model_name", "llm_invocation_parameters", "llm_finish_reason")
_FIRST_TOKEN = "First Token Stream Event"  # noqa: S105 (a name, no secret)

NO_CALL = "span that is no answer of a model"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    for name in attributes(body):
        if name.startswith(_OWN):
            return f"attribute {name.replace('_', '.', 1)}"
    if body.get("span_kind") in ("LLM", "CHAIN", "AGENT", "TOOL", "RETRIEVER", "EMBEDDING", "RERANKER", "GUARDRAIL", "EVALUATOR", "PROMPT") and (
        "context.span_id" in body or "context" in body
    ):
        return "a span of Phoenix"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        call = telemetry(document.body) if isinstance(document.body, dict) else None
        if call is None or not _is_answer(call, document.body):
            yield Rejected(document, NO_CALL, ignored=True)
        else:
            yield from _records(call, document.envelope)


def _is_answer(call: Telemetry, body: Mapping[str, Any]) -> bool:
    kind = text(call.first("openinference_span_kind")) or text(body.get("span_kind"))
    return kind.upper() == "LLM" if kind else any(name.startswith("llm_") for name in call.attributes)


def _records(call: Telemetry, envelope: Mapping[str, Any]) -> list[Record]:
    base = {**{name: value for name, value in envelope.items() if value is not None}, **_columns(call)}
    output = decoded(call.first("output_value"))
    cut = False
    if isinstance(output, str) and output.lstrip()[:1] == "{":
        whole, cut = kept_body(output)
        output = whole if cut else output
    stream = recorded(output)
    of_body = records_of_body(output if stream is None else stream, base) if stream is not None or is_body(output) else []
    if cut and of_body:
        _mark(of_body[-1])
    messages = _messages(call)
    if messages and any(columns.get("content_state") or columns.get("tool_calls") for columns in messages):
        if of_body and len(of_body) == len(messages):
            return [_joined(record, columns) for record, columns in zip(of_body, messages, strict=True)]
        if not of_body:
            return records(base, messages, _reasons(call, len(messages)) or _result_reasons(output, len(messages)))
    if of_body:
        return of_body
    result = _result(output)
    if result is not None:
        size = len(result.choices)
        return records(base, result.choices, _reasons(call, size) or _result_reasons(output, size))
    return records(base, [_plain(output, call.first("output_value"), call)], _reasons(call, 1))


def _result(output: Any) -> Messages | None:
    """The messages of LangChain's result, which its instrumentation puts into `output.value`."""
    generations = output.get("generations") if isinstance(output, dict) else None
    return generations_of(generations) if isinstance(generations, list) and generations else None


def _result_reasons(output: Any, size: int) -> list[Any]:
    result = _result(output)
    return [reason(raw) for raw in result.reasons] if result is not None and len(result.reasons) == size else []


def _mark(record: Record) -> None:
    """The record of a body that was cut inside this choice."""
    columns = {name: getattr(record, name) for name in ("content_state", "reasoning_state", "tool_calls")}
    mark_cut(columns)
    record.content_state, record.reasoning_state = columns["content_state"], columns["reasoning_state"]


def _joined(record: Record, columns: Mapping[str, Any]) -> Record:
    """The body's record with what only the message attributes hold (a body that was cut or redacted lost its text)."""
    for name in ("content", "reasoning", "tool_calls", "tool_arguments", "refusal"):
        state = f"{name}_state"
        if columns.get(name) and (getattr(record, name) in (None, ()) or getattr(record, state, None) == "truncated"):
            setattr(record, name, columns[name])
            if state in DEFAULTS:
                setattr(record, state, columns.get(state, "present"))
    return record


def _plain(output: Any, raw: Any, call: Telemetry) -> dict[str, Any]:
    """An answer without message attributes: the text of `output.value`, if it is one."""
    if output is None or text(call.first("output_mime_type")) == "application/json":
        message = output.get("message", output) if isinstance(output, dict) else None
        if isinstance(message, dict) and ("content" in message or "tool_calls" in message):
            return turn_columns(message)
        return {}
    return turn_columns({"content": raw if isinstance(raw, str) else compact(output)})


def _reasons(call: Telemetry, size: int) -> list[Any]:
    found = reasons(call.first("llm_finish_reason", "llm_finish_reasons", "llm_response_finish_reason", "gen_ai_response_finish_reasons"))
    if not found:
        flat = [decoded(value) for name, value in call.attributes.items() if name.startswith("llm_output_messages_") and name.endswith("finish_reason")]
        found = reasons(flat) if flat else []
    return found if len(found) == size else found * size if len(found) == 1 else []


def _columns(call: Telemetry) -> dict[str, Any]:
    parameters = decoded(call.first("llm_invocation_parameters"))
    asked = request_columns(parameters if isinstance(parameters, dict) else repaired(parameters) if isinstance(parameters, str) else None)
    inputs = decoded(call.first("input_value"))
    if isinstance(inputs, dict):
        asked = {**request_columns(inputs), **asked}
    turns = [{"role": turn.get("message_role"), "content": _content(turn)} for turn in _listed(call, "llm_input_messages")]
    if turns:
        asked.update({name: value for name, value in request_columns({"messages": turns}).items() if name in ("last_role", "user_text", "system_text")})
    columns: dict[str, Any] = {
        **asked,
        **call_columns(call),
        "model": text(call.first("llm_model_name", "gen_ai_response_model", "llm_response_model")) or asked.get("model"),
        "prompt_tokens": count(call.first("llm_token_count_prompt", "gen_ai_usage_input_tokens")),
        "completion_tokens": count(call.first("llm_token_count_completion", "gen_ai_usage_output_tokens")),
        "reasoning_tokens": count(call.first("llm_token_count_completion_details_reasoning")),
        "cached_tokens": count(call.first("llm_token_count_prompt_details_cache_read")),
        "has_tools": True if any(name.startswith("llm_tools") for name in call.attributes) else asked.get("has_tools"),
    }
    first = next((event.at for event in call.events if event.name == _FIRST_TOKEN), None)
    if first is not None and call.start is not None and first >= call.start:
        columns["ttft_seconds"] = first - call.start
        columns["stream"] = True
    return {name: value for name, value in columns.items() if value is not None}


def _listed(call: Telemetry, prefix: str) -> list[dict[str, Any]]:
    """Messages with names like `message_role`, from numbered attributes, a list of objects, or JSON in a text."""
    value = decoded(call.first(prefix))
    if isinstance(value, list):
        return [{path.replace(".", "_"): inner for path, inner in leaves(entry)} for entry in value if isinstance(entry, dict)]
    found = [flat for _, flat in entries(call.attributes, prefix)]
    if not found:  # a list of one message that became the message
        start = f"{prefix}_"
        alone = {name[len(start) :]: inner for name, inner in call.attributes.items() if name.startswith(f"{start}message_")}
        found = [alone] if alone else []
    return found


def _messages(call: Telemetry) -> list[dict[str, Any]]:
    """Columns of each message of the answer."""
    return [_message(flat) for flat in _listed(call, "llm_output_messages") if flat.get("message_role", "assistant") in ("assistant", "model", "ai")]


def _message(flat: Mapping[str, Any]) -> dict[str, Any]:
    turn: dict[str, Any] = {}
    content = _content(flat)
    if content is not None:
        turn["content"] = content
    for name in ("message_reasoning_content", "message_reasoning", "message_refusal"):
        if name in flat:
            turn[name.removeprefix("message_")] = flat[name]
    calls = _calls(flat)
    if calls:
        turn["tool_calls"] = calls
    elif flat.get("message_function_call_name"):
        turn["function_call"] = {"name": flat["message_function_call_name"], "arguments": flat.get("message_function_call_arguments_json")}
    columns = turn_columns(turn)
    if not turn:
        columns.pop("tool_calls", None)  # a role alone: content null is left out by the instrumentation, and so is content that was hidden
    return columns


def _content(flat: Mapping[str, Any]) -> Any:
    """The text, or typed parts (`message.contents.N.message_content.{type,text}`)."""
    if "message_content" in flat:
        value = flat["message_content"]
        return value if isinstance(value, str) or value is None else compact(value)
    listed = decoded(flat.get("message_contents"))
    parts = (
        [{path.replace(".", "_"): inner for path, inner in leaves(entry)} for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )
    parts = parts or [part for _, part in entries(flat, "message_contents")]
    if not parts:
        return None
    return [{"type": part.get("message_content_type", "text"), "text": part.get("message_content_text", "")} for part in parts]


def _calls(flat: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = decoded(flat.get("message_tool_calls"))
    calls = (
        [{path.replace(".", "_"): inner for path, inner in leaves(entry)} for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    )
    calls = calls or [call for _, call in entries(flat, "message_tool_calls")]
    return [{"name": call.get("tool_call_function_name"), "arguments": call.get("tool_call_function_arguments")} for call in calls]


FORMAT = Format(
    name="openinference",
    view="tracer",
    title="OpenInference spans (Phoenix)",
    sees=(
        "text and tool calls of the answer",
        "token counts and duration",
        "finish reason in llm.finish_reason (since mid 2026) or inside output.value",
        "errors as exception events",
    ),
    blind=("finish reasons before mid 2026 where output.value holds no body", "HTTP status", "the engine's pod", "values that were hidden (__REDACTED__)"),
    recognise=_recognise,
    read=_read,
    shape=lambda keys: may_hold_attributes(keys) or "span_kind" in keys,
    rank=40,
    lines=False,
    trust="as the API returned them",
    units="span times in nanoseconds or ISO 8601 UTC; the first token is a span event",
    raw_text=False,
    inferred=("length_cutoff",),
)
