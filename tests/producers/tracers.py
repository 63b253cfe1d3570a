"""Logs of tracing: OpenTelemetry in both generations and several storages, instrumentations with names of their own, Langfuse, ECS."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tests.producers.answers import EVERYTHING, MODEL, PROMPT, START, Answer, Choice, Producer, body, iso, message, request, sse

TRACE, SPAN = "7c0f6c1f0de14f0a8f4f7b2a9d5e1a01", "a1b2c3d4e5f60718"


def _line(*documents: Any) -> str:
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def _genai(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.max_tokens": answer.max_tokens,
        "gen_ai.request.choice.count": len(answer.choices),
        "gen_ai.request.stream": answer.stream,
        "gen_ai.response.id": answer.id,
    }
    if answer.failed:
        return {**found, "error.type": str(answer.status)}
    found.update(
        {
            "gen_ai.response.finish_reasons": [choice.finish for choice in answer.choices],
            "gen_ai.usage.input_tokens": answer.prompt_tokens,
            "gen_ai.usage.output_tokens": answer.completion_tokens,
        }
    )
    if answer.ttft is not None:
        found["gen_ai.response.time_to_first_chunk"] = answer.ttft
    return found


def _messages(answer: Answer) -> list[dict[str, Any]]:
    return [{"role": "assistant", "parts": _parts(choice), "finish_reason": choice.finish.replace("tool_calls", "tool_call")} for choice in answer.choices]


def _parts(choice: Choice) -> list[dict[str, Any]]:
    calls = [{"type": "tool_call", "id": "c", "name": name, "arguments": json.loads(given)} for name, given in choice.calls]
    return [*([] if choice.content is None else [{"type": "text", "content": choice.content}]), *calls]


def _span(answer: Answer, attributes: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "@timestamp": iso(START),
        "trace_id": TRACE,
        "span_id": SPAN,
        "name": f"chat {MODEL}",
        "duration": round(answer.latency * 1e9),
        "attributes": attributes,
        **more,
    }


def _captured(answer: Answer) -> bool:
    return answer.captured and not answer.failed


def _otel_span(answer: Answer) -> str:
    texts = {"gen_ai.output.messages": json.dumps(_messages(answer))} if _captured(answer) else {}
    return _line(_span(answer, {**_genai(answer), **texts}))


def _otel_event(answer: Answer) -> str:
    texts = {"gen_ai.output.messages": _messages(answer)} if _captured(answer) else {}
    event = {"event_name": "gen_ai.client.inference.operation.details"}
    return _line(
        _span(answer, _genai(answer)),
        {**event, "@timestamp": iso(START + answer.latency), "trace_id": TRACE, "span_id": SPAN, "attributes": {**_genai(answer), **texts}},
    )


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(entry) for entry in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _pairs(value)}}
    return {"stringValue": value}


def _pairs(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in attributes.items()]


def _otlp(answer: Answer) -> str:
    texts = {"gen_ai.output.messages": _messages(answer)} if _captured(answer) else {}
    span = {
        "traceId": TRACE,
        "spanId": SPAN,
        "name": "chat",
        "startTimeUnixNano": str(START * 10**9),
        "endTimeUnixNano": str(START * 10**9 + round(answer.latency * 1e9)),
        "attributes": _pairs({**_genai(answer), **texts}),
    }
    return _line({"resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "x"}, "spans": [span]}]}]})


def _apm(answer: Answer) -> str:
    labels: dict[str, Any] = {}
    numbers: dict[str, float] = {}
    for name, value in _genai(answer).items():
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            numbers[name.replace(".", "_")] = float(value)
        else:
            labels[name.replace(".", "_")] = value
    if _captured(answer):
        labels["gen_ai_output_messages"] = json.dumps(_messages(answer))
    return _line(
        {
            "@timestamp": iso(START),
            "processor": {"event": "span"},
            "trace": {"id": TRACE},
            "span": {"id": SPAN, "duration": {"us": round(answer.latency * 1e6)}},
            "labels": labels,
            "numeric_labels": numbers,
        }
    )


def _otel_old(answer: Answer) -> str:
    span = {name.replace("provider.name", "system"): value for name, value in _genai(answer).items() if name != "gen_ai.response.finish_reasons"}
    if answer.failed:
        return _line(_span(answer, span))
    events = [
        {
            "@timestamp": iso(START + answer.latency),
            "trace_id": TRACE,
            "span_id": SPAN,
            "attributes": {"event.name": "gen_ai.choice", "gen_ai.system": "openai"},
            "body": {"structured": {"index": place, "finish_reason": choice.finish, "message": _message(choice) if answer.captured else {"role": "assistant"}}},
        }
        for place, choice in enumerate(answer.choices)
    ]
    return _line(*events, _span(answer, span))


def _message(choice: Choice) -> dict[str, Any]:
    return {name: value for name, value in message(choice).items() if value is not None}


def _openllmetry(answer: Answer) -> str:
    found: dict[str, Any] = {
        "llm.request.type": "chat",
        "gen_ai.system": "OpenAI",
        "gen_ai.request.model": MODEL,
        "gen_ai.request.max_tokens": answer.max_tokens,
        "llm.is_streaming": answer.stream,
        "gen_ai.response.id": answer.id,
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": PROMPT,
    }
    if answer.failed:
        found["error.type"] = str(answer.status)
    else:
        found.update({"gen_ai.usage.prompt_tokens": answer.prompt_tokens, "gen_ai.usage.completion_tokens": answer.completion_tokens})
        for place, choice in enumerate(answer.choices):
            start = f"gen_ai.completion.{place}"
            found.update({f"{start}.role": "assistant", f"{start}.finish_reason": choice.finish})
            if answer.captured and choice.content is not None:
                found[f"{start}.content"] = choice.content
            for number, (name, given) in enumerate(choice.calls):
                found.update({f"{start}.tool_calls.{number}.name": name, f"{start}.tool_calls.{number}.arguments": given})
    return _line(_span(answer, found))


def _openinference(answer: Answer) -> str:
    found: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "llm.model_name": MODEL,
        "llm.invocation_parameters": json.dumps({"max_tokens": answer.max_tokens, "stream": answer.stream, "n": len(answer.choices)}),
    }
    if answer.failed:
        return _line(_span(answer, {**found, "error.type": str(answer.status)}, status={"code": "Error", "message": "Request timed out."}))
    found.update({"llm.token_count.prompt": answer.prompt_tokens, "llm.token_count.completion": answer.completion_tokens})
    if answer.captured:
        found.update({"output.mime_type": "application/json", "output.value": json.dumps(body(answer))})
        for place, choice in enumerate(answer.choices):
            start = f"llm.output_messages.{place}.message"
            found[f"{start}.role"] = "assistant"
            if choice.content is not None:
                found[f"{start}.content"] = choice.content
            for number, (name, given) in enumerate(choice.calls):
                call = f"{start}.tool_calls.{number}.tool_call.function"
                found.update({f"{call}.name": name, f"{call}.arguments": given})
    else:
        found.update({"llm.finish_reason": answer.choices[0].finish, "output.value": "__REDACTED__"})
    events = [] if answer.ttft is None else [{"name": "First Token Stream Event", "timestamp": iso(START + answer.ttft)}]
    return _line(_span(answer, found, events=events))


def _langfuse(answer: Answer) -> str:
    output: Any = None
    if _captured(answer):
        output = body(answer)
    return _line(
        {
            "id": answer.id,
            "traceId": TRACE,
            "type": "GENERATION",
            "startTime": iso(START),
            "endTime": iso(START + answer.latency),
            "completionStartTime": None if answer.ttft is None else iso(START + answer.ttft),
            "model": MODEL,
            "modelParameters": {"max_tokens": answer.max_tokens, "stream": answer.stream, "n": len(answer.choices)},
            "input": request(answer)["messages"],
            "output": output,
            "usageDetails": {} if answer.failed else {"input": answer.prompt_tokens, "output": answer.completion_tokens},
            "level": "ERROR" if answer.failed else "DEFAULT",
            "statusMessage": "APITimeoutError: Request timed out. Error code: 504" if answer.failed else "",
            "metadata": {} if answer.failed else {"finish_reason": answer.choices[0].finish},
        }
    )


def _ecs(answer: Answer) -> str:
    content = sse(answer) if answer.stream else json.dumps(body(answer))
    response: dict[str, Any] = {"status_code": answer.status}
    if _captured(answer):
        response["body"] = {"content": content}
    document: dict[str, Any] = {
        "@timestamp": iso(START),
        "ecs": {"version": "8.11"},
        "event": {"duration": round(answer.latency * 1e9)},
        "url": {"path": "/v1/chat/completions"},
        "http": {"request": {"id": answer.id, "method": "POST", "body": {"content": json.dumps(request(answer))}}, "response": response},
        "trace": {"id": TRACE},
    }
    if not answer.captured:
        document["gen_ai"] = {
            "response": {"finish_reasons": [{"value": answer.choices[0].finish}]},
            "usage": {"input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens},
        }
    return _line(document)


_SPANS = EVERYTHING - {"status_code"}
PRODUCERS = (
    Producer("otel", _SPANS, _otel_span, name="otel span"),
    Producer("otel", _SPANS, _otel_event, name="otel span and event"),
    Producer("otel", _SPANS, _otlp, name="otel OTLP file"),
    Producer("otel", _SPANS, _apm, name="otel APM"),
    Producer("otel", _SPANS, _otel_old, name="otel choice events"),
    Producer("openllmetry", _SPANS - {"ttft_seconds"}, _openllmetry),
    Producer("openinference", _SPANS - {"request_id"}, _openinference),
    Producer("langfuse", _SPANS, _langfuse),
    Producer("ecs", EVERYTHING - {"ttft_seconds"}, _ecs),
)
