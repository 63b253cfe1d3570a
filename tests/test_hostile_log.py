"""A log whose names and ids are hostile, and an output that can't show everything, through every command that reads it. Telling: tests/test_hostile.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
from datetime import timedelta
from pathlib import Path

import pytest

from detector.cli import main
from tests.answers import START, leak
from tests.test_hostile import STRINGS, UNSAFE

NAMES = [text for text in (*STRINGS[::3], "half \ud83d", "\udcff", "é\udc00", "日本") if text.strip()]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four leaks of each name, which stands in every label and id."""
    rows = [
        leak(10 * number + i, START + timedelta(seconds=10 * number + i), deployment=text, model=text, pod=text, record_id=f"{text}{i}")
        for number, text in enumerate(NAMES)
        for i in range(4)
    ]
    path = tmp_path_factory.mktemp("hostile") / "log.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_check(form: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--all", "--source", str(log), "--format", form]) == 1
    out = capsys.readouterr().out
    if form == "json":
        found = {entry["deployment"] for entry in json.loads(out)["findings"]}
        assert len(found) > 0.9 * len(set(NAMES))
    else:
        assert {character for character in out if unicodedata.category(character) in UNSAFE} <= {"\n"}


@pytest.mark.parametrize("line", ["scan {} --format text", "backtest --source {} --format text"])
def test_lines_for_people_hold_nothing_that_a_terminal_obeys(line: str, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(line.format(log).split()) in (0, 1)
    assert {character for character in capsys.readouterr().out if unicodedata.category(character) in UNSAFE} <= {"\n"}


@pytest.mark.parametrize("encoding", ["ascii", "utf-8"])
@pytest.mark.parametrize("line", ["check --all --source {} --format json", "scan {} --format jsonl", "backtest --source {} --format jsonl", "formats read {}"])
def test_json_is_utf_8_and_whole_wherever_it_is_printed(line: str, encoding: str, log: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "detector", *line.format(log).split()], capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False
    )
    assert done.returncode in (0, 1), done.stderr
    text = done.stdout.decode()
    read = [json.loads(text)] if "--format json " in f"{line} " else [json.loads(part) for part in text.rstrip("\n").split("\n")]
    assert r"half \ud83d" in repr(read)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_text_in_an_encoding_that_lacks_our_dashes(encoding: str, log: Path) -> None:
    command = [sys.executable, "-m", "detector", "check", "--all", "--source", str(log)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False)
    assert (done.returncode, done.stderr) == (1, b"")
    assert rb"\u2013" in done.stdout


def test_incidents_of_it_can_be_kept_and_shown(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "detector.yml").write_text(
        "notify: {file: {path: out.json, format: json}, docs_url: 'https://docs.example'}\n"
        "kibana: {url: 'http://127.0.0.1:9', data_view: llm}\n"
        "grafana: {url: 'https://grafana.example', panels: {finish_reason: {dashboard: uid, panel: 4}}}\n"
    )
    assert main(["check", "--all", "--source", str(log), "--notify"]) == 1
    capsys.readouterr()
    assert main(["incidents", "list"]) == 0
    out = capsys.readouterr().out
    assert {character for character in out if unicodedata.category(character) in UNSAFE} <= {"\n"}
    told = [json.loads(line) for line in (tmp_path / "out.json").read_text().splitlines()]
    links = [link for message in told for link in message["links"] if message["kind"] == "fired"]
    assert {link["kind"] for link in links} == ({"kibana", "grafana", "rule"} if links else set())
    assert main(["incidents", "list", "--format", "json"]) == 0
    for entry in json.loads(capsys.readouterr().out)[:5]:
        assert main(["incidents", "show", entry["id"]]) == 0


@pytest.mark.parametrize("line", ["scan {}", "formats detect {}", "formats read {}", "check --all --source {}", "scan {}/nothing\x1b[31m"])
def test_names_of_files_are_inert(line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "red\x1b[31m\u202e.log").write_text("no answer\n")
    main(line.format(tmp_path).split(" "))
    assert {character for character in "".join(capsys.readouterr()) if unicodedata.category(character) in UNSAFE} <= {"\n"}
