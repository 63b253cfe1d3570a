"""Pydantic models of what people write, and their complaints as `file:line: field: reason` with near-miss suggestions.

Every model of rules and settings derives from `Strict`: frozen, unknown keys are errors. It must not read files.
"""

from __future__ import annotations

import difflib
import math
import re
import types
from collections.abc import Callable
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, WithJsonSchema

from detector.errors import ConfigError, Fault
from detector.window import seconds
from detector.yaml_file import Loc, YamlFile

DURATION = WithJsonSchema({"type": "string", "pattern": r"^(\d+(\.\d+)?[smhdw])+$", "examples": ["90s", "15m", "1h", "7d"]})  # marks a duration


class Strict(BaseModel):
    """A frozen model in which an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True, allow_inf_nan=False, hide_input_in_errors=True)


def duration(text: object) -> float:
    """Seconds in a duration with a unit; `0s`, `0m` … mean at once. A bare number has no unit, so it is refused. Raises ValueError."""
    if isinstance(text, str) and text.strip() in {"0s", "0m", "0h", "0d"}:
        return 0.0
    if not isinstance(text, str):
        raise ValueError(f"{_shown(text)} has no unit: write a number and one of s, m, h, d, w, such as 90s, 15m, 1h or 7d")
    try:
        return seconds(text)
    except ConfigError as error:
        raise ValueError(str(error)) from None


def _positive(text: object) -> float:
    value = duration(text)
    if value <= 0:
        raise ValueError("must be longer than nothing")
    return value


def _in_minutes(parse: Callable[[object], float]) -> Callable[[object], int]:
    return lambda text: math.ceil(parse(text) / 60)


Seconds = Annotated[float, BeforeValidator(_positive), DURATION]
SecondsOrZero = Annotated[float, BeforeValidator(duration), DURATION]
Minutes = Annotated[int, BeforeValidator(_in_minutes(_positive)), DURATION]
MinutesOrZero = Annotated[int, BeforeValidator(_in_minutes(duration)), DURATION]


def faults(error: ValidationError, model: type[BaseModel], file: YamlFile, at: Loc = ()) -> list[Fault]:
    """All complaints of one validation as faults of `file`; `at` is where the validated value stands in it."""
    found = []
    entries = error.errors(include_url=False, include_input=True)
    places = [entry["loc"] for entry in entries]
    for entry in entries:
        loc: Loc = entry["loc"]
        if entry["type"] == "too_short" and any(place[: len(loc)] == loc and place != loc for place in places):
            continue  # too few because what stands there can't be used, which is told
        loc = _without_branches(loc, file, at)
        found.append(file.fault((*at, *loc), _reason(entry, model, loc)))
    return found


def unknown(word: str, known: list[str] | tuple[str, ...], what: str) -> str:
    """`unknown panel 'ttfs'; did you mean 'ttft'?`, or the whole list when it is short and nothing is near."""
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.6) or [name for name in known if name.startswith(f"{word}_")][:1]
    hint = f"; did you mean '{near[0]}'?" if near else f"; known: {', '.join(sorted(known))}" if 0 < len(known) <= 24 else ""
    return f"unknown {what} '{word}'{hint}"


def _without_branches(loc: Loc, file: YamlFile, at: Loc) -> Loc:
    """`loc` without the names that pydantic adds for branches of a union, as far as the file can tell."""
    kept: Loc = ()
    for index, part in enumerate(loc):
        last = index == len(loc) - 1
        if (*at, *kept, part) in file.lines or (last and (isinstance(part, int) or str(part).isidentifier())):
            kept = (*kept, part)
    return kept


def _reason(entry: Any, model: type[BaseModel], loc: Loc) -> str:
    kind, context = entry["type"], entry.get("ctx", {})
    if kind == "extra_forbidden":
        return unknown(str(loc[-1]), _keys_at(model, loc[:-1]), "key")
    if kind == "missing":
        return "is missing"
    if kind == "literal_error":
        near = difflib.get_close_matches(str(entry["input"]), re.findall(r"'([^']*)'", context["expected"]), n=1)
        return f"must be {context['expected']}" + _got(entry["input"]) + (f"; did you mean '{near[0]}'?" if near else "")
    if kind == "value_error":
        return str(context["error"])
    if kind == "too_short":
        return f"is empty: it needs at least {context['min_length']}" + (" entry" if context["min_length"] == 1 else " entries")
    if kind in {"model_type", "dict_type", "tuple_type", "list_type"}:  # what stands there instead may be a secret: its kind will do
        return f"must be {'a list' if kind in {'tuple_type', 'list_type'} else 'a mapping'}, got {_kind(entry['input'])}"
    message = str(entry["msg"])
    message = message.removeprefix("Input should be ").removeprefix("Value error, ")
    if message != entry["msg"]:
        return f"must be {message}" + _got(entry["input"])
    return message[:1].lower() + message[1:]


def _got(value: object) -> str:
    return f", got {_shown(value)}"


def _kind(value: object) -> str:
    if value is None:
        return "nothing"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, (list, tuple)) else "text" if isinstance(value, str) else "a value"


def _shown(value: object) -> str:
    """A value as the person wrote it, short; containers by their kind."""
    if value is None or isinstance(value, (dict, list, tuple)):
        return _kind(value)
    text = str(value).lower() if isinstance(value, bool) else f"'{value}'" if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _keys_at(model: type[BaseModel], loc: Loc) -> list[str]:
    """Keys allowed at a place: the fields of the models that stand there."""
    found: list[Any] = [model]
    for part in loc:
        found = [inner for annotation in found for inner in _step(annotation, part)]
    return [field.alias or name for annotation in found for option in _options(annotation) if _is_model(option) for name, field in option.model_fields.items()]


def _step(annotation: Any, part: str | int) -> list[Any]:
    steps = []
    for option in _options(annotation):
        if _is_model(option):
            steps += [field.annotation for name, field in option.model_fields.items() if (field.alias or name) == part]
        elif get_origin(option) in (list, tuple, set, frozenset) and isinstance(part, int):
            steps.append(get_args(option)[0])
        elif get_origin(option) is dict:
            steps.append(get_args(option)[1])
    return steps


def _options(annotation: Any) -> list[Any]:
    if get_origin(annotation) is Annotated:
        return _options(get_args(annotation)[0])
    if get_origin(annotation) in (Union, types.UnionType):
        return [option for branch in get_args(annotation) for option in _options(branch)]
    return [annotation]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
