"""A log for `check`, and what it says of it."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main
from tests.answers import START, days, envelope, leak, write

END = START + timedelta(days=2)


def checked(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON report of one call."""
    code = main(["check", "--format", "json", *args])
    return code, json.loads(capsys.readouterr().out)


def leaking(path: Path) -> Path:
    """Two sound days, and twelve leaked and cut answers among 60 in the last hour, all of one pod."""
    rows = days(2, 60)
    rows += [leak(90_000 + i, END + timedelta(minutes=5 * i), pod="harbour-7") for i in range(12)]
    rows += [envelope(91_000 + i, END + timedelta(minutes=i * 59 / 47)) for i in range(48)]
    return write(path, rows)
