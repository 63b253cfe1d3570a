"""Labelled envelopes as test parameters, and what one signal says about them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from detector.batch import Batch
from detector.formats.base import Document
from detector.formats.envelope import read_envelope
from detector.record import Record
from detector.signals.base import Flag, Signal, SignalOptions

DATA = Path(__file__).parent / "data" / "signals"
SHARED = Path(__file__).parents[2] / "shared"
OPTIONS = SignalOptions()
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="../shared (the project's own case files) is not there")


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file, gzip or plain."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def cases(name: str) -> list[Any]:
    """The cases of one file of this folder as pytest parameters, named after what they are about."""
    return [pytest.param(case, id=case["why"].replace(" ", "_")) for case in lines(DATA / f"{name}.jsonl")]


def records(case: dict[str, Any]) -> list[Record]:
    """The answers of a case, as the envelope format reads them."""
    return read_envelope(Document(case, "case:1"))


def flags(signal: Signal, case: dict[str, Any]) -> list[Flag]:
    """What the signal flags in a case, through its fast path and by judging alone: both must say the same."""
    answers = records(case)
    batch = Batch.from_records(answers)
    visible = signal.visible(batch)
    assert visible == [signal.observable(answer) for answer in answers]
    candidates = set(signal.candidates(batch, OPTIONS))
    found = [signal.judge(answer, OPTIONS) for answer in answers]
    for row, flag in enumerate(found):
        assert flag is None or (row in candidates and visible[row]), f"flagged but not found by the fast path: {flag}"
        assert flag is None or flag.subtype in signal.subtypes
    return [flag for flag in found if flag is not None]


def wrong(signal: Signal, labelled: Sequence[dict[str, Any]]) -> list[str]:
    """Cases that the signal misses or flags for nothing."""
    found = []
    for case in labelled:
        flagged = bool(flags(signal, case))
        if flagged != (signal.name in case["expect"]) and not (flagged and signal.name in case["may"]):
            found.append(f"{case['id']} {'false alarm' if flagged else 'missed'}: {case['why']}")
    return found
