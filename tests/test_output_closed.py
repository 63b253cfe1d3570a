"""Outputs that can't be written: the exit code is never that of a finding (1)."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from detector.pipeline import _end_when_interrupted


def ended(redirection: str, *args: str) -> subprocess.CompletedProcess[str]:
    command = ["/bin/sh", "-c", f'exec "$0" -m detector "$@" {redirection}', sys.executable, *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_closed_stdout_is_no_fault_of_ours() -> None:
    done = ended(">&-", "rules", "list")
    assert (done.returncode, done.stderr) == (2, "detector: standard output is closed: nothing could be told\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_stderr_changes_no_exit_code(tmp_path: Path) -> None:
    assert ended("2>/dev/full", "check", "--all", "--source", str(tmp_path / "nope")).returncode == 2


def test_only_ctrl_c_that_nobody_handles_ends_a_part_of_the_work() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        for found, expected in ((signal.default_int_handler, signal.SIG_DFL), (signal.SIG_IGN, signal.SIG_IGN)):
            signal.signal(signal.SIGINT, found)
            _end_when_interrupted()
            assert signal.getsignal(signal.SIGINT) is expected
    finally:
        signal.signal(signal.SIGINT, before)
