"""A rule as its file gives it, and the faults of its changes."""

from __future__ import annotations

from pathlib import Path

from detector.rules import read_rule

GOOD = """\
title: More answers end by length than usual
status: stable
severity: warning
signal: length_cutoff
detector: {share: {}}
threshold: 0.1
window: 1h
meaning: Answers that ended by length, of all.
impact: Users read half an answer or none.
tests:
  - name: fires at one half
    current: [{count: 50, finish_reason: stop}, {count: 50, finish_reason: length}]
    firing: [{deployment: d, model: m}]
  - name: silent at nothing
    current: [{count: 50, finish_reason: stop}]
    firing: []
"""


def faults_of(folder: Path, text: str, name: str = "rule.yml") -> list[str]:
    """`line: field: reason` of every fault of a rule file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    rule, found = read_rule(path)
    assert (rule is None) == bool(found)
    return [str(fault).removeprefix(f"{path}:") for fault in sorted(found)]


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new)
