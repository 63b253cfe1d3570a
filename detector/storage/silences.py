"""Silences: matchers on an incident's labels, for a time. Prometheus' matcher words: `=`, `!=`, `=~`, `!~`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from detector.errors import ConfigError

if TYPE_CHECKING:
    from detector.incidents import Incident

LABELS = ("incident", "deployment", "model", "pod", "engine", "engine_version", "rule", "signal", "severity")
_MATCHER = re.compile(r"\s*([a-z_]+)\s*(=~|!~|!=|=)\s*(.*?)\s*", re.DOTALL)
_LONGEST_PATTERN = 200  # characters; a matcher is typed by a person


@dataclass(frozen=True)
class Silence:
    """A silence: matchers (all must hold) and its time `[starts_at, expires_at)` in seconds since 1970 UTC."""

    id: int
    matchers: tuple[dict[str, str], ...]
    comment: str
    created_by: str
    created_at: float
    starts_at: float
    expires_at: float


def matcher(text: str) -> dict[str, str]:
    """`deployment=chat` or `model=~"qwen.*"` as {"label", "op", "value"}. Raises ConfigError."""
    found = _MATCHER.fullmatch(text)
    if found is None:
        raise ConfigError(f"'{text}' is no matcher: write LABEL=VALUE, LABEL!=VALUE, LABEL=~PATTERN or LABEL!~PATTERN")
    label, op, value = found[1], found[2], found[3].strip('"')
    if label not in LABELS:
        raise ConfigError(f"'{label}' is no label of an incident: use one of {', '.join(LABELS)}")
    if "~" in op:
        try:
            re.compile(value)
        except re.error as error:
            raise ConfigError(f"'{value}' is no pattern: {error}") from None
        if len(value) > _LONGEST_PATTERN:
            raise ConfigError(f"the pattern for {label} is longer than {_LONGEST_PATTERN} characters")
    return {"label": label, "op": op, "value": value}


def silenced(incident: Incident, silence: Silence, now: float) -> bool:
    """True when the silence is in force and every matcher holds for every part of the incident: a pod or rule that is expected to fail hides no other one."""
    return silence.starts_at <= now < silence.expires_at and covers(incident, silence.matchers)


def covers(incident: Incident, matchers: Sequence[dict[str, str]]) -> bool:
    """True when every matcher holds for each rule and series of the incident, as Prometheus would ask of each alert; without any matcher for none."""
    parts = [replace(incident, findings=(one,), rules=(one.rule,), signals=(one.signal,)) for one in incident.findings] or [incident]
    return bool(matchers) and all(matches(part, matchers) for part in parts)


def matches(incident: Incident, matchers: Sequence[dict[str, str]]) -> bool:
    """True when every matcher holds for some part of the incident (`=`) or for all of it (`!=`): what routes go by."""
    return all(_holds(one, incident) for one in matchers)


def _holds(one: dict[str, str], incident: Incident) -> bool:
    values = _values(one["label"], incident)
    if one["op"] in ("=", "=~"):
        return any(_equals(one, value) for value in values)
    return not any(_equals(one, value) for value in values)


def _equals(one: dict[str, str], value: str) -> bool:
    return re.fullmatch(one["value"], value) is not None if "~" in one["op"] else value == one["value"]


def _values(label: str, incident: Incident) -> set[str]:
    """What an incident has for a label; a label that it lacks is the empty text, as in Prometheus."""
    if label == "incident":
        return {incident.id}
    if label == "deployment":
        return {incident.deployment or ""}
    if label == "rule":
        return set(incident.rules)
    if label == "signal":
        return set(incident.signals)
    if label == "severity":
        return {incident.severity}
    return {finding.labels.get(label) or "" for finding in incident.findings} or {""}
