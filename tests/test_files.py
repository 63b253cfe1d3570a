"""Files as a source: every container, every damage, the same records; nothing lost in silence, nothing raised."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import json
import lzma
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from detector import reading
from detector.errors import SourceError
from detector.formats import wrapping_lines
from detector.reading import DUPLICATE, UNTIMED, ReadingOptions
from detector.record import Record
from detector.settings.source import ColumnMapping
from detector.sources import lines as line_reader
from detector.sources import partition, unit
from detector.sources.base import Tally
from detector.sources.files import Files
from detector.sources.lines import TOO_LONG, Fault, line_blocks, raw_lines


def answer(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "request_id": f"r{number}",
        "timestamp": f"2026-11-29T03:{number % 60:02}:00Z",
        "http_status": 200,
        "latency_ms": 10,
        "request": {"model": "m", "messages": [{"role": "user", "content": "hi"}]},
        "response": {
            "object": "chat.completion",
            "model": "m",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": f"Answer {number}."}, "finish_reason": "stop"}],
        },
        **changes,
    }


def ndjson(*documents: Any) -> bytes:
    return b"".join(json.dumps(document).encode() + b"\n" for document in documents)


def read(*paths: Path | str, options: ReadingOptions | None = None) -> tuple[list[Record], Tally]:
    tally = Tally()
    source = Files([str(path) for path in paths], options or ReadingOptions())
    return [batch.record(row) for batch in source.batches(tally) for row in range(batch.size)], tally


def ids(records: list[Record]) -> list[str]:
    return sorted(record.request_id or "" for record in records)


THREE = [answer(1), answer(2), answer(3)]
CONTAINERS = {
    "ndjson": ndjson(*THREE),
    "without a last line end": ndjson(*THREE)[:-1],
    "windows line ends": ndjson(*THREE).replace(b"\n", b"\r\n"),
    "byte order mark": b"\xef\xbb\xbf" + ndjson(*THREE),
    "blank lines": b"\n\n" + ndjson(*THREE).replace(b"\n", b"\n\n"),
    "array": json.dumps(THREE).encode(),
    "pretty array": json.dumps(THREE, indent=2).encode(),
    "pretty objects": "\n".join(json.dumps(document, indent=2) for document in THREE).encode(),
    "gzip": gzip.compress(ndjson(*THREE), mtime=0),
    "two gzip members": gzip.compress(ndjson(*THREE[:1]), mtime=0) + gzip.compress(ndjson(*THREE[1:]), mtime=0),
    "zstd": zstandard.compress(ndjson(*THREE)),
    "bzip2": bz2.compress(ndjson(*THREE)),
    "xz": lzma.compress(ndjson(*THREE)),
}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_are_told_by_their_bytes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "log.dat"
    path.write_bytes(CONTAINERS[kind])
    records, tally = read(path)
    assert ids(records) == ["r1", "r2", "r3"]
    assert not tally.unreadable
    assert not tally.could_not
    assert [record.content for record in records] == ["Answer 1.", "Answer 2.", "Answer 3."]


def test_parquet_rows_with_structures_and_with_json_in_text(tmp_path: Path) -> None:
    structured, texts = tmp_path / "a.bin", tmp_path / "b.bin"
    pq.write_table(pa.Table.from_pylist(THREE), structured)
    pq.write_table(
        pa.Table.from_pylist([{**document, "request": json.dumps(document["request"]), "response": json.dumps(document["response"])} for document in THREE]),
        texts,
    )
    for path in (structured, texts):
        records, tally = read(path)
        assert [(record.request_id, record.content, record.finish_reason) for record in records] == [(f"r{n}", f"Answer {n}.", "stop") for n in (1, 2, 3)]
        assert tally.documents == 3


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Standard:
        buffer = io.BytesIO(gzip.compress(ndjson(*THREE)))

    monkeypatch.setattr(sys, "stdin", Standard())
    assert ids(read("-")[0]) == ["r1", "r2", "r3"]


def test_folders_and_globs_in_order_each_file_once(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    for number, name in enumerate(("b.log", "a.log", "deep/c.log", ".hidden")):
        (tmp_path / name).write_bytes(ndjson(answer(number)))
    os.link(tmp_path / "a.log", tmp_path / "z.log")
    records, tally = read(tmp_path, str(tmp_path / "*.log"))
    assert [record.request_id for record in records] == ["r1", "r0", "r2"]
    assert not tally.notes


@pytest.mark.parametrize("path", ["nothing.log", "*.nothing", "empty/"])
def test_a_path_to_nothing_is_an_error(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no"):
        read(str(tmp_path / path))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "the file is empty"),
        (b"\x7fELF\x02\x01\x00\x00" * 100, "it is a binary file"),
        ("\ufeff{}".encode("utf-16"), "it is a binary file"),
        (gzip.compress(ndjson(*THREE), mtime=0)[:-12], "ends too early"),
        (gzip.compress(ndjson(*THREE), mtime=0)[:20] + b"\xff\xff\xff" + gzip.compress(ndjson(*THREE), mtime=0)[30:], "is damaged"),
        (zstandard.compress(ndjson(*THREE) * 50)[:60], "ends too early"),
        (b"PAR1 and then nothing", "the Parquet file can't be read"),
    ],
)
def test_what_can_not_be_read_is_told_with_its_reason(content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    _, tally = read(path)
    assert [fault.what for fault in tally.could_not] == [str(path)]
    assert reason in tally.could_not[0].why
    assert tally.could_not[0].blocking


def test_a_cut_archive_gives_what_stands_before_the_cut(tmp_path: Path) -> None:
    documents = [answer(number, note=os.urandom(40).hex()) for number in range(2000)]
    path = tmp_path / "log"
    path.write_bytes(gzip.compress(ndjson(*documents))[:-4000])
    records, tally = read(path)
    assert 500 < len(records) < 2000
    assert "ends too early" in tally.could_not[0].why


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"request": {"model": "m"}, "response": {"object": "chat.comp', "JSON that is cut off"),
        (b'{"request": nonsense}', "broken JSON"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "JSON nested too deep"),
        (b"\xff\xfe broken \xc3(", "a line that is not UTF-8"),
        (b'{"request": "\xff"}', "a line that is not UTF-8"),
        (b'{"hello": "world"}', "document that no format recognises"),
        (b"some text", "text that no format recognises"),
        (b"7", "text that no format recognises"),
    ],
)
def test_a_bad_line_is_counted_with_place_and_costs_no_other(line: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ndjson(answer(1)) + line + b"\n" + ndjson(answer(2)))
    for options in (ReadingOptions(), ReadingOptions(in_order=True)):
        records, tally = read(path, options=options)
        assert ids(records) == ["r1", "r2"]
        assert dict(tally.unreadable) == {reason: 1}
        assert tally.places == {reason: [f"{path}:2"]}
        assert tally.documents == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"latency_ms": float("nan")},
        {"latency_ms": float("inf")},
        {"http_status": 10**400},
        {"concurrency": 10**30},
        {"timestamp": 10**300},
        {"request": {"max_tokens": 10**50, "model": "m", "messages": []}},
        {"timestamp": "yesterday"},
        {"unknown": {"column": [1, {"deep": None}]}},
        {"pod": 7, "client": ["a"], "deployment": {"x": 1}},
    ],
)
def test_odd_values_cost_only_themselves(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ndjson(answer(1, **changes), answer(2)))
    records, tally = read(path)
    assert [record.content for record in sorted(records, key=lambda record: record.request_id or "")] == ["Answer 1.", "Answer 2."]
    assert not tally.unreadable


def test_lone_surrogates_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ndjson(answer(1)).replace(b"Answer 1.", b"cut \\ud83d"))
    assert [record.content for record in read(path)[0]] == ["cut \ud83d"]


def test_times_missing_or_without_a_zone_are_noted(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ndjson(answer(1, timestamp=None), answer(2, timestamp="2026-11-29T03:00:00"), answer(3, timestamp="2026-11-29T12:00:00+09:00")))
    records, tally = read(path)
    assert [record.timestamp for record in records] == [None, None, 1795921200.0]
    assert tally.notes[UNTIMED] == 2


def test_an_answer_read_twice_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "log"
    failed = {**answer(4), "response": {"error": {"message": "busy", "type": "overloaded", "code": 503}}, "http_status": 503}
    path.write_bytes(ndjson(*THREE, failed, *THREE, failed, answer(1, timestamp="2026-11-29T04:00:00Z")))
    records, tally = read(path)
    assert ids(records) == ["r1", "r1", "r2", "r3", "r4"]  # a retry an hour later is another answer
    assert tally.notes[DUPLICATE] == 4
    assert len(read(path, options=ReadingOptions(keep_duplicates=True))[0]) == 9


def test_a_line_beyond_the_limit_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    def blocks() -> Iterator[bytes]:
        yield b'{"a": 1}\n{"b": "'
        for _ in range(50):
            yield b"x" * 1000
        yield b'"}\n{"c": 1}\n'

    for reader in (raw_lines, line_blocks):
        found = list(reader(blocks(), 4000))
        assert [line for line in found if isinstance(line, Fault)] == [TOO_LONG]
        assert b"".join(line.replace(b"\n", b"") for line in found if isinstance(line, bytes)) == b'{"a": 1}{"c": 1}'


def test_a_long_array_on_one_line_is_cut_into_its_elements(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(line_reader, "_UNROLL_FROM", 1000)
    elements = [{"n": number, "text": 'a "quoted" \\ } ] [ { text', "deep": [[{"x": 1}]]} for number in range(500)]
    whole = json.dumps(elements).encode()
    for size in (7, 100, 1500, 1 << 20):
        pieces = [whole[start : start + size] for start in range(0, len(whole), size)]
        assert [json.loads(line) for line in raw_lines([*pieces, b"\n"])] in (elements, [elements])
    cut = list(raw_lines([whole[:20_000][start : start + 100] for start in range(0, 20_000, 100)]))
    assert [json.loads(line) for line in cut[:-1]] == elements[: len(cut) - 1]


@pytest.mark.parametrize("jobs", [1, 2, 3, 7])
def test_partitions_together_read_what_one_reads(jobs: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(partition, "UNIT_BYTES", 4000)
    monkeypatch.setattr("detector.sources.files.UNIT_BYTES", 4000)
    monkeypatch.setattr(partition, "BLOCK", 1024)
    path, other = tmp_path / "a.log", tmp_path / "b.log"
    documents = [answer(number, note="x" * (number % 97)) for number in range(200)]
    path.write_bytes(ndjson(*documents[:150]) + b"not json\n" + ndjson(*documents[150:]))
    other.write_bytes(ndjson(answer(1000)))
    whole, tally = read(path, other)
    added, records = Tally(), []
    parts = Files([str(path), str(other)]).partitions(jobs)
    assert len(parts) == jobs
    for part in parts:
        own = Tally()
        records += [batch.record(row) for batch in part.batches(own) for row in range(batch.size)]
        added.add(own)
    assert sorted(map(repr, records)) == sorted(map(repr, whole))
    assert added == tally
    assert len(records) == 201
    assert tally.places == {"text that no format recognises": [f"{path}:151"]}
    assert {record.doc_id for record in records if record.doc_index == str(path)} == {str(line) for line in range(1, 202) if line != 151}


def test_a_mapping_translates_numbers_flags_and_words(tmp_path: Path) -> None:
    values = {"0": "stop", "1": "length", "true": "abort", "cap": "length"}
    path = tmp_path / "own.jsonl"
    path.write_text("".join(f'{{"why": {why}, "out": "At noon."}}\n' for why in ("0", "1", "true", '"cap"', '"stop"', "null")), encoding="utf-8")
    mapping = {"finish_reason": ColumnMapping.model_validate({"path": "why", "values": values}), "content": ColumnMapping.model_validate({"path": "out"})}
    records, _ = read(path, options=ReadingOptions(mapping=mapping))
    assert [record.finish_reason for record in records] == ["stop", "length", "abort", "length", "stop", None]
    assert [record.finish_reason_raw for record in records][3:] == ["cap", "stop", None], "the reason as the log writes it"


def test_a_mapping_reads_a_layout_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(
        ndjson(
            {"meta": {"when": 1795921200000, "took": 12}, "out.text": "Pier 4.", "why": "cap", "in": {"max_tokens": 8, "messages": []}, "tokens": "8"},
            {"meta": {"when": "2026-11-29T12:00:00"}, "out.text": None, "why": "stop"},
            {"meta": {"when": 1}, "other": "document"},
        )
    )
    places: dict[str, Any] = {
        "timestamp": {"path": ["meta.when"]},
        "latency_seconds": {"path": ["meta.took"], "unit": "ms"},
        "content": {"path": ["out.text"]},
        "finish_reason": {"path": ["why"], "values": {"cap": "length"}},
        "completion_tokens": {"path": ["tokens"]},
        "request": {"path": ["in"]},
    }
    mapping = {name: ColumnMapping.model_validate(place) for name, place in places.items()}
    records, tally = read(path, options=ReadingOptions(mapping=mapping, timezone="Asia/Seoul"))
    assert [(r.timestamp, r.content, r.content_state, r.finish_reason, r.max_tokens, r.completion_tokens) for r in records] == [
        (1795921200.0, "Pier 4.", "present", "length", 8, 8),
        (1795921200.0, None, "empty", "stop", None, None),
    ]
    assert records[0].latency_seconds == pytest.approx(0.012)
    assert sum(tally.unreadable.values()) == 1


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=60)
@given(
    st.lists(
        st.one_of(st.binary(max_size=60), st.sampled_from([*CONTAINERS.values(), b"\n", b"[", b'{"a":[', b"data: {}\n\n", b"PAR1", b"\x1f\x8b"])), max_size=6
    )
)
def test_no_bytes_break_the_reading(tmp_path: Path, pieces: list[bytes]) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"".join(pieces))
    first, second = read(path), read(path)
    assert list(map(repr, first[0])) == list(map(repr, second[0]))
    assert first[1] == second[1]
    quiet = read(path, options=ReadingOptions(in_order=True))
    assert len(quiet[0]) == len(first[0])
    assert quiet[1].unreadable == first[1].unreadable


def test_whole_json_of_nobody_is_not_called_broken(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(ndjson({"log": '{"tide": "low"}', "stream": "stdout"}, {"log": '{"tide": "hig', "stream": "stdout"}))
    _, tally = read(path)
    assert sorted(tally.unreadable) == ["JSON that is cut off", "document that no format recognises"]


def test_a_folder_follows_links_and_tells_what_is_closed_or_leads_nowhere(tmp_path: Path) -> None:
    logs, elsewhere = tmp_path / "logs", tmp_path / "elsewhere"
    (logs / "deep").mkdir(parents=True)
    elsewhere.mkdir()
    (logs / "a.log").write_bytes(ndjson(answer(1)))
    (elsewhere / "b.log").write_bytes(ndjson(answer(2)))
    (logs / "linked").symlink_to(elsewhere)
    (logs / "deep" / "up").symlink_to(logs)
    (logs / "deep" / "top").symlink_to(tmp_path)
    (logs / "gone.log").symlink_to(tmp_path / "nothing")
    (logs / "self.log").symlink_to("self.log")
    records, tally = read(logs)
    assert ids(records) == ["r1", "r2"]
    told = {Path(fault.what).name: (fault.why, fault.blocking) for fault in tally.could_not}
    assert told == {"gone.log": ("it is a link that leads nowhere", False), "self.log": ("it is a link to itself", False)}


def test_a_folder_that_is_closed_to_us_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.log").write_bytes(ndjson(answer(1)))
    scandir = os.scandir

    def closed(path: str) -> Any:  # the tests may run as root, for whom nothing is closed
        if str(path).endswith("closed"):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", closed)
    records, tally = read(tmp_path)
    assert ids(records) == ["r1"]
    assert [(fault.what, fault.why, fault.blocking) for fault in tally.could_not] == [(str(tmp_path / "closed"), "it can't be opened: Permission denied", True)]
    with pytest.raises(SourceError, match="closed: it can't be opened: Permission denied"):
        read(tmp_path / "closed")


@pytest.mark.parametrize("path", ["", " "])
def test_an_empty_path_is_not_the_current_folder(path: str) -> None:
    with pytest.raises(SourceError, match="is empty"):
        read(path)


FIVE = [answer(number) for number in range(1, 6)]


@pytest.mark.parametrize("between", [",", ",\n", ",\n  ", " ,\n\n"])
@pytest.mark.parametrize(
    ("change", "whole", "reason"),
    [
        (lambda text: text[:-20], ["r1", "r2", "r3", "r4"], "JSON that is cut off"),
        (lambda text: text.rstrip("]"), ["r1", "r2", "r3", "r4", "r5"], "JSON that is cut off"),
        (lambda text: text[:-1] + ",]", ["r1", "r2", "r3", "r4", "r5"], None),
        (lambda text: text.replace("200", "tru", 2).replace("tru", "200", 1), ["r1", "r3", "r4", "r5"], "broken JSON"),
    ],
)
def test_elements_of_a_broken_array_are_read(between: str, change: Any, whole: list[str], reason: str | None, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(change("[" + between.join(map(json.dumps, FIVE)) + "]"))
    records, tally = read(path)
    assert ids(records) == whole
    assert dict(tally.unreadable) == ({reason: 1} if reason else {})


def test_an_array_that_is_larger_than_one_document_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrapping_lines, "_OPEN_LIMIT", 1000)
    path = tmp_path / "log.json"
    path.write_text("[" + ",\n".join(map(json.dumps, FIVE)) + "]")
    records, tally = read(path)
    assert ids(records) == ["r1", "r2", "r3", "r4", "r5"]
    assert not tally.unreadable


def test_what_stands_before_the_damage_of_a_gzip_archive_is_read(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    packed = bytearray(gzip.compress(ndjson(*(answer(number, salt=os.urandom(30).hex()) for number in range(300)))))
    middle = len(packed) // 2
    packed[middle : middle + 200] = b"\xff" * 200
    path.write_bytes(packed)
    records, tally = read(path)
    assert 100 < len(records) < 200
    assert [fault.why for fault in tally.could_not] == ["the gzip archive is damaged; what stands before the damage was read"]


@pytest.mark.parametrize("first", ["", "["])
def test_long_answers_are_not_held_together(first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches are cut by what they hold, too, on the fast path, the general one, and where lines are of both."""
    monkeypatch.setattr(unit, "HELD_BYTES", 100_000)
    monkeypatch.setattr(reading, "BATCH_TEXT", 100_000)
    documents = [answer(number, salt=1, response={"choices": [{"message": {"content": "word " * 8000}, "finish_reason": "stop"}]}) for number in range(30)]
    documents[1::2] = [{**document, "id": "x", "response": json.dumps(document["response"])} for document in documents[1::2]]
    path = tmp_path / "log"
    path.write_bytes(json.dumps(documents).encode() if first else ndjson(*documents))
    sizes = [batch.size for batch in Files([str(path)], ReadingOptions()).batches(Tally())]
    assert sum(sizes) == 30
    assert max(sizes) <= 10
