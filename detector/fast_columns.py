"""Decoded envelopes to columns: the rows of the fast path, equal to those of the general path.

Columns that signals walk through for every row are lists; the others are made for the rows that are judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import msgspec

from detector.batch import Batch
from detector.fast_talks import Talks
from detector.formats.openai_fields import engine_of
from detector.formats.openai_message import CUT_ENDS, is_redacted, is_truncated
from detector.formats.openai_request import strings
from detector.formats.values import instant
from detector.record import DEFAULTS
from detector.stamps import stamps


class Lazy(Sequence[Any]):
    """A column whose values are made when they are asked for, from one thing per row."""

    def __init__(self, sources: Sequence[Any], make: Callable[[Any], Any]) -> None:
        self._sources, self._make = sources, make

    def __len__(self) -> int:
        return len(self._sources)

    def __iter__(self) -> Iterator[Any]:
        return map(self._make, self._sources)

    @overload
    def __getitem__(self, row: int) -> Any: ...
    @overload
    def __getitem__(self, row: slice) -> list[Any]: ...
    def __getitem__(self, row: int | slice) -> Any:
        if row.__class__ is not slice:
            return self._make(self._sources[row])
        return [self._make(source) for source in self._sources[row]]


def columns_of(rows: list[Any], lines: Sequence[int], path: str) -> Batch:
    """The batch of decoded envelopes; `lines` are their line numbers in the file at `path`.

    Columns that signals walk through for every row are lists; the others are made for the rows that are judged.
    """
    size = len(rows)
    requests = [row.request for row in rows]
    responses = [row.response for row in rows]
    choices = [response.choices[0] for response in responses]
    messages = [choice.message for choice in choices]
    talks = Talks([request.messages for request in requests])
    engines = [engine_of(response.system_fingerprint) if response.system_fingerprint else _NO_ENGINE for response in responses]
    contents, content_states = _texts([message.content for message in messages])
    thoughts, thought_states = _texts([_thought(message) for message in messages], missing=True)
    streams = [request.stream if row.stream is None else row.stream for row, request in zip(rows, requests, strict=True)]
    reasons = [choice.finish_reason for choice in choices]
    columns: dict[str, Sequence[Any]] = {
        "timestamp": _times_of(rows),
        "record_id": [(row.id if row.record_id is None else row.record_id) or None for row in rows],
        "request_id": [row.request_id or response.id or None for row, response in zip(rows, responses, strict=True)],
        "deployment": [row.deployment or None for row in rows],
        "model": [response.model or row.model or request.model or None for row, request, response in zip(rows, requests, responses, strict=True)],
        "engine": [row.engine or engine[0] for row, engine in zip(rows, engines, strict=True)],
        "engine_version": [row.engine_version or engine[1] for row, engine in zip(rows, engines, strict=True)],
        "pod": [row.pod or None for row in rows],
        "stream": streams,
        "stream_done": [(True if stream else None) if row.stream_done is None else row.stream_done for row, stream in zip(rows, streams, strict=True)],
        "status_code": [row.status if row.http_status is None else row.http_status for row in rows],
        "finish_reason": reasons,
        "finish_reason_raw": reasons,
        "finish_reason_source": ["engine"] * size,
        "content": contents,
        "content_state": content_states,
        "reasoning": thoughts,
        "reasoning_state": thought_states,
        "content_is_raw": [False] * size,
        "tool_calls": [_names(message.tool_calls) if message.tool_calls else () for message in messages],
        "tool_arguments": [_arguments(message.tool_calls) if message.tool_calls else None for message in messages],
        "completion_tokens": [None if response.usage is None else response.usage.completion_tokens for response in responses],
        "max_tokens": [request.max_tokens for request in requests],
        "doc_index": [path] * size,
        "doc_id": Lazy(lines, str),
        "last_role": Lazy(range(size), talks.last_role),
        "user_text": Lazy(range(size), talks.user_text),
        "system_text": Lazy(range(size), talks.system_text),
    }
    columns.update({name: Lazy(rows, make) for name, make in _SELDOM.items()})
    seldom: dict[str, list[Any]] = {
        "choice_index": [choice.index for choice in choices],
        "stop_reason": [_stopped(choice) for choice in choices],
        "has_tools": [None if request.tools is msgspec.UNSET else bool(request.tools) and request.tool_choice != "none" for request in requests],
        "response_format": [None if request.response_format is None else request.response_format.type for request in requests],
    }
    columns.update({name: values for name, values in seldom.items() if values.count(DEFAULTS[name]) != size})
    return Batch(size, columns)


_NO_ENGINE = (None, None)
_SELDOM: dict[str, Callable[[Any], Any]] = {
    "ingested_at": lambda row: None if row.event is None else instant(row.event.ingested),
    "trace_id": lambda row: row.trace_id or None,
    "client": lambda row: row.client or None,
    "endpoint": lambda row: row.endpoint or None,
    "session": lambda row: row.session or None,
    "user": lambda row: row.user or None,
    "refusal": lambda row: row.response.choices[0].message.refusal or None,
    "prompt_tokens": lambda row: None if row.response.usage is None else row.response.usage.prompt_tokens,
    "cached_tokens": lambda row: _detail(row.response.usage, "prompt_tokens_details", "cached_tokens"),
    "reasoning_tokens": lambda row: _detail(row.response.usage, "completion_tokens_details", "reasoning_tokens"),
    "thinking_budget": lambda row: row.request.thinking_token_budget,
    "temperature": lambda row: row.request.temperature,
    "n": lambda row: row.request.n,
    "enable_thinking": lambda row: _thinking(row.request.chat_template_kwargs),
    "include_reasoning": lambda row: row.request.include_reasoning,
    "ignore_eos": lambda row: row.request.ignore_eos,
    "stop": lambda row: None if row.request.stop is None else strings(row.request.stop),
    "client_timeout_seconds": lambda row: row.client_timeout_s,
    "ttft_seconds": lambda row: _times(row.response.metrics)[1] if row.ttft_ms is None else row.ttft_ms * 1e-3,
    "latency_seconds": lambda row: _latency(row),
    "queue_seconds": lambda row: _times(row.response.metrics)[0],
    "concurrency": lambda row: row.concurrency,
}


def _latency(row: Any) -> float | None:
    if row.latency_ms is not None:
        return float(row.latency_ms * 1e-3)
    return None if row.response.metrics is None else _times(row.response.metrics)[2]


def _detail(usage: Any, holder: str, name: str) -> int | None:
    details = None if usage is None else getattr(usage, holder)
    return None if details is None else getattr(details, name)


def _texts(values: list[str | None], *, missing: bool = False) -> tuple[list[str | None], list[str]]:
    """Texts and their states, as `openai_message.set_text`; with `missing`, None is a text that was never there and "" one that is empty."""
    texts = values
    states: list[str] = []
    for row, value in enumerate(values):
        if not value:
            texts[row] = None
            states.append("not_captured" if missing and value is None else "empty")
        elif len(value) < 32 and is_redacted(value):
            texts[row] = None
            states.append("not_captured")
        else:
            states.append("truncated" if value[-1] in CUT_ENDS and is_truncated(value) else "present")
    return texts, states


def _thought(message: Any) -> str | None:
    """The reasoning under either name; "" where one of them is there and holds nothing, None where neither is."""
    old, new = message.reasoning_content, message.reasoning
    if old is msgspec.UNSET and new is msgspec.UNSET:
        return None
    return (old or "" if old is not msgspec.UNSET else "") or (new or "" if new is not msgspec.UNSET else "")


def _times_of(rows: list[Any]) -> list[float | None]:
    found = stamps([row.stored_timestamp or row.timestamp for row in rows])
    return [_later(row) if at is None else at for at, row in zip(found, rows, strict=True)] if None in found else found


def _later(row: Any) -> float | None:
    """The time of a row whose first one can't be read: the other one, else that of the answer."""
    at = None if row.stored_timestamp is None else instant(row.timestamp)
    created = row.response.created
    return at if at is not None else None if created is None else float(created)


def _stopped(choice: Any) -> str | None:
    stopped = choice.stop_reason if choice.stop_reason is not None else choice.matched_stop
    return None if stopped is None else str(stopped) or None


def _names(calls: list[Any]) -> tuple[str, ...]:
    return tuple(call.function.name or "" for call in calls)


def _arguments(calls: list[Any]) -> tuple[str, ...]:
    return tuple(call.function.arguments or "" for call in calls)


def _thinking(options: Any) -> bool | None:
    if options is None:
        return None
    asked: bool | None = options.enable_thinking if options.enable_thinking is not None else options.thinking
    return asked


def _times(metrics: Any) -> tuple[float | None, float | None, float | None]:
    """Waiting, first token and end in seconds, as `openai` reads vLLM's metrics."""
    if metrics is None:
        return (None, None, None)
    queue, first, rest = (
        None if value is None else value * 1e-3 for value in (metrics.queue_time_ms, metrics.time_to_first_token_ms, metrics.generation_time_ms)
    )
    if queue is None or first is None:
        return (queue, None, None)
    return (queue, queue + first, queue + first + rest if rest is not None else None)
