"""What a rule's model can't know by itself: signals, statistics, causes, panels and record columns that its words must name."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, get_type_hints

from pydantic import TypeAdapter, ValidationError

from detector.detectors.base import detectors
from detector.diagnosis.cause_ids import CAUSE_IDS
from detector.diagnosis.panel_names import PANEL_NAMES
from detector.errors import Fault
from detector.record import Record
from detector.rule_case import CASE_COLUMNS, MAX_REPEATED, Case, Row
from detector.signals.base import signals
from detector.strict_model import unknown
from detector.yaml_file import Loc, YamlFile

if TYPE_CHECKING:
    from detector.rules import Rule


def check(rule: Rule, file: YamlFile) -> list[Fault]:
    """Faults of a rule's words against what this installation has."""
    return [file.fault(loc, reason) for loc, reason in _complaints(rule)]


def _complaints(rule: Rule) -> Iterator[tuple[Loc, str]]:
    signal = signals().get(rule.signal)
    if signal is None:
        yield ("signal",), unknown(rule.signal, list(signals()), "signal")
    else:
        for index, subtype in enumerate(rule.subtypes):
            if subtype not in signal.subtypes:
                yield ("subtypes", index), unknown(subtype, list(signal.subtypes), f"subtype of {rule.signal}")
    yield from _detector(rule)
    for field, words, known, what in (("causes", rule.causes, CAUSE_IDS, "cause"), ("panels", rule.panels, PANEL_NAMES, "panel")):
        for index, word in enumerate(words):
            if word not in known:
                yield (field, index), unknown(word, list(known), what)
            elif word in words[:index]:
                yield (field, index), f"'{word}' is named twice"
    for index, reference in enumerate(rule.references):
        if not reference.startswith(("https://", "http://")):
            yield ("references", index), "is no web address (https://…)"
    names = [case.name for case in rule.tests]
    for index, case in enumerate(rule.tests):
        if case.name in names[:index]:
            yield ("tests", index, "name"), "another test has the same name"
        for inner, reason in _case(rule, case):
            yield ("tests", index, *inner), reason


def _detector(rule: Rule) -> Iterator[tuple[Loc, str]]:
    known = detectors()
    if rule.detector not in known:
        yield ("detector", rule.detector), unknown(rule.detector, list(known), "detector")
        return
    try:
        known[rule.detector].PARAMETERS.model_validate(rule.params)
    except ValidationError as error:
        fields = list(known[rule.detector].PARAMETERS.model_fields)
        for entry in error.errors(include_url=False):
            loc: Loc = entry["loc"]
            reason = unknown(str(loc[-1]), fields, "parameter") if entry["type"] == "extra_forbidden" else entry["msg"]
            yield ("detector", rule.detector, *loc), reason


def _case(rule: Rule, case: Case) -> Iterator[tuple[Loc, str]]:
    for stretch, rows, length in (("baseline", case.baseline, rule.baseline_minutes), ("current", case.current, rule.window_minutes)):
        for index, row in enumerate(rows):
            for inner, reason in _row(row, length):
                yield (stretch, index, *inner), reason
    for index, labels in enumerate(case.firing):
        if set(labels) != set(rule.group_by):
            yield ("firing", index), f"must give exactly the labels of group_by: {', '.join(rule.group_by)}"


def _row(row: Row, length: int) -> Iterator[tuple[Loc, str]]:
    for column, value in row.columns().items():
        if column not in CASE_COLUMNS:
            yield (column,), unknown(column, CASE_COLUMNS, "record column")
            continue
        reason = _mismatch(column, value)
        if reason:
            yield (column,), reason
    if row.at is not None and row.at + (row.every or 0) * (row.count - 1) >= length:
        yield ("at",), f"places requests past the end of the stretch, which is {length} minutes long"


def _mismatch(column: str, value: Any) -> str | None:
    """Why a value does not fit a record column, or None."""
    if isinstance(value, dict):
        return f"must be a value, or {{repeat: TEXT, times: NUMBER}} of at most {MAX_REPEATED:,} characters"
    try:
        _adapters()[column].validate_python(value, strict=not isinstance(value, list))
    except ValidationError as error:
        message = error.errors(include_url=False)[0]["msg"].removeprefix("Input should be ")
        quoted = " (write it in quotes)" if "string" in message and isinstance(value, (int, float)) else ""
        return f"must be {message}{quoted}"
    return None


@cache
def _adapters() -> dict[str, TypeAdapter[Any]]:
    return {name: TypeAdapter(hint) for name, hint in get_type_hints(Record).items()}
