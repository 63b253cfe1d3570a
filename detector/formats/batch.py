"""Batch outputs: one answer a line in an envelope with `custom_id`, as vLLM's run-batch and the Batch API write them.

Sources: vllm/entrypoints/openai/run_batch.py; first versions put the completion directly into `response` (vllm#4794).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.openai import error_columns, records_of_body
from detector.formats.values import count, decoded, mapping, text
from detector.record import Record

NO_ANSWER = "no answer of a chat or completion"
INPUT = "batch input, no answer"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict) or "custom_id" not in body:
        return None
    if "response" in body or "error" in body:
        return "custom_id with response and error"
    if "body" in body and "url" in body:
        return "custom_id with url and body: the input of a batch"
    return None


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body
        if not isinstance(body, dict) or not ("response" in body or "error" in body):
            yield Rejected(document, INPUT, ignored=True)
            continue
        records = _records(body)
        if not records:
            yield Rejected(document, NO_ANSWER, ignored=True)
        yield from records


def _records(line: Mapping[str, Any]) -> list[Record]:
    response = mapping(line.get("response"))
    base: dict[str, Any] = {"record_id": text(line.get("custom_id")) or text(line.get("id"))}
    answer: Json = decoded(response["body"]) if "body" in response else response if "choices" in response or "object" in response else None
    status = count(response.get("status_code"))
    if status is not None:
        base["status_code"] = status
    failure = error_columns(line.get("error"))
    failure.setdefault("status_code", status) if status is not None else None
    for name, value in failure.items():
        if name != "status_code" or "status_code" not in base:
            base[name] = value
    if answer is None and not failure and status is None:
        return []
    records = records_of_body(answer, base)
    for record in records:
        record.request_id = record.request_id or text(response.get("request_id"))
    return records


FORMAT = Format(
    name="batch",
    title="batch output (vLLM run-batch, Batch API)",
    sees=("everything that response bodies hold", "status and error of each line"),
    blind=("latency", "the request: caps, tools, formats", "pod"),
    recognise=_recognise,
    read=_read,
    rank=20,
    keys=frozenset(("custom_id",)),
    lines=False,
    trust="the reasons in the response body, as the engine's own",
    units="created in seconds since 1970",
    off=("latency",),
)
