"""Indices for tests: one log under five mappings of its text, filled into a real node."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_cluster import Cluster, open_cluster
from detector.sources.es_connection import Connection
from detector.window import Window
from tests.llm_log import START
from tests.nodes.nodes import Node

WINDOW = Window(START, START + 3600)
_LABELS = {"@timestamp": {"type": "date"}, "deployment": {"type": "keyword"}, "pod": {"type": "keyword"}}


def _content(mapping: dict[str, Any]) -> dict[str, Any]:
    """A mapping of the answers' text; everything else as the server maps it by itself."""
    message = {"properties": {"message": {"properties": {"content": mapping}}}}
    return {**_LABELS, "response": {"properties": {"choices": message}}}


MAPPINGS: dict[str, dict[str, Any]] = {
    "text with keyword 256": _LABELS,  # what a server makes of it by itself
    "keyword 8191": _content({"type": "keyword", "ignore_above": 8191}),
    "match_only_text": _content({"type": "match_only_text"}),
    "wildcard": _content({"type": "wildcard", "ignore_above": 8191}),
    "flattened": {**_LABELS, "response": {"type": "flattened", "ignore_above": 8191}},
    "flat_object": {**_LABELS, "response": {"type": "flat_object"}},
}
# What these servers do not have: OpenSearch has flat_object in place of flattened; the Elasticsearch test zips lack the mapper extras.
LACKING = {
    "elasticsearch": ("match_only_text", "wildcard", "flat_object"),
    "opensearch": ("flattened",),
}


_made: list[tuple[Node, str]] = []


def own(name: str) -> str:
    """An index name of this process's own: several may share a node."""
    return f"{name}-{os.getpid()}"


def drop_all() -> None:
    """Delete every index that this process made."""
    while _made:
        node, index = _made.pop()
        with suppress(OSError):
            node.ask("DELETE", f"/{index}")


def create(node: Node, index: str, properties: dict[str, Any]) -> None:
    """An empty index of one shard without replica. Raises OSError when the server refuses the mapping."""
    create_mapped(node, index, {"properties": properties})


def create_mapped(node: Node, index: str, mapping: dict[str, Any]) -> None:
    """The same with a whole mapping (`dynamic`, `_source` …)."""
    try:
        node.ask("DELETE", f"/{index}")
    except OSError as error:
        if "404" not in str(error):
            raise
    settings = {"number_of_shards": 1, "number_of_replicas": 0, "index.mapping.total_fields.limit": 2000}
    _made.append((node, index))
    node.ask("PUT", f"/{index}", {"settings": settings, "mappings": mapping})


def fill(node: Node, index: str, documents: Sequence[dict[str, Any]], *, first: int = 0) -> list[int]:
    """Index documents, ids by their number; gives the numbers of those that the server refused."""
    refused: list[int] = []
    for start in range(0, len(documents), 500):
        lines = []
        for number, document in enumerate(documents[start : start + 500], start + first):
            lines += [json.dumps({"index": {"_id": str(number)}}), json.dumps(document, ensure_ascii=False)]
        answer = node.ask("POST", f"/{index}/_bulk?refresh=true", "\n".join(lines) + "\n")
        refused += [int(item["index"]["_id"]) for item in answer["items"] if "error" in item["index"]]
    return refused


def reach(node: Node, index: str, **settings: Any) -> Cluster:
    """An open connection that never really waits."""
    return open_cluster(Connection(urls=(node.url,), **settings), index, pause=lambda _: None)


def source(node: Node, index: str, *, window: Window | None = WINDOW, **settings: Any) -> ClusterSource:
    """The index as a source."""
    return ClusterSource(lambda: reach(node, index), window=window, **settings)


def counts(rows: Iterable[tuple[int, Any, str, int, int]], signal: str) -> tuple[int, int]:
    """Requests and flagged requests of one signal."""
    chosen = [row for row in rows if row[2] == signal]
    return sum(row[3] for row in chosen), sum(row[4] for row in chosen)
