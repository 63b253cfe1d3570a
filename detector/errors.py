"""Every exception that `detector` raises on purpose, in one tree.

Foreign exceptions (elasticsearch, slack_sdk, OSError …) are mapped to these at the edge that met them; messages carry no secret.
"""

from __future__ import annotations

from dataclasses import dataclass


class DetectorError(Exception):
    """Base of everything that `detector` raises on purpose; its text is fit to be shown to a user."""


class ConfigError(DetectorError):
    """The configuration or a command-line value can't be used; the text names the field and the remedy."""


@dataclass(frozen=True, order=True)
class Fault:
    """One fault in a file that a person wrote: `file:line: field: reason`."""

    path: str
    line: int
    field: str
    reason: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.field}: {self.reason}"


class RuleError(DetectorError):
    """One or more rule files can't be used; carries all faults at once."""

    def __init__(self, faults: list[Fault]) -> None:
        self.faults = sorted(faults)
        super().__init__("\n".join(str(fault) for fault in self.faults))


class SourceError(DetectorError):
    """A source can't be read at all (no such file, no connection, no permission). `remedy`: what to do, where `why` does not say it."""

    def __init__(self, why: str, remedy: str = "see `detector doctor`") -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


class StoreError(DetectorError):
    """The store can't be opened, migrated or written."""


class NotifyError(DetectorError):
    """A message could not be delivered.

    Args:
        retryable: True when the same message may succeed later (5xx, 429, time-out), False when it never will.
        retry_after_seconds: what the receiver asked for, if it did.
        status: HTTP status that it answered, if it did.
    """

    def __init__(self, text: str, *, retryable: bool, retry_after_seconds: float | None = None, status: int | None = None) -> None:
        super().__init__(text)
        self.retryable = retryable
        self.retry_after_seconds = retry_after_seconds
        self.status = status
