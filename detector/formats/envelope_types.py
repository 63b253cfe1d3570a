"""The usual envelope around a chat answer as typed structures: the lines that the fast path reads.

A line that fits gives exactly the record that `detector.formats.envelope` gives. So every key that the general path looks at must either stand here, with
the type in which the fast path understands it, or be refused. Which keys those are is not written down but found out: the general path is run on objects
that note what they are asked for (`_Watched`), so the two can't drift apart. Keys that it never looks at are ignored inside request and response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from detector.formats.openai import records_of_body
from detector.formats.openai_request import request_columns

Count = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None
Number = Annotated[float, Meta(gt=-(2.0**53), lt=2.0**53)] | None  # whole numbers of that size are the same as floats
Duration = Annotated[float, Meta(ge=0, lt=2.0**63)] | None
Epoch = Annotated[int, Meta(ge=1, lt=10**11)]  # seconds; beyond that magnitude decides the unit
Token = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Text = str | None
Flag = bool | None
Finish = Literal["stop", "length", "tool_calls", "content_filter", "abort", "error", "repetition"]
Refused = Annotated[str, Meta(pattern=r"(?!)")]  # no value fits, not even null


class Details(Struct, gc=False, kw_only=True):
    cached_tokens: Count = None
    reasoning_tokens: Count = None


class Usage(Struct, gc=False, kw_only=True):
    prompt_tokens: Count = None
    completion_tokens: Count = None
    prompt_tokens_details: Details | None = None
    completion_tokens_details: Details | None = None


class Function(Struct, gc=False, kw_only=True):
    name: Text = None
    arguments: Text = None


class ToolCall(Struct, gc=False, kw_only=True):
    function: Function


class Message(Struct, gc=False, kw_only=True):
    content: Text
    reasoning_content: Text | UnsetType = UNSET
    reasoning: Text | UnsetType = UNSET
    tool_calls: list[ToolCall] | None = None
    refusal: Text = None


class Choice(Struct, gc=False, kw_only=True):
    message: Message
    finish_reason: Finish
    index: Annotated[int, Meta(ge=0, lt=1 << 31)] = 0
    stop_reason: str | Token | None = None
    matched_stop: str | Token | None = None


class Metrics(Struct, gc=False, kw_only=True):
    queue_time_ms: Duration = None
    time_to_first_token_ms: Duration = None
    generation_time_ms: Duration = None


class Response(Struct, gc=False, kw_only=True):
    object: Literal["chat.completion"]
    choices: Annotated[list[Choice], Meta(min_length=1, max_length=1)]
    id: Annotated[str, Meta(pattern="^(?!cmpl-)")] | None = None  # a chat answer with cmpl- is Triton's, whose reasons are not to be believed
    created: Epoch | None = None
    model: Text = None
    usage: Usage | None = None
    metrics: Metrics | None = None
    system_fingerprint: Text = None


class TemplateOptions(Struct, gc=False, kw_only=True):
    enable_thinking: Flag = None
    thinking: Flag = None


class ResponseFormat(Struct, gc=False, kw_only=True):
    type: Literal["json_object", "text"]


class Ignored(Struct, gc=False):
    """Any object, of which nothing is kept."""


class Request(Struct, gc=False, kw_only=True):
    model: Text = None
    messages: Raw = Raw(b"")
    max_tokens: Count = None
    temperature: Number = None
    n: Count = None
    stream: Flag = None
    tools: list[Raw] | UnsetType | None = UNSET
    tool_choice: str | Ignored | None = None
    thinking_token_budget: Count = None
    chat_template_kwargs: TemplateOptions | None = None
    response_format: ResponseFormat | None = None
    include_reasoning: Flag = None
    ignore_eos: Flag = None
    stop: list[str] | Text = None


class Envelope(Struct, gc=False, kw_only=True, forbid_unknown_fields=True):
    request: Request
    response: Response
    record_id: Text = None
    id: Text = None
    request_id: Text = None
    trace_id: Text = None
    timestamp: Text = None
    deployment: Text = None
    model: Text = None
    engine: Text = None
    engine_version: Text = None
    pod: Text = None
    client: Text = None
    endpoint: Text = None
    session: Text = None
    user: Text = None
    http_status: Count = None
    status: Count = None
    latency_ms: Duration = None
    ttft_ms: Duration = None
    client_timeout_s: Duration = None
    concurrency: Count = None
    stream: Flag = None
    stream_done: Flag = None
    error: None = None
    sse: Raw = Raw(b"")


class _Watched(dict[str, Any]):
    """An object that notes which keys it is asked for: in `read` by value (null is as good as missing), in `sought` by presence."""

    def __init__(self, content: Mapping[str, Any], read: set[str], sought: set[str]) -> None:
        super().__init__(content)
        self._read, self._sought = read, sought

    def get(self, key: str, default: Any = None) -> Any:
        if default is None:
            self._read.add(key)
        else:
            self._sought.add(key)
        return super().get(key, default)

    def __getitem__(self, key: str) -> Any:
        self._read.add(key)
        return super().__getitem__(key)

    def __contains__(self, key: object) -> bool:
        self._sought.add(str(key))
        return super().__contains__(key)


def keys_asked(run: Callable[[Mapping[str, Any]], Any], *contents: Mapping[str, Any]) -> tuple[frozenset[str], frozenset[str]]:
    """Keys that `run` asks objects with these contents for: by value, and by presence."""
    read: set[str] = set()
    sought: set[str] = set()
    for content in contents:
        run(_Watched(content, read, sought))
    return frozenset(read - sought), frozenset(sought)


def _guarded(base: type[Struct], run: Callable[[Mapping[str, Any]], Any], *contents: Mapping[str, Any], **replaced: Any) -> Any:
    """`base` that refuses further keys which `run` asks for; `replaced` gives fields another type."""
    read, sought = keys_asked(run, *contents)
    known = set(base.__struct_encode_fields__)
    absent = sorted((read | sought) - known)
    fields: list[Any] = []
    names: dict[str, str] = {}
    for number, key in enumerate(absent):
        names[f"refused_{number}"] = key
        fields.append((f"refused_{number}", Refused | UnsetType, UNSET) if key in sought else (f"refused_{number}", None, None))
    defaults = dict(zip(reversed(base.__struct_fields__), reversed(base.__struct_defaults__), strict=False))
    for name, kind in replaced.items():
        default = defaults.get(name, msgspec.NODEFAULT)
        fields.append((name, kind) if default is msgspec.NODEFAULT else (name, kind, default))
    return msgspec.defstruct(base.__name__, fields, bases=(base,), rename=names, gc=False, kw_only=True)


_MESSAGE: dict[str, Any] = {"role": "assistant", "content": "x"}
_CHOICE: dict[str, Any] = {"index": 0, "finish_reason": "stop", "message": _MESSAGE}
_RESPONSE: dict[str, Any] = {"object": "chat.completion", "choices": [_CHOICE]}


@cache
def guarded_request() -> Any:
    """The request's type, refusing what only the general path understands."""
    template = _guarded(TemplateOptions, lambda options: request_columns({"chat_template_kwargs": options}), {"x": 1})
    shape = _guarded(ResponseFormat, lambda options: request_columns({"response_format": options}), {"type": "json_object"})
    asked = {"messages": [{"role": "user", "content": "x"}]}  # with messages the prompt of a completion is not asked for
    return _guarded(Request, request_columns, asked, {"x": 1}, chat_template_kwargs=template | None, response_format=shape | None)


@cache
def guarded_response() -> Any:
    """The response's type, likewise."""

    def within(change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[Mapping[str, Any]], Any]:
        return lambda watched: records_of_body(change(watched), {"stream": True})

    usage = _guarded(
        Usage,
        within(lambda watched: {**_RESPONSE, "usage": watched}),
        {"x": 1},
        prompt_tokens_details=_guarded(Details, within(lambda watched: {**_RESPONSE, "usage": {"prompt_tokens_details": watched}}), {"x": 1}) | None,
        completion_tokens_details=_guarded(Details, within(lambda watched: {**_RESPONSE, "usage": {"completion_tokens_details": watched}}), {"x": 1}) | None,
    )
    message = _guarded(Message, within(lambda watched: {**_RESPONSE, "choices": [{**_CHOICE, "message": watched}]}), _MESSAGE)
    choice = _guarded(Choice, within(lambda watched: {**_RESPONSE, "choices": [watched]}), _CHOICE, message=message)
    metrics = _guarded(Metrics, within(lambda watched: {**_RESPONSE, "metrics": watched}), {"x": 1})
    choices = Annotated[list[choice], Meta(min_length=1, max_length=1)]  # type: ignore[valid-type]  # made above
    return _guarded(Response, within(lambda watched: watched), _RESPONSE, choices=choices, usage=usage | None, metrics=metrics | None)  # type: ignore[arg-type, return-value]


_ANYTHING: dict[str, Any] = {"null": None, "true": bool, "number": float, "text": str, "list": list[Raw], "object": Ignored}


def decoder(harmless: Mapping[str, frozenset[str]]) -> msgspec.json.Decoder[Any]:
    """A decoder of whole lines. `harmless`: further top-level keys, each with the kinds of JSON values (`kind_of`) that it may have."""
    fields: list[Any] = [("request", guarded_request()), ("response", guarded_response())]
    names = {}
    for number, (key, kinds) in enumerate(sorted(harmless.items())):
        names[f"harmless_{number}"] = key
        allowed: Any = None
        for kind in sorted(kinds):
            allowed = _ANYTHING[kind] if allowed is None else allowed | _ANYTHING[kind]
        fields.append((f"harmless_{number}", allowed | UnsetType if allowed is not None else None | UnsetType, UNSET))
    return msgspec.json.Decoder(msgspec.defstruct("Envelope", fields, bases=(Envelope,), rename=names, gc=False, kw_only=True, forbid_unknown_fields=True))


def kind_of(value: Any) -> str:
    """The kind of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true"
    if isinstance(value, (int, float)):
        return "number"
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "object"
