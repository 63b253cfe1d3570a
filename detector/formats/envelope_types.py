"""The usual envelope around a chat answer as typed structures: the lines that the fast path reads.

A line that fits gives exactly the record that `detector.formats.envelope` gives. So every key that the general path looks at must either stand here, with
the type in which the fast path understands it, or be refused (`detector.formats.envelope_decoder`).
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None
Number = Annotated[float, Meta(gt=-(2.0**53), lt=2.0**53)] | None  # whole numbers of that size are the same as floats
Duration = Annotated[float, Meta(ge=0, lt=2.0**63)] | None
Epoch = Annotated[int, Meta(ge=1, lt=10**11)]  # seconds; beyond that magnitude decides the unit
Token = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Text = str | None
Flag = bool | None
Finish = Literal["stop", "length", "tool_calls", "content_filter", "abort", "error", "repetition"]
Refused = Annotated[str, Meta(pattern=r"(?!)")]  # no value fits, not even null


class Details(Struct, gc=False, kw_only=True):
    cached_tokens: Count = None
    reasoning_tokens: Count = None


class Usage(Struct, gc=False, kw_only=True):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Function(Struct, gc=False, kw_only=True):
    name: Text = None
    arguments: Text = None


class ToolCall(Struct, gc=False, kw_only=True):
    function: Function


class Message(Struct, gc=False, kw_only=True):
    content: Text
    reasoning_content: Text | UnsetType = UNSET
    reasoning: Text | UnsetType = UNSET
    tool_calls: list[ToolCall] | None = None
    refusal: Text = None
    function_call: None = None  # vLLM always writes it; a filled one is for the general path


class Choice(Struct, gc=False, kw_only=True):
    message: Message
    finish_reason: Finish
    index: Annotated[int, Meta(ge=0, lt=1 << 31)] = 0
    stop_reason: str | Token | None = None
    matched_stop: str | Token | None = None


class Metrics(Struct, gc=False, kw_only=True):
    queue_time_ms: Duration = None
    time_to_first_token_ms: Duration = None
    generation_time_ms: Duration = None


class Response(Struct, gc=False, kw_only=True):
    object: Literal["chat.completion"]
    choices: Annotated[list[Choice], Meta(min_length=1, max_length=1)]
    id: Text = None  # a chat answer with cmpl- is Triton's, whose reasons are not to be believed: `detector.fast_path` leaves it to the general path
    created: Epoch | None = None
    model: Text = None
    usage: Usage | None = None
    metrics: Metrics | None = None
    system_fingerprint: Text = None


class TemplateOptions(Struct, gc=False, kw_only=True):
    enable_thinking: Flag = None
    thinking: Flag = None


class ResponseFormat(Struct, gc=False, kw_only=True):
    type: Literal["json_object", "text"]


class Ignored(Struct, gc=False):
    """Any object, of which nothing is kept."""


class Request(Struct, gc=False, kw_only=True):
    model: Text = None
    messages: Raw = Raw(b"")
    max_tokens: Count = None
    temperature: Number = None
    n: Count = None
    stream: Flag = None
    tools: list[Raw] | UnsetType | None = UNSET
    tool_choice: str | Ignored | None = None
    thinking_token_budget: Count = None
    chat_template_kwargs: TemplateOptions | None = None
    response_format: ResponseFormat | None = None
    include_reasoning: Flag = None
    ignore_eos: Flag = None
    stop: list[str] | Text = None


class Event(Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    """What an ingest pipeline adds beside the document."""

    ingested: Text = None


class Envelope(Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    request: Request
    response: Response
    record_id: Text = None
    id: Text = None
    request_id: Text = None
    trace_id: Text = None
    timestamp: Text = None
    stored_timestamp: Text = msgspec.field(name="@timestamp", default=None)  # believed before the other, as metadata of shippers is
    event: Event | None = None
    detector: Raw = Raw(b"")  # the flags of deploy/elasticsearch/ingest-pipeline.json
    deployment: Text = None
    model: Text = None
    engine: Text = None
    engine_version: Text = None
    pod: Text = None
    client: Text = None
    endpoint: Text = None
    session: Text = None
    user: Text = None
    http_status: Count = None
    status: Count = None
    latency_ms: Duration = None
    ttft_ms: Duration = None
    client_timeout_s: Duration = None
    concurrency: Count = None
    stream: Flag = None
    stream_done: Flag = None
    error: None = None
    sse: Raw = Raw(b"")
