"""The optional ingest pipeline and index template, as they stand in deploy/, on a real OpenSearch node."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from detector.observation import observe
from detector.signals.base import SignalOptions, signals
from detector.sources.es_flags import pipeline, template
from tests.es_index import fill, own, source
from tests.llm_log import documents
from tests.nodes.nodes import Node

DEPLOY = Path(__file__).parents[1] / "deploy" / "elasticsearch"
INDEX = own("llm-flags")
PIPELINE = own("llm-detector")
LOG = documents(900, seed=5)
WANTED = {name: signals()[name] for name in ("think_leak", "special_token_leak", "length_cutoff", "request_failure")}


def test_deployed_files_are_what_the_code_makes() -> None:
    assert json.loads((DEPLOY / "ingest-pipeline.json").read_text()) == pipeline()
    assert json.loads((DEPLOY / "index-template.json").read_text()) == template()


@pytest.fixture
def flagged(opensearch: Node) -> Iterator[Node]:
    """An index that the template made, filled through the pipeline."""
    made = json.loads((DEPLOY / "index-template.json").read_text())
    made["index_patterns"] = [INDEX]  # other tests' indices, perhaps of other processes, are left alone
    made["template"]["settings"]["index.default_pipeline"] = PIPELINE
    opensearch.ask("PUT", f"/_ingest/pipeline/{PIPELINE}", json.loads((DEPLOY / "ingest-pipeline.json").read_text()))
    opensearch.ask("PUT", f"/_index_template/{PIPELINE}", made)
    try:
        assert fill(opensearch, INDEX, LOG) == []
        yield opensearch
    finally:
        opensearch.ask("DELETE", f"/{INDEX}")
        opensearch.ask("DELETE", f"/_index_template/{PIPELINE}")
        opensearch.ask("DELETE", f"/_ingest/pipeline/{PIPELINE}")


@pytest.mark.opensearch
def test_flags_find_what_reading_finds(flagged: Node) -> None:
    whole = observe(source(flagged, INDEX), WANTED, SignalOptions())
    counted = observe(source(flagged, INDEX, read_at_most=200), WANTED, SignalOptions())
    assert list(counted.ledger.rows()) == list(whole.ledger.rows())
    assert counted.tally.could_not == []
    assert sum(row[4] for row in whole.ledger.rows() if row[2] == "think_leak") > 5


@pytest.mark.opensearch
def test_what_is_flagged(flagged: Node) -> None:
    query = {
        "size": 0,
        "track_total_hits": True,
        "aggs": {"flags": {"terms": {"field": "detector.flags"}}, "received": {"value_count": {"field": "event.ingested"}}},
    }
    answer = flagged.ask("POST", f"/{INDEX}/_search", query)
    counts = {bucket["key"]: bucket["doc_count"] for bucket in answer["aggregations"]["flags"]["buckets"]}
    loops = [number for number, document in enumerate(LOG) if document["response"] and "되풀이" in json.dumps(document, ensure_ascii=False)]
    long = [number for number, document in enumerate(LOG) if "긴 답입니다" in json.dumps(document, ensure_ascii=False)]
    assert loops
    assert counts["loop"] in (len(loops), len(loops) + len(long))
    assert answer["aggregations"]["received"]["value"] == len(LOG)


@pytest.mark.opensearch
def test_documents_from_before_the_pipeline_stay_candidates(flagged: Node) -> None:
    flagged.ask("PUT", f"/{INDEX}/_settings", {"index.default_pipeline": "_none"})
    assert fill(flagged, INDEX, documents(300, seed=9), first=10_000) == []
    whole = observe(source(flagged, INDEX), WANTED, SignalOptions())
    counted = observe(source(flagged, INDEX, read_at_most=600), WANTED, SignalOptions())
    assert list(counted.ledger.rows()) == list(whole.ledger.rows())
