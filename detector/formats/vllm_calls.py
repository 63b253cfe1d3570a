"""Joins the lines of vLLM's log that belong to one call: request, answers, deltas, abort, closing line, logged body, failed access line."""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator

from detector.formats.base import Document, Json, Outcome, Rejected
from detector.formats.log_lines import Access, access, failed_generation, is_statistics
from detector.formats.openai import error_columns
from detector.formats.openai_request import request_columns
from detector.formats.vllm_lines import LOG_PREFIX, Event, event, open_stream_body
from detector.formats.vllm_records import Call, outcomes

_REQUESTS = 20_000  # open requests whose answer may still come: a minute of traffic at 300 a second
_STREAMS = 4_096  # streams of which deltas were seen and no end
_SETTLED = 256  # lines for which a closed call waits for what may follow: its request in a log that runs backwards, a second abort line, an access line
_RECENT = 1_024  # closed calls whose late lines are still known to be theirs
_LINES_LONGEST = 2_000  # lines of one logged stream
_INNER = re.compile(r"(.+)-[0-9a-f]{8}$")  # the engine's id: the API's and eight hex digits (vllm#54947)
_PROMPT_INDEX = re.compile(r"(cmpl-.+)-\d{1,3}$")  # /v1/completions: one engine request per prompt
_PARENT = re.compile(r"\d{1,3}_(.+)$")  # n > 1: the engine's requests are numbered in front

ACCESS = "access line"
STATISTICS = "statistics line"
NO_VALUE = "line about a request that adds no value"
OTHER = "log line that is no answer"
BAD_BODY = "logged body that is no JSON"
UNENDED = "logged stream whose end is not in the log"
AGAIN = "the same answer logged a second time"


class Calls:
    """`detector.formats.base.Joiner` for vLLM's lines. `text_of`: the log message in a document's body."""

    def __init__(self, text_of: Callable[[Json], str], time_of: Callable[[Json], float | None] = lambda body: None) -> None:
        self._text_of, self._time_of = text_of, time_of
        self._unended: tuple[Document, str, list[str]] | None = None  # a logged stream over several lines: first document, prefix, lines so far
        self._open: OrderedDict[str, Call] = OrderedDict()  # request seen, nothing else
        self._streams: OrderedDict[str, Call] = OrderedDict()  # deltas seen, no end
        self._settled: OrderedDict[str, Call] = OrderedDict()  # closed, waiting for late lines
        self._recent: OrderedDict[str, str] = OrderedDict()  # ids of calls that are gone -> text of the answer
        self._inner: dict[str, str] = {}  # API id -> the inner id under which an open call is kept
        self._fed = 0
        self._error_bodies: deque[tuple[int, int | None]] = deque(maxlen=64)  # logged error bodies without an id: when, and status
        self._done: OrderedDict[str, None] = OrderedDict()  # requests that the engine (up to 0.6) said were finished: it "aborts" them as well
        self._bodies = False  # this log holds response bodies, too: an answer line waits for the body of its call

    def feed(self, document: Document) -> Iterable[Outcome]:
        self._fed += 1
        line = self._text_of(document.body)
        settled: list[Outcome] = []
        if self._unended is not None:
            whole = self._continued(line)
            if whole is None:
                return settled
            document, line = (self._unended[0], whole) if whole else (document, line)
            if whole:
                self._unended = None
        prefix = open_stream_body(line)
        if prefix is not None and self._unended is None:
            self._unended = (document, prefix, [line])
            return settled
        found = event(line)
        if found is None:
            settled.extend(self._other(document, line))
        elif found.kind in ("body", "stream_body"):
            settled.extend(self._logged(document, found))
        else:
            for given in found.ids or (self._only_open(),):
                if given is None:
                    settled.extend(self._anonymous(document, found))
                else:
                    settled.extend(self._named(document, found, given))
        settled.extend(self._expired())
        return settled

    def finish(self) -> Iterable[Outcome]:
        if self._unended is not None:
            yield Rejected(self._unended[0], UNENDED)
            self._unended = None
        for calls in (self._settled, self._streams, self._open):
            while calls:
                yield from self._close(next(iter(calls)))

    def holds_from(self) -> int | None:
        held = [next(iter(calls.values())).last() for calls in (self._settled, self._streams) if calls]  # the least recently touched stand first
        return min((document.position for document in held if document is not None), default=None)

    def _continued(self, line: str) -> str | None:
        """The whole text of an unended line if `line` ends it, "" if it is another line, None if it was taken and more must come."""
        if self._unended is None:
            return ""
        _, prefix, lines = self._unended
        if prefix and line.startswith(prefix) and event(line) is None:
            lines.append(line[len(prefix) :])
        elif LOG_PREFIX.match(line) or access(line) is not None or event(line) is not None or len(lines) >= _LINES_LONGEST:
            return ""
        else:
            lines.append(line)
        whole = "\n".join(lines)
        return whole if open_stream_body(whole) is None else None

    # finding the call

    def _resolve(self, given: str) -> str:
        """The key of the call that an id belongs to: the id itself, or the API id inside an engine's id where that is known."""
        for candidate in _spellings(given):
            if self._held(candidate) is not None or candidate in self._recent:
                return candidate
        kept = self._inner.get(given)
        if kept is not None and self._held(kept) is not None:
            self._rename(kept, given)
            return given
        prompt = _PROMPT_INDEX.match(given)
        return prompt[1] if prompt else given

    def _held(self, key: str) -> Call | None:
        return self._open.get(key) or self._streams.get(key) or self._settled.get(key)

    def _rename(self, old: str, new: str) -> None:
        for calls in (self._open, self._streams, self._settled):
            call = calls.pop(old, None)
            if call is not None:
                call.key = new
                calls[new] = call
        self._inner.pop(new, None)

    def _call(self, key: str) -> Call:
        call = self._held(key)
        if call is None:
            call = self._open[key] = Call(key)
            inner = _INNER.match(key)
            if inner and len(self._inner) < _REQUESTS:
                self._inner[inner[1]] = key
        call.touched = self._fed
        return call

    def _only_open(self) -> str | None:
        """The one call without an outcome, if there is exactly one: what a line without an id must belong to."""
        if len(self._streams) + len(self._open) != 1:
            return None
        return next(iter(self._streams or self._open))

    # lines

    def _named(self, document: Document, found: Event, given: str) -> Iterator[Outcome]:
        key = self._resolve(given)
        if found.kind == "done" or (found.kind == "abort" and key in self._done):
            self._done[key] = None
            if len(self._done) > _RECENT:
                self._done.popitem(last=False)
            yield Rejected(document, NO_VALUE, ignored=True)
            return
        if key in self._recent and self._held(key) is None:
            if found.kind == "answer" and self._recent[key] == (found.columns.get("content") or ""):
                yield Rejected(document, AGAIN, ignored=True)
                return
            if found.kind in ("request", "answer", "delta"):
                del self._recent[key]  # the id is used again
            else:
                if found.kind in ("added", "prompt"):
                    yield Rejected(document, NO_VALUE, ignored=True)
                return
        if found.kind == "added":
            yield Rejected(document, NO_VALUE, ignored=True)
            return
        ended = self._held(key)
        if found.kind == "request" and ended is not None and ended.request and (ended.end or ended.answers or ended.bodies):
            yield from self._close(key)  # a retry under the same X-Request-Id
            del self._recent[key]
        call = self._call(key)
        call.rust = call.rust or found.rust
        if found.kind == "request":
            call.request.append(document)
            call.columns = {**found.columns, **call.columns}
            call.prompt_length = found.prompt_length
            yield from self._settle(call)
        elif found.kind == "prompt":
            call.columns.update({name: value for name, value in request_columns(found.body).items() if name not in call.columns})
            yield Rejected(document, NO_VALUE, ignored=True)
        elif found.kind == "delta":
            call.deltas.append((document, found))
            self._move(call, self._streams)
        elif found.kind == "answer":
            call.answers.append((document, found))
            yield from self._settle(call)
        elif call.end is None:
            columns = dict(found.columns)
            if found.kind == "abort":
                columns = {"finish_reason_raw": "abort", **columns}
            elif found.kind == "failed":
                columns = {"finish_reason_raw": "error", **columns}
            call.end = (document, columns)
            yield from self._settle(call)

    def _anonymous(self, document: Document, found: Event) -> Iterator[Outcome]:
        """A line without an id while no call, or more than one, is open."""
        if found.kind == "answer":
            call = Call("", rust=found.rust)
            call.answers.append((document, found))
            yield from outcomes(call, self._time_of)
        elif found.kind == "finished":
            call = Call("", rust=True, end=(document, found.columns))
            yield from outcomes(call, self._time_of)
        else:
            yield Rejected(document, NO_VALUE, ignored=True)

    def _logged(self, document: Document, found: Event) -> Iterator[Outcome]:
        """A response body in the log of the middleware. Streams carry no id: they are joined only where no other call can be meant."""
        if found.kind == "stream_body":
            content = found.columns.get("content") or ""
            if any(content and text.endswith(content) for text in self._streamed_texts()):
                yield Rejected(document, AGAIN, ignored=True)
                return
            key = self._only_open()
            call = self._call(key) if key is not None else Call("")
            call.answers.append((document, Event("answer", (), {**found.columns, "content_is_raw": False})))
            if key is None:
                yield from outcomes(call, self._time_of)
            else:
                yield from self._settle(call)
            return
        if not isinstance(found.body, dict):
            yield Rejected(document, BAD_BODY)
            return
        self._bodies = True
        given = found.body.get("id")
        key = self._resolve(given) if isinstance(given, str) and given else ""
        if key in self._recent and self._held(key) is None:  # its answer line came just before the first body of this log
            yield Rejected(document, AGAIN, ignored=True)
            return
        call = self._call(key) if key else Call("")
        call.bodies.append((document, found.body))
        if call.key:
            yield from self._settle(call)
        else:
            if "error" in found.body:
                self._error_bodies.append((self._fed, error_columns(found.body).get("status_code")))
            yield from outcomes(call, self._time_of)

    def _other(self, document: Document, line: str) -> Iterator[Outcome]:
        line_of_access = access(line)
        if line_of_access is not None:
            if failed_generation(line_of_access) and not self._failure_known(line_of_access):
                key = self._only_open()
                call = self._call(key) if key is not None else Call("")
                took = {} if line_of_access.seconds is None else {"latency_seconds": line_of_access.seconds}
                call.end = (document, {"status_code": line_of_access.status, "endpoint": line_of_access.path, **took})
                yield from self._settle(call) if key is not None else outcomes(call, self._time_of)
            else:
                yield Rejected(document, ACCESS, ignored=True)
        elif is_statistics(line):
            yield Rejected(document, STATISTICS, ignored=True)
        else:
            yield Rejected(document, OTHER, ignored=True)

    def _failure_known(self, line: Access) -> bool:
        """Another line has told of this failure already; it gets the status."""
        for call in reversed(self._settled.values()):
            if call.end is not None and "status_code" not in call.end[1]:
                call.end[1]["status_code"] = line.status
                return True
            if any(isinstance(body, dict) and "error" in body for _, body in call.bodies):
                return True
        for told in self._error_bodies:
            if self._fed - told[0] <= _SETTLED and told[1] in (None, line.status):
                self._error_bodies.remove(told)
                return True
        return False

    def _streamed_texts(self) -> Iterator[str]:
        yield from self._recent.values()
        for call in self._settled.values():
            for _, found in call.answers:
                if found.columns.get("stream"):
                    yield found.columns.get("content") or ""

    # closing

    def _settle(self, call: Call) -> Iterator[Outcome]:
        if not (call.answers or call.bodies or call.end):
            return
        wanted = call.columns.get("n") or 1
        both = not self._bodies or (call.answers and call.bodies) or any(found.columns.get("stream") for _, found in call.answers)
        python_done = call.request and not call.rust and call.end is None and both and (len(call.answers) >= wanted or call.bodies)
        rust_done = call.rust and call.end is not None and len(call.answers) >= wanted
        if python_done or rust_done:
            yield from self._close(call.key)
        else:
            self._move(call, self._settled)

    def _move(self, call: Call, target: OrderedDict[str, Call]) -> None:
        for calls in (self._open, self._streams, self._settled):
            if calls is not target:
                calls.pop(call.key, None)
        if target is self._streams and call.key in self._settled:
            return
        target[call.key] = call
        target.move_to_end(call.key)

    def _expired(self) -> Iterator[Outcome]:
        while self._settled:
            key, call = next(iter(self._settled.items()))
            if self._fed - call.touched <= _SETTLED:
                break
            yield from self._close(key)
        while len(self._streams) > _STREAMS:
            yield from self._close(next(iter(self._streams)))
        while len(self._open) > _REQUESTS:
            yield from self._close(next(iter(self._open)))

    def _close(self, key: str) -> Iterator[Outcome]:
        call = self._held(key)
        if call is None:
            return
        for calls in (self._open, self._streams, self._settled):
            calls.pop(key, None)
        inner = _INNER.match(key)
        if inner:
            self._inner.pop(inner[1], None)
        self._recent[key] = next((found.columns.get("content") or "" for _, found in call.answers), "")
        if len(self._recent) > _RECENT:
            self._recent.popitem(last=False)
        yield from outcomes(call, self._time_of)


def _spellings(given: str) -> Iterator[str]:
    """An id and the API ids that may be inside it."""
    yield given
    for pattern in (_INNER, _PARENT, _PROMPT_INDEX):
        match = pattern.match(given)
        if match:
            yield match[1]
            if pattern is not _PROMPT_INDEX:
                yield from _spellings(match[1])
