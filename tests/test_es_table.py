"""The same log by file and from every server, under every mapping of its text: equal counts, or it is said what could not be seen."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources.files import Files
from tests.es_index import LACKING, MAPPINGS, create, fill, own, source
from tests.llm_log import documents
from tests.nodes.nodes import Node

LOG = documents(1200)
FEW = 300  # documents that may be read: far fewer than the log has, so that everything that can be counted is
NAMES = tuple(signals())
# What must be equal although few documents may be read. Numbers inside a flattened object are words to the cluster, so caps can't be compared there;
# short pieces such as `</` are in no term of an analysed text and can only be looked for in wildcard and keyword fields.
COUNTED = {
    "text with keyword 256": ("request_failure", "length_cutoff", "think_leak", "empty_content"),
    "keyword 8191": ("request_failure", "length_cutoff", "think_leak", "empty_content", "special_token_leak"),
    "match_only_text": ("request_failure", "length_cutoff", "think_leak", "empty_content"),
    "wildcard": ("request_failure", "length_cutoff", "think_leak", "special_token_leak"),
    "flattened": ("request_failure",),
    "flat_object": ("request_failure",),
}


def read_file(path: Path, log: Sequence[dict[str, Any]]) -> Observation:
    """What reading documents as a file gives."""
    path.write_text("".join(json.dumps(document, ensure_ascii=False) + "\n" for document in log), encoding="utf-8")
    return observe(Files([str(path)]), signals(), SignalOptions())


@pytest.fixture(scope="module")
def by_file(tmp_path_factory: pytest.TempPathFactory) -> Observation:
    """What reading the whole log as a file gives."""
    return read_file(tmp_path_factory.mktemp("log") / "log.jsonl", LOG)


def _rows(seen: Observation, name: str) -> list[tuple[object, ...]]:
    return [row for row in seen.ledger.rows() if row[2].partition("/")[0] == name]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_equal_or_said(node: Node, mapping: str, by_file: Observation, tmp_path: Path) -> None:
    index = own(f"llm-table-{list(MAPPINGS).index(mapping)}")
    if mapping in LACKING[node.flavour]:
        with pytest.raises(OSError, match="400"):
            create(node, index, MAPPINGS[mapping])
        return
    create(node, index, MAPPINGS[mapping])
    refused = fill(node, index, LOG)
    if refused:  # a flat object takes no value of more than 32,766 bytes, and with it the whole document is lost: no reader can see it
        assert mapping == "flat_object"
        assert all(len(json.dumps(LOG[number], ensure_ascii=False).encode()) > 32_766 for number in refused)
        by_file = read_file(tmp_path / "log.jsonl", [document for number, document in enumerate(LOG) if number not in refused])

    everything = observe(source(node, index), signals(), SignalOptions())
    assert everything.tally.could_not == []
    for name in NAMES:
        assert _rows(everything, name) == _rows(by_file, name), f"{name}: reading all documents differs from the file"

    counted = observe(source(node, index, read_at_most=FEW), signals(), SignalOptions())
    said = " ".join(entry.what for entry in counted.tally.could_not)
    assert not any(entry.blocking for entry in counted.tally.could_not)
    equal = {name for name in NAMES if _rows(counted, name) == _rows(by_file, name)}
    unsaid = {name for name in NAMES if name not in equal and name not in said}
    assert not unsaid, f"{unsaid} differ from the file, and nothing says so"
    assert set(COUNTED[mapping]) <= equal, said
    assert counted.tally.requests == len(LOG) - len(refused)


def test_what_no_sample_held_is_said(opensearch: Node) -> None:
    """One aborted answer of 1,200, in an object that the cluster can't group by: most samples don't hold it, and its denominator is an estimate then too."""
    index = own("llm-table-seldom")
    log = [document for document in documents(1400) if (document["response"] or {}).get("choices", [{}])[0].get("finish_reason", "stop") == "stop"][:1200]
    at = next(number for number, document in enumerate(log) if number > 700 and document["status"] == 200)
    log[at]["response"]["choices"][0]["finish_reason"] = "abort"
    log = [document for document in log if len(json.dumps(document, ensure_ascii=False).encode()) < 32_766]
    create(opensearch, index, MAPPINGS["flat_object"])
    assert fill(opensearch, index, log) == []
    counted = observe(source(opensearch, index, read_at_most=FEW), signals(), SignalOptions())
    said = " ".join(entry.what for entry in counted.tally.could_not)
    assert "exact number of requests that can show empty_content" in said
    assert "requests that can show request_failure" not in said
