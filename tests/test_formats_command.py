"""`detector formats list | detect | read`, called the way a person calls them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detector.cli import main
from detector.formats.base import formats
from detector.formats.reader import Reader
from detector.formats.wrapping_lines import raw_documents
from detector.reading import ReadingOptions
from detector.record import Record
from detector.sources.base import Tally
from detector.sources.files import Files

DATA = Path(__file__).parent / "data" / "formats"
ANSWER = "(APIServer pid=1) INFO 11-30 09:00:05 [logger.py:71] Generated response chatcmpl-{}: output: 'Aye.', output_token_ids: [1, 2], finish_reason: stop\n"
ACCESS = '(APIServer pid=1) INFO:     10.0.0.1:4242 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
NGINX = '{"time_iso8601":"2026-11-30T09:00:00+09:00","request_uri":"/v1/chat/completions","status":"504","request_time":"60.0","request_id":"n1"}\n'


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    """A file in which two producers write, one line of neither, and a broken one."""
    path = tmp_path / "mixed.log"
    path.write_text(NGINX + ANSWER.format("a") + ACCESS + '{"id": "chatcmpl-b", "choices": [{"ind\n' + ANSWER.format("c"))
    return str(path)


def test_list_names_every_format_with_what_it_hides(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "list"]) == 0
    out = capsys.readouterr().out
    assert all(f"{fmt.name}: {fmt.title}" in out for fmt in formats())
    assert "streamed finish reasons: the complete line always says streaming_complete" in out
    assert main(["formats", "list", "--format", "json"]) == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert listed["vllm_text"]["joins"] is True
    assert listed["sglang_json"]["raw_text"] is True


def test_detect_names_the_format_of_each_document(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "detect", mixed, "--format", "jsonl"]) == 2  # one line is broken
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["place"].rpartition(":")[2], line["format"]) for line in lines] == [
        ("1", "nginx"),
        ("2", "vllm_text"),
        ("3", "vllm_text"),
        ("4", None),
        ("5", "vllm_text"),
    ]
    assert all(line["evidence"] for line in lines)


def test_detect_tells_the_evidence_and_where_formats_change(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "detect", mixed]) == 2
    out = capsys.readouterr().out
    assert "vllm_text (3 of 5), nginx (1 of 5), not recognised (1 of 5)" in out
    assert f"vLLM's log: an answer line ({mixed}:2)" in out
    assert f"{mixed}:2 to {mixed}:3: vllm_text" in out


def test_read_prints_records_in_order_and_counts_the_rest(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "read", mixed]) == 2
    out, err = capsys.readouterr()
    records = [json.loads(line) for line in out.splitlines()]
    assert [record["request_id"] for record in records] == ["n1", "chatcmpl-a", "chatcmpl-c"]
    assert records[0]["timestamp"] == "2026-11-30T00:00:00.000000Z"
    assert "timestamp" not in records[1]  # the line's date has no year
    assert "content" not in records[0]
    assert records[0]["content_state"] == "not_captured"
    assert "3 records (vllm_text 2, nginx 1)" in err or "3 records (vllm_text 3, nginx 1)" in err
    assert "1 unreadable" in err
    assert "1 no answer" in err
    assert "access line" in err


def test_read_is_content_with_a_clean_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "clean.log"
    path.write_text(ANSWER.format("a"))
    assert main(["formats", "read", str(path), "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["finish_reason"] == "stop"


def test_read_as_a_named_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "named.log"
    path.write_text(ANSWER.format("a"))
    assert main(["formats", "read", str(path), "--format-of", "sglang-text"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "0 records" in err


def test_an_unknown_name_is_answered_with_the_names_there_are(mixed: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "read", mixed, "--format-of", "vlm"]) == 2
    assert "vllm_text" in capsys.readouterr().err


def test_half_surrogates_do_not_stop_the_printing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "surrogate.jsonl"
    path.write_text(r'{"id":"chatcmpl-s","object":"chat.completion","choices":[{"index":0,"message":{"content":"a\ud83d"},"finish_reason":"stop"}]}' + "\n")
    assert main(["formats", "read", str(path)]) == 0
    assert json.loads(capsys.readouterr().out)["content"].startswith("a")


def test_a_missing_file_is_an_error_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["formats", "read", "/nowhere/at/all.log"]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("in_order", [True, False])
def test_files_give_what_the_reader_gives(tmp_path: Path, in_order: bool) -> None:
    """The file source has faster ways for the usual lines; they must read the same as the formats do."""
    path = tmp_path / "log"
    for fixture in (json.loads(line) for file in sorted(DATA.glob("*.jsonl")) for line in file.read_text(encoding="utf-8").splitlines()):
        path.write_text(fixture["input"], encoding="utf-8")
        tally = Tally()
        options = ReadingOptions(keep_duplicates=True, in_order=in_order)
        found = [batch.record(row) for batch in Files([str(path)], options).batches(tally) for row in range(batch.size)]
        outcomes = list(Reader().read(raw_documents(fixture["input"].splitlines(keepends=True), str(path))))
        expected = [outcome for outcome in outcomes if isinstance(outcome, Record)]
        if not in_order:
            found, expected = (sorted(records, key=lambda record: (str(record.request_id), record.choice_index)) for records in (found, expected))
        assert found == expected, fixture["id"]
        assert sum(tally.unreadable.values()) + sum(tally.ignored.values()) == len(outcomes) - len(expected), fixture["id"]
