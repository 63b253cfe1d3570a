"""What a detector is: a statistic that scores series of counts against their own past.

A detector file defines one class with `NAME` and a pydantic model of its parameters; names are found by scanning the folder. Detectors see counts only:
they never group, fetch, log, know the time, apply a threshold or know severity. Higher scores are more anomalous. NaN means "cannot judge".

A new detector is one file: a class with `NAME`, `PARAMETERS` (its pydantic model, unknown keys refused), `__init__(parameters)`, `score` and `warm_up`, and
a docstring with the headings in `HEADINGS`. `make(name, params)` builds one by name.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ValidationError

from detector.errors import ConfigError
from detector.panel import Panel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """Scores of every series at every evaluation end; all arrays have shape (n_series, n_ends).

    `score`: NaN where the detector cannot judge. `flagged`, `requests`: counts of the window that gave the score. `expected`: flagged requests expected
    in that window. `window`: its length in minutes. `why_not`: for NaN scores a short reason code → text is in `reasons`.
    """

    score: Floats
    flagged: Ints
    requests: Ints
    expected: Floats
    window: Ints
    why_not: npt.NDArray[np.int8]
    reasons: tuple[str, ...] = ("",)


@dataclass(frozen=True)
class Horizon:
    """How far a rule looks: `window` minutes that are judged, `baseline` minutes before them, `min_requests` in the window (fewer: cannot judge)."""

    window: int
    baseline: int
    min_requests: int = 0


class Detector(Protocol):
    """One statistic. `score` is a pure function; row order of series does not change a series' score."""

    NAME: ClassVar[str]
    PARAMETERS: ClassVar[type[BaseModel]]

    def score(self, panel: Panel, ends: Sequence[int], horizon: Horizon) -> Scores:
        """Score each series at each of `ends` (bin indexes, exclusive, ascending): only bins before an end are seen by that end."""
        ...

    def warm_up(self, horizon: Horizon) -> int:
        """Minutes of counts before an end that this detector may look at (the panel should reach that far back)."""
        ...

    def grain(self, horizon: Horizon) -> int:
        """Minutes: bins of any length that divides this give the same scores as one-minute bins (at ends that such bins can express)."""
        ...


HEADINGS = ("Detects", "Method", "Fails when", "Parameters", "Source")  # every detector's docstring has them, in this order


@cache
def detectors() -> dict[str, type[Any]]:
    """Every detector class of this package by name, in alphabetical order: found by scanning the folder."""
    package = importlib.import_module("detector.detectors")
    found: dict[str, type[Any]] = {}
    for module in sorted(entry.name for entry in pkgutil.iter_modules(package.__path__)):
        loaded = importlib.import_module(f"detector.detectors.{module}")
        for value in vars(loaded).values():
            own = vars(value) if isinstance(value, type) and value.__module__ == loaded.__name__ else {}
            if "NAME" in own and "PARAMETERS" in own:
                found[own["NAME"]] = value
    return dict(sorted(found.items()))


def parameters(name: str) -> type[BaseModel]:
    """The pydantic model of a detector's parameters. Raises ConfigError for an unknown name."""
    from detector.strict_model import unknown

    known = detectors()
    if name not in known:
        raise ConfigError(unknown(name, list(known), "detector"))
    model: type[BaseModel] = known[name].PARAMETERS
    return model


def make(name: str, params: Mapping[str, object] | None = None) -> Detector:
    """Build a detector by name with its parameters. Raises ConfigError: unknown name, unknown parameter, value out of range (all faults in one text)."""
    model = parameters(name)
    try:
        checked = model.model_validate(dict(params or {}))
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(str(part) for part in entry['loc']) or name}: {_fault(entry, model)}" for entry in error.errors(include_url=False))
        raise ConfigError(f"detector {name}: {faults}") from None
    built: Detector = detectors()[name](checked)
    return built


def _fault(entry: Any, model: type[BaseModel]) -> str:
    if entry["type"] == "extra_forbidden":
        from detector.strict_model import unknown

        return unknown(str(entry["loc"][-1]), sorted(model.model_fields), "parameter")
    text = str(entry["msg"]).removeprefix("Value error, ")
    return text[:1].lower() + text[1:]
