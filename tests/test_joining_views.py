"""One answer in the logs of engine, gateway and tracer is counted once; attempts that a gateway retried are one request."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from detector.reading import ATTEMPTS, JOINED, SEVERAL, ReadingOptions
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.files import Files
from detector.sources.joining_views import JoinedViews, request_key
from tests.producers import engines, gateways, tracers
from tests.producers.answers import ANSWERS, Answer, Producer


def _producer(name: str) -> Producer:
    return next(found for found in (*engines.PRODUCERS, *gateways.PRODUCERS, *tracers.PRODUCERS) if (found.name or found.format) == name)


def _log(tmp_path: Path, *texts: str | None) -> str:
    path = tmp_path / "mixed.log"
    path.write_text("".join(text for text in texts if text is not None), encoding="utf-8")
    return str(path)


def _read(path: str) -> tuple[list[Record], Tally]:
    tally = Tally()
    return [batch.record(row) for batch in Files([path], ReadingOptions()).batches(tally) for row in range(batch.size)], tally


def _answer(name: str) -> Answer:
    return next(answer for answer in ANSWERS if answer.name == name)


@pytest.mark.parametrize("names", [("vllm_text", "envoy", "otel span"), ("otel span", "envoy", "vllm_text"), ("envoy", "litellm", "otel OTLP file")])
@pytest.mark.parametrize("answer", [_answer("benign"), _answer("leak"), _answer("length"), _answer("loop")], ids=lambda answer: answer.name)
def test_three_views_are_one_answer(tmp_path: Path, names: tuple[str, ...], answer: Answer) -> None:
    records, tally = _read(_log(tmp_path, *(_producer(name).render(answer) for name in names)))
    assert len(records) == 1
    assert tally.notes[JOINED] == 2
    found = records[0]
    wanted = answer.columns(0)
    for column in ("request_id", "model", "status_code", "finish_reason", "content", "prompt_tokens", "completion_tokens", "latency_seconds", "timestamp"):
        assert getattr(found, column) == pytest.approx(wanted[column]), column


def test_choices_stay_apart_and_a_gateway_serves_them_all(tmp_path: Path) -> None:
    answer = _answer("two")
    access = _producer("envoy").render(replace(_answer("benign"), name="two"))
    records, _ = _read(_log(tmp_path, _producer("vllm_text").render(answer), access))
    assert [(record.choice_index, record.finish_reason, record.status_code) for record in records] == [(0, "stop", 200), (1, "length", 200)]


def test_a_time_out_is_one_failure_with_the_gateways_status(tmp_path: Path) -> None:
    answer = _answer("timeout")
    records, _ = _read(_log(tmp_path, _producer("vllm_text").render(answer), _producer("envoy").render(answer)))
    assert [(record.status_code, record.finish_reason, record.latency_seconds) for record in records] == [(504, "abort", 60.0)]


def test_parsed_text_wins_over_raw_text() -> None:
    joiner = JoinedViews()
    engine = Record(request_id="chatcmpl-a", content="so.</think>Yes.", content_state="present", content_is_raw=True, finish_reason="stop")
    gateway = Record(request_id="a", content="Yes.", content_state="present", content_is_raw=False, finish_reason="unknown", status_code=200)
    found = [*joiner.feed(engine, "sglang_json", "engine"), *joiner.feed(gateway, "litellm", "gateway"), *joiner.finish()]
    assert [(record.content, record.content_is_raw, record.finish_reason, record.status_code) for record in found] == [("Yes.", False, "stop", 200)]


def test_ids_that_a_client_uses_again_are_separate_requests() -> None:
    joiner = JoinedViews()
    found = []
    for number in range(3):
        for name, view in (("vllm_text", "engine"), ("envoy", "gateway")):
            found.extend(joiner.feed(Record(request_id="same", timestamp=1000.0 + number, status_code=200 if view == "gateway" else None), name, view))  # type: ignore[arg-type]
    found.extend(joiner.finish())
    assert [(record.timestamp, record.status_code) for record in found] == [(1000.0, 200), (1001.0, 200), (1002.0, 200)]


def test_records_without_an_id_pass_in_order() -> None:
    joiner = JoinedViews()
    given = [Record(content=str(number)) for number in range(5)]
    assert [*(out for record in given for out in joiner.feed(record, "openai", "client")), *joiner.finish()] == given


def test_views_far_apart_in_time_are_not_joined() -> None:
    joiner = JoinedViews(seconds=900)
    found = [
        *joiner.feed(Record(request_id="a", timestamp=0.0), "envoy", "gateway"),
        *joiner.feed(Record(request_id="a", timestamp=5000.0), "vllm_text", "engine"),
        *joiner.finish(),
    ]
    assert len(found) == 2


def test_memory_is_bounded() -> None:
    joiner = JoinedViews(records=100)
    given = 0
    for number in range(1000):
        given += len(list(joiner.feed(Record(request_id=f"r{number}"), "vllm_text", "engine")))
        assert number + 1 - given <= 100
    assert given + len(list(joiner.finish())) == 1000
    assert joiner.joined == 0


def test_order_is_kept() -> None:
    joiner = JoinedViews(records=7)
    found = []
    for number in range(50):
        found.extend(joiner.feed(Record(request_id=f"r{number}"), "envoy", "gateway"))
        if number >= 3:
            found.extend(joiner.feed(Record(request_id=f"r{number - 3}"), "otel", "tracer"))
    found.extend(joiner.finish())
    assert [record.request_id for record in found] == [f"r{number}" for number in range(50)]


@pytest.mark.parametrize(("left", "right"), [("chatcmpl-abc", "abc"), ("cmpl-abc", "chatcmpl-abc"), ("abc", "abc")])
def test_ids_of_engine_and_gateway(left: str, right: str) -> None:
    assert request_key(left) == request_key(right)


def _payload(start: float, seconds: float, *, failed: bool, number: str, trace: str = "t-1", prompt: str = "When?") -> str:
    document = {
        "id": number,
        "trace_id": trace,
        "call_type": "acompletion",
        "status": "failure" if failed else "success",
        "startTime": start,
        "endTime": start + seconds,
        "model": "m",
        "messages": [{"role": "user", "content": prompt}],
        "response": None if failed else {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Noon."}}]},
        "model_parameters": {},
        "error_information": {"error_class": "Timeout", "error_code": "408"} if failed else {},
    }
    return json.dumps(document) + "\n"


START = 1795939200.0


def test_a_retried_call_is_one_request_with_its_final_outcome(tmp_path: Path) -> None:
    log = _log(
        tmp_path,
        _payload(START, 60, failed=True, number="a1"),
        _payload(START + 61, 60, failed=True, number="a2"),
        _payload(START + 122, 3, failed=False, number="a3"),
    )
    records, tally = _read(log)
    assert [(record.request_id, record.status_code, record.timestamp, record.latency_seconds) for record in records] == [("a3", 200, START, 125.0)]
    assert tally.notes[ATTEMPTS] == 2


def test_a_call_that_failed_to_the_end_is_one_failure(tmp_path: Path) -> None:
    records, _ = _read(_log(tmp_path, _payload(START, 60, failed=True, number="a1"), _payload(START + 60, 60, failed=True, number="a2")))
    assert [(record.request_id, record.error_type, record.latency_seconds) for record in records] == [("a2", "Timeout", 120.0)]


@pytest.mark.parametrize(
    "second",
    [
        _payload(START + 300, 2, failed=False, number="b"),  # much later: another call of the same trace
        _payload(START + 61, 2, failed=False, number="b", prompt="Where?"),  # another prompt
        _payload(START + 61, 2, failed=False, number="b", trace="t-2"),  # another trace
        _payload(START + 30, 2, failed=False, number="b"),  # at the same time
    ],
)
def test_other_calls_of_a_trace_are_no_attempts(tmp_path: Path, second: str) -> None:
    records, tally = _read(_log(tmp_path, _payload(START, 60, failed=True, number="a"), second))
    assert len(records) == 2
    assert tally.notes[ATTEMPTS] == 0


def test_views_that_could_not_be_joined_are_told(tmp_path: Path) -> None:
    engine, access = _producer("vllm_text").render(_answer("benign")), _producer("envoy").render(_answer("leak"))
    _, tally = _read(_log(tmp_path, engine, access))
    assert tally.notes[SEVERAL] == 2
    _, tally = _read(_log(tmp_path, engine, _producer("envoy").render(_answer("benign"))))
    assert SEVERAL not in tally.notes


def _folder(tmp_path: Path, names: tuple[str, ...], answers: list[Answer]) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name in names:
        texts = [text for answer in answers if (text := _producer(name).render(answer)) is not None]
        text = "".join(text.replace(tracers.SPAN, f"{number + 1:016x}") for number, text in enumerate(texts))
        (folder / f"{name.replace(' ', '_')}.log").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("names", [("vllm_text", "envoy", "otel OTLP file"), ("litellm", "vllm_text"), ("kong", "openllmetry", "sglang_json")])
def test_files_of_several_views_are_read_side_by_side(tmp_path: Path, names: tuple[str, ...]) -> None:
    answers = [replace(_answer(("benign", "leak", "length", "loop")[number % 4]), name=f"n{number}") for number in range(400)]
    files = Files([str(_folder(tmp_path, names, answers))], ReadingOptions())
    tally = Tally()
    records = [batch.record(row) for batch in files.batches(tally) for row in range(batch.size)]
    assert sorted(str(record.request_id) for record in records) == sorted(answer.id for answer in answers)
    assert tally.notes[JOINED] == 400 * (len(names) - 1)
    assert SEVERAL not in tally.notes
    assert all(record.timestamp is not None for record in records), "the gateway's time serves the engine's line"
    assert {record.finish_reason for record in records} == {"stop", "length"}
    assert files.partitions(4) == [files]


def test_files_of_one_view_are_shared_out(tmp_path: Path) -> None:
    files = Files([str(_folder(tmp_path, ("envoy", "litellm", "nginx"), [_answer("benign")]))], ReadingOptions())
    assert len(files.partitions(3)) > 1
    assert files.views == {}


def test_every_document_is_given_where_that_is_asked(tmp_path: Path) -> None:
    folder = _folder(tmp_path, ("vllm_text", "envoy"), [_answer("benign")])
    files = Files([str(folder)], ReadingOptions(keep_duplicates=True, in_order=True))
    assert sum(batch.size for batch in files.batches(Tally())) == 2


def _seen_twice(count: int) -> tuple[list[str], list[str]]:
    """The same answers in an engine's text log and in a gateway's envelopes, which alone would take the fast path."""
    engine, envelopes = [], []
    for number in range(count):
        at, name = f"03:{number // 60:02d}:{number % 60:02d}", f"chatcmpl-{number}"
        engine += [
            f"INFO 11-29 {at} [logger.py:63] Received request {name}: params: SamplingParams(n=1, max_tokens=64), lora_request: None.",
            f"INFO 11-29 {at} [logger.py:92] Generated response {name}: output: 'Pier 4.', finish_reason: stop",
        ]
        choice = {"index": 0, "message": {"role": "assistant", "content": "Pier 4."}, "finish_reason": "stop"}
        response = {"id": name, "object": "chat.completion", "model": "m", "choices": [choice]}
        request = {"model": "m", "messages": [{"role": "user", "content": "Which?"}], "max_tokens": 64}
        envelopes.append(json.dumps({"timestamp": f"2026-11-29T{at}.250Z", "status": 200, "request": request, "response": response}))
    return engine, envelopes


@pytest.mark.parametrize("before", [0, 1, 700])
def test_envelopes_do_not_pass_by_the_views_of_others(tmp_path: Path, before: int) -> None:
    """Also when the log begins with envelopes, which then were read fast before the first line of the engine came."""
    engine, envelopes = _seen_twice(900)
    lines = envelopes[:before]
    for number, envelope in enumerate(envelopes[before:], before):
        lines += [*engine[2 * number : 2 * number + 2], envelope]
    lines += engine[: 2 * before]
    records, tally = _read(_log(tmp_path, "\n".join(lines) + "\n"))
    assert len(records) == 900
    assert len({record.request_id for record in records}) == 900
    assert tally.notes[JOINED] == 900
    assert tally.formats == {"envelope": 900, "vllm_text": 1800}
    assert tally.documents == 2700


@pytest.mark.parametrize("only", ["litellm", "otel", "vllm_text"])
def test_naming_a_format_counts_that_view_alone(tmp_path: Path, only: str) -> None:
    benign = _answer("benign")
    path = _log(tmp_path, *(_producer(name).render(benign) for name in ("otel span", "litellm", "vllm_text")))
    tally = Tally()
    records = [batch.record(row) for batch in Files([path], ReadingOptions(only=only)).batches(tally) for row in range(batch.size)]
    assert len(records) == 1
    assert not tally.unreadable
    assert any("another view than the format that was named" in reason for reason in tally.ignored)
