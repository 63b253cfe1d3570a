"""Locks that die with their holder, however it ends."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator

_POLL_SECONDS = 0.05


def until(attempt: Callable[[], bool], timeout: float) -> bool:
    """Try until it succeeds; False when it has not after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while not attempt():
        if time.monotonic() >= deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


@contextlib.contextmanager
def file_lock(descriptor: int, timeout: float) -> Iterator[bool]:
    """A lock on an open file, which is closed after it; the system drops it when the process ends, however it ends."""
    import fcntl

    try:

        def attempt() -> bool:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            return True

        yield until(attempt, timeout)
    finally:
        os.close(descriptor)
