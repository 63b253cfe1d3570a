"""The record: one answer (one choice of one response) in canonical columns, whatever log it came from.

A response with `n` choices gives `n` records that share `request_id`. Field names are the API's own words. `None` always means "this log does
not say"; it never means zero, empty or false. This module must not know any producer's format.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

FinishReason = Literal["stop", "length", "tool_calls", "content_filter", "abort", "error", "repetition", "unknown"]
FinishReasonSource = Literal["engine", "gateway", "inferred"]
TextState = Literal["present", "empty", "not_captured", "truncated"]

FINISH_REASONS: tuple[str, ...] = get_args(FinishReason)
TEXT_STATES: tuple[str, ...] = get_args(TextState)
# Seconds since 1970 between which a time is one: "no time" of Go is the year 1, of Unix 1970, of FAT 1980; the end is that of epochs in `formats.values`.
EARLIEST, LATEST = 946_684_800.0, 1e11


def _column(unit: str, meaning: str, default: Any = None) -> Any:
    """A field of `Record` with its documentation; `unit` is empty for text, flags and identifiers."""
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


@dataclass(slots=True)
class Record:
    """One answer. All columns are optional, because no log holds them all; `COLUMNS` lists them with unit and meaning."""

    # when and which
    timestamp: float | None = _column(
        "seconds since 1970-01-01 UTC", "the time that the document itself bears: the request's start where start and end are given"
    )
    ingested_at: float | None = _column("seconds since 1970-01-01 UTC", "when the log store received the document")
    record_id: str | None = _column("", "the log line's own id (`id`, `record_id`), where it has one apart from the API's")
    request_id: str | None = _column("", "the id that the client of the API saw, without an engine's inner suffix")
    trace_id: str | None = _column("", "trace that the request belongs to")
    choice_index: int = _column("", "which choice of the response; 0 where the log does not say", 0)
    # where
    deployment: str | None = _column("", "service or model group as its owners call it")
    model: str | None = _column("", "model name in the response, else in the request")
    engine: str | None = _column("", "vllm, sglang, tgi, …")
    engine_version: str | None = _column("", "version as the log writes it")
    pod: str | None = _column("", "pod or instance that answered; None: never reached one, or not said")
    client: str | None = _column("", "calling service or user agent")
    endpoint: str | None = _column("", "path of the API, such as /v1/chat/completions")
    # outcome
    stream: bool | None = _column("", "the answer was streamed")
    stream_done: bool | None = _column(
        "", "the stream's end was seen ([DONE] or a last chunk with a finish reason); None for answers not streamed or not known"
    )
    status_code: int | None = _column("HTTP status", "as the client saw it; 0 or None where no answer came")
    error_type: str | None = _column("", "class or code of the error, in the producer's word")
    error_message: str | None = _column("", "the error's text; hostile and private like content")
    finish_reason: FinishReason | None = _column("", "canonical reason; None where the log has none for a finished answer")
    finish_reason_raw: str | None = _column("", "the reason as the log writes it")
    finish_reason_source: FinishReasonSource | None = _column("", "who said it: the engine, a gateway that may rewrite it, or inferred from token counts")
    stop_reason: str | None = _column("", "matched stop string or token id (vLLM stop_reason, SGLang matched_stop)")
    # text
    content: str | None = _column("", "text for the user; None unless content_state is present or truncated")
    content_state: TextState = _column(
        "", "present, empty (the answer had no text), not_captured (the log does not hold it), truncated (the logger cut it)", "not_captured"
    )
    reasoning: str | None = _column("", "thinking text, from `reasoning` or `reasoning_content`")
    reasoning_state: TextState = _column("", "as content_state, for reasoning", "not_captured")
    content_is_raw: bool | None = _column("", "text from before the reasoning parser: a tag there is normal; None: not known, taken as parsed")
    tool_calls: tuple[str, ...] | None = _column("", "function names called, in order; () means none; None: not known")
    tool_arguments: tuple[str, ...] | None = _column("", "argument texts beside tool_calls")
    refusal: str | None = _column("", "the refusal field")
    # size
    prompt_tokens: int | None = _column("tokens", "usage.prompt_tokens (of the request, not of one choice)")
    completion_tokens: int | None = _column("tokens", "usage.completion_tokens (of the request: the sum over its choices)")
    reasoning_tokens: int | None = _column("tokens", "usage.completion_tokens_details.reasoning_tokens")
    cached_tokens: int | None = _column("tokens", "prompt tokens served from the prefix cache")
    # request
    max_tokens: int | None = _column("tokens", "cap that the request set (max_tokens, max_completion_tokens, max_new_tokens, n_predict)")
    thinking_budget: int | None = _column("tokens", "limit on thinking that the request set, wherever it stood")
    temperature: float | None = _column("", "sampling temperature")
    response_format: str | None = _column("", "json_object, json_schema, regex, grammar, text …: what shape the request demanded")
    has_tools: bool | None = _column("", "the request offered tools")
    n: int | None = _column("", "choices asked for")
    enable_thinking: bool | None = _column("", "chat_template_kwargs.enable_thinking or thinking, as requested")
    include_reasoning: bool | None = _column("", "include_reasoning as requested")
    stop: tuple[str, ...] | None = _column("", "the request's stop strings")
    has_suffix: bool | None = _column("", "the request gave the text after the gap (fill in the middle); None: not known or not so")
    ignore_eos: bool | None = _column("", "ignore_eos as requested")
    min_tokens: int | None = _column("tokens", "min_tokens as requested: the model may not end before")
    last_role: str | None = _column("", "role of the request's last message")
    system_text: str | None = _column("", "text of the request's system messages and of the user's earlier ones; used to judge, never shown")
    skip_special_tokens: bool | None = _column("", "skip_special_tokens as requested: False means that the caller wants them in the text")
    user_text: str | None = _column("", "text of the request's last user message or prompt; used to judge, never shown")
    session: str | None = _column("", "conversation or session id")
    user: str | None = _column("", "end user as the log names them")
    prompt_hash: str | None = _column("", "hash of the prompt's beginning: same hash, same prefix")
    schema_is_empty: bool | None = _column("", "a JSON schema was demanded and it allows anything ({})")
    gateway_options: tuple[str, ...] | None = _column("", "options of a gateway that change the answer, such as merge_reasoning_content_in_choices")
    speculative: bool | None = _column("", "speculative decoding was on")
    client_timeout_seconds: float | None = _column("seconds", "the client's own limit")
    cache_hit: bool | None = _column("", "a gateway answered from its response cache: no engine was asked")
    is_probe: bool | None = _column("", "the producer itself marks the call as a health check or warm-up")
    # time
    latency_seconds: float | None = _column("seconds", "end to end")
    ttft_seconds: float | None = _column("seconds", "to the first token")
    queue_seconds: float | None = _column("seconds", "waiting before the engine scheduled it")
    concurrency: int | None = _column("requests", "derived: requests of that pod in flight at arrival")
    # origin
    doc_index: str | None = _column("", "index of the document, or the file")
    doc_id: str | None = _column("", "id of the document, or the line's place in the file")

    def request_key(self) -> str | None:
        """What makes two records choices of one request: the API's id, else the line's own id, else its document."""
        return self.request_id or self.record_id or self.doc_id


COLUMNS: dict[str, dataclasses.Field[Any]] = {column.name: column for column in dataclasses.fields(Record)}
DEFAULTS: dict[str, Any] = {name: column.default for name, column in COLUMNS.items()}
SERIES_LABELS: tuple[str, ...] = ("deployment", "model", "engine", "engine_version", "pod", "stream")
