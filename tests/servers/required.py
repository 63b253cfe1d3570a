"""Servers that a machine may lack: a skip with its reason here, a failure where DETECTOR_REQUIRE_SERVERS=1 (set by .ci/run)."""

from __future__ import annotations

import os
import socket
import subprocess
from typing import NoReturn

import pytest

RAN: dict[str, str] = {}  # server -> version, of those that really ran; printed at the end of the session
MISSING: dict[str, str] = {}


def note_ran(name: str, program: str, flag: str = "--version") -> None:
    """Remember that a server really ran, with what its program says of its version."""
    said = subprocess.run([program, flag], capture_output=True, text=True, check=False)
    RAN[name] = (said.stdout or said.stderr).splitlines()[0].strip()


class ServerMissingError(Exception):
    """A server's program is not installed, or it does not start; the text says which."""


def missing(error: ServerMissingError) -> NoReturn:
    """Skip, or fail where nothing may be missing."""
    MISSING[str(error).partition(":")[0]] = str(error)
    if os.environ.get("DETECTOR_REQUIRE_SERVERS") == "1":
        pytest.fail(f"DETECTOR_REQUIRE_SERVERS=1, but {error}", pytrace=False)
    pytest.skip(str(error))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
