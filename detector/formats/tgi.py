"""Text Generation Inference: the router's tracing lines, as text and with --json-output. Durations are Rust Debug strings.

Source: huggingface/text-generation-inference router/src/{server,logging,infer}.rs.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any

from detector.formats.base import Document, Format, Json, Outcome, Placed, Rejected
from detector.formats.joining import read_by
from detector.formats.paths import as_list
from detector.formats.values import compact, instant, mapping, seconds
from detector.record import Record

_LINE = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)\s+(TRACE|DEBUG|INFO|WARN|ERROR) (?=.{0,200000}?\btext_generation_(?:router|launcher))",
    re.DOTALL,
)
_SPAN = re.compile(r"\b(generate_stream|generate|compat_generate|chat_completions|completions|vertex_compatibility)\{")
_HEAD = 8000  # characters in which the spans begin: requests and parameters stand inside them
_PAIR = re.compile(r'\b(total_time|validation_time|queue_time|inference_time|time_per_token)="([^"]{1,40})"')
_SOME = re.compile(r"\b(max_new_tokens|temperature|best_of): (?:Some\()?(-?[\d.]+)\)?")
_SUCCESS = re.compile(r": Success\s*$")
_ERRORS = (  # InferError, router/src/infer/mod.rs; the status that the client saw is not in the log
    ("Request failed during generation", "generation"),
    ("Model is overloaded", "overloaded"),
    ("Input validation error", "validation"),
    ("Incomplete generation", "incomplete_generation"),
    ("Template error", "template_error"),
    ("no permits available", "overloaded"),
)
_MESSAGE = re.compile(r"\.rs:\d+: (.*)", re.DOTALL)
_REFUSED = re.compile(r"`\w+` (?:must|cannot|supports|tokens|>)|must be |cannot be empty|(?:is not|not) (?:valid|supported)|cannot compile")  # ValidationError
_TARGET = re.compile(r": text_generation_router(?:::\w+)*: (?:\S+\.rs:\d+: )?")
_OUTPUT = "Output: "
_OUTPUTS = 256  # texts whose closing line may still come: it is the next line of the same request
NO_ANSWER = "log line that is no answer"


def _recognise(body: Json) -> str | None:
    if isinstance(body, str):
        return "tracing line of text_generation_router" if _LINE.match(body) else None
    if isinstance(body, dict):
        target = body.get("target")
        if isinstance(target, str) and target.startswith(("text_generation_router", "text_generation_launcher")):
            return "tracing record with target " + target.partition("::")[0]
    return None


class Answers:
    """`detector.formats.base.Joiner`: puts the text that the debug level writes beside the line that closes the same span.

    Both lines bear the same span with the same times. The text has real line breaks, so lines without a head of their own go on with it.
    """

    def __init__(self) -> None:
        self._outputs: OrderedDict[str, tuple[list[str], list[Document]]] = OrderedDict()  # by span
        self._open: str | None = None  # the span whose text the next lines go on with

    def feed(self, document: Document) -> Iterable[Outcome]:
        body = document.body
        if isinstance(body, str) and _LINE.match(body) is None and self._open is not None:
            lines, documents = self._outputs[self._open]
            lines.append(body)
            documents.append(document)
            return
        self._open = None
        span, text = _output_of_line(body) if isinstance(body, str) else _output_of_record(body) if isinstance(body, dict) else ("", None)
        if text is not None:
            self._outputs[span] = ([text], [document])
            self._open = span if isinstance(body, str) else None
            if len(self._outputs) > _OUTPUTS:
                yield from self._dropped(next(iter(self._outputs)))
            return
        record = _of_record(body) if isinstance(body, dict) else _of_line(body) if isinstance(body, str) else None
        if record is None:
            yield Rejected(document, NO_ANSWER, ignored=True)
            return
        written = self._outputs.pop(span, None) if record.error_type is None else None
        if written is not None:
            whole = "\n".join(written[0])
            record.content, record.content_state, record.content_is_raw = whole or None, "present" if whole else "empty", True
        yield Placed(record, document)

    def finish(self) -> Iterable[Outcome]:
        while self._outputs:
            yield from self._dropped(next(iter(self._outputs)))

    def holds_from(self) -> int | None:
        return None

    def _dropped(self, span: str) -> Iterable[Outcome]:
        self._open = None if self._open == span else self._open
        for document in self._outputs.pop(span)[1]:
            yield Rejected(document, NO_ANSWER, ignored=True)


def _output_of_line(line: str) -> tuple[str, str | None]:
    """The span of a line, and the text of an answer if the line writes one."""
    head = _LINE.match(line)
    target = _TARGET.search(line, head.end(2)) if head else None
    if head is None or target is None:
        return "", None
    said = line[target.end() :]
    return line[head.end(2) : target.start()], said[len(_OUTPUT) :] if head[2] == "DEBUG" and said.startswith(_OUTPUT) else None


def _output_of_record(body: Mapping[str, Any]) -> tuple[str, str | None]:
    message = body.get("message", mapping(body.get("fields")).get("message"))
    span = compact(body.get("span") or body.get("spans"))
    return span, message[len(_OUTPUT) :] if body.get("level") == "DEBUG" and isinstance(message, str) and message.startswith(_OUTPUT) else None


def _of_line(line: str) -> Record | None:
    head = _LINE.match(line)
    if head is None:
        return None
    spans = _SPAN.findall(line[:_HEAD])
    span = next((name for name in ("generate_stream", "generate") if name in spans), spans[0] if spans else None)  # the innermost says most
    message = line.partition("\n")[0] if "\n" in line else line
    if _SUCCESS.search(message) and span:
        return _success(head[1], span, line, dict(_PAIR.findall(line)))
    if head[2] == "ERROR" and span:
        return _failure(head[1], span, line, message)
    return None


def _of_record(body: Mapping[str, Any]) -> Record | None:
    fields = mapping(body.get("fields"))
    message = body.get("message", fields.get("message"))
    spans = [mapping(body.get("span")), *(mapping(span) for span in as_list(body.get("spans")))]
    named = next((span for span in spans if _SPAN.match(f"{span.get('name')}{{")), None)
    if named is None or not isinstance(message, str):
        return None
    values = {**named, **fields}
    parameters = " ".join(str(span.get("parameters", "")) for span in spans)
    if message == "Success":
        return _success(body.get("timestamp"), str(named["name"]), parameters, values)
    return _failure(body.get("timestamp"), str(named["name"]), parameters, message) if body.get("level") == "ERROR" else None


def _success(at: Any, span: str, parameters: str, times: Mapping[str, Any]) -> Record:
    record = _base(at, span, parameters)
    record.latency_seconds, record.queue_seconds = seconds(times.get("total_time")), seconds(times.get("queue_time"))
    return record


def _failure(at: Any, span: str, parameters: str, message: str) -> Record | None:
    for words, kind in _ERRORS:
        if words in message:
            record = _base(at, span, parameters)
            record.error_type = kind
            record.error_message = message[message.index(words) :]
            return record
    written = _MESSAGE.search(message)
    said = written[1] if written else message
    if _REFUSED.search(said):
        record = _base(at, span, parameters)
        record.error_type, record.error_message = "validation", said
        return record
    return None


def _base(at: Any, span: str, parameters: str) -> Record:
    record = Record(engine="tgi", timestamp=instant(at))
    if span == "generate_stream":
        record.stream = True
    elif span == "generate":
        record.stream = False
    for name, value in _SOME.findall(parameters):
        if name == "max_new_tokens" and record.max_tokens is None and value.isdecimal():
            record.max_tokens = int(value)
        elif name == "temperature" and record.temperature is None:
            try:
                record.temperature = float(value)
            except ValueError:
                continue
    return record


FORMAT = Format(
    name="tgi",
    view="engine",
    title="Text Generation Inference (router log)",
    sees=("latency and waiting time of every answer", "failures and their class", "caps of requests", "text, at the debug level"),
    blind=("text, above the debug level", "finish reasons", "token counts", "request ids and model"),
    recognise=_recognise,
    read=read_by(Answers),
    joiner=Answers,
    rank=30,
    keys=frozenset(("target",)),
    other_lines=True,
    trust="none is logged",
    units="durations as Rust writes them (1.23s, 45.6ms, 789µs); times are UTC, at the end of the request",
    raw_text=True,
    off=("length_cutoff", "think_leak", "special_token_leak"),
)
