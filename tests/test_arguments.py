"""Mistyped words on the command line: the nearest known one is named, with the usage of the command that was meant."""

from __future__ import annotations

import pytest

from detector.cli import main


@pytest.mark.parametrize(
    ("line", "usage", "hint"),
    [
        ("chek --all", "detector", "did you mean check?"),
        ("rules lst", "detector rules", "did you mean list?"),
        ("incidents slience x", "detector incidents", "did you mean silence?"),
        ("formats raed x", "detector formats", "did you mean read?"),
        ("check --sorce x --all", "detector check", "unrecognized arguments: --sorce x; did you mean --source?"),
        ("check --fromat=json", "detector check", "did you mean --format?"),
        ("check --format jsn", "detector check", "did you mean json?"),
        ("rules list --ruels x", "detector rules list", "did you mean --rules?"),
        ("run --onec", "detector run", "did you mean --once?"),
        ("check x.jsonl --all", "detector check", "a log is named with --source: --source x.jsonl"),
        ("check --all --source a.jsonl b.jsonl", "detector check", "one log only: several files are named by a folder or by a glob in quotes ('logs/*.jsonl')"),
        ("check --source a --source b", "detector check", "one log only: several files are named by a folder or by a glob in quotes ('logs/*.jsonl')"),
        ("doctor logs/", "detector doctor", "a log is named with --source: --source logs/"),
        ("scan --source x", "detector scan", "a log is named without an option here"),
        ("formats detect --source=x y", "detector formats detect", "a log is named without an option here"),
    ],
)
def test_what_was_meant_is_named(line: str, usage: str, hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith(f"usage: {usage} [")
    assert err.rstrip().endswith(hint)


@pytest.mark.parametrize("line", ["frobnicate", "check --zzz", "demo extra", "rules schema extra", "check --jobs two"])
def test_nothing_is_suggested_where_nothing_is_near(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())
    assert ended.value.code == 2
    assert "did you mean" not in capsys.readouterr().err
