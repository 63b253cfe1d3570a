"""Logs of engines and of what stands directly before them, bare bodies, exports of chat interfaces."""

from __future__ import annotations

import json
from typing import Any

from tests.producers.answers import EVERYTHING, MODEL, PROMPT, START, TOKENS, Answer, Producer, body, iso, message, request, sse

_NAMED = frozenset(("request_id", "choice_index"))


def _line(*documents: Any) -> str:
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def _parameters(answer: Answer) -> str:
    return (
        f"SamplingParams(n={len(answer.choices)}, temperature=0.7, top_p=0.95, ignore_eos=False, max_tokens={answer.max_tokens}, min_tokens=0, extra_args=None)"
    )


def _vllm_messages(answer: Answer) -> list[str] | None:
    """A streamed reason and an empty answer are not in this log."""
    if answer.stream or not answer.captured or answer.name == "empty":
        return None
    asked = f"Received request {answer.id}: params: {_parameters(answer)}, lora_request: None."
    if answer.failed:
        return [asked, f"Request {answer.id} aborted."]
    found = [asked]
    for choice in answer.choices:
        text = choice.content or f"[tool_calls: {', '.join(f'{name}({given})' for name, given in choice.calls)}]"
        found.append(f"Generated response {answer.id}: output: {text!r}, output_token_ids: None, finish_reason: {choice.finish}")
    return found


def _vllm_text(answer: Answer) -> str | None:
    found = _vllm_messages(answer)
    return None if found is None else "".join(f"(APIServer pid=1) INFO 11-29 08:00:00 [logger.py:63] {line}\n" for line in found)


def _vllm_json(answer: Answer) -> str | None:
    found = _vllm_messages(answer)
    name = "vllm.entrypoints.serve.utils.request_logger"
    return (
        None
        if found is None
        else _line(*({"asctime": "2026-11-29 08:00:00,118", "levelname": "INFO", "name": name, "process": 7, "message": line} for line in found))
    )


def _ray(answer: Answer) -> str | None:
    found = _vllm_messages(answer)
    return None if found is None else "".join(f"(ServeReplica:default:LLM_ship pid=42) INFO 11-29 08:00:00 [logger.py:63] {line}\n" for line in found)


def _body_line(answer: Answer) -> str | None:
    return None if answer.failed or answer.stream or not answer.captured else _line(body(answer))


def _recorded_stream(answer: Answer) -> str | None:
    return sse(answer) if answer.stream else None


def _envelope(answer: Answer) -> str | None:
    if not answer.captured:
        return None
    response: Any = sse(answer) if answer.stream else body(answer)
    return _line(
        {
            "timestamp": iso(START),
            "request": request(answer),
            "response": None if answer.failed else response,
            "request_id": answer.id,
            "http_status": answer.status,
            "latency_ms": answer.latency * 1000,
            "ttft_ms": None if answer.ttft is None else answer.ttft * 1000,
        }
    )


def _batch(answer: Answer) -> str | None:
    if answer.stream or not answer.captured:
        return None
    error = {"error": {"message": "Request timed out.", "type": "Timeout", "code": 504}} if answer.failed else None
    return _line(
        {
            "id": "b",
            "custom_id": "r",
            "response": {"status_code": answer.status, "request_id": "x", "body": None if answer.failed else body(answer)},
            "error": error,
        }
    )


def _sglang_reason(word: str, answer: Answer) -> dict[str, Any]:
    if answer.failed:
        return {"type": "abort", "message": "Request running timeout reached.", "status_code": 503, "err_type": None}
    return {"type": "length", "length": answer.completion_tokens} if word == "length" else {"type": "stop", "matched": 151645}


def _sglang(answer: Answer) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """Native calls: one choice, no tool parser, and text from before the reasoning parser."""
    if len(answer.choices) > 1 or answer.choices[0].calls:
        return None
    choice = answer.choices[0]
    asked = {"rid": answer.id, "sampling_params": {"temperature": 0.7, "max_new_tokens": answer.max_tokens, "n": 1}, "stream": answer.stream}
    out: dict[str, Any] = {} if not answer.captured or answer.failed else {"text": choice.content}
    out["meta_info"] = {
        "id": answer.id,
        "finish_reason": _sglang_reason(choice.finish, answer),
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "e2e_latency": answer.latency,
        **({"first_token_latency": answer.ttft} if answer.ttft is not None else {}),
    }
    return asked, out


def _sglang_json(answer: Answer) -> str | None:
    found = _sglang(answer)
    return (
        None
        if found is None
        else _line({"timestamp": "2026-11-29T08:00:02.5", "event": "request.finished", "rid": answer.id, "obj": found[0], "out": found[1]})
    )


def _sglang_text(answer: Answer) -> str | None:
    found = _sglang(answer)
    if found is None:
        return None
    fields = ", ".join(f"{name}={value!r}" for name, value in found[0].items())
    return f"[2026-11-29 08:00:02] Finish: obj=GenerateReqInput({fields}), out={found[1]!r}\n"


def _tgi(answer: Answer) -> str | None:
    if answer.failed or len(answer.choices) > 1:
        return None
    name = "generate_stream" if answer.stream else "generate"
    parameters = f"parameters=GenerateParameters {{ best_of: None, temperature: None, max_new_tokens: Some({answer.max_tokens}), seed: None }}"
    times = f'total_time="{answer.latency}s" validation_time="1.1ms" queue_time="60.2µs" inference_time="1.4s" time_per_token="22.4ms" seed="None"'
    return f"2026-11-29T08:00:00.000000Z  INFO {name}{{{parameters} {times}}}: text_generation_router::server: router/src/server.rs:402: Success\n"


def _openwebui(answer: Answer) -> str | None:
    if answer.failed or len(answer.choices) > 1 or not answer.captured or answer.choices[0].calls:
        return None
    turn = {
        "role": "assistant",
        "content": answer.choices[0].content,
        "model": MODEL,
        "done": True,
        "timestamp": START,
        "parentId": "u1",
        "childrenIds": [],
        "id": "a1",
    }
    used = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens}
    asked = {"id": "u1", "parentId": None, "childrenIds": ["a1"], "role": "user", "content": PROMPT, "timestamp": START}
    history = {"messages": {"u1": asked, "a1": {**turn, "usage": used}}, "currentId": "a1"}
    return _line([{"id": "c1", "user_id": "u", "title": "t", "chat": {"models": [MODEL], "history": history, "messages": []}}])


def _triton(answer: Answer) -> str | None:
    """Its front end writes stop or tool_calls whatever happened, and no usage."""
    if answer.failed or not answer.captured or answer.stream or len(answer.choices) > 1:
        return None
    choice = answer.choices[0]
    given = {
        "id": "cmpl-257c6f56-1c5c-4347-a11a-3ce9d97dcbee",
        "object": "chat.completion",
        "created": START,
        "model": MODEL,
        "usage": None,
        "system_fingerprint": None,
    }
    inner = {**message(choice), "function_call": None}
    return _line(
        {
            "request": request(answer),
            "response": {**given, "choices": [{"index": 0, "message": inner, "logprobs": None, "finish_reason": "tool_calls" if choice.calls else "stop"}]},
            "status": 200,
        }
    )


def _rust(answer: Answer) -> str | None:
    """The Rust front end closes every call with its reason, also a stream's; its text is parsed text in Rust's quoting."""
    if answer.failed or len(answer.choices) > 1 or answer.name == "empty":
        return None
    choice = answer.choices[0]
    head = "(RustFrontend pid=21) INFO 11-29 08:00:01 [{}] chat_completions{{request_id={} engine_request_id={}-1a2b3c4d}}: "
    text = choice.content or "[tool_calls: " + ", ".join(f"{name}({given})" for name, given in choice.calls) + "]"
    kind, reason = (" (streaming complete)", "streaming_complete") if answer.stream else ("", choice.finish)
    output = head.format("output_logging.rs:38", answer.id, answer.id) + f"Generated response{kind}: output: {json.dumps(text)}, finish_reason: {reason}\n"
    figures = f"model={MODEL} prompt_tokens={answer.prompt_tokens} output_tokens={answer.completion_tokens}"
    closing = head.format("chat_completions.rs:211", answer.id, answer.id) + (
        f'chat completion finished {"stream=true " if answer.stream else ""}{figures} finish_reason="{choice.finish}"\n'
    )
    return (output if answer.captured else "") + closing


def _librechat(answer: Answer) -> str | None:
    if answer.failed or len(answer.choices) > 1 or not answer.captured:
        return None
    choice = answer.choices[0]
    turn: dict[str, Any] = {
        "_id": "o1",
        "messageId": "m1",
        "conversationId": "cv1",
        "parentMessageId": "p1",
        "sender": MODEL,
        "text": choice.content or "",
        "isCreatedByUser": False,
        "model": MODEL,
        "endpoint": "vLLM",
        "error": False,
        "unfinished": False,
        "createdAt": iso(START),
        "tokenCount": answer.completion_tokens,
        "finish_reason": choice.finish,
    }
    if choice.calls:
        turn["content"] = [
            {"type": "tool_call", "tool_call": {"id": "t", "name": name, "args": given, "type": "tool_call", "output": "x"}} for name, given in choice.calls
        ]
    return _line(turn)


_VLLM = _NAMED | {"finish_reason", "content", "max_tokens"}
_SGLANG = frozenset(("request_id", "finish_reason", "content", "max_tokens", "latency_seconds")) | TOKENS
PRODUCERS = (
    Producer("vllm_text", _VLLM, _vllm_text),
    Producer("vllm_json", _VLLM, _vllm_json),
    Producer("ray_serve", _VLLM, _ray),
    Producer("vllm_rust", (_NAMED | TOKENS | {"model", "stream", "finish_reason", "content"}), _rust),
    Producer("librechat", frozenset(("model", "content", "tool_calls", "completion_tokens", "finish_reason", "timestamp")), _librechat),
    Producer("sglang_json", _SGLANG | {"ttft_seconds"}, _sglang_json, raw=True),
    Producer("sglang_text", _SGLANG | {"ttft_seconds"}, _sglang_text, raw=True),
    Producer("tgi", frozenset(("latency_seconds", "max_tokens")), _tgi),
    Producer("openai", EVERYTHING - {"status_code", "max_tokens", "stream", "latency_seconds", "ttft_seconds"}, _body_line),
    Producer("openai", EVERYTHING - {"status_code", "max_tokens", "latency_seconds", "ttft_seconds"}, _recorded_stream, name="recorded stream"),
    Producer("envelope", EVERYTHING, _envelope),
    Producer("batch", EVERYTHING - {"request_id", "max_tokens", "stream", "latency_seconds", "ttft_seconds", "timestamp"}, _batch, lost=frozenset(("model",))),
    Producer("openwebui", frozenset(("model", "content", "timestamp")) | TOKENS, _openwebui, shows=frozenset(("empty_content",))),
    Producer("triton", frozenset(("model", "content", "content_state", "tool_calls", "max_tokens")), _triton, shows=frozenset(("empty_content",))),
)
