"""What could not be looked at, as people read it: few lines, whole sentences, singular where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.cli import main
from detector.render.gaps import NAMED, together
from detector.render.numbers import several
from detector.sources.base import CouldNot
from tests.answers import days, write


def test_entries_with_one_reason_stand_together() -> None:
    entries = [CouldNot(f"file {number}", "it is empty", "look at it") for number in range(NAMED + 3)]
    other = [CouldNot("one", "it is cut", "mend it"), CouldNot("two", "it is empty", "look at it", blocking=False)]
    first, second, third = together([entries[0], *other, *entries[1:]])
    assert first.what == ", ".join(f"file {number}" for number in range(NAMED)) + " and 3 more"
    assert (first.why, first.remedy, first.blocking) == ("it is empty", "Look at it", True)
    assert (second.what, third.what, third.blocking) == ("one", "two", False)


@pytest.mark.parametrize(("number", "text"), [(0, "0 lines"), (1, "1 line"), (1204, "1,204 lines")])
def test_counts_with_their_noun(number: int, text: str) -> None:
    assert several(number, "line") == text


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_a_folder_of_other_files_is_two_lines_and_makes_the_exit_code_2(form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody but its owner can tell whether a file is a log that can't be read; leaving it out is the remedy."""
    write(tmp_path / "log.jsonl", days(1, 60))
    for number in range(40):
        (tmp_path / f"picture{number}.png").write_bytes(b"\x89PNG\x00" + bytes([number]) * 50)
    (tmp_path / "README.txt").write_text("These are logs.\n")
    assert main(["check", "--all", "--source", str(tmp_path), "--format", form]) == 2
    out = " ".join(capsys.readouterr().out.split())
    assert out.count("picture") == NAMED
    assert f"and {40 - NAMED} more" in out
    assert "1 unreadable line" in out
    assert out.count("ame only the logs as the source") == 2
    assert main(["check", "--all", "--source", str(tmp_path / "*.jsonl")]) == 0


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing*.jsonl", "no file is named like that"),
        ("~/log.jsonl", "write the path out"),
        ("$LOGS/log.jsonl", "write the path out"),
        ("nothing.jsonl", "no such file"),
    ],
)
def test_a_path_that_leads_nowhere_says_why(
    source: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["check", "--all", "--source", source]) == 2
    assert said in capsys.readouterr().err


def test_scan_says_that_it_reads_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["scan", "https://es.example:9200/llm-*"]) == 2
    assert "files are read here, not addresses" in capsys.readouterr().err
