"""`schedule:` how often the worker looks."""

from __future__ import annotations

from detector.strict_model import Seconds, Strict


class ScheduleSettings(Strict):
    """The worker's rhythm."""

    every: Seconds = 300.0
    """Time between two runs."""
