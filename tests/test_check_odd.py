"""What `check` says of logs, windows and options that make no sense."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from detector.cli import main
from tests.answers import START, days, envelope, write
from tests.check_cases import checked, leaking


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return leaking(tmp_path / "log.jsonl")


def test_unreadable_lines_are_named_and_make_exit_code_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One broken line among many: counted, with its place; the rest is judged."""
    path = write(tmp_path / "log.jsonl", days(2, 60))
    lines = path.read_text().splitlines(keepends=True)
    lines.insert(10, '{"request": {"model": \n')
    path.write_text("".join(lines))
    code, report = checked(capsys, "--since", "1h", "--source", str(path))
    assert code == 2
    assert report["scanned"]["unreadable"] == 1
    assert any("log.jsonl:11" in place for places in report["scanned"]["places"].values() for place in places)
    assert report["scanned"]["requests"] == 2880


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("empty.jsonl", b""),
        ("binary.bin", bytes(range(256)) * 64),
        ("words.txt", b"nothing to see here\nreally nothing\n"),
        ("cut.gz", gzip.compress(b'{"request": {}, "response": {}}\n' * 2000, mtime=0)[:60]),
        ("utf16.jsonl", '{"request": {}}'.encode("utf-16")),
        ("numbers.jsonl", b"1\n2\n3\n"),
        ("nested.jsonl", b'{"request":' * 20_000 + b"1" + b"}" * 20_000 + b"\n"),
    ],
)
def test_what_is_no_log_is_said_and_never_healthy(name: str, data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A clear reason and exit code 2, no traceback."""
    path = tmp_path / name
    path.write_bytes(data)
    code, report = checked(capsys, "--all", "--source", str(path))
    assert code == 2
    assert report["findings"] == []
    assert report["could_not"]
    assert all(entry["why"] and entry["remedy"] for entry in report["could_not"])


def test_missing_file_is_an_error_with_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    """No report, one line on stderr."""
    assert main(["check", "--all", "--source", "no/such/file.jsonl"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no/such/file.jsonl" in captured.err


def test_a_source_that_can_not_be_read_is_a_report_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody listens there: JSON on stdout says so, one line on stderr, exit code 2."""
    assert main(["check", "--format", "json", "--since", "1h", "--source", "http://127.0.0.1:9/llm-*"]) == 2
    captured = capsys.readouterr()
    (entry,) = json.loads(captured.out)["could_not"]
    assert entry["blocking"] is True
    assert "no connection" in entry["why"]
    assert "no connection" in captured.err


def test_records_without_time_are_judged_with_all_and_named_otherwise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half the records bear no time."""
    rows = days(1, 60)
    for row in rows[::2]:
        del row["timestamp"]
    path = write(tmp_path / "log.jsonl", rows)
    _, whole = checked(capsys, "--all", "--source", str(path))
    assert any("bear no time" in note for note in whole["notes"])
    code, recent = checked(capsys, "--since", "1h", "--source", str(path))
    assert any("without a time" in entry["what"] for entry in recent["could_not"])
    assert code == 2


def test_records_from_the_future_do_not_move_the_window(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One clock is wrong by years; the window still ends with the others' newest record, and the stray is named."""
    rows = [*days(2, 60), envelope(99_999, START.replace(year=2099))]
    code, report = checked(capsys, "--since", "1h", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert report["window"]["to"] == "2026-11-22T00:00:00Z"
    assert any("future" in entry["what"] for entry in report["could_not"])
    assert code == 2


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (["--since", "soon"], "duration"),
        (["--since", ""], "duration"),
        (["--from", "0001-01-01T00:00+14:00", "--to", "2026-11-20"], "not a time"),
        (["--from", "2026-11-20", "--to", "9999-12-31T23:59-14:00"], "not a time"),
        (["--since", "1h", "--all"], "exclude each other"),
        (["--from", "2026-11-20T00:00:00Z"], "both"),
        (["--from", "2026-11-21", "--to", "2026-11-20"], "before"),
        (["--all", "--jobs", "0"], "at least one"),
    ],
)
def test_calls_that_make_no_sense_say_what_to_write(args: list[str], word: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr, exit code 2."""
    assert main(["check", "--source", str(log), *args]) == 2
    assert word in capsys.readouterr().err


def test_a_message_and_json_do_not_share_standard_output(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "detector.yml"
    config.write_text("notify: {file: {path: '-'}}\nstore: 'sqlite://'\n")
    call = ["check", "--since", "1h", "--source", str(log), "--notify", "--config", str(config)]
    assert main([*call, "--format", "json"]) == 2
    assert capsys.readouterr().out == ""
    assert main(call) == 1
    out, err = capsys.readouterr()
    assert "  fired  " in out
    assert err == "detector: store: sqlite:// keeps nothing: every run tells anew of what still fires\n"


@pytest.mark.parametrize(
    "time", ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "1970-01-01T00:00:00Z", "1980-01-01T00:00:00Z", "9999-12-31T23:59:59-12:00", 1e-9]
)
def test_no_time_of_some_producer_is_no_time(time: str | float, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One such record must not stretch the window of the whole log."""
    rows = days(1, 60)
    rows[7]["timestamp"] = time
    rows[7]["response"].pop("created", None)
    _, report = checked(capsys, "--all", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert report["window"]["from"].startswith("2026-11-20")
    assert "requests that bear no time: 1; they are counted in the last minute" in report["notes"]
    assert any(note.startswith("1 answer without a usable time") for note in report["notes"])


@pytest.mark.parametrize("stray", [START.replace(year=2003), START.replace(year=2025, month=1)])
def test_a_stray_record_years_away_does_not_stretch_the_window(stray: datetime, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*days(1, 60), envelope(99_999, stray)]
    code, report = checked(capsys, "--all", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert report["window"]["from"].startswith("2026-11-20")
    assert [entry["what"] for entry in report["could_not"] if "pause" in entry["what"]] == ["1 request beyond a long pause"]
    assert code == 2


def test_a_log_of_the_future_is_judged_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [envelope(number, START.replace(year=2099) + timedelta(minutes=number)) for number in range(100)]
    _, report = checked(capsys, "--since", "1h", "--source", str(write(tmp_path / "log.jsonl", rows)))
    assert report["window"]["to"].startswith("2099")
    assert any("ahead of this machine's clock" in note for note in report["notes"])


def test_a_layout_that_no_format_knows_is_pointed_to_the_mapping(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "log.jsonl", [{"when": 1_764_000_000 + number, "said": "Hello."} for number in range(30)])
    code, report = checked(capsys, "--all", "--source", str(path))
    assert code == 2
    assert all("detector init" in entry["remedy"] for entry in report["could_not"])
    assert any("source.mapping" in entry["remedy"] for entry in report["could_not"])
    assert main(["formats", "detect", str(path)]) == 2
    assert "detector init" in capsys.readouterr().err


def test_markdown_tells_what_the_text_tells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was read twice, what is no answer, why it was flagged; links of the rules can be clicked."""
    path = leaking(tmp_path / "log.jsonl")
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[-1], '{"level": "info", "msg": "started"}']) + "\n")
    assert main(["check", "--all", "--source", str(path), "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "- 1 answer read twice" in out
    assert "- 1 line is no answer: 1 application log message, no answer" in out
    assert "- upstream: <https://github.com/" in out
    assert "- because: &lt;/think&gt; at character" in out


def test_closed_standard_output_is_told(log: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout", None)
    assert main(["check", "--all", "--source", str(log)]) == 2
    assert "standard output is closed" in capsys.readouterr().err
