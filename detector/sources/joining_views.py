"""One answer seen from several places is one answer: engine, gateway and tracer each log it, and a retried call is logged once per attempt.

Within one read (a file, an index) records with the same request id from logs of *different formats* are joined into one; two records of one format never
are, because clients reuse ids. Which side is believed:

* engine: finish reason, text, token counts, pod, waiting time. A gateway rewrites reasons, a tracer repeats them.
* gateway: status, error, start and duration, as the client saw them. An engine never sees a gateway's time-out.
* tracer: what the others do not say.
* text from before the reasoning parser (raw) gives way to parsed text, wherever it was logged: that is what the user read.

Attempts: a failed attempt that the gateway itself followed up (LiteLLM retries and fallbacks share a trace id) is no request of its own. The request is
the last attempt, with its outcome, the start of the first, and the whole duration. Envoy, Kong and nginx write one line per request with its attempts
inside, so there is nothing to fold.

Memory is bounded: a record is held for at most `seconds` of log time and while at most `records` others have followed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from detector.formats.base import View, formats
from detector.record import COLUMNS, DEFAULTS, Record

HELD_SECONDS = 900.0  # the longest usual time limit: a span bears the start of a call, an engine's line its end
HELD_RECORDS = 4096
# Gateways start the next attempt at once or after a back-off of some seconds (LiteLLM: 0.5 s doubling up to 8 s); later calls of a trace are no attempts.
RETRY_GAP_SECONDS = 10.0
RETRY_CLOCK_SECONDS = 0.5
_SAME_ID = 64  # held calls of one id that are looked at: some logs write a constant where an id should be
_RETRIES = ("litellm", "litellm_spend")  # formats that log every attempt, under one trace id
_PREFIXES = ("chatcmpl-", "cmpl-", "resp_")  # what an API puts before the id that a gateway sent (X-Request-Id)
_TRUST: dict[View, int] = {"engine": 0, "client": 1, "gateway": 2, "tracer": 3}
_SEEN_BY_CLIENT: dict[View, int] = {"gateway": 0, "client": 1, "tracer": 2, "engine": 3}
_OUTSIDE = ("timestamp", "status_code", "error_type", "error_message", "latency_seconds", "ttft_seconds", "client", "endpoint", "deployment", "cache_hit")
_REASON = ("finish_reason", "finish_reason_raw", "finish_reason_source")
_TEXT = ("content", "content_state", "content_is_raw")
_THOUGHT = ("reasoning", "reasoning_state")


def views(names: Iterable[str]) -> set[View]:
    """From where logs of these formats see answers; a client's own records are no view of another log."""
    wanted = set(names)
    return {fmt.view for fmt in formats() if fmt.name in wanted and fmt.view != "client"}


def request_key(request_id: str) -> str:
    """The id that engine and gateway have in common: without the API's own prefix."""
    for prefix in _PREFIXES:
        if request_id.startswith(prefix) and len(request_id) > len(prefix):
            return request_id[len(prefix) :]
    return request_id


@dataclass
class _Call:
    """Records of one request: `seen` lists (format, view, records of its choices). `order` is its place in the log."""

    order: int
    key: str | None
    seen: list[tuple[str, View, list[Record]]] = field(default_factory=list)
    dropped: bool = False


class JoinedViews:
    """Records of a stream in, records in the same order out, each request once. `joined` and `attempts` count what was folded."""

    def __init__(self, seconds: float = HELD_SECONDS, records: int = HELD_RECORDS) -> None:
        self._seconds, self._records = seconds, records
        self._held: deque[_Call] = deque()
        self._by_key: dict[str, deque[_Call]] = {}
        self._failed: dict[str, _Call] = {}  # trace id → last failed attempt that is still held
        self._last: _Call | None = None
        self._fed = 0
        self._newest = float("-inf")
        self.joined = 0
        self.attempts = 0

    def feed(self, record: Record, format_name: str, view: View) -> Iterator[Record]:
        """Records that are settled after this one."""
        self._fed += 1
        if record.timestamp is not None and record.timestamp > self._newest:
            self._newest = record.timestamp
        self._place(record, format_name, view)
        while self._held and self._is_over(self._held[0]):
            yield from self._close(self._held.popleft())

    def finish(self) -> Iterator[Record]:
        """Records that were still held."""
        while self._held:
            yield from self._close(self._held.popleft())

    def _place(self, record: Record, format_name: str, view: View) -> None:
        key = request_key(record.request_id) if record.request_id else None
        held = self._candidates(key, record)
        for found in held:
            for name, _, choices in found.seen:
                if name == format_name and choices[0].request_id == record.request_id and all(other.choice_index != record.choice_index for other in choices):
                    choices.append(record)  # a further choice of the same response
                    return
        call = next((found for found in held if self._fits(found, record, format_name)), None) if key is not None else None
        if call is None:
            call = _Call(self._fed, key)
            self._held.append(call)
            if key is not None:
                self._by_key.setdefault(key, deque()).append(call)
        else:
            self.joined += 1
        call.seen.append((format_name, view, [record]))
        self._last = call
        if format_name in _RETRIES and record.trace_id:
            self._fold_attempt(call, record)

    def _candidates(self, key: str | None, record: Record) -> list[_Call]:
        """Held calls that the record may belong to, oldest first: of the same id, or, for a further choice without an id, the last one."""
        if key is None:
            return [self._last] if record.choice_index and self._last is not None else []
        held = self._by_key.get(key)
        return [] if held is None else list(held) if len(held) <= _SAME_ID else list(islice(reversed(held), _SAME_ID))[::-1]

    def _fits(self, call: _Call, record: Record, format_name: str) -> bool:
        """The record can be another view of this call: no record of its format is there yet, and their times, where known, meet."""
        if call.dropped or any(name == format_name for name, _, _ in call.seen):
            return False
        times = [seen.timestamp for _, _, choices in call.seen for seen in choices if seen.timestamp is not None]
        return record.timestamp is None or not times or min(abs(record.timestamp - at) for at in times) <= self._seconds

    def _fold_attempt(self, call: _Call, record: Record) -> None:
        trace = str(record.trace_id)
        before = self._failed.pop(trace, None)
        if before is not None and not before.dropped and before is not call:
            attempt = before.seen[0][2][0]
            if _follows(attempt, record):
                before.dropped = True
                self.attempts += 1
                if record.timestamp is not None and attempt.timestamp is not None and record.latency_seconds is not None:
                    record.latency_seconds += record.timestamp - attempt.timestamp
                    record.timestamp = attempt.timestamp
        if record.error_type is not None:
            self._failed[trace] = call

    def _is_over(self, call: _Call) -> bool:
        if self._fed - call.order >= self._records:
            return True
        at = call.seen[0][2][0].timestamp
        return at is not None and self._newest - at > self._seconds

    def _close(self, call: _Call) -> Iterable[Record]:
        if call.key is not None:
            held = self._by_key[call.key]
            held.popleft()  # calls are closed in the order in which they came
            if not held:
                del self._by_key[call.key]
        if call is self._last:
            self._last = None
        if call.dropped:
            return ()
        trace = call.seen[0][2][0].trace_id
        if trace and self._failed.get(trace) is call:
            del self._failed[trace]
        return call.seen[0][2] if len(call.seen) == 1 else merged(call.seen)


def _follows(attempt: Record, record: Record) -> bool:
    """`record` is the next attempt of the same call: it starts where the failed one ended, with the same prompt where that is known."""
    if attempt.timestamp is None or attempt.latency_seconds is None or record.timestamp is None:
        return False
    gap = record.timestamp - (attempt.timestamp + attempt.latency_seconds)
    if not -RETRY_CLOCK_SECONDS <= gap <= RETRY_GAP_SECONDS:
        return False
    return attempt.user_text is None or record.user_text is None or attempt.user_text == record.user_text


def merged(seen: Sequence[tuple[str, View, list[Record]]]) -> list[Record]:
    """One record per choice out of several views of one request."""
    inside = sorted(seen, key=lambda entry: _TRUST[entry[1]])
    size = max(len(choices) for _, _, choices in seen)
    lead = next(choices for _, _, choices in inside if len(choices) == size)
    return [_choice(lead[place], inside) for place in range(size)]


def _choice(lead: Record, inside: Sequence[tuple[str, View, list[Record]]]) -> Record:
    """The record of one choice; views that know only the request serve every choice with what belongs to the request."""
    found = [(view, _of_choice(choices, lead)) for _, view, choices in inside]
    outside = sorted(found, key=lambda entry: _SEEN_BY_CLIENT[entry[0]])
    own = [record for _, record in found if record.choice_index == lead.choice_index]
    joined = Record()
    for name in COLUMNS:
        if name not in (*_REASON, *_TEXT, *_THOUGHT):
            records = [record for _, record in (outside if name in _OUTSIDE else found)]
            setattr(
                joined, name, next((value for record in records if (value := getattr(record, name)) is not None and value != DEFAULTS[name]), DEFAULTS[name])
            )
    joined.choice_index = lead.choice_index
    _take(joined, next((record for record in own if record.finish_reason not in (None, "unknown")), own[0]), _REASON)
    spoken = [record for record in own if record.content_state != "not_captured"]
    spoken.sort(key=lambda record: (bool(record.content_is_raw), record.content_state == "truncated"))
    _take(joined, spoken[0] if spoken else own[0], _TEXT)
    if spoken and spoken[0].tool_calls is not None:
        _take(joined, spoken[0], ("tool_calls", "tool_arguments", "refusal"))
    _take(joined, next((record for record in own if record.reasoning_state != "not_captured"), own[0]), _THOUGHT)
    return joined


def _of_choice(choices: Sequence[Record], lead: Record) -> Record:
    return next((record for record in choices if record.choice_index == lead.choice_index), choices[0])


def _take(joined: Record, source: Record, names: Iterable[str]) -> None:
    for name in names:
        setattr(joined, name, getattr(source, name))
