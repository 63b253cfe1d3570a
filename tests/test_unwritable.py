"""Folders and files that can't be written: a line that names what and what to do, exit code 2 or 3, never a traceback."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from detector import worker  # what is imported late would be looked for by somebody else, who may not see where packages lie
from detector.cli import main
from tests.answers import START, days, leak, write

NOBODY = 65534
assert worker


@contextlib.contextmanager
def somebody_else() -> Iterator[None]:
    """As a user who is not the superuser, for whom permissions would mean nothing."""
    mine = os.geteuid()
    if mine == 0:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(mine)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working folder that anybody may look into (pytest's own are closed), with a log that fires and a store in `state/`; one run has been made."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    monkeypatch.chdir(folder)
    rows = days(1, 60)
    write(folder / "log.jsonl", [*rows, *(leak(90_000 + number, START.replace(day=START.day + 1)) for number in range(5))])
    (folder / "state").mkdir()
    (folder / "detector.yml").write_text("source: {path: log.jsonl}\nstore: sqlite:///state/detector.db\nnotify: {file: {path: out.txt}}\n")
    assert main(["check", "--all", "--notify"]) == 1
    yield folder
    for name in ("state", "."):
        (folder / name).chmod(0o755)
    shutil.rmtree(folder)


def tried(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and the lines on stderr of one call by somebody else."""
    capsys.readouterr()
    with somebody_else():
        code = main(list(arguments))
    return code, capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("check", "--all", "--notify"), ("run", "--once"), ("incidents", "ack", "0", "--by", "me")])
def test_a_store_in_a_folder_that_can_not_be_written(site: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    for path in (site / "state").glob("*.lock"):
        path.unlink()
    (site / "state").chmod(0o555)
    code, err = tried(capsys, *arguments)
    assert code == 2
    assert "store sqlite:///state/detector.db: Permission denied; this user may not write in the folder state, which has to hold the database" in err
    assert "Traceback" not in err


def test_a_new_store_in_a_folder_that_can_not_be_written(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (site / "state").iterdir():
        path.unlink()
    (site / "state").chmod(0o555)
    code, err = tried(capsys, "check", "--all", "--notify")
    assert code == 2
    assert err.startswith("detector: store sqlite:///state/detector.db: unable to open database file; this user may not write in the folder state,")


@pytest.mark.parametrize(
    ("name", "line"), [("detector.db", "incidents silence deployment=harbour --comment known --by me"), ("detector.db.lock", "check --all --notify")]
)
def test_a_store_that_belongs_to_another_user(site: Path, capsys: pytest.CaptureFixture[str], name: str, line: str) -> None:
    (site / "state").chmod(0o777)
    for path in (site / "state").iterdir():
        path.chmod(0o666)
    (site / "state" / name).chmod(0o444)
    code, err = tried(capsys, *line.split())
    assert code == 2
    assert err.endswith(f"; this user may not read and write state/{name}: give the file to the user that detector runs as\n")


def test_incidents_of_a_store_that_can_only_be_read_can_be_listed(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "state" / "detector.db").chmod(0o444)
    assert tried(capsys, "incidents", "list") == (0, "")


@pytest.mark.parametrize(("make", "said"), [(Path.mkdir, "it is a folder: name a file in `store:`"), (None, "file is not a database; name the file of an")])
def test_what_is_no_database(site: Path, capsys: pytest.CaptureFixture[str], make: object, said: str) -> None:
    (site / "state" / "detector.db").unlink()
    if make is None:
        (site / "state" / "detector.db").write_text("something else entirely, for a start\n" * 9)
    else:
        (site / "state" / "detector.db").mkdir()
    for arguments in (["check", "--all", "--notify"], ["incidents", "list"]):
        assert main(arguments) == 2
        assert said in capsys.readouterr().err


def test_a_message_that_can_not_be_written_waits_and_the_exit_code_is_3(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (site / "state").iterdir():
        path.unlink()
    (site / "detector.yml").write_text((site / "detector.yml").read_text().replace("out.txt", "nowhere/out.txt"))
    assert main(["check", "--all", "--notify"]) == 3
    assert "file: nowhere/out.txt can't be written: No such file or directory" in capsys.readouterr().err
    (site / "nowhere").mkdir()
    assert main(["check", "--all", "--notify"]) == 1
    assert (site / "nowhere" / "out.txt").read_text()


def test_output_that_can_not_be_written(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, err = tried(capsys, "init", "log.jsonl", "--output", "state/new.yml")
    assert (code, err) == (2, "detector: state/new.yml can't be written: Permission denied\n")
    code, err = tried(capsys, "rules", "docs", "--output", "state/pages")
    assert (code, err) == (2, "detector: can't write state/pages: Permission denied\n")


def test_without_a_folder_for_compiled_code_it_is_compiled_at_every_start_and_said_once(tmp_path: Path) -> None:
    """As for a service user without a home, of a package that another user installed."""
    code = "from detector.batch import Batch; print(bool(Batch(1, {'content': ['so ' * 200]}).text.loop[0]))"
    nowhere = tmp_path / "file"
    nowhere.touch()
    environment = {"NUMBA_CACHE_DIR": str(nowhere), "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "PATH": "/usr/bin:/bin"}

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[1])

    assert done.stdout.strip() == "True"
    assert done.stderr.count("set NUMBA_CACHE_DIR to a folder that can be written") == 1


def test_runs_at_the_same_time_on_one_store_take_turns(site: Path) -> None:
    for path in (site / "state").iterdir():
        path.unlink()
    (site / "out.txt").unlink()
    command = [sys.executable, "-m", "detector", "check", "--all", "--notify"]
    together = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    ended = [(process.communicate()[1], process.returncode) for process in together]
    assert ended == [("", 1)] * 3
    assert (site / "out.txt").read_text().count("  fired  ") == 1
