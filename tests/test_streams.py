"""Logs that can be read only once: standard input and pipes, such as the shell's `<(…)`."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from detector.cli import main
from detector.sources.opening import is_stream
from tests.answers import START, days, leak, write

Piped = Callable[[bytes], str]


@pytest.fixture
def piped() -> Iterator[Piped]:
    """A path that gives some bytes once, as a shell's process substitution does."""
    opened, writers = [], []

    def make(content: bytes) -> str:
        reader, writer = os.pipe()
        opened.append(reader)

        def fill() -> None:
            with contextlib.suppress(BrokenPipeError), os.fdopen(writer, "wb") as stream:  # a sample leaves the rest unread
                stream.write(content)

        writers.append(threading.Thread(target=fill, daemon=True))
        writers[-1].start()
        return f"/dev/fd/{reader}"

    yield make
    for reader in opened:
        os.close(reader)
    for thread in writers:
        thread.join()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """More than what a pipe holds and a look at a file's head takes."""
    return write(tmp_path / "log.jsonl", days(1, 60))


def requests(capsys: pytest.CaptureFixture[str], *arguments: str) -> int:
    main(["check", "--all", "--format", "json", *arguments])
    report = json.loads(capsys.readouterr().out)
    assert report["scanned"]["unreadable"] == 0
    return int(report["scanned"]["requests"])


@pytest.mark.parametrize("packed", [bytes, gzip.compress])
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_a_pipe_is_read_from_its_beginning(packed: Callable[[bytes], bytes], jobs: str, log: Path, piped: Piped, capsys: pytest.CaptureFixture[str]) -> None:
    whole = requests(capsys, "--source", str(log))
    assert requests(capsys, "--source", piped(packed(log.read_bytes())), "--jobs", jobs) == whole


def test_a_pipe_is_labelled_recognised_and_sampled_from_its_beginning(log: Path, piped: Piped, capsys: pytest.CaptureFixture[str]) -> None:
    number = len(log.read_text().splitlines())
    assert main(["scan", piped(log.read_bytes()), "--format", "jsonl"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == number
    assert main(["formats", "detect", piped(log.read_bytes())]) == 0
    assert f"envelope ({number} of {number})" in capsys.readouterr().out
    assert main(["init", piped(log.read_bytes()), "--output", "-"]) == 0
    assert capsys.readouterr().err == "400 documents, 400 answers: envelope 400\n"
    assert main(["scan", str(log), piped(log.read_bytes())]) == 0  # beside a file: nothing may look into it to compare them
    assert len(capsys.readouterr().out.splitlines()) == 2 * number


def test_a_pipe_beside_a_file_is_no_copy_of_it(log: Path, piped: Piped, capsys: pytest.CaptureFixture[str]) -> None:
    config = log.with_name("detector.yml")
    path = piped(write(log.with_name("more.jsonl"), days(2, 60)[1500:]).read_bytes())
    config.write_text(f"source: {{path: ['{log}', '{path}']}}\n")
    assert requests(capsys, "--config", str(config)) > requests(capsys, "--source", str(log))


@pytest.mark.parametrize(("content", "said"), [(b"abc\x00" * 99, "it is binary"), (b"", "it is Parquet, which can't be read from a stream")])
def test_what_can_not_be_read_as_a_stream(content: bytes, said: str, tmp_path: Path, piped: Piped, capsys: pytest.CaptureFixture[str]) -> None:
    if not content:
        pq.write_table(pa.table({"content": ["x"]}), tmp_path / "x.parquet")
        content = (tmp_path / "x.parquet").read_bytes()
    assert main(["check", "--all", "--source", piped(content)]) == 2
    out = capsys.readouterr().out
    assert said in out
    assert "nothing in it could be read" in out


def test_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    assert main(["check", "--all", "--source", "-"]) == 2
    assert "reading stopped: standard input is closed" in capsys.readouterr().out
    assert main(["scan", "-"]) == 2


def test_content_of_a_stream_can_not_be_shown_and_that_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    rows = days(1, 60)
    path = write(tmp_path / "log.jsonl", [*rows, *(leak(90_000 + number, START + timedelta(days=1)) for number in range(5))])

    class Standard:
        buffer = io.BytesIO(path.read_bytes())

    monkeypatch.setattr(sys, "stdin", Standard())
    assert main(["check", "--all", "--source", "-", "--show-content"]) == 1
    out, err = capsys.readouterr()
    assert "    text " not in out
    assert err == "detector: --show-content reads the log a second time, which standard input and pipes don't allow: save it to a file\n"


def test_what_counts_as_a_stream(log: Path, piped: Piped) -> None:
    assert [is_stream(path) for path in ("-", piped(b""), os.devnull, str(log), str(log.with_name("nothing")))] == [True, True, True, False, False]
