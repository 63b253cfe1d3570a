"""Data streams with a failure store on a real node, and logs without any fault, so that only what was refused can keep a check from being clean."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.es_index import own
from tests.llm_log import documents
from tests.nodes.nodes import Node

PROPERTIES = {
    "@timestamp": {"type": "date"},
    "deployment": {"type": "keyword"},
    "pod": {"type": "keyword"},
    "status": {"type": "short"},
    "latency_ms": {"type": "long"},
}


def sound(count: int, start: float, seconds: float = 3600.0) -> list[dict[str, Any]]:
    """Answers in which no signal sees anything, evenly over `seconds`."""
    found = []
    for document in documents(count, start=start, seconds=seconds):
        answer = document["response"] or {}
        choice = (answer.get("choices") or [{}])[0]
        text = (choice.get("message") or {}).get("content") or ""
        if document["status"] == 200 and choice.get("finish_reason") == "stop" and text.strip() and "</think>" not in text and len(text) < 1500:
            found.append(document)
    return found


def stream(node: Node, name: str, *, pipeline: str | None = None, enabled: bool = True) -> str:
    """The name of a data stream that the first document creates. The test distribution can't delete one: it goes with the node's data."""
    name = own(name)
    options = {"failure_store": {"enabled": enabled}}
    settings: dict[str, Any] = {"number_of_shards": 1, "number_of_replicas": 0, **({"index.default_pipeline": pipeline} if pipeline else {})}
    template = {"data_stream_options": options, "settings": settings, "mappings": {"properties": PROPERTIES}}
    body = {"index_patterns": [name], "data_stream": {}, "priority": 500, "template": template}
    node.ask("PUT", f"/_index_template/{name}", body)
    return name


def add(node: Node, name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Index documents; gives for each what became of it: `created`, `stored` (in the failure store) or the type of the error."""
    lines = [line for row in rows for line in ('{"create":{}}', json.dumps(row, ensure_ascii=False))]
    answer = node.ask("POST", f"/{name}/_bulk?refresh=true", "\n".join(lines) + "\n")
    told = []
    for item in answer["items"]:
        one = item["create"]
        told.append(one["error"]["type"] if "error" in one else "stored" if one.get("failure_store") == "used" else "created")
    node.ask("POST", f"/{name}::failures/_refresh")
    return told
