"""The same log by file and from every server, under every mapping of its text: equal counts, or it is said what could not be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources.files import Files
from tests.es_index import LACKING, MAPPINGS, create, fill, source
from tests.llm_log import documents
from tests.nodes.nodes import Node

LOG = documents(1200)
FEW = 300  # documents that may be read: far fewer than the log has, so that everything that can be counted is
NAMES = tuple(signals())


@pytest.fixture(scope="module")
def by_file(tmp_path_factory: pytest.TempPathFactory) -> Observation:
    """What reading the log as a file gives."""
    path: Path = tmp_path_factory.mktemp("log") / "log.jsonl"
    path.write_text("".join(json.dumps(document, ensure_ascii=False) + "\n" for document in LOG), encoding="utf-8")
    return observe(Files([str(path)]), signals(), SignalOptions())


def _rows(seen: Observation, name: str) -> list[tuple[object, ...]]:
    return [row for row in seen.ledger.rows() if row[2].partition("/")[0] == name]


@pytest.mark.parametrize("mapping", MAPPINGS)
def test_equal_or_said(node: Node, mapping: str, by_file: Observation) -> None:
    index = f"llm-table-{list(MAPPINGS).index(mapping)}"
    if mapping in LACKING[node.flavour]:
        with pytest.raises(OSError, match="400"):
            create(node, index, MAPPINGS[mapping])
        return
    create(node, index, MAPPINGS[mapping])
    assert fill(node, index, LOG) == []

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
    assert {"request_failure", "length_cutoff"} <= equal, said
    if mapping in ("text with keyword 256", "match_only_text", "wildcard"):
        assert "think_leak" in equal, said
    assert counted.tally.requests == len(LOG)
