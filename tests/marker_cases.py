"""Records for the tests of the two marker signals: from the data files, from the labelled cases kept beside the checkout, and drawn by hypothesis."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from detector.formats.base import Document, Rejected
from detector.formats.envelope import FORMAT
from detector.record import Record
from detector.signals.base import Flag, SignalOptions
from detector.signals.markers import MARKERS

DATA = Path(__file__).parent / "data" / "markers"
SHARED = Path(__file__).parents[2] / "shared"


def lines(path: Path) -> list[dict[str, Any]]:
    """Objects of an NDJSON file, gzipped or not."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def shared(name: str) -> list[dict[str, Any]]:
    """A labelled file kept beside the checkout; skips the test where there is none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{name} is kept beside the checkout and is not here")
    return lines(path)


def make(columns: dict[str, Any]) -> Record:
    """A record of a data file's columns."""
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in columns.items()}
    for name in ("content", "reasoning"):
        values[f"{name}_state"] = "present" if values.get(name) else "empty"
    return Record(**values)


def wrongly_judged(name: str, label: str, judge: Callable[[Record, SignalOptions], Flag | None]) -> list[str]:
    """Lines of a data file whose verdict differs from the label: `missed` or `false alarm`, line number, kind."""
    wrong = []
    for number, case in enumerate(lines(DATA / f"{name}.jsonl"), 1):
        flag = judge(make(case["record"]), SignalOptions())
        if label in case.get("expect", ()) and flag is None:
            wrong.append(f"missed: {name}.jsonl:{number}: {case['kind']}")
        elif flag is not None and label not in case.get("expect", ()) and label not in case.get("may", ()):
            wrong.append(f"false alarm: {name}.jsonl:{number}: {case['kind']}: {flag.subtype}")
    return wrong


def records_of(document: dict[str, Any]) -> list[Record]:
    """Records of a plain envelope."""
    outcomes = FORMAT.read([Document(document, "case:1")])
    return [outcome if isinstance(outcome, Record) else outcome.record for outcome in outcomes if not isinstance(outcome, Rejected)]


_PIECES = st.sampled_from(
    [marker.literal for marker in MARKERS]
    + ["`", "```", "```python\n", '"', "'", "“", "”", "(", ")", "\n", "\n\n", "    ", "- ", "| ", ": ", ", ", "\\", "<", ">", "|", "[", "]", "/", "&lt;", "**"]
    + ["the ", "tag", " token", "thought", "analysis", "assistantfinal", "Here is my thought process:", "Here is my response:"]
    + ["태그", "를 ", "标签", "は", "and ", "…", "call:f{", "commentary to=functions.f", "functools[{", "functions.f:0{", "f{}", "<!-- ", " -->"]
    + ['{"name": "f", "arguments": {}}', "[f(a=1)]"]
    + ["think", "</thi", "<|im_end", "|im_end|>", "M2_7think>", "<p>", "</p>", "x", "Yes.", " is ", "</ think >", "\ud800", "\u200b", "\x00"]
)
TEXTS = st.lists(st.one_of(_PIECES, st.text(max_size=6)), max_size=14).map("".join)
SHORT_LISTS = st.one_of(st.none(), st.lists(TEXTS, max_size=2).map(tuple))
RECORDS = st.builds(
    Record,
    content=st.one_of(st.none(), TEXTS),
    content_state=st.sampled_from(["present", "empty", "not_captured", "truncated"]),
    reasoning=st.one_of(st.none(), TEXTS),
    reasoning_state=st.sampled_from(["present", "empty", "not_captured"]),
    content_is_raw=st.sampled_from([None, False, True]),
    tool_calls=SHORT_LISTS,
    tool_arguments=SHORT_LISTS,
    has_tools=st.sampled_from([None, False, True]),
    user_text=st.one_of(st.none(), TEXTS),
    system_text=st.one_of(st.none(), TEXTS),
    stop=st.one_of(st.none(), st.lists(_PIECES, max_size=2).map(tuple)),
    finish_reason=st.sampled_from([None, "stop", "length", "tool_calls"]),
    enable_thinking=st.sampled_from([None, False, True]),
    gateway_options=st.sampled_from([None, ("merge_reasoning_content_in_choices",)]),
    skip_special_tokens=st.sampled_from([None, True, False]),
    response_format=st.sampled_from([None, "json_object"]),
)
