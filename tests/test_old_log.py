"""The worker over a log that nobody writes any more: that is not the same as all being well, at the first run and at every later one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from detector.cli import main
from tests.answers import envelope, write

CONFIG = "source: {path: log.jsonl}\nnotify: {file: {path: out.txt}}\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with a configuration."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "detector.yml").write_text(CONFIG)
    return tmp_path


@pytest.mark.parametrize(("days_ago", "said"), [(0.2, "no request lies in it"), (3, "no request lies in it"), (40, "no request came since")])
def test_a_log_that_fell_silent_is_told_at_every_run(days_ago: float, said: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Within what rules look back, and long before it."""
    end = datetime.now(UTC) - timedelta(days=days_ago)
    write(folder / "log.jsonl", [envelope(number, end - timedelta(seconds=20 * number)) for number in range(600, 0, -1)])
    for _ in range(2):
        assert main(["run", "--once"]) == 2
        err = capsys.readouterr().err
        assert said in err
        assert "the log is empty" not in err


def test_a_log_without_a_line_is_told_as_such(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "log.jsonl").touch()
    for _ in range(2):
        assert main(["run", "--once"]) == 2
        assert "log.jsonl: the file is empty" in capsys.readouterr().err
