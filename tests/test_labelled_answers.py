"""`detector scan` on labelled answers: every label that must fire does, and no other one, case by case."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.signal_cases import SHARED, lines, needs_shared

DATA = Path(__file__).parent / "data"
SETS = {name: DATA / name / file for name, file in (("responses", "responses.jsonl"), ("redteam", "cases.jsonl"), ("fresh", "cases.jsonl"))}


@cache
def found(path: Path) -> dict[str, set[str]]:
    """Labels per answer as the command prints them; those of several choices together."""
    scan = subprocess.run([sys.executable, "-m", "detector.cli", "scan", str(path), "--format", "jsonl"], capture_output=True, text=True, check=False)
    assert scan.returncode == 0, scan.stderr
    labels: dict[str, set[str]] = {}
    for line in scan.stdout.split("\n"):
        if line:
            answer = json.loads(line)
            labels.setdefault(answer["id"].split("#")[0], set()).update(answer["labels"])
    return labels


def _cases() -> list[Any]:
    return [pytest.param(name, case, id=f"{case['id']}-{case['kind']}") for name, path in SETS.items() for case in lines(path)]


def _judge(case: dict[str, Any], labels: set[str]) -> None:
    expected, allowed = set(case["expect"]), set(case["expect"]) | set(case["may"])
    assert expected <= labels, f"missed {sorted(expected - labels)}: {case['why']}"
    assert labels <= allowed, f"false alarm {sorted(labels - allowed)}: {case['why']}"


@pytest.mark.parametrize(("name", "case"), _cases())
def test_labels(name: str, case: dict[str, Any]) -> None:
    _judge(case, found(SETS[name]).get(case["id"], set()))


@pytest.mark.parametrize("name", SETS)
def test_every_answer_is_read(name: str) -> None:
    """Sets hold each id once, answers of every kind, and about as many sound answers as failing ones."""
    cases = list(lines(SETS[name]))
    assert len({case["id"] for case in cases}) == len(cases)
    sound = sum(not case["expect"] for case in cases)
    assert 0.35 < sound / len(cases) < 0.65
    assert set(found(SETS[name])) <= {case["id"] for case in cases}


@pytest.mark.shared
@needs_shared
def test_shared_answers() -> None:
    path = SHARED / "cases" / "responses.jsonl"
    labels = found(path)
    for case in lines(path):
        _judge(case, labels.get(case["id"], set()))
