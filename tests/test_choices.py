"""Several choices of one response are one request, however the log names and orders them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from detector.commands.scan import identities
from detector.observation import observe
from detector.reading import ReadingOptions
from detector.signals.base import SignalOptions, signals
from detector.sources.base import Tally
from detector.sources.files import Files

LEAK = "I should think about it. </think>\n\nThe answer is four."


def document(number: int, indices: tuple[int | None, ...], ids: str) -> dict[str, Any]:
    choices = [{**({} if index is None else {"index": index}), "message": {"role": "assistant", "content": LEAK}, "finish_reason": "stop"} for index in indices]
    found: dict[str, Any] = {
        "timestamp": f"2026-11-29T03:{number:02}:00Z",
        "status": 200,
        "request": {"model": "m", "n": 3},
        "response": {"object": "chat.completion", "model": "m", "choices": choices},
    }
    if ids == "line":
        found["id"] = f"line-{number}"
    if ids == "response":
        found["response"]["id"] = f"chatcmpl-{number}"
    return found


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("ids", ["none", "line", "response"])
@pytest.mark.parametrize("indices", [(0, 1, 2), (2, 1, 0), (1, 0, 2), (None, None, None)])
def test_choices_count_as_one_request(indices: tuple[int | None, ...], ids: str, as_array: bool, tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    documents = [document(number, indices, ids) for number in range(5)]
    path.write_text(json.dumps(documents) if as_array else "".join(json.dumps(one) + "\n" for one in documents))
    seen = observe(Files([str(path)]), {"think_leak": signals()["think_leak"]}, SignalOptions())
    assert (seen.tally.requests, seen.tally.records) == (5, 15)
    counts = [(requests, flagged) for _, _, signal, requests, flagged in seen.ledger.rows() if signal == "think_leak"]
    assert [sum(column) for column in zip(*counts, strict=True)] == [5, 5]


@pytest.mark.parametrize("indices", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_every_choice_of_several_bears_its_number(indices: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(document(number, indices, "line")) + "\n" for number in range(2)))
    source = Files([str(path)], ReadingOptions(keep_duplicates=True, in_order=True))
    names = [name for batch in source.batches(Tally()) for name in identities(batch)]
    assert names == [f"line-{number}#{index}" for number in range(2) for index in indices]
