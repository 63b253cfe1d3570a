"""`detector init`: what it finds in a log it writes down with its reasons, the file loads, and a run with it reads the log."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from detector.config import load_settings
from detector.discovery.mapping_guess import guess
from detector.reading import ReadingOptions
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.files import Files
from tests.es_index import MAPPINGS, create, fill
from tests.llm_log import documents
from tests.nodes.nodes import Node
from tests.producers import gateways, tracers
from tests.producers.answers import ANSWERS, Producer

SECRET_TEXT = "the gate of the old mill opens at noon"


def _own(number: int) -> dict[str, Any]:
    """One document of a layout that nobody else has."""
    found: dict[str, Any] = {
        "meta": {"when": 1795939200000 + number * 1000, "rid": f"r-{number:05d}", "svc": "chat"},
        "llm": {"model": "q-8b"},
        "took": 1200 + number,
        "answer": {"text": SECRET_TEXT, "why": ("stop", "cap_hit", "stop")[number % 3]},
        "tokens": {"in": 12, "out": 30},
        "http": {"status": 200},
    }
    if number % 50 == 0:
        found.update({"error": "Timeout", "http": {"status": 504}})
        del found["answer"]
    return found


def _write(folder: Path, lines: list[Any], name: str = "llm.log") -> Path:
    path = folder / name
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8")
    return path


def _init(log: Path | str, target: Path, *more: str) -> tuple[int, str]:
    code = main(["init", str(log), "--output", str(target), *more])
    return code, target.read_text(encoding="utf-8") if target.exists() else ""


def _records(config: Path) -> list[Record]:
    settings = load_settings(config, {})
    paths = [str(settings.folder / path) for path in settings.source.path]
    options = ReadingOptions(settings.source.format, settings.source.mapping, settings.source.timezone)
    return [batch.record(row) for batch in Files(paths, options).batches(Tally()) for row in range(batch.size)]


def test_a_layout_of_ones_own_gets_a_mapping_that_reads_it(tmp_path: Path) -> None:
    code, text = _init(_write(tmp_path, [_own(number) for number in range(120)]), tmp_path / "detector.yml")
    assert code == 0
    mapping = load_settings(tmp_path / "detector.yml", {}).source.mapping
    assert {name: place.path for name, place in mapping.items()} == {
        "timestamp": ("meta.when",),
        "request_id": ("meta.rid",),
        "deployment": ("meta.svc",),
        "model": ("llm.model",),
        "status_code": ("http.status",),
        "error_type": ("error",),
        "finish_reason": ("answer.why",),
        "content": ("answer.text",),
        "prompt_tokens": ("tokens.in",),
        "completion_tokens": ("tokens.out",),
        "latency_seconds": ("took",),
    }
    assert (mapping["timestamp"].unit, mapping["latency_seconds"].unit) == ("ms", "ms")
    assert "in seconds that were 2" in text, "the unit's reason"
    assert "error_type" in text
    assert "2%" in text
    records = _records(tmp_path / "detector.yml")
    assert [record.finish_reason for record in records[1:4]] == ["length", "stop", "stop"]
    assert (records[1].timestamp, records[1].latency_seconds, records[1].content) == (1795939201.0, 1.201, SECRET_TEXT)
    assert (records[0].status_code, records[0].error_type, records[0].content_state) == (504, "Timeout", "not_captured")


def test_no_text_of_the_log_gets_into_the_file(tmp_path: Path) -> None:
    _, text = _init(_write(tmp_path, [_own(number) for number in range(30)]), tmp_path / "detector.yml")
    assert SECRET_TEXT not in text


def test_bodies_are_found_wherever_they_stand(tmp_path: Path) -> None:
    body = {"id": "c", "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Noon."}, "finish_reason": "length"}]}
    asked = {"model": "q", "messages": [{"role": "user", "content": "When?"}], "max_tokens": 50}
    log = _write(tmp_path, [{"ts": "2026-11-29T08:00:00Z", "call": {"in": json.dumps(asked), "out": {"payload": body}}, "elapsed": 1.5} for _ in range(9)])
    code, _ = _init(log, tmp_path / "detector.yml")
    assert code == 0
    places = {name: place.path for name, place in load_settings(tmp_path / "detector.yml", {}).source.mapping.items()}
    assert places == {"request": ("call.in",), "response": ("call.out.payload",), "timestamp": ("ts",), "latency_seconds": ("elapsed",)}
    assert {(record.finish_reason, record.max_tokens, record.content) for record in _records(tmp_path / "detector.yml")} == {("length", 50, "Noon.")}


@pytest.mark.parametrize("producer", [*gateways.PRODUCERS, *tracers.PRODUCERS], ids=lambda producer: producer.name or producer.format)
def test_a_recognised_log_is_named_and_its_blind_spots_are_said(tmp_path: Path, producer: Producer) -> None:
    from detector.formats.detect import format_named

    log = tmp_path / "llm.log"
    log.write_text("".join(text for answer in ANSWERS if (text := producer.render(answer)) is not None), encoding="utf-8")
    code, text = _init(log, tmp_path / "detector.yml")
    assert code == 0
    assert f"Recognised by itself: {producer.format}," in text
    for line in format_named(producer.format).blind:
        assert line in text
    assert not load_settings(tmp_path / "detector.yml", {}).source.mapping


def test_missing_columns_are_named_per_signal(tmp_path: Path) -> None:
    _, text = _init(
        _write(tmp_path, ['{"msec": 1795939200.0, "request_uri": "/v1/chat/completions", "status": "200", "request_time": "0.5"}'] * 5), tmp_path / "d.yml"
    )
    assert "think_leak          can't be seen: content" in text
    assert "request_failure     100% of answers" in text


def test_an_existing_file_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "detector.yml"
    target.write_text("language: ko\n")
    code, text = _init(_write(tmp_path, [_own(1)]), target)
    assert code == 2
    assert text == "language: ko\n"
    assert "is there already" in capsys.readouterr().err


def test_hostile_names_stay_quoted(tmp_path: Path) -> None:
    name = 'x"\n  tls: {verify: false} # \u202e'
    log = _write(tmp_path, [{name: {"finish_reason": "stop\nevil: yes", "content": "Noon.", "latency_ms": 5}} for _ in range(9)])
    _init(log, tmp_path / "detector.yml")
    settings = load_settings(tmp_path / "detector.yml", {})
    assert settings.source.tls.verify
    assert settings.source.mapping["content"].path == (f"{name}.content",)


def test_a_log_without_any_answer(tmp_path: Path) -> None:
    code, text = _init(_write(tmp_path, ["nothing", "to", "see"]), tmp_path / "detector.yml")
    assert code == 2
    assert "Not one answer" in text
    assert load_settings(tmp_path / "detector.yml", {}).source.path


def test_the_file_may_stand_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, [_own(number) for number in range(9)])
    (tmp_path / "conf").mkdir()
    monkeypatch.chdir(tmp_path)
    assert main(["init", "llm.log", "--output", "conf/detector.yml"]) == 0
    assert len(_records(tmp_path / "conf" / "detector.yml")) == 9


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:9", "http://user:word@127.0.0.1:9/llm-*", "http://[::1", "http://127.0.0.1:99999/llm", "https://", "https:///llm-*"]
)
def test_addresses_that_cant_be_used(address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _init(address, tmp_path / "detector.yml") == (2, "")
    said = capsys.readouterr().err
    assert "word" not in said.replace("PASSWORD", "").replace("password", "")
    assert "a fault of detector itself" not in said


def test_a_file_in_which_nothing_is_found_promises_no_mapping(tmp_path: Path) -> None:
    _write(tmp_path, ["a line of some other program"])
    code, text = _init(str(tmp_path / "llm.log"), tmp_path / "detector.yml")
    assert code == 2
    assert "nor could a mapping be guessed" in text
    assert "mapping below" not in text


@pytest.mark.parametrize(
    ("name", "values", "unit"),
    [
        ("duration", [61_000_000_000, 1_500_000_000], "ns"),
        ("duration", [61_000_000, 1_500_000], "us"),
        ("duration", [1500, 61_000], "ms"),
        ("duration", [40, 95, 120], "ms"),
        ("duration", [1.5, 61.2], "s"),
        ("duration_ms", [0.5], "ms"),
        ("latencySeconds", [1500], "s"),
        ("elapsed_us", [3], "us"),
    ],
)
def test_units_of_durations(name: str, values: list[float], unit: str) -> None:
    found = {entry.column: entry for entry in guess([{name: value, "answer": "Noon."} for value in values])}
    assert found["latency_seconds"].unit == unit
    assert found["latency_seconds"].why


@pytest.mark.parametrize(
    ("value", "unit"), [("2026-11-29T08:00:00Z", "iso8601"), (1795939200.5, "s"), (1795939200000, "ms"), (1795939200000000, "us"), (1795939200000000000, "ns")]
)
def test_units_of_times(value: Any, unit: str) -> None:
    assert {entry.column: entry.unit for entry in guess([{"ts": value, "answer": "Noon."}])}["timestamp"] == unit


def test_a_cluster(node: Node, tmp_path: Path) -> None:
    create(node, "first-look", MAPPINGS["text with keyword 256"])
    assert fill(node, "first-look", documents(50, start=time.time() - 600, seconds=500)) == []
    if node.ca:
        pytest.skip("init takes no certificate authority: write source.tls first")
    code, text = _init(node.url, tmp_path / "detector.yml", "--index", "first-*")
    assert code == 0
    source = load_settings(tmp_path / "detector.yml", {}).source
    assert (source.url, source.index) == ((node.url,), "first-*")
    assert "Recognised by itself: envelope, 50 of 50 documents" in text


TEXT = "The parcel of order {} leaves at noon and arrives before the weekend."


def _micros(number: int) -> dict[str, Any]:
    return {
        "EvtTimeMicros": str((1795939200 + number) * 1_000_000),
        "ReqID": f"r-{number:06d}",
        "ModelName": "q-8b",
        "GenText": TEXT.format(number),
        "StopReason": ("eos", "max_len")[number % 2],
        "PromptTok": str(20 + number),
        "ComplTok": str(30 + number),
        "MaxTok": "512",
        "LatencyUs": str(1_200_000),
        "TTFTUs": "80000",
        "HttpCode": "200",
    }


def _nested(number: int) -> dict[str, Any]:
    return {
        "t": {"begin_ns": (1795939200 + number) * 1_000_000_000, "dur_ns": 1_200_000_000},
        "call": {
            "args": {"max_new_tokens": 512, "msgs": [{"role": "user", "content": "When does my parcel arrive?"}]},
            "result": {"choices": [{"txt": TEXT.format(number), "end": ("stop", "length")[number % 2]}]},
        },
        "who": {"model": "q-8b"},
    }


def _short(number: int) -> dict[str, Any]:
    return {
        "when": 1795939200 + number,
        "model": "q-8b",
        "answer": TEXT.format(number),
        "why_ended": ("done", "cap_hit")[number % 2],
        "usage": {"in": 20, "out": 30},
        "lat": {"total": 1200, "first": 80, "queue": 3},
    }


@pytest.mark.parametrize(
    ("layout", "expected"),
    [
        (
            _micros,
            {"timestamp": 1795939201.0, "request_id": "r-000001", "model": "q-8b", "status_code": 200, "finish_reason": "length", "prompt_tokens": 21}
            | {"completion_tokens": 31, "max_tokens": 512, "latency_seconds": 1.2, "ttft_seconds": 0.08},
        ),
        (_nested, {"timestamp": 1795939201.0, "model": "q-8b", "finish_reason": "length", "max_tokens": 512, "latency_seconds": 1.2}),
        (
            _short,
            {"timestamp": 1795939201.0, "finish_reason": "length", "finish_reason_raw": "cap_hit", "prompt_tokens": 20, "completion_tokens": 30}
            | {"latency_seconds": 1.2, "ttft_seconds": 0.08, "queue_seconds": 0.003},
        ),
    ],
    ids=["words in names, numbers in texts", "nested, with lists", "units of neighbours"],
)
@pytest.mark.parametrize("wrapped", ["bare", "docker", "prefixed"])
def test_odd_layouts_are_mapped_as_they_are_meant(tmp_path: Path, layout: Any, expected: dict[str, Any], wrapped: str) -> None:
    lines = [json.dumps(layout(number)) for number in range(40)]
    if wrapped == "docker":
        lines = [json.dumps({"log": line + "\n", "stream": "stdout", "time": "2026-11-29T08:00:00Z"}) for line in lines]
    elif wrapped == "prefixed":
        lines = [f"2026-11-29 08:00:00,123 INFO myapp: {line}" for line in lines]
    code, _ = _init(_write(tmp_path, [*lines]), tmp_path / "detector.yml")
    record = _records(tmp_path / "detector.yml")[1]
    assert code == 0
    assert {name: getattr(record, name) for name in expected} == pytest.approx(expected)
    assert record.content == TEXT.format(1)


def test_names_in_any_language_are_found_by_their_values(tmp_path: Path) -> None:
    lines = [
        {"시간": f"2026-11-29T08:00:{number:02}Z", "답변": TEXT.format(number), "종료": ("stop", "length")[number % 2], "상태": 200} for number in range(40)
    ]
    code, text = _init(_write(tmp_path, lines), tmp_path / "detector.yml")
    places = {name: place.path for name, place in load_settings(tmp_path / "detector.yml", {}).source.mapping.items()}
    assert code == 0
    assert places == {"timestamp": ("시간",), "status_code": ("상태",), "finish_reason": ("종료",), "content": ("답변",)}
    assert "by its values: no name tells" in text


def test_times_without_a_zone_and_durations_with_their_unit(tmp_path: Path) -> None:
    lines = [{"datetime": f"2026-11-29 08:00:{number:02}", "output": TEXT.format(number), "took": "1250ms"} for number in range(9)]
    _, text = _init(_write(tmp_path, lines), tmp_path / "detector.yml")
    assert "texts in ISO 8601 without a zone" in text
    assert "  # timezone:" in text
    assert [(record.timestamp, record.latency_seconds) for record in _records(tmp_path / "detector.yml")][1] == (1795939201.0, 1.25)


def test_what_is_recognised_without_an_answer_is_mapped_instead(tmp_path: Path) -> None:
    lines = [{"time": 1795939200 + number, "request": {"model": "q", "prompt": "When?"}, "reply": {"body": TEXT.format(number)}} for number in range(20)]
    _init(_write(tmp_path, lines), tmp_path / "detector.yml")
    assert {record.content_state for record in _records(tmp_path / "detector.yml")} == {"present"}


def test_a_layout_of_ones_own_among_lines_of_a_known_log(tmp_path: Path) -> None:
    access = {"msec": 1795939200.0, "request_uri": "/v1/chat/completions", "status": "200", "request_time": "0.5"}
    code, text = _init(_write(tmp_path, [*(_short(number) for number in range(30)), *[access] * 5]), tmp_path / "detector.yml")
    assert code == 0
    assert "Recognised by itself: nginx, 5 of 35 documents" in text
    assert "30 documents of no known format" in text
    assert [record.content_state for record in _records(tmp_path / "detector.yml")].count("present") == 30


def test_raw_text_is_said_to_be_what_hides_leaks(tmp_path: Path) -> None:
    line = "(APIServer pid=7) INFO 11-29 12:00:00 [logger.py:72] Generated response chatcmpl-{} (streaming complete): output: 'Aye', "
    line += "finish_reason: streaming_complete"
    _, text = _init(_write(tmp_path, [line.format(number) for number in range(5)]), tmp_path / "d.yml")
    assert "think_leak          can't be seen: text as the user read it" in text


def test_names_that_are_no_text_make_no_broken_file(tmp_path: Path) -> None:
    lines = ['{"\\ud800": {"answer": "It leaves at noon."}, " ": 1795939200, "latency": NaN, "reply": "The parcel leaves at noon.", "why": "\\udc00"}'] * 3
    code, _ = _init(_write(tmp_path, [*lines]), tmp_path / "detector.yml")
    assert code == 0
    assert [record.content for record in _records(tmp_path / "detector.yml")] == ["The parcel leaves at noon."] * 3
