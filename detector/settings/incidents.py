"""`incidents:` when an incident ends, comes back and is said again."""

from __future__ import annotations

from pydantic import Field

from detector.strict_model import Seconds, Strict


class IncidentSettings(Strict):
    """How calm incidents are."""

    clean_windows: float = Field(2.0, gt=0)
    """Windows of its rules that must be clean before an incident resolves."""
    shortest_clean: Seconds = 1800.0
    """At least this long must it be clean."""
    reopen: Seconds = 86400.0
    """What comes back within this time is the same incident, in the same thread."""
    remind: Seconds = 14400.0
    """A critical incident that nobody took is said again this often."""
