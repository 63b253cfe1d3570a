"""Readers never raise and never lose a document in silence: some thousand mutated logs of every format. The long run is `bench/fuzz_formats.py`."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path

import pytest

from detector.commands.formats import known_columns
from detector.formats.base import Document, Rejected, formats
from detector.formats.detect import format_named
from detector.formats.reader import FAULT, Reader
from detector.formats.wrapping_lines import raw_documents
from detector.record import FINISH_REASONS, TEXT_STATES, Record
from tests.format_mutations import mutated

DATA = Path(__file__).parent / "data" / "formats"
MUTANTS = 150  # logs per producer here


def _inputs() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(DATA.glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            fixture = json.loads(line)
            found[fixture["producer"]].append(fixture["input"])
    return found


INPUTS = _inputs()


def check(text: str, reader: Reader) -> int:
    """Read one log and hold its outcomes to the contract; the number of outcomes."""
    raw = list(raw_documents(text.splitlines(keepends=True), "log"))
    outcomes = list(reader.read(raw))
    for outcome in outcomes:
        if isinstance(outcome, Rejected):
            assert outcome.reason
            assert not outcome.reason.startswith(FAULT), outcome
            assert isinstance(outcome.document, Document)
        else:
            assert isinstance(outcome, Record)
            assert outcome.content_state in TEXT_STATES
            assert outcome.finish_reason is None or outcome.finish_reason in FINISH_REASONS
            json.dumps(known_columns(outcome))
    return len(outcomes)


@pytest.mark.parametrize("producer", sorted(INPUTS))
def test_mutated_logs_are_read_or_counted(producer: str) -> None:
    chance = random.Random(f"formats {producer}")
    outcomes = 0
    for _ in range(MUTANTS):
        outcomes += check(mutated(chance.choice(INPUTS[producer]), chance), Reader())
    assert outcomes > MUTANTS // 3


@pytest.mark.parametrize("name", [fmt.name for fmt in formats()])
def test_a_named_format_meets_any_other_log(name: str) -> None:
    """`--format-of NAME` gives every document to one format, also those of other producers."""
    for inputs in INPUTS.values():
        check(inputs[0], Reader(format_named(name)))


def test_the_mutator_is_deterministic() -> None:
    text = INPUTS["vllm-text"][0]
    assert [mutated(text, random.Random(7)) for _ in range(2)] == [mutated(text, random.Random(7))] * 2
