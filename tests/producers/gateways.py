"""Logs of gateways and proxies."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.producers.answers import CALL, EVERYTHING, MODEL, START, TOKENS, Answer, Producer, body, iso, message, request, sse


def _line(*documents: Any) -> str:
    return "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents)


def _litellm(answer: Answer) -> str:
    return _line(
        {
            "id": answer.id,
            "trace_id": "t",
            "call_type": "acompletion",
            "stream": answer.stream,
            "status": "failure" if answer.failed else "success",
            "custom_llm_provider": "hosted_vllm",
            "startTime": float(START),
            "endTime": START + answer.latency,
            "completionStartTime": START + (answer.ttft or answer.latency),
            "response_time": answer.ttft or answer.latency,
            "model": MODEL,
            "model_group": "ship",
            "metadata": {},
            "prompt_tokens": 0 if answer.failed else answer.prompt_tokens,
            "completion_tokens": 0 if answer.failed else answer.completion_tokens,
            "messages": request(answer)["messages"] if answer.captured else [{"role": "user", "content": "redacted-by-litellm"}],
            "response": None if answer.failed else body(answer, marker="redacted-by-litellm"),
            "model_parameters": {"max_tokens": answer.max_tokens, "n": len(answer.choices)},
            "hidden_params": {},
            "error_information": {"error_code": str(answer.status), "error_class": "Timeout"} if answer.failed else {"error_code": "", "error_class": ""},
        }
    )


def _spend(answer: Answer) -> str:
    return _line(
        {
            "request_id": answer.id,
            "call_type": "acompletion",
            "api_key": "ff",
            "spend": 0.1,
            "prompt_tokens": answer.prompt_tokens,
            "completion_tokens": answer.completion_tokens,
            "startTime": iso(START),
            "endTime": iso(START + answer.latency),
            "completionStartTime": iso(START + (answer.ttft or answer.latency)),
            "model": MODEL,
            "model_group": "ship",
            "metadata": json.dumps(
                {"status": "failure", "error_information": {"error_code": "504", "error_class": "Timeout"}} if answer.failed else {"status": "success"}
            ),
            "cache_hit": "None",
            "request_tags": "[]",
            "messages": "{}",
            "response": "{}" if answer.failed or not answer.captured else json.dumps(body(answer)),
            "proxy_server_request": json.dumps(request(answer)),
            "status": "failure" if answer.failed else "success",
        }
    )


def _kserve(answer: Answer) -> str | None:
    if answer.failed or not answer.captured:  # only answers of status 200 are recorded, and always whole
        return None
    return _line(*(_event(kind, data, at) for kind, data, at in (("request", request(answer), START), ("response", _given(answer), START + answer.latency))))


def _given(answer: Answer) -> Any:
    return sse(answer) if answer.stream else body(answer)


def _event(kind: str, data: Any, at: float) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "type": f"org.kubeflow.serving.inference.{kind}",
        "source": "http://localhost:9081/",
        "id": "c-1",
        "time": iso(at),
        "inferenceservicename": "ship",
        "namespace": "d",
        "component": "predictor",
        "metadata": "{}",
        "data": data,
    }


def _kserve_blob(answer: Answer) -> str | None:
    if answer.failed or not answer.captured:
        return None

    def record(kind: str, data: Any) -> dict[str, Any]:
        text = data if isinstance(data, str) else json.dumps(data)
        return {"Bytes": base64.b64encode(text.encode()).decode(), "ReqType": f"org.kubeflow.serving.inference.{kind}", "Id": "c-1", "InferenceService": "ship"}

    return _line([record("request", request(answer)), record("response", _given(answer))])


def _access(answer: Answer, **more: Any) -> dict[str, Any]:
    return {
        "start_time": iso(START),
        "method": "POST",
        "x-envoy-origin-path": "/v1/chat/completions",
        "response_code": answer.status,
        "response_flags": "UT" if answer.failed else "-",
        "response_code_details": "response_timeout" if answer.failed else "via_upstream",
        "duration": round(answer.latency * 1000),
        "x-request-id": answer.id,
        "upstream_host": "10.4.0.7:8000",
        **more,
    }


def _envoy(answer: Answer) -> str | None:
    if len(answer.choices) > 1:  # one line whatever n was
        return None
    figures = {"gen_ai.usage.input_tokens": answer.prompt_tokens, "gen_ai.usage.output_tokens": answer.completion_tokens}
    return _line(_access(answer, **{"gen_ai.request.model": MODEL}, **({} if answer.failed else figures)))


def _higress(answer: Answer) -> str | None:
    if len(answer.choices) > 1:
        return None
    choice = answer.choices[0]
    figures: dict[str, Any] = {"model": MODEL, "response_type": "stream" if answer.stream else "normal"}
    if not answer.failed:
        figures.update({"input_token": str(answer.prompt_tokens), "output_token": str(answer.completion_tokens)})
        if answer.ttft is not None:
            figures["llm_first_token_duration"] = str(round(answer.ttft * 1000))
        if answer.captured:
            figures["answer"] = choice.content or ""
            figures["tool_calls"] = json.dumps(message(choice).get("tool_calls", []))
    return _line({**_access(answer), "response_code": str(answer.status), "duration": str(round(answer.latency * 1000)), "ai_log": json.dumps(figures)})


def _kong(answer: Answer) -> str:
    payload = {"payload": {"request": json.dumps(request(answer)), "response": _payload(answer)}} if answer.captured and not answer.failed else {}
    counted: dict[str, Any] = {} if answer.failed else {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens}
    if answer.ttft is not None:
        counted["time_to_first_token"] = answer.ttft * 1000
    return _line(
        {
            "started_at": START * 1000,
            "latencies": {"request": answer.latency * 1000, "kong": 1, "proxy": answer.latency * 1000 - 1},
            "request": {"id": answer.id, "method": "POST", "uri": "/v1/chat/completions", "headers": {}},
            "response": {"status": answer.status},
            "upstream_status": str(answer.status),
            "service": {"name": "ship"},
            "tries": [{"ip": "10.4.0.7", "port": 8000}],
            "ai": {"proxy": {"meta": {"request_model": MODEL, "request_mode": "stream" if answer.stream else "oneshot"}, "usage": counted, **payload}},
        }
    )


def _payload(answer: Answer) -> str:
    return sse(answer) if answer.stream else json.dumps(body(answer))


def _apisix(answer: Answer) -> str | None:
    if len(answer.choices) > 1:
        return None
    summary: dict[str, Any] = {"model": MODEL, "request_model": MODEL, "stream": str(answer.stream).lower(), "has_tool_calls": bool(answer.choices[0].calls)}
    if not answer.failed:
        summary.update(
            {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens, "duration": (answer.ttft or answer.latency) * 1000}
        )
    texts = {"llm_request": request(answer), "llm_response_text": {"content": answer.choices[0].content or ""}} if answer.captured and not answer.failed else {}
    return _line(
        {
            "start_time": START * 1000,
            "latency": answer.latency * 1000,
            "upstream_latency": answer.latency * 1000 - 1,
            "route_id": "1",
            "upstream": "10.4.0.7:8000",
            "request": {"method": "POST", "uri": "/v1/chat/completions", "headers": {"x-request-id": answer.id}},
            "response": {"status": answer.status},
            "llm_summary": summary,
            **texts,
        }
    )


def _nginx(answer: Answer) -> str | None:
    if len(answer.choices) > 1:
        return None
    return _line(
        {
            "msec": float(START),
            "request_id": answer.id,
            "request_method": "POST",
            "request_uri": "/v1/chat/completions",
            "status": str(answer.status),
            "body_bytes_sent": "9",
            "request_time": f"{answer.latency:.3f}",
            "upstream_addr": "10.4.0.7:8000",
        }
    )


def _sglang_router(answer: Answer) -> str | None:
    if len(answer.choices) > 1:
        return None
    fields = f'request_id="{answer.id}" status_code={answer.status} method=POST uri=/v1/chat/completions latency={round(answer.latency * 1e6)}'
    return f"2026-11-29T08:00:00.000000Z  INFO sglang_router_rs::middleware: src/middleware.rs:234: finished processing request {fields}\n"


_SEEN = CALL | {"status_code", "timestamp"}
PRODUCERS = (
    Producer("litellm", EVERYTHING, _litellm),
    Producer("litellm_spend", EVERYTHING - {"stream"}, _spend, with_text=frozenset(("finish_reason",))),
    Producer("kserve", EVERYTHING - {"ttft_seconds"}, _kserve),
    Producer("kserve", EVERYTHING - {"ttft_seconds", "latency_seconds"}, _kserve_blob, name="kserve blob"),
    Producer("envoy", _SEEN | TOKENS, _envoy),
    Producer("higress", _SEEN | TOKENS | {"content", "stream", "ttft_seconds"}, _higress, shows=frozenset(("empty_content",))),
    Producer("kong", EVERYTHING - {"max_tokens"}, _kong, with_text=frozenset(("finish_reason",))),
    Producer("apisix", _SEEN | TOKENS | {"content", "stream"}, _apisix, shows=frozenset(("length_cutoff", "empty_content"))),
    Producer("nginx", _SEEN - {"model"}, _nginx),
    Producer("router", frozenset(("request_id", "status_code")), _sglang_router, name="SGLang router"),
)
