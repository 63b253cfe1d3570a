"""Other producers' documents in a cluster: counted where their fields allow it, and equal to the same log read as a file."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, signals
from detector.sources.files import Files
from tests.es_index import create, fill, own, source
from tests.llm_log import documents
from tests.nodes.nodes import Node

Document = dict[str, Any]
COUNTED = ("request_failure", "length_cutoff", "think_leak", "empty_content")


def otel(document: Document) -> Document:
    """An OpenTelemetry GenAI event as the exporter's otel mode writes it."""
    model, response = document["request"]["model"], document["response"]
    attributes: Document = {"gen_ai.operation.name": "chat", "gen_ai.request.model": model, "gen_ai.request.max_tokens": document["request"]["max_tokens"]}
    if response and "choices" in response:
        choice = response["choices"][0]
        text = choice["message"]["content"]
        parts = [] if text is None else [{"type": "text", "content": text}]
        attributes |= {
            "gen_ai.response.model": model,
            "gen_ai.response.id": response["id"],
            "gen_ai.response.finish_reasons": [choice["finish_reason"]],
            "gen_ai.usage.input_tokens": 50,
            "gen_ai.usage.output_tokens": response["usage"]["completion_tokens"],
            "gen_ai.output.messages": [{"role": "assistant", "parts": parts, "finish_reason": choice["finish_reason"]}],
        }
    else:
        attributes["error.type"] = "timeout" if document["status"] == 504 else "InternalServerError"
    place = {"attributes": {"service.name": document["deployment"], "k8s.pod.name": document["pod"]}}
    name = "gen_ai.client.inference.operation.details"
    return {"@timestamp": document["@timestamp"], "event_name": name, "trace_id": document["id"], "attributes": attributes, "resource": place}


def litellm(document: Document) -> Document:
    """A LiteLLM logging payload: the status is only written for failures."""
    response, begun = document["response"], datetime.fromisoformat(document["@timestamp"]).timestamp()
    good = bool(response and "choices" in response)
    failure = {"error_code": str(document["status"]), "error_class": "Timeout" if document["status"] == 504 else "InternalServerError", "error_message": "x"}
    return {
        "@timestamp": document["@timestamp"],
        "id": response["id"] if good else document["id"],
        "call_type": "acompletion",
        "stream": False,
        "status": "success" if good else "failure",
        "startTime": begun,
        "endTime": begun + document["latency_ms"] / 1000,
        "prompt_tokens": 50,
        "completion_tokens": response["usage"]["completion_tokens"] if good else 0,
        "model": document["request"]["model"],
        "model_group": document["deployment"],
        "model_parameters": {"max_tokens": document["request"]["max_tokens"]},
        "response": response if good else None,
        "error_information": None if good else failure,
    }


def inside_message(document: Document) -> Document:
    """The envelope as text in a shipper's `message`: no field of it is known to the cluster."""
    return {"@timestamp": document["@timestamp"], "message": json.dumps(document, ensure_ascii=False), "log": {"offset": 1}}


@pytest.mark.parametrize(("shape", "counted"), [(otel, COUNTED), (litellm, COUNTED), (inside_message, ())], ids=["otel", "litellm", "JSON in message"])
def test_equal_or_said(node: Node, shape: Callable[[Document], Document], counted: tuple[str, ...], tmp_path: Path) -> None:
    log = [shape(document) for document in documents(700)]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(document, ensure_ascii=False) + "\n" for document in log), encoding="utf-8")
    by_file = observe(Files([str(path)]), signals(), SignalOptions())
    create(node, own("llm-formats"), {"@timestamp": {"type": "date"}})
    assert fill(node, own("llm-formats"), log) == []
    everything = observe(source(node, own("llm-formats")), signals(), SignalOptions())
    assert list(everything.ledger.rows()) == list(by_file.ledger.rows())
    few = observe(source(node, own("llm-formats"), read_at_most=200), signals(), SignalOptions())
    said = " ".join(entry.what for entry in few.tally.could_not)
    for name in signals():
        if name in counted:
            assert _rows(few, name) == _rows(by_file, name), said
        else:
            assert name in said
            sampled = sum(row[3] for row in few.ledger.rows() if row[2] == name)
            assert 100 < sampled < 300  # the sample's own denominators


def _rows(seen: Observation, name: str) -> list[Any]:
    return [row for row in seen.ledger.rows() if row[2].partition("/")[0] == name]


def pairs(document: Document) -> list[Document]:
    """KServe's two events of one call."""
    begun = {
        "specversion": "1.0",
        "id": document["id"],
        "inferenceservicename": document["deployment"],
        "time": document["@timestamp"],
        "@timestamp": document["@timestamp"],
    }
    asked = {**begun, "type": "org.kubeflow.serving.inference.request", "data": document["request"]}
    if not (document["response"] and "choices" in document["response"]):
        return [asked]
    return [asked, {**begun, "type": "org.kubeflow.serving.inference.response", "data": document["response"]}]


def test_a_sample_of_joined_documents_keeps_them_together(node: Node) -> None:
    """Halves of answers must not be drawn one by one: whole stretches of time are read instead."""
    log = [event for document in documents(700) for event in pairs(document)]
    create(node, own("llm-pairs"), {"@timestamp": {"type": "date"}})
    assert fill(node, own("llm-pairs"), log) == []
    whole = observe(source(node, own("llm-pairs")), signals(), SignalOptions())
    few = observe(source(node, own("llm-pairs"), read_at_most=500), signals(), SignalOptions())
    assert whole.tally.requests == sum(event["type"].endswith("response") for event in log)
    assert any("several documents can make up one request" in entry.why for entry in few.tally.could_not)
    assert 0 < few.tally.documents < 900
    rows = {row[:3]: row[3:] for row in whole.ledger.rows()}
    equal = sum(rows.get(row[:3]) == row[3:] for row in few.ledger.rows())
    assert equal > 0.9 * len(list(few.ledger.rows()))
