"""A decoder that takes an envelope only where the general path would look at nothing else in it.

Which keys that path looks at is not written down but found out: it is run on objects that note what they are asked for (`_Watched`), so the two can't drift
apart. Keys that it never looks at are ignored inside request and response.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from detector.formats.envelope_types import (
    Choice,
    Details,
    Envelope,
    Ignored,
    Message,
    Metrics,
    Refused,
    Request,
    Response,
    ResponseFormat,
    TemplateOptions,
    Usage,
)
from detector.formats.openai import records_of_body
from detector.formats.openai_request import request_columns


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


def _within(change: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda watched: records_of_body(change(watched), {"stream": True})


PARTS: dict[str, type[Struct]] = {"request": Request, "response": Response, "choice": Choice, "message": Message}
# Keys of the APIs that no column comes from; others that the general path does not ask for are learned (`detector.fast_path`).
IGNORED: dict[str, frozenset[str]] = {
    "request": frozenset(("seed", "top_p", "stream_options", "presence_penalty", "frequency_penalty", "repetition_penalty", "logprobs", "logit_bias")),
    "response": frozenset(("service_tier", "prompt_logprobs", "kv_transfer_params")),
    "choice": frozenset(("logprobs", "token_ids")),
    "message": frozenset(("role", "annotations", "audio")),
}


@cache
def asked(part: str) -> frozenset[str]:
    """Keys that the general path asks a part of an envelope for."""
    if part == "request":
        talk = {"messages": [{"role": "user", "content": "x"}]}  # with messages the prompt of a completion is not asked for
        found = keys_asked(request_columns, talk, {"x": 1})
    elif part == "response":
        found = keys_asked(_within(lambda watched: watched), _RESPONSE)  # type: ignore[arg-type, return-value]  # a dict that watches
    elif part == "choice":
        found = keys_asked(_within(lambda watched: {**_RESPONSE, "choices": [watched]}), _CHOICE)
    else:
        found = keys_asked(_within(lambda watched: {**_RESPONSE, "choices": [{**_CHOICE, "message": watched}]}), _MESSAGE)
    return found[0] | found[1]


def parts_of(body: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The parts of an envelope that are objects."""
    response = body.get("response")
    choices = response.get("choices") if isinstance(response, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    found = {"request": body.get("request"), "response": response, "choice": choice, "message": choice.get("message") if isinstance(choice, dict) else None}
    return {name: part for name, part in found.items() if isinstance(part, dict)}


def _closed(part: str, ignored: Mapping[str, frozenset[str]], **replaced: Any) -> Any:
    """The type of a part that takes its own keys and the ignored ones, and refuses all others; `replaced` gives fields another type."""
    base = PARTS[part]
    defaults = dict(zip(reversed(base.__struct_fields__), reversed(base.__struct_defaults__), strict=False))
    fields: list[Any] = []
    for name, kind in replaced.items():
        default = defaults.get(name, msgspec.NODEFAULT)
        fields.append((name, kind) if default is msgspec.NODEFAULT else (name, kind, default))
    names = {f"ignored_{number}": key for number, key in enumerate(sorted(ignored[part]))}
    fields += [(field, Raw | UnsetType, UNSET) for field in names]
    return msgspec.defstruct(base.__name__, fields, bases=(base,), rename=names, gc=False, kw_only=True, forbid_unknown_fields=True)


@cache
def _leaves() -> dict[str, Any]:
    """Types of the small objects inside the parts."""
    usage = _guarded(
        Usage,
        _within(lambda watched: {**_RESPONSE, "usage": watched}),
        {"x": 1},
        prompt_tokens_details=_guarded(Details, _within(lambda watched: {**_RESPONSE, "usage": {"prompt_tokens_details": watched}}), {"x": 1}) | None,
        completion_tokens_details=_guarded(Details, _within(lambda watched: {**_RESPONSE, "usage": {"completion_tokens_details": watched}}), {"x": 1}) | None,
    )
    return {
        "usage": usage,
        "metrics": _guarded(Metrics, _within(lambda watched: {**_RESPONSE, "metrics": watched}), {"x": 1}),
        "chat_template_kwargs": _guarded(TemplateOptions, lambda options: request_columns({"chat_template_kwargs": options}), {"x": 1}),
        "response_format": _guarded(ResponseFormat, lambda options: request_columns({"response_format": options}), {"type": "json_object"}),
    }


_ANYTHING: dict[str, Any] = {"null": None, "true": bool, "number": float, "text": str, "list": list[Raw], "object": Ignored}


def decoder(harmless: Mapping[str, frozenset[str]], ignored: Mapping[str, frozenset[str]] = IGNORED) -> msgspec.json.Decoder[Any]:
    """A decoder of whole lines.

    Args:
        harmless: further top-level keys, each with the kinds of JSON values (`kind_of`) that it may have.
        ignored: further keys of each part that no column comes from.
    """
    leaves = _leaves()
    choice = _closed("choice", ignored, message=_closed("message", ignored))
    choices = Annotated[list[choice], Meta(min_length=1, max_length=1)]  # type: ignore[valid-type]  # made above
    response = _closed("response", ignored, choices=choices, usage=leaves["usage"] | None, metrics=leaves["metrics"] | None)
    options = {name: leaves[name] | None for name in ("chat_template_kwargs", "response_format")}
    fields: list[Any] = [("request", _closed("request", ignored, **options)), ("response", response)]
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
