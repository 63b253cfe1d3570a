"""The fast path gives the rows of the general path, or leaves the line to it."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detector.batch import Batch
from detector.fast_columns import columns_of
from detector.fast_path import FastLines
from detector.formats.base import Document
from detector.formats.detect import Detector
from detector.formats.envelope_decoder import IGNORED, asked
from detector.formats.openai_request import request_columns
from detector.formats.values import instant
from detector.reading import Reader, ReadingOptions
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.files import Files
from detector.stamps import stamps

PLAIN: dict[str, Any] = {
    "request_id": "r1",
    "timestamp": "2026-11-29T03:00:00.250Z",
    "http_status": 200,
    "latency_ms": 812.5,
    "request": {"model": "m", "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which pier?"}], "max_tokens": 64},
    "response": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1795921200,
        "model": "m-8b",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Pier 4."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 4},
    },
}

texts = st.one_of(
    st.none(),
    st.sampled_from(["", "x", "stop", "none", "redacted-by-litellm", "Pier 4.", "한국어 답변", "cut ...[truncated]", "<truncated>", "{}", "7"]),
    st.text(max_size=40),
)
numbers = st.one_of(
    st.none(), st.integers(-2, 2**70), st.floats(allow_nan=False, allow_infinity=False), st.sampled_from([0, 1, 64, 200, 504, 2**63, 1e300, -1.5, 10**11])
)
odd = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.text(max_size=8),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)
flags = st.one_of(st.none(), st.booleans(), st.sampled_from(["true", "no"]))
times = st.one_of(
    st.none(),
    st.sampled_from(
        ["2026-11-29T03:00:00Z", "2026-11-29T03:00:00.123456789Z", "2026-11-29 03:00:00", "2026-11-29T12:00:00+09:00", "soon", "2026-02-30T00:00:00.000Z"]
    ),
    st.integers(0, 2**62),
)
calls = st.one_of(
    st.none(),
    st.lists(st.one_of(st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": texts, "arguments": st.one_of(texts, odd)})}), odd), max_size=2),
)
message = st.fixed_dictionaries(
    {},
    optional={
        "role": st.just("assistant"),
        "content": st.one_of(texts, st.lists(st.fixed_dictionaries({"type": st.just("text"), "text": texts}), max_size=2)),
        "reasoning": texts,
        "reasoning_content": texts,
        "thinking": texts,
        "thinking_blocks": odd,
        "tool_calls": calls,
        "function_call": odd,
        "refusal": texts,
        "audio": odd,
    },
)
choice = st.fixed_dictionaries(
    {"message": message},
    optional={
        "index": st.one_of(st.integers(-1, 3), st.none()),
        "finish_reason": st.one_of(texts, st.sampled_from(["stop", "length", "tool_calls", "abort", "error", "end_turn"])),
        "stop_reason": st.one_of(texts, numbers, odd),
        "matched_stop": st.one_of(texts, numbers),
        "delta": odd,
        "text": texts,
        "provider_specific_fields": odd,
    },
)
details = st.one_of(st.none(), st.fixed_dictionaries({}, optional={"cached_tokens": numbers, "reasoning_tokens": numbers}))
usage = st.one_of(
    odd,
    st.fixed_dictionaries(
        {},
        optional={
            "prompt_tokens": numbers,
            "completion_tokens": numbers,
            "input_tokens": numbers,
            "cached_tokens": numbers,
            "prompt_tokens_details": details,
            "completion_tokens_details": details,
            "output_tokens_details": details,
        },
    ),
)
response = st.fixed_dictionaries(
    {},
    optional={
        "object": st.sampled_from(["chat.completion", "chat.completion", "chat.completion.chunk", "response", "error", "list"]),
        "id": texts,
        "created": st.one_of(numbers, st.just(1795921200)),
        "created_at": numbers,
        "model": texts,
        "choices": st.lists(choice, max_size=2),
        "usage": usage,
        "metrics": st.one_of(
            odd, st.fixed_dictionaries({}, optional={"queue_time_ms": numbers, "time_to_first_token_ms": numbers, "generation_time_ms": numbers})
        ),
        "system_fingerprint": st.one_of(texts, st.just("vllm-0.32.0-030e4170")),
        "error": odd,
        "stream_done": flags,
        "meta_info": odd,
    },
)
turn = st.fixed_dictionaries({"role": st.sampled_from(["user", "system", "assistant", "tool", "developer"]), "content": st.one_of(texts, odd)})
request = st.fixed_dictionaries(
    {},
    optional={
        "model": texts,
        "messages": st.one_of(st.lists(st.one_of(turn, odd), max_size=3), odd),
        "prompt": texts,
        "input": texts,
        "max_tokens": numbers,
        "max_completion_tokens": numbers,
        "temperature": numbers,
        "n": numbers,
        "stream": flags,
        "tools": odd,
        "tool_choice": st.one_of(texts, odd),
        "thinking_token_budget": numbers,
        "thinking": odd,
        "reasoning_effort": texts,
        "chat_template_kwargs": st.one_of(odd, st.fixed_dictionaries({}, optional={"enable_thinking": flags, "thinking": flags, "thinking_budget": numbers})),
        "response_format": st.one_of(
            odd, st.fixed_dictionaries({"type": st.sampled_from(["json_object", "json_schema", "text"])}, optional={"json_schema": odd})
        ),
        "include_reasoning": flags,
        "ignore_eos": flags,
        "stop": st.one_of(texts, st.lists(texts, max_size=2)),
        "suffix": texts,
        "extra_body": odd,
        "skip_special_tokens": flags,
        "seed": numbers,
    },
)
envelope = st.fixed_dictionaries(
    {"request": request, "response": response},
    optional={
        "record_id": texts,
        "id": st.one_of(texts, numbers),
        "request_id": texts,
        "trace_id": texts,
        "timestamp": times,
        "@timestamp": times,
        "event": st.one_of(odd, st.fixed_dictionaries({}, optional={"ingested": times, "kind": texts})),
        "detector": st.one_of(odd, st.just({"pipeline": 1, "flags": ["loop"]})),
        "deployment": texts,
        "model": texts,
        "engine": texts,
        "engine_version": texts,
        "pod": texts,
        "client": texts,
        "endpoint": texts,
        "http_status": numbers,
        "status": st.one_of(numbers, texts),
        "latency_ms": numbers,
        "ttft_ms": numbers,
        "client_timeout_s": numbers,
        "concurrency": numbers,
        "stream": flags,
        "stream_done": flags,
        "error": st.one_of(odd, st.just("ReadTimeout: gave up")),
        "sse": st.one_of(st.none(), st.just("data: [DONE]\n\n")),
        "latency_s": numbers,
        "n": numbers,
        "note": texts,
    },
)


def fast(document: dict[str, Any], lines: FastLines | None = None) -> list[Record] | None:
    row = (lines or FastLines()).decode(orjson.dumps(document))
    return None if row is None else [columns_of([row], [1], "f").record(0)]


def general(document: dict[str, Any]) -> list[Record]:
    """What the whole general path makes of a document: peeling, detection, format."""
    reader = Reader(ReadingOptions(keep_duplicates=True), Tally())
    return [*reader.feed(Document(json.loads(json.dumps(document)), "f:1")), *reader.finish()]


def test_the_usual_line_takes_the_fast_path() -> None:
    assert fast(PLAIN) == general(PLAIN)


def test_what_a_store_adds_takes_the_fast_path() -> None:
    """`@timestamp` is believed before `timestamp`; the ingest pipeline's time and flags change nothing else."""
    stored = {**PLAIN, "@timestamp": "2026-11-29T03:00:07.000Z", "event": {"ingested": "2026-11-29T03:00:09Z"}, "detector": {"pipeline": 1, "flags": []}}
    found = fast(stored)
    assert found == general(stored)
    assert found is not None
    assert (found[0].timestamp, found[0].ingested_at) == (instant("2026-11-29T03:00:07Z"), instant("2026-11-29T03:00:09Z"))


def parts_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The objects inside an envelope by name, where they are objects."""
    response = document.get("response", {})
    choices = response.get("choices") or [{}]
    found = {"": document, "request": document.get("request"), "response": response, "choice": choices[0], "message": choices[0].get("message")}
    found["usage"] = response.get("usage")
    return {name: part for name, part in found.items() if isinstance(part, dict)}


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(envelope)
def test_a_line_that_fits_gives_the_row_of_the_general_path(document: dict[str, Any]) -> None:
    """The usual line with every odd value in it that fits: all of them at once give what the general path gives."""
    lines = FastLines()
    changed = json.loads(json.dumps(PLAIN))
    for name, part in parts_of(document).items():
        for key, value in part.items():
            if key in ("request", "response", "choices", "message"):
                continue
            target = parts_of(changed).get(name, {})
            before = target.get(key, target)
            target[key] = value
            if lines.decode(json.dumps(changed).encode()) is None:
                if before is target:
                    del target[key]
                else:
                    target[key] = before
    line = json.dumps(changed).encode()
    row = lines.decode(line)
    assert row is not None
    assert [columns_of([row], [1], "f").record(0)] == general(changed)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
@given(envelope)
def test_no_line_breaks_it(document: dict[str, Any]) -> None:
    line = json.dumps(document).encode()
    row = FastLines().decode(line)
    if row is not None:
        assert [columns_of([row], [1], "f").record(0)] == general(document)


@pytest.mark.parametrize(
    "line",
    [
        b'{"request":{"max_tokens":' + b"9" * 400 + b'},"response":{}}',
        b'{"request":{},"response":{"object":"chat.completion","choices":[{"message":{"content":NaN},"finish_reason":"stop"}]}}',
        b'{"request":{},"response":{"object":"chat.completion","choices":[{"message":{"content":"\\ud83d"},"finish_reason":"stop"}]}}',
        b'{"request":{},"response":{"object":"chat.completion","choices":[{"message":{"content":"\xff"},"finish_reason":"stop"}]}}',
        b"[" * 100_000,
        b'{"request":' * 50_000,
        b"",
    ],
)
def test_what_is_no_json_is_left_to_the_general_path(line: bytes) -> None:
    assert FastLines().decode(line) is None
    assert FastLines().decode_block(line + b"\n") is None or not line


@given(
    st.lists(
        st.one_of(
            times.filter(lambda value: value is None or isinstance(value, str)), st.datetimes().map(lambda at: at.isoformat(timespec="milliseconds") + "Z")
        )
    )
)
def test_times_are_read_as_one_by_one(values: list[str | None]) -> None:
    assert stamps(values) == [instant(value) for value in values]


def test_every_key_that_the_general_path_reads_is_known_or_refused() -> None:
    """Each key by itself, with a value of every kind, in a line that would fit without it."""
    from detector.formats.envelope_decoder import keys_asked

    read, sought = keys_asked(request_columns, {"x": 1}, {"messages": [{"role": "user", "content": "x"}]})
    for key in sorted(read | sought):
        for value in (None, True, False, 3, 2.5, "", "text", [], ["a"], {}, {"enabled": True, "type": "json_object", "budget_tokens": 3}):
            document = {**PLAIN, "request": {**PLAIN["request"], key: value}}
            found = fast(document)
            assert found is None or found == general(document), key


def test_harmless_keys_are_learned_and_others_never() -> None:
    lines = FastLines()
    document = {**PLAIN, "note": "x", "shard": 3}
    assert fast(document, lines) is None
    for _ in range(4):
        lines.learn(orjson.dumps(document))
    assert fast(document, lines) == general(document)
    assert fast({**document, "note": ["other"]}, lines) is None  # a kind of value that proved nothing yet
    for name, value in (
        ("latency_s", 3),
        ("message", "x"),
        ("kubernetes", {"pod": {"name": "p"}}),
        ("@version", "1"),
        ("x_request_id", "q"),
    ):
        told = {**PLAIN, name: value}
        for _ in range(4):
            lines.learn(orjson.dumps(told))
        assert fast(told, lines) is None, name


def rows_of(batches: list[Batch]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(batch.record(row)) for batch in batches for row in range(batch.size)]


def test_a_mixed_file_reads_the_same_in_order_and_fast(tmp_path: Path) -> None:
    failed = {**PLAIN, "response": {"error": {"message": "busy", "type": "overloaded", "code": 503}}, "http_status": 503}
    pretty = json.dumps({**PLAIN, "request_id": "pretty"}, indent=1)
    lines = [json.dumps({**PLAIN, "request_id": f"r{number}"}) for number in range(40)]
    lines[3:3] = [json.dumps(failed), pretty, "", "no json at all", '{"request": {"model": "m"}, "resp', json.dumps({**PLAIN, "request_id": "after"})]
    lines += ['{"index": {"_index": "llm", "_id": "7"}}', json.dumps({**PLAIN, "request_id": "indexed"}), "[1]"]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    tallies = Tally(), Tally()
    quick = rows_of(list(Files([str(path)]).batches(tallies[0])))
    slow_batches = list(Files([str(path)], ReadingOptions(in_order=True)).batches(tallies[1]))
    slow = rows_of(slow_batches)
    assert {str(row) for row in quick} == {str(row) for row in slow}
    assert len(quick) == len(slow) == 44
    assert tallies[0] == tallies[1]
    assert sum(tallies[0].unreadable.values()) == 3


def test_no_other_producers_line_takes_the_fast_path() -> None:
    """Every line of every format's fixtures: what fits must be what detection calls an envelope."""
    lines = [
        line
        for path in sorted((Path(__file__).parent / "data" / "formats").glob("*.jsonl"))
        for fixture in path.read_text().splitlines()
        for line in json.loads(fixture)["input"].splitlines()
    ]
    triton = json.loads(json.dumps(PLAIN))
    triton["response"]["id"] = "cmpl-257c6f56-1c5c-4347-a11a-3ce9d97dcbee"
    assert Detector().detect(triton) is not None
    assert FastLines().decode_block(orjson.dumps(triton)) is None
    assert len(lines) > 100
    for line in [*lines, json.dumps(triton), json.dumps(PLAIN)]:
        if FastLines().decode(line.encode()) is not None:
            found = Detector().detect(json.loads(line))
            assert found is not None
            assert found.format.name == "envelope", line


def test_further_keys_inside_the_parts_are_learned_when_no_column_comes_from_them() -> None:
    assert all(IGNORED[part].isdisjoint(asked(part)) for part in IGNORED)
    lines = FastLines()
    document = json.loads(json.dumps(PLAIN))
    document["request"]["cache_salt"] = {"x": [1]}
    document["response"]["choices"][0]["routed_experts"] = None
    assert fast(document, lines) is None
    lines.learn(orjson.dumps(document))
    assert fast(document, lines) == general(document)
    for key in sorted(asked("request") - {"model", "messages"}):
        lines.learn(orjson.dumps({**PLAIN, "request": {**PLAIN["request"], key: {"odd": 1}}}))
        changed = {**PLAIN, "request": {**PLAIN["request"], key: 7}}
        found = fast(changed, lines)
        assert found is None or found == general(changed), key
