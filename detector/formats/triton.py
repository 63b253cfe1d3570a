"""Triton Inference Server: bodies of its OpenAI front end, and server log lines.

Source: triton-inference-server/server python/openai/openai_frontend/engine/triton_engine.py: `stop` is written in the code, whatever ended the answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from detector.formats import openai_stream
from detector.formats.base import Document, Format, Json, Outcome, Rejected
from detector.formats.envelope import read_envelope
from detector.formats.log_lines import failed_access
from detector.formats.openai import records_of_body
from detector.formats.values import decoded
from detector.record import Record

_LOG_LINE = re.compile(r"[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [\w.-]+\.(?:cc|h|cpp|py):\d+\] ")
_LOG_LINE_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ? (?:INFO|WARNING|ERROR|VERBOSE)?:? ?\d* ?[\w.-]+\.cc:\d+\] ")
_ID = re.compile(r"cmpl-[0-9a-f]{8}-[0-9a-f]{4}-1[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}|cmpl-[0-9a-f-]{36}$")
_STREAM = re.compile(r'data: ?\{(?=.{0,300}"id": ?"(?:cmpl-[0-9a-f-]{36}"|cmpl-.{1,600}"function_call"))(?=.{0,600}"chat\.completion\.chunk")')
_PIECES = re.compile(r'data: ?\{(?=.{0,2000}"text_output": ?")(?=.{0,2000}"model_name": ?")')
_BODIES = ("response", "response_body", "output", "body")

SERVER_LINE = "server log line, no answer"
NO_ANSWER = "no answer of a chat or completion"


def _body(document: Mapping[str, Any]) -> tuple[Mapping[str, Any] | None, bool]:
    """(response body, whether it stands inside an envelope)."""
    if isinstance(document.get("choices"), list) or _is_generated(document):
        return document, False
    for key in _BODIES:
        if key in document:
            inner = decoded(document[key])
            if isinstance(inner, dict) and (isinstance(inner.get("choices"), list) or _is_generated(inner)):
                return inner, True
    return None, False


def _is_generated(body: Mapping[str, Any]) -> bool:
    """An answer of the generate endpoint: the model's output tensors by name."""
    return isinstance(body.get("text_output"), str) and "model_name" in body


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        if body.startswith("data:"):
            if _PIECES.match(body):
                return "a recorded stream of text_output pieces, as Triton's generate endpoint writes it"
            return "a recorded stream with cmpl- ids, as Triton's OpenAI front end writes it" if _STREAM.match(body) else None
        return "Triton's server log line" if _LOG_LINE.match(body) or _LOG_LINE_ISO.match(body) else None
    if not isinstance(body, dict):
        return None
    answer, _ = _body(body)
    if answer is not None and _is_generated(answer):
        return "text_output beside model_name, as Triton's generate endpoint writes it"
    if answer is None or not isinstance(answer.get("id"), str) or not (_ID.match(answer["id"]) or _is_of_front_end(answer)):
        return None
    # vLLM's and SGLang's chat ids begin with chatcmpl-; Triton gives every answer a time-based cmpl- id and no usage or fingerprint
    if str(answer.get("object", "")).startswith("chat.completion"):
        return "a chat completion with a cmpl- id, as Triton's OpenAI front end writes it"
    if answer.get("object") == "text_completion" and "usage" in answer and answer["usage"] is None and "system_fingerprint" in answer:
        return "a text completion with usage null, as Triton's OpenAI front end writes it"
    return None


def _is_of_front_end(answer: Mapping[str, Any]) -> bool:
    """A cmpl- id on a message with function_call and tool_calls, which no engine's own server writes both."""
    choice = next(iter(answer["choices"]), None)
    message = choice.get("message") if isinstance(choice, dict) else None
    return answer["id"].startswith("cmpl-") and isinstance(message, dict) and {"function_call", "tool_calls"} <= message.keys()


def _read(documents: Sequence[Document]) -> Iterable[Outcome]:
    for document in documents:
        records: list[Record] = []
        if isinstance(document.body, str) and document.body.startswith("data:"):
            records = _of_pieces(document.body) if _PIECES.match(document.body) else records_of_body(document.body, {})
        elif not isinstance(document.body, dict):
            failed = failed_access(document.body) if isinstance(document.body, str) else None
            yield failed if failed is not None else Rejected(document, SERVER_LINE, ignored=True)
            continue
        else:
            answer, enveloped = _body(document.body)
            records = read_envelope(document) if enveloped else records_of_body(document.body, {}) if answer is not None else []
        if not records:
            yield Rejected(document, NO_ANSWER, ignored=True)
        for record in records:
            _distrust(record)
            yield record


def _of_pieces(stream: str) -> list[Record]:
    """The generate endpoint's stream: pieces of text without an id, and no mark at its end."""
    payloads = [payload for payload in openai_stream.events(stream)[0] if isinstance(payload, dict)]
    pieces = [payload["text_output"] for payload in payloads if isinstance(payload.get("text_output"), str)]
    error = next((payload["error"] for payload in payloads if payload.get("error")), None)
    whole = {**payloads[-1], "text_output": "".join(pieces), **({"error": error} if error else {})} if payloads else {}
    return records_of_body(whole, {"stream": True})


def _distrust(record: Record) -> None:
    """The reason is the front end's, not the engine's: `stop` says nothing; only a count at a cap that was really sent does."""
    if record.finish_reason_raw in ("stop", "length") and record.finish_reason_source == "engine":
        record.finish_reason_source = "gateway"
        used, cap = record.completion_tokens, record.max_tokens
        if record.finish_reason_raw == "stop" and used is not None and cap is not None and cap > 0 and used >= cap and (record.n or 1) == 1:
            record.finish_reason, record.finish_reason_source = "length", "inferred"


FORMAT = Format(
    name="triton",
    view="engine",
    title="Triton (OpenAI front end, server log)",
    sees=("text and tool calls in bodies of the OpenAI front end", "what an envelope around them holds"),
    blind=("the true finish reason: stop is written in the code", "token counts (usage is null)", "single requests, in the server log"),
    recognise=_recognise,
    read=_read,
    rank=45,
    keys=frozenset(("choices", "text_output", *_BODIES)),
    other_lines=True,
    trust="none: stop is hard-coded; length of a stream is the front end's own cap",
    units="created in seconds since 1970; server log lines have no year",
    off=(),
    inferred=("length_cutoff",),
)
