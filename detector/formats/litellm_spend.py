"""LiteLLM's spend log: rows of its database, from the API, a dump or an index. Texts only where storing prompts is on.

Sources: BerriAI/litellm proxy/spend_tracking/spend_tracking_utils.py, schema.prisma (LiteLLM_SpendLogs), docs "Spend Tracking".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.litellm_payload import answer_records, asked_columns, is_answer_call, request_id, shared_columns
from detector.formats.nesting import nested
from detector.formats.values import count, decoded, mapping, text
from detector.record import Record

_OWN = ("api_key", "cache_key", "team_id", "completionStartTime", "model_group", "call_type", "request_tags")

OTHER_CALL = "call that asks for no text (embeddings, images, lists …)"
ROLLED_UP = "spend row that sums up many requests, no answer"


def _recognise(body: Json) -> str | None:
    if not isinstance(body, dict):
        return None
    if _is_row(body):
        return "a row of LiteLLM's spend log (spend, startTime, request_id)"
    return "a page of LiteLLM's spend log" if _page(body) else None


def _is_row(body: Any) -> bool:
    return isinstance(body, dict) and "spend" in body and "startTime" in body and sum(key in body for key in _OWN) >= 2


def _page(body: Mapping[str, Any]) -> list[Any]:
    """Rows of an answer of the API (`/spend/logs/ui`)."""
    listed = body.get("data")
    return listed if isinstance(listed, list) and len(body) <= 6 and any(_is_row(entry) for entry in listed[:3]) else []


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        body = document.body if isinstance(document.body, dict) else {}
        for row in _page(body) or [nested(body)]:
            if not isinstance(row, dict) or (count(row.get("api_requests")) or 0) > 0:
                yield Rejected(document, ROLLED_UP, ignored=True)
            elif not is_answer_call(row.get("call_type")):
                yield Rejected(document, OTHER_CALL, ignored=True)
            else:
                yield from _records(row, document.envelope)


def _records(row: Mapping[str, Any], envelope: Mapping[str, Any]) -> list[Record]:
    metadata = mapping(row.get("metadata"))
    sent = mapping(row.get("proxy_server_request"))
    messages = decoded(row.get("messages")) or sent.get("messages")
    base: dict[str, Any] = {
        **{name: value for name, value in envelope.items() if value is not None},
        **asked_columns(sent.get("body") if isinstance(sent.get("body"), dict) else sent, messages),
        **shared_columns(row, metadata),
        **_usage(metadata),
        "request_id": request_id(row.get("request_id")),
        "trace_id": text(metadata.get("trace_id")) or text(metadata.get("litellm_trace_id")),
    }
    return answer_records(row.get("response"), base)


def _usage(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Details of token counts, which have no column of their own in a row."""
    used, more = mapping(metadata.get("usage_object")), mapping(metadata.get("additional_usage_values"))
    columns: dict[str, Any] = {}
    for name, holder, key in (
        ("reasoning_tokens", "completion_tokens_details", "reasoning_tokens"),
        ("cached_tokens", "prompt_tokens_details", "cached_tokens"),
    ):
        value = count(mapping(used.get(holder)).get(key, mapping(more.get(holder)).get(key)))
        if value is not None:
            columns[name] = value
    return columns


FORMAT = Format(
    name="litellm_spend",
    view="gateway",
    title="LiteLLM spend log rows",
    sees=("token counts, duration, model and failures of every request", "text and finish reason only where prompts are stored", "cache hits"),
    blind=(
        "text and finish reasons, unless store_prompts_in_spend_logs is on",
        "the middle of long stored texts (cut to 35 % head and 65 % tail)",
        "caps, unless prompts are stored",
    ),
    recognise=_recognise,
    read=_read,
    rank=21,
    keys=frozenset(("spend", "data")),
    lines=False,
    trust="rewritten by the gateway; a stop that used up its cap is taken as length",
    units="startTime, endTime, completionStartTime: ISO 8601, UTC where no zone stands",
    raw_text=False,
    inferred=("length_cutoff",),
)
