"""Streams of OpenAI's API, recorded whole, cut or as chunk documents."""

from __future__ import annotations

from typing import Any

import pytest

from detector.formats import openai
from detector.formats.base import Document
from detector.formats.joining import ByKey
from detector.formats.openai import records_of_body
from detector.record import Record
from tests.openai_bodies import chat, chunk, only, sse

STREAM = [
    chunk({"role": "assistant", "content": ""}),
    chunk({"reasoning": "so it is tidal"}),
    chunk({"content": "Because </th"}),
    chunk({"content": "ink> of the tide."}, "stop"),
    chunk({}, choices=[], usage={"prompt_tokens": 9, "completion_tokens": 15}),
]


@pytest.mark.parametrize("body", [sse(*STREAM), sse(*STREAM, done=False), STREAM, sse(*STREAM).replace("\n\n", "\n"), sse(*STREAM).replace("\n", "\r\n")])
def test_streams_become_one_answer(body: Any) -> None:
    record = only(body)
    assert (record.content, record.reasoning, record.finish_reason, record.stream, record.stream_done) == (
        "Because </think> of the tide.",
        "so it is tidal",
        "stop",
        True,
        True,
    )
    assert (record.prompt_tokens, record.completion_tokens) == (9, 15)


def test_a_cut_stream_has_no_end() -> None:
    record = only(sse(*STREAM[:3], done=False))
    assert (record.content, record.finish_reason, record.stream_done) == ("Because </th", None, False)
    merged = only(chat({"content": "Because"}, None), stream=True)
    assert (merged.finish_reason, merged.stream_done) == (None, False)


def test_an_error_inside_a_stream() -> None:
    record = only(sse({"error": {"message": "busy", "type": "Service Unavailable", "code": 503}}), status_code=200)
    assert (record.error_type, record.status_code, record.content_state) == ("Service Unavailable", 200, "not_captured")
    late = only(sse(STREAM[2], {"error": {"message": "lost", "type": "Internal"}}, done=False))
    assert (late.content, late.error_type, late.stream_done) == ("Because </th", "Internal", False)


def test_streamed_tool_calls_and_choices() -> None:
    calls = [
        chunk({"tool_calls": [{"index": 0, "function": {"name": "find", "arguments": ""}}]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"a"'}}]}),
        chunk({"tool_calls": [{"index": 1, "function": {"name": "g", "arguments": "{}"}}, {"index": 0, "function": {"arguments": ": 1}"}}]}, "tool_calls"),
    ]
    record = only(calls)
    assert (record.tool_calls, record.tool_arguments, record.content_state) == (("find", "g"), ('{"a": 1}', "{}"), "empty")
    second = {**chunk({"content": "two"}, "length")}
    second["choices"][0]["index"] = 1
    assert [(r.choice_index, r.content, r.finish_reason) for r in records_of_body([*STREAM, second], {})] == [
        (0, "Because </think> of the tide.", "stop"),
        (1, "two", "length"),
    ]


def test_streamed_responses_api() -> None:
    created = {"type": "response.created", "response": {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}}
    deltas = [{"type": "response.output_text.delta", "delta": "Pier "}, {"type": "response.output_text.delta", "delta": "4."}]
    output = [{"type": "message", "content": [{"type": "output_text", "text": "Pier 4."}]}]
    closed = {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "status": "completed", "output": output}}
    whole, cut = only(sse(created, *deltas, closed, done=False)), only(sse(created, *deltas, done=False))
    assert (whole.content, whole.finish_reason, whole.stream_done) == ("Pier 4.", "stop", True)
    assert (cut.content, cut.finish_reason, cut.stream_done) == ("Pier 4.", None, False)


def test_chunk_documents_are_joined_wherever_they_stand() -> None:
    other = {**STREAM[3], "id": "chatcmpl-9"}
    documents = [Document(body, f"f:{at}", {}, at) for at, body in enumerate([*STREAM[:2], other, *STREAM[2:]])]
    records = [record for record in openai.FORMAT.read(documents) if isinstance(record, Record)]
    assert [record.content for record in records] == ["Because </think> of the tide.", "ink> of the tide."]
    assert openai.FORMAT.joiner is not None
    joiner = openai.FORMAT.joiner()
    assert isinstance(joiner, ByKey)
    outcomes = [outcome for document in documents for outcome in joiner.feed(document)] + list(joiner.finish())
    assert len(outcomes) == 2
