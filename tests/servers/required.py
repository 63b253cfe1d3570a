"""Servers that a machine may lack: a skip with its reason here, a failure where DETECTOR_REQUIRE_SERVERS=1 (set by .ci/run)."""

from __future__ import annotations

import os
import socket
from typing import NoReturn

import pytest


class ServerMissingError(Exception):
    """A server's program is not installed, or it does not start; the text says which."""


def missing(error: ServerMissingError) -> NoReturn:
    """Skip, or fail where nothing may be missing."""
    if os.environ.get("DETECTOR_REQUIRE_SERVERS") == "1":
        pytest.fail(f"DETECTOR_REQUIRE_SERVERS=1, but {error}", pytrace=False)
    pytest.skip(str(error))


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
