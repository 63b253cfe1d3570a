"""Signals on their labelled cases, and their properties on records of any shape."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from detector.record import Record
from detector.signals.base import signals
from tests.signal_cases import SHARED, cases, flags, lines, needs_shared, wrong
from tests.signal_properties import any_record, hold

NAMES = ("empty_content", "length_cutoff", "request_failure")  # the others have cases of another kind, in their own files


@pytest.mark.parametrize(("name", "case"), [pytest.param(name, *case.values, id=f"{name}-{case.id}") for name in NAMES for case in cases(name)])
def test_cases(name: str, case: dict[str, Any]) -> None:
    flagged = bool(flags(signals()[name], case))
    if name in case["expect"]:
        assert flagged
    elif name not in case["may"]:
        assert not flagged


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=150, deadline=None)
@given(answers=st.lists(any_record(), min_size=1, max_size=6))
def test_properties(name: str, answers: list[Record]) -> None:
    hold(signals()[name], answers)


@pytest.mark.shared
@needs_shared
@pytest.mark.parametrize("name", NAMES)
def test_shared_cases(name: str) -> None:
    assert wrong(signals()[name], list(lines(SHARED / "cases" / "responses.jsonl"))) == []
