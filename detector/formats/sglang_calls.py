"""Joins SGLang's request log: received and finished events of one request, and the model that only the OpenAI event names.

Source: python/sglang/srt/utils/request_logger.py, managers/tokenizer_manager.py, entrypoints/http_server.py (0.4.6 to 0.5.23).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from detector.formats.base import Document, Json, Outcome, Placed, Rejected
from detector.formats.finish_reason import infer_length, reason
from detector.formats.log_lines import access, failed_generation, is_statistics
from detector.formats.openai_message import set_text
from detector.formats.openai_request import request_columns
from detector.formats.paths import as_list
from detector.formats.repr_values import Cut
from detector.formats.values import count, flag, instant, mapping, number, seconds, text
from detector.record import Record

_OPEN = 20_000  # requests whose end may still come
_RECENT = 1_024  # requests that have ended and whose other lines are still known to be theirs
_FAILURE_LINES = 64  # lines within which an access line belongs to a failure that was just logged
_PLACEHOLDER = re.compile(r"<text: \d+ chars\b[^>]*>$|<\w+: \d+ \w+, blake2b=[^>]*>$")
_HALF, _DOTS = 1024, "..."  # levels 1 and 2: 1,024 + ... + 1,024 characters
_SHAPES = {"json_schema": "json_schema", "regex": "regex", "ebnf": "grammar", "structural_tag": "structural_tag"}
_HEALTH = "HEALTH_CHECK"

_ABORT = re.compile(r"\bAbort (?:\w+ ){0,2}request[. :(].{0,80}?\brid=['\"]?([\w.:-]{1,200})")  # of the scheduler at DEBUG, of a client that went away
_ABORT_WAITS = 512  # lines within which the finished line of an aborted request follows, where there is one

RECEIVED_ONLY = "received line without a finished line"
HEALTH = "health probe"
INTERIM = "interim output"
NO_GENERATION = "no generation (embedding, score)"
UNTIED = "request of the API that can't be tied to one answer"
ACCESS = "access line"
STATISTICS = "statistics line"
OTHER = "log line that is no answer"

SEES = (
    "reason, token counts, latency of every finished request",
    "text before the reasoning parser at levels 2 and 3",
    "aborts with their message",
)  # of both kinds of log
BLIND = (
    "text at levels 0 and 1, and the middle of long texts at level 2",
    "what the reasoning and tool parsers made of the text: reasoning, tool calls, leaks",
)
SLOW_ONLY = "with SGLANG_LOG_REQUEST_EXCEEDED_MS only slow requests are in the log: rates from it are biased"


class Event:
    """One line: `kind` received, finished, openai or other; `rid`; the request object and the output."""

    __slots__ = ("kind", "obj", "out", "rid")

    def __init__(self, kind: str, rid: str | None = None, obj: Mapping[str, Any] | None = None, out: Any = None) -> None:
        self.kind, self.rid, self.obj, self.out = kind, rid, obj or {}, out


def _sampling(given: Any) -> dict[str, Any]:
    """Columns of SGLang's sampling parameters (python/sglang/srt/sampling/sampling_params.py)."""
    found = mapping(given[0] if isinstance(given, list) and given else given)
    columns = {
        "max_tokens": count(found.get("max_new_tokens")),
        "temperature": number(found.get("temperature")),
        "n": count(found.get("n")),
        "ignore_eos": flag(found.get("ignore_eos")),
        "skip_special_tokens": flag(found.get("skip_special_tokens")),
        "stop": tuple(entry for entry in as_list(found["stop"]) if isinstance(entry, str)) if found.get("stop") else None,
        "response_format": next((shape for key, shape in _SHAPES.items() if found.get(key)), None),
    }
    return {name: value for name, value in columns.items() if value is not None}


class Requests:
    """`detector.formats.base.Joiner` for SGLang's lines. `event_of`: what a document's body says; `text_of`: its text, where it is no event."""

    def __init__(self, event_of: Callable[[Json], Event], text_of: Callable[[Json], str]) -> None:
        self._event_of, self._text_of = event_of, text_of
        self._received: OrderedDict[str, tuple[list[Document], dict[str, Any]]] = OrderedDict()
        self._asked: OrderedDict[int, tuple[Document, dict[str, Any]]] = OrderedDict()  # OpenAI events that no request has taken
        self._recent: OrderedDict[str, None] = OrderedDict()
        self._fed = 0
        self._failed_at = -_FAILURE_LINES
        self._aborted: OrderedDict[str, tuple[Document, int]] = OrderedDict()  # abort line seen, finished line not: when

    def feed(self, document: Document) -> Iterable[Outcome]:
        self._fed += 1
        event = self._event_of(document.body)
        if event.kind == "other":
            yield from self._other(document)
        elif event.rid is not None and event.rid.startswith(_HEALTH):
            yield Rejected(document, HEALTH, ignored=True)
        elif event.kind == "openai":
            self._asked[document.position] = (document, request_columns(event.obj))
            if len(self._asked) > _OPEN:
                yield Rejected(self._asked.popitem(last=False)[1][0], UNTIED, ignored=True)
        elif event.kind == "received":
            yield from self._receive(document, event)
        else:
            yield from self._finish(document, event)
        while self._aborted and self._fed - next(iter(self._aborted.values()))[1] > _ABORT_WAITS:
            yield self._abort(next(iter(self._aborted)))

    def finish(self) -> Iterable[Outcome]:
        while self._aborted:
            yield self._abort(next(iter(self._aborted)))
        for documents, _ in self._received.values():
            for document in documents:
                yield Rejected(document, RECEIVED_ONLY, ignored=True)
        for document, _ in self._asked.values():
            yield Rejected(document, UNTIED, ignored=True)
        self._received.clear()
        self._asked.clear()

    def holds_from(self) -> int | None:
        return min((document.position for document, _ in self._aborted.values()), default=None)

    def _abort(self, rid: str) -> Placed:
        document, _ = self._aborted.pop(rid)
        _, columns = self._received.pop(rid, ([], {}))
        self._done(rid)
        record = Record(**{**columns, "request_id": rid, "engine": "sglang", "finish_reason": "abort", "finish_reason_raw": "abort"})
        record.finish_reason_source = "engine"
        return Placed(record, document)

    def _done(self, rid: str) -> None:
        self._recent[rid] = None
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)

    def _receive(self, document: Document, event: Event) -> Iterator[Outcome]:
        if event.rid is None or event.rid in self._recent:
            if event.rid is None:
                yield Rejected(document, RECEIVED_ONLY, ignored=True)
            return
        columns: dict[str, Any] = {}
        documents = [document]
        if len(self._asked) == 1 and not self._received:  # one call is open: the event before can only be its own
            asked, columns = self._asked.popitem()[1]
            documents.append(asked)
        self._received[event.rid] = (documents, {**columns, **_sampling(event.obj.get("sampling_params"))})
        if len(self._received) > _OPEN:
            for old in self._received.popitem(last=False)[1][0]:
                yield Rejected(old, RECEIVED_ONLY, ignored=True)

    def _finish(self, document: Document, event: Event) -> Iterator[Outcome]:
        outputs = event.out if isinstance(event.out, list) else [event.out]
        _, columns = self._received.get(event.rid or "", ([], {}))
        if not columns and len(self._asked) == 1 and len(self._received) <= 1:
            columns = self._asked.popitem()[1][1]
        made = False
        for index, out in enumerate(outputs):
            if not isinstance(out, Mapping) or "meta_info" not in out or "embedding" in out:
                yield Rejected(document, NO_GENERATION, ignored=True)
                continue
            meta = mapping(out["meta_info"]) if not isinstance(out["meta_info"], Mapping) else out["meta_info"]
            if meta.get("finish_reason") is None:
                yield Rejected(document, INTERIM, ignored=True)
                continue
            made = True
            record = self._record(event, out, meta, columns, index if len(outputs) > 1 else 0)
            if "timestamp" not in document.envelope:
                record.timestamp = instant(meta.get("request_received_ts") or event.obj.get("received_time"), "s")
            if record.finish_reason in ("abort", "error"):
                self._failed_at = self._fed
            yield Placed(record, document)
        if made and event.rid is not None:
            self._received.pop(event.rid, None)
            self._done(event.rid)
            if event.rid in self._aborted:
                yield Rejected(self._aborted.pop(event.rid)[0], OTHER, ignored=True)

    def _record(self, event: Event, out: Mapping[str, Any], meta: Mapping[str, Any], known: Mapping[str, Any], index: int) -> Record:
        obj = event.obj
        record = Record(**{**known, **_sampling(obj.get("sampling_params"))})
        record.request_id = text(meta.get("id")) or event.rid
        record.engine = "sglang"
        record.choice_index = index
        stream = flag(obj.get("stream"))
        record.stream = stream if stream is not None else record.stream
        record.model = record.model or text(obj.get("model"))
        record.session = record.session or text(mapping(obj.get("session_params")).get("id"))
        self._ending(record, meta)
        self._content(record, out)
        record.prompt_tokens, record.completion_tokens = count(meta.get("prompt_tokens")), count(meta.get("completion_tokens"))
        record.reasoning_tokens, record.cached_tokens = count(meta.get("reasoning_tokens")), count(meta.get("cached_tokens"))
        record.latency_seconds, record.ttft_seconds = seconds(meta.get("e2e_latency")), seconds(meta.get("first_token_latency", meta.get("ttft")))
        record.queue_seconds = seconds(meta.get("queue_time"))
        infer_length(record)
        return record

    def _ending(self, record: Record, meta: Mapping[str, Any]) -> None:
        given = meta["finish_reason"]
        found = reason(given if isinstance(given, str) else dict(given) if isinstance(given, Mapping) else given)
        record.finish_reason, record.finish_reason_raw, record.stop_reason = found.canonical, found.raw, found.matched
        record.finish_reason_source = "engine"
        if record.stream:
            record.stream_done = True
        if isinstance(given, Mapping) and found.canonical in ("abort", "error"):
            record.error_type, record.error_message = text(given.get("err_type")), text(given.get("message"))
            status = number(given.get("status_code"))
            if not record.stream and status is not None:  # of a stream the client had seen a 200 before
                record.status_code = int(status)

    def _content(self, record: Record, out: Mapping[str, Any]) -> None:
        record.content_is_raw = True
        given = out.get("text")
        if not isinstance(given, str) or _PLACEHOLDER.match(given):
            record.content_is_raw = None
            return
        columns: dict[str, Any] = {}
        set_text(columns, "content", given)
        record.content, record.content_state = columns["content"], columns["content_state"]
        if isinstance(given, Cut) or (len(given) == 2 * _HALF + len(_DOTS) and given[_HALF : _HALF + len(_DOTS)] == _DOTS):
            record.content_state = "truncated"
        if not given and record.finish_reason in ("abort", "error"):
            record.content_state = "not_captured"  # ended before an answer: nothing that could be empty

    def _other(self, document: Document) -> Iterator[Outcome]:
        line = self._text_of(document.body)
        found = access(line)
        aborted = _ABORT.search(line, 0, 2000) if found is None and "Abort" in line[:2000] else None
        if aborted is not None and aborted[1] not in self._recent and aborted[1] not in self._aborted and not aborted[1].startswith(_HEALTH):
            self._aborted[aborted[1]] = (document, self._fed)
        elif found is None:
            yield Rejected(document, STATISTICS if is_statistics(line) else OTHER, ignored=True)
        elif failed_generation(found) and self._fed - self._failed_at > _FAILURE_LINES:
            yield Placed(Record(engine="sglang", status_code=found.status, endpoint=found.path), document)
        else:
            yield Rejected(document, ACCESS, ignored=True)
