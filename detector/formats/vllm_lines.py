"""Lines of vLLM's server log as events: request, answer, abort, failure, logged body.

Sources: vllm/entrypoints/logger.py and openai/serving_chat.py (0.6 to 0.22), serve/utils/request_logger.py (0.33), openai/server_utils.py, and
rust/src/server/src/routes/openai/chat_completions/output_logging.rs for the Rust front end.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Literal

from detector.formats.literals import quoted
from detector.formats.values import count, decoded, seconds

Kind = Literal["request", "answer", "delta", "abort", "failed", "finished", "body", "stream_body", "prompt", "added", "done"]

_ID = r"[^\s:,{}()'\"]{1,400}"
_ANSWER = re.compile(rf"Generated response(?: ({_ID}))?( \(streaming (?:delta|complete)\))?: output: ")
_REQUEST = re.compile(rf"Received request ({_ID}): (?=prompt: |params: |prompt_token_ids)")
_ABORT = re.compile(rf"(?:Aborted request(?:\(s\))? ((?:{_ID})(?:, ?{_ID})*?)|Request ({_ID}) aborted)\.?\s*$")
_FAILED = re.compile(rf"Request ({_ID}) failed(?: \(([\w .-]{{1,60}})\))?")
_RAY_FINISHED = re.compile(rf"Request ({_ID}) finished \((\w{{1,40}})\)\. Total time: ")  # Ray Serve LLM's own engine, up to 2.48
_RAY_FIGURE = re.compile(r"\b(Total time|Queue time|Input tokens|Generated tokens): (\d[\d.e+-]*)")
_BODY = re.compile(r"response_body=(?=[{\[\"]|data:)")
_PROMPT = re.compile(rf"Request ({_ID}) (?:details: |JSON body: ?)")
_ADDED = re.compile(rf"(?:Added|Finished|Preempted) request ({_ID}?)\.?\s*$")
_SPAN = re.compile(r"(chat_completions|completions|responses|generate|messages)\{([^{}]{1,2000})\}:? ?")
_RUST = re.compile(r"\[[\w/.-]+\.rs:\d+\] ")
_PREFIX_LONGEST = 300
LOG_PREFIX = re.compile(
    r"(?:\([\w:.-]+ (?:[\w=]+ )?pid=\d+\) )?(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d{4}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)? "
    r"(?:\[[\w/.-]+\.py:\d+\]|[\w/.-]+\.py:\d+\]) "
)
_FINISHED = re.compile(r"(?:chat completion|completion|response|generate|request)s? finished\b")
_RUST_FAILED = re.compile(r"(?:(?:chat|completion|response|text|generate)s? (?:stream|collection) failed|failed to (?:submit|collect|stream))\b")
_RUST_ERROR = re.compile(r"\berror=(.{1,2000})", re.DOTALL)
_RUST_ABORT = re.compile(r"(?:request|client|stream)\b.{0,40}\b(?:aborted|disconnected|cancelled)")
_PAIR = re.compile(r'([A-Za-z_][\w.]*)=("(?:[^"\\]|\\.)*"|[^\s,{}\]]+)')
_HEAD = 1500  # characters before which an event begins: prefixes and spans are shorter
_SAMPLING = re.compile(r"(?:SamplingParams|BeamSearchParams)\(")
_PARAMETER = re.compile(r"\b(n|temperature|max_tokens|ignore_eos|skip_special_tokens)=(-?[\w.+-]+)")
_STOP = re.compile(r"\bstop=(\[[^\]]*\])")
_FORMAT = re.compile(r"(?:structured_outputs|guided_decoding)=(?:StructuredOutputsParams|GuidedDecodingParams)\((.{0,4000})")
_FORMAT_KEY = re.compile(r"\b(json_object|json|regex|choice|grammar|structural_tag)=(?!None|False)")
_IDS = re.compile(r"prompt_token_ids: (\[[^\]]*\])")
_OUTPUT_IDS = re.compile(r", output_token_ids: (None|\[[^\]]*\]|\([^)]*\)|array\([^)]*\))")
_REASON = re.compile(r", finish_reason: ([^\s,]+)")
_STREAM_BODY = re.compile(r"\{streaming_complete: (?:content=(.*)|no_content), chunks=\d+\}\s*$", re.DOTALL)
_TRUNCATED = "...[truncated]"


@dataclass
class Event:
    """One line: `ids` of the requests that it names; `columns` that it determines; `body`: a response body that was logged."""

    kind: Kind
    ids: tuple[str, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)
    body: Any = None
    prompt_length: int | None = None
    rust: bool = False


def open_stream_body(line: str) -> str | None:
    """The prefix of a line on which the logged text of a stream begins and does not end: its line breaks are real ones, each with the prefix again."""
    match = _BODY.search(line, 0, _HEAD) if "response_body=" in line[:_HEAD] else None
    if match is None or not line.startswith("{streaming_complete: content=", match.end()) or _STREAM_BODY.match(line[match.end() :].strip()):
        return None
    return line[: match.start()]


def event(line: str) -> Event | None:
    """The event of a line, or None for every other line (access, statistics, start-up …)."""
    span = _SPAN.search(line, 0, _HEAD) if "{" in line[:_HEAD] else None
    if span is not None and "request_id=" in span[2]:
        return _rust(line, span.end(), span[2])
    rust = _RUST.search(line, 0, _PREFIX_LONGEST)
    return _plain(line) if rust is None else _rust(line, rust.end(), "")


def _plain(line: str) -> Event | None:
    answer, match = _ANSWER.search(line, 0, _HEAD), _REQUEST.search(line, 0, _HEAD)
    if answer and (match is None or answer.start() < match.start()):  # a prompt may quote a log line
        return _answer(line, answer, rust=False)
    if match:
        columns, prompt_length = _request(line[match.end() :])
        return Event("request", (match[1],), columns, prompt_length=prompt_length)
    if "equest" in line:
        match = _PROMPT.search(line, 0, _HEAD)
        if match:
            return Event("prompt", (match[1],), body=decoded(line[match.end() :]) if "JSON body" in match[0] else None)
        match = _ABORT.search(line)
        if match:
            ids = tuple(found.strip().rstrip(".") for found in (match[1] or match[2]).split(","))
            return Event("abort", tuple(found for found in ids if found))
        match = _ADDED.search(line, 0, _HEAD)
        if match:
            return Event("done" if match[0].startswith("Finished") else "added", (match[1],))
        match = _RAY_FINISHED.search(line, 0, _HEAD)
        if match:
            return Event("finished", (match[1],), {"finish_reason_raw": match[2], **_ray_figures(line[match.end(2) :])})
        match = _FAILED.search(line, 0, _HEAD)
        if match:
            return Event("failed", (match[1],), {"error_type": match[2] or "failed"})
    match = _BODY.search(line, 0, _HEAD)
    return _logged_body(line[match.end() :]) if match else None


def _rust(line: str, start: int, span: str) -> Event | None:
    """A line of the Rust front end: the tracing span names the request, the message does not."""
    fields = {name: value.strip('"') for name, value in _PAIR.findall(span)}
    ids = (fields["request_id"],) if fields.get("request_id") else ()
    rest = line[start:]
    match = _ANSWER.match(rest)
    if match:
        found = _answer(rest, match, rust=True)
        found.ids = ids or found.ids
        return found
    if _FINISHED.match(rest):
        return Event("finished", ids, _figures(rest), rust=True)
    if _RUST_ABORT.match(rest):
        return Event("abort", ids, rust=True)
    if _RUST_FAILED.match(rest):
        error = _RUST_ERROR.search(rest)
        return Event("failed", ids, {"error_type": "stream_failed", **({"error_message": error[1].strip('"')} if error else {})}, rust=True)
    found_plain = _plain(rest)
    if found_plain is not None:
        found_plain.rust, found_plain.ids = True, ids or found_plain.ids
        return found_plain
    return Event("added", ids, rust=True) if ids else None


def _figures(text: str) -> dict[str, Any]:
    """Columns of the Rust front end's closing line, which writes `name=value` pairs."""
    pairs = dict(_PAIR.findall(text))
    columns: dict[str, Any] = {"stream": pairs.get("stream") == "true"}
    for column, names in (("prompt_tokens", ("prompt_tokens",)), ("completion_tokens", ("output_tokens", "completion_tokens")), ("n", ("n",))):
        for name in names:
            if pairs.get(name, "").isdecimal():
                columns[column] = int(pairs[name])
    for column, name in (("model", "model"), ("finish_reason_raw", "finish_reason")):
        value = pairs.get(name)
        if value and value not in ("None", '""'):
            inner = quoted(value, 0)
            columns[column] = (inner.text if inner else value).removeprefix("Some(").removesuffix(")").strip('"')
    return columns


def _ray_figures(text: str) -> dict[str, Any]:
    """Columns of the closing line that Ray Serve LLM's own engine writes."""
    figures = dict(_RAY_FIGURE.findall(text))
    columns: dict[str, Any] = {
        "latency_seconds": seconds(figures.get("Total time", "").rstrip(".") or None),
        "queue_seconds": seconds(figures.get("Queue time", "").rstrip(".") or None),
        "prompt_tokens": count(figures.get("Input tokens", "").rstrip(".") or None),
        "completion_tokens": count(figures.get("Generated tokens", "").rstrip(".") or None),
    }
    return {name: value for name, value in columns.items() if value is not None}


def _request(rest: str) -> tuple[dict[str, Any], int | None]:
    """Columns of the sampling parameters, and the length of the prompt as far as it was logged."""
    columns: dict[str, Any] = {}
    prompt_length = None
    if rest.startswith("prompt: "):
        prompt = quoted(rest, len("prompt: "))
        if prompt is not None:
            prompt_length, rest = len(prompt.text), rest[prompt.end :]
    match = _SAMPLING.search(rest)
    if match:
        for name, value in _PARAMETER.findall(rest[match.end() :]):
            if name in columns or value == "None":
                continue
            if name in ("n", "max_tokens"):
                if value.isdecimal():
                    columns[name] = int(value)
            elif name == "temperature":
                try:
                    columns[name] = float(value)
                except ValueError:
                    continue
            else:
                columns[name] = value == "True"
        stop = _STOP.search(rest, match.end())
        if stop and stop[1] != "[]":
            columns["stop"] = tuple(_texts(stop[1]))
        shape = _FORMAT.search(rest, match.end())
        key = _FORMAT_KEY.search(shape[1]) if shape else None
        if key:
            columns["response_format"] = "json_schema" if key[1] == "json" else key[1]
    ids = _IDS.search(rest)
    if ids and ids[1] != "[]":
        columns["prompt_tokens"] = ids[1].count(",") + 1
    return columns, prompt_length


def _texts(listed: str) -> list[str]:
    found, at = [], 1
    while at < len(listed):
        inner = quoted(listed, at)
        if inner is None:
            at += 1
        else:
            found.append(inner.text)
            at = inner.end
    return found


def _answer(line: str, match: re.Match[str], *, rust: bool) -> Event:
    output = quoted(line, match.end())
    columns: dict[str, Any] = {}
    mode = match[2] or ""
    if output is None:  # output: None
        columns["content_state"], end = "empty", match.end()
    else:
        end = output.end
        columns["content"] = output.text
        columns["content_state"] = ("present" if output.text else "empty") if output.closed else "truncated"
    ids = _OUTPUT_IDS.match(line, end)
    if ids and ids[1] != "None":
        listed = ids[1].removeprefix("array('l', ").rstrip(",)]").lstrip("[(")
        columns["completion_tokens"] = listed.count(",") + 1 if listed else 0
    found = _REASON.search(line, end)
    if found and found[1] not in ("None", "null"):
        columns["finish_reason_raw"] = found[1].strip("'\"")
    columns["stream"] = bool(mode)
    return Event("delta" if "delta" in mode else "answer", (match[1],) if match[1] else (), columns, rust=rust)


def _logged_body(text: str) -> Event:
    """What the response middleware wrote after `response_body=`: one pair of braces too many around JSON, or its own words for streams."""
    stripped = text.strip()
    if stripped.startswith("data:"):
        return Event("added")  # builds that logged the first chunk only: a fragment, no answer
    stream = _STREAM_BODY.match(stripped)
    if stream:
        return Event("stream_body", (), {"stream": True, **_stream_text(stream[1])})
    inner = decoded(stripped)
    if not isinstance(inner, dict) and stripped.startswith("{{"):
        inner = decoded(stripped[1:-1])
    if not isinstance(inner, dict) and stripped.startswith('{"') and stripped.endswith("}}"):
        inner = decoded(stripped[:-1])
    if isinstance(inner, dict):
        return Event("body", body=inner)
    if stripped.startswith(("{data:", "{event:")):  # builds that logged the first chunk only: a fragment, no answer
        return Event("added")
    return Event("added") if stripped.startswith(("{streaming_", "{<binary", "{}")) else Event("body", body=None)


def _stream_text(content: str | None) -> dict[str, Any]:
    if content is None:
        return {"content_state": "empty"}
    inner = quoted(content, 0)
    if inner is not None and inner.closed and inner.end == len(content):
        text = inner.text
    else:  # written without escaping: only the outermost pair of quotes is the logger's
        text = content.strip()
        text = text[1:-1] if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"" else text
    if text.endswith(_TRUNCATED):
        return {"content": text.removesuffix(_TRUNCATED), "content_state": "truncated"}
    return {"content": text or None, "content_state": "present" if text else "empty"}
