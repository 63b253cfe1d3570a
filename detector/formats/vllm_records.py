"""Records of one call in vLLM's log, once its lines are together: `Call` and `outcomes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from detector.formats.base import Document, Json, Outcome, Placed, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.openai import records_of_body
from detector.formats.output_text import bracketed_calls, leading_reasoning
from detector.formats.vllm_lines import Event
from detector.record import Record

_CUT_FROM = 16  # characters from which on equal lengths of text and token list are a logger's cut and no chance; of text and prompt: twice as many

REQUEST_ONLY = "request line without an answer line"
NO_ANSWER = "no answer of a chat or completion"


@dataclass
class Call:
    """The lines of one call so far; `key` is the API's id, empty where the log has none."""

    key: str
    request: list[Document] = field(default_factory=list)
    columns: dict[str, Any] = field(default_factory=dict)
    answers: list[tuple[Document, Event]] = field(default_factory=list)
    deltas: list[tuple[Document, Event]] = field(default_factory=list)
    bodies: list[tuple[Document, Json]] = field(default_factory=list)
    end: tuple[Document, dict[str, Any]] | None = None  # abort, failure, or the Rust front end's closing line
    prompt_length: int | None = None
    rust: bool = False
    touched: int = 0

    def last(self) -> Document | None:
        places = [document for document, _ in (*self.answers, *self.deltas, *self.bodies)]
        if self.end is not None:
            places.append(self.end[0])
        return max(places, key=lambda document: document.position, default=None)


def outcomes(call: Call, time_of: Callable[[Json], float | None]) -> Iterator[Outcome]:
    """Records of a call, each in the place of its own line; a rejection for each line of a call that has no outcome."""
    if not (call.answers or call.bodies or call.deltas or call.end):
        for document in call.request:
            yield Rejected(document, REQUEST_ONLY, ignored=True)
        return
    if call.bodies:  # say all that the answer lines say, and the counts
        known = {"stream": False, **call.columns, "engine": "vllm"}
        for document, body in call.bodies:
            records = records_of_body(body, {**known, "timestamp": document.envelope.get("timestamp")})
            if not records:
                yield Rejected(document, NO_ANSWER, ignored=True)
            for record in records:
                yield Placed(record, document)
        return
    if call.answers:
        for index, (document, found) in enumerate(call.answers):
            yield Placed(_timed(_record(call, found, index), document, time_of), document)
    elif call.deltas:
        document = call.deltas[-1][0]
        found = Event("delta", (), _joined([found.columns.get("content") or "" for _, found in call.deltas]), rust=call.rust)
        yield Placed(_timed(_record(call, found, 0), document, time_of), call.end[0] if call.end else document)
    elif call.end is not None:
        yield Placed(_record(call, Event("abort", (), {}, rust=call.rust), 0), call.end[0])


def _joined(deltas: Sequence[str]) -> dict[str, Any]:
    """Columns of a stream without its end, from its deltas: text, and reasoning and tool arguments, which the logger puts in brackets."""
    content: list[str] = []
    thought: list[str] = []
    for delta in deltas:
        if delta.startswith("[reasoning: ") and delta.endswith("]"):
            thought.append(delta[len("[reasoning: ") : -1])
        elif not (delta.startswith("[tool_calls: ") and delta.endswith("]")):
            content.append(delta)
    text, reasoning = "".join(content), "".join(thought)
    columns: dict[str, Any] = {"content": text or None, "content_state": "present" if text else "empty", "stream": True, "stream_done": False}
    if reasoning:
        columns["reasoning"], columns["reasoning_state"] = reasoning, "present"
    return {**columns, "content_is_raw": False}


def _timed(record: Record, document: Document, time_of: Callable[[Json], float | None]) -> Record:
    if record.timestamp is None and "timestamp" not in document.envelope:
        record.timestamp = time_of(document.body)
    return record


def _record(call: Call, found: Event, index: int) -> Record:
    ended = call.end[1] if call.end is not None else {}
    columns = {**call.columns, **found.columns, **{name: value for name, value in ended.items() if name != "finish_reason_raw"}}
    raw = ended.get("finish_reason_raw") or found.columns.get("finish_reason_raw")
    if raw in (None, "streaming_complete"):
        raw = next((event.columns["finish_reason_raw"] for _, event in reversed(call.deltas) if "finish_reason_raw" in event.columns), raw)
    columns.pop("finish_reason_raw", None)
    record = Record(request_id=call.key or None, engine="vllm", choice_index=index, **columns)
    if raw is not None:
        given = reason(raw)
        record.finish_reason, record.finish_reason_raw, record.finish_reason_source = given.canonical, raw, "engine"
    if record.stream:
        no_text = record.content_state == "empty" and found.columns.get("content_is_raw") is False  # the middleware shows no tool calls
        record.stream_done = True if found.kind == "answer" and not no_text else record.stream_done
    if found.kind == "answer":
        _set_text(record, found, call)
    infer_length(record)
    return record


def _set_text(record: Record, found: Event, call: Call) -> None:
    if record.content_is_raw is None:
        record.content_is_raw = bool(record.stream and not found.rust) or call.key.startswith("cmpl-")
    text = record.content
    if text and not record.content_is_raw:
        thought, rest = leading_reasoning(text)
        if thought is not None and (found.rust or not rest):  # the Python front end writes the bracket only where nothing else came
            record.reasoning, record.reasoning_state = thought, "present"
            text = rest
    calls = bracketed_calls(text) if text and not record.content_is_raw else None
    if calls is not None:
        text, record.tool_calls, record.tool_arguments = calls
    elif record.content_state != "truncated":
        record.tool_calls = () if not record.content_is_raw else None
    if text and record.content_state == "present" and _is_cut(text, found, call):
        record.content_state = "truncated"
        if record.completion_tokens == len(text):
            record.completion_tokens = None
    record.content = text or None
    if not text and record.content_state == "present":
        record.content_state = "empty"


def _is_cut(text: str, found: Event, call: Call) -> bool:
    """`max_log_len` cuts prompt, text and token list to one length and leaves no other mark."""
    size = len(text)
    return (size >= _CUT_FROM and size == found.columns.get("completion_tokens")) or (size >= 2 * _CUT_FROM and size == call.prompt_length)
