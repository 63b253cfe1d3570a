"""Ten answers, apart from any log, and what a producer's log can carry of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

START = 1795939200  # 2026-11-29T08:00:00Z
MODEL = "ship-8b"
PROMPT = "When does the gate open?"


@dataclass(frozen=True)
class Choice:
    """One choice: `calls` are (name, arguments) of tool calls."""

    content: str | None
    finish: str
    calls: tuple[tuple[str, str], ...] = ()
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answer:
    """One request and its outcome. `captured` False: its text was kept out of the log. `status` 504: the gateway's time-out, no answer came."""

    name: str
    choices: tuple[Choice, ...]
    completion_tokens: int = 12
    stream: bool = False
    captured: bool = True
    status: int = 200
    latency: float = 2.5
    ttft: float | None = None
    max_tokens: int = 900
    prompt_tokens: int = 31

    @property
    def id(self) -> str:
        return f"chatcmpl-same-{self.name}"

    @property
    def failed(self) -> bool:
        return self.status != 200

    def columns(self, place: int) -> dict[str, Any]:
        """The canonical columns of one choice, all of them."""
        choice = self.choices[place]
        state = "not_captured" if not self.captured or self.failed else "present" if choice.content else "empty"
        found: dict[str, Any] = {
            "request_id": self.id,
            "choice_index": place,
            "timestamp": float(START),
            "model": MODEL,
            "stream": self.stream,
            "status_code": self.status,
            "finish_reason": None if self.failed else choice.finish,
            "content": choice.content if state == "present" else None,
            "content_state": state,
            "tool_calls": tuple(name for name, _ in choice.calls) if self.captured and not self.failed else None,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "max_tokens": self.max_tokens,
            "latency_seconds": self.latency,
            "ttft_seconds": self.ttft,
        }
        if self.failed:
            for name in ("prompt_tokens", "completion_tokens", "ttft_seconds"):
                found.pop(name)
        return found


LEAK = "so the gate opens late.\n</think>\n\nThe gate opens at noon."
LOOP = "The bell rings at the gate. " * 60
ANSWERS = (
    Answer("leak", (Choice(LEAK, "stop", labels=("think_leak",)),)),
    Answer("length", (Choice("The gate opens at noon, the bridge at one, and the", "length", labels=("length_cutoff",)),), completion_tokens=900),
    Answer("empty", (Choice("", "stop", labels=("empty_content",)),), completion_tokens=1),
    Answer("loop", (Choice(LOOP, "stop", labels=("repetition",)),), completion_tokens=420),
    Answer("timeout", (Choice(None, "stop", labels=("request_failure",)),), status=504, latency=60.0),
    Answer("tool", (Choice(None, "tool_calls", calls=(("find_gate", '{"gate": 4}'),)),), completion_tokens=18),
    Answer("two", (Choice("At noon.", "stop"), Choice("At noon, or at one, or", "length", labels=("length_cutoff",)))),
    Answer("stream", (Choice("At noon, as always.", "stop"),), stream=True, ttft=0.5),
    Answer("redacted", (Choice("At noon.", "stop"),), captured=False),
    Answer("benign", (Choice("The gate opens at noon.", "stop"),)),
)

# What a signal needs to see; a log without these columns can't carry the label.
NEEDS = {
    "think_leak": {"content"},
    "length_cutoff": {"finish_reason"},
    "empty_content": {"content", "finish_reason"},
    "repetition": {"content"},
    "request_failure": set(),
}

TEXT = frozenset(("content", "content_state", "tool_calls"))
TOKENS = frozenset(("prompt_tokens", "completion_tokens"))
CALL = frozenset(("request_id", "model", "latency_seconds"))
EVERYTHING = frozenset(ANSWERS[0].columns(0))


@dataclass(frozen=True)
class Producer:
    """One producer's log.

    Args:
        format: the format that reads it.
        columns: what it carries of an answer.
        render: the log of one answer; None where this log can't hold it.
        raw: its text is from before the reasoning parser, so no leak can be told.
        lost: columns that it does not carry of a call that failed.
        shows: labels that it can show without the columns that they usually need.
        with_text: columns that stand in the same payload as the text, and go with it.
    """

    format: str
    columns: frozenset[str]
    render: Callable[[Answer], str | None]
    raw: bool = False
    name: str = ""
    lost: frozenset[str] = frozenset()
    shows: frozenset[str] = frozenset()
    with_text: frozenset[str] = frozenset()


def message(choice: Choice, *, captured: bool = True, marker: str | None = None) -> dict[str, Any]:
    """An assistant message of the API; `marker` stands for the text where it was not captured."""
    found: dict[str, Any] = {"role": "assistant", "content": choice.content if captured else marker}
    if choice.calls:
        found["tool_calls"] = [
            {"id": f"call_{n}", "type": "function", "function": {"name": name, "arguments": given}} for n, (name, given) in enumerate(choice.calls)
        ]
    return found


def body(answer: Answer, *, marker: str | None = None) -> dict[str, Any]:
    """The API's response body."""
    return {
        "id": answer.id,
        "object": "chat.completion",
        "created": START,
        "model": MODEL,
        "choices": [
            {"index": place, "message": message(choice, captured=answer.captured, marker=marker), "logprobs": None, "finish_reason": choice.finish}
            for place, choice in enumerate(answer.choices)
        ],
        "usage": usage(answer),
    }


def usage(answer: Answer) -> dict[str, int]:
    return {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": answer.completion_tokens,
        "total_tokens": answer.prompt_tokens + answer.completion_tokens,
    }


def request(answer: Answer) -> dict[str, Any]:
    """The request body."""
    found: dict[str, Any] = {"model": MODEL, "messages": [{"role": "user", "content": PROMPT}], "max_tokens": answer.max_tokens, "stream": answer.stream}
    if len(answer.choices) > 1:
        found["n"] = len(answer.choices)
    return found


def iso(seconds: float) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def sse(answer: Answer) -> str:
    """The recorded stream: role chunk, two pieces, last chunk with the reason, usage chunk, end."""
    from json import dumps

    def chunk(**given: Any) -> str:
        return "data: " + dumps({"id": answer.id, "object": "chat.completion.chunk", "created": START, "model": MODEL, **given}, ensure_ascii=False) + "\n\n"

    found = []
    for place, choice in enumerate(answer.choices):
        text = choice.content or ""
        deltas = ({"role": "assistant", "content": ""}, {"content": text[:5]}, {"content": text[5:]})
        found.extend(chunk(choices=[{"index": place, "delta": delta, "finish_reason": None}]) for delta in deltas)
        found.append(chunk(choices=[{"index": place, "delta": {}, "finish_reason": choice.finish}]))
    return "".join([*found, chunk(choices=[], usage=usage(answer)), "data: [DONE]\n\n"])
