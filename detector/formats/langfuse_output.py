"""The output of a Langfuse observation: messages, and the reason for which they ended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detector.formats.cut_json import repaired
from detector.formats.finish_reason import NOTHING, Reason, reasons
from detector.formats.genai_messages import Messages, output_messages, turn_columns
from detector.formats.openai import is_body
from detector.formats.paths import get
from detector.formats.values import compact, decoded, mapping

_MESSAGE_KEYS = frozenset(("role", "content", "tool_calls", "parts", "reasoning_content", "choices", "generations"))
_REASONS = (
    "finish_reason",
    "finishReason",
    "finish_reasons",
    "attributes.gen_ai.response.finish_reasons",
    "attributes.gen_ai.completion.0.finish_reason",
    "attributes.llm.finish_reason",
    "gen_ai.response.finish_reasons",
    "response_metadata.finish_reason",
    "stop_reason",
)


def output_of(observation: Mapping[str, Any]) -> tuple[Any, bool]:
    """The output, decoded; True where its JSON was cut in the middle."""
    output = decoded(observation.get("output"))
    if isinstance(output, str) and output.lstrip()[:1] in ("{", "["):
        whole = repaired(output)
        if is_body(whole) or _are_messages(whole if isinstance(whole, list) else [whole]):
            return whole, True  # what is no message is the answer's own text, cut or not
    return output, False


def messages_of(output: Any, observation: Mapping[str, Any], *, failed: bool) -> Messages:
    """The answer in any of the shapes that SDKs write: text, a message, messages with parts, LangChain's generations, an object that is the answer itself."""
    if output is None or (failed and output == ""):
        return Messages([{}], [None])
    if isinstance(output, str):
        return Messages([turn_columns({"content": output})], [None])
    if isinstance(output, dict):
        generations = output.get("generations")
        if isinstance(generations, list) and generations:
            return generations_of(generations)
        message = mapping(output.get("message")) or output
        if message.keys() & {"role", "content", "tool_calls", "parts", "reasoning_content"}:
            found = {key: value for key, value in message.items() if key != "additional_kwargs"}
            found = {**mapping(message.get("additional_kwargs")), **found}
            return Messages([turn_columns(found)], [_reason_of(output, message)])
        if isinstance(output.get("completion"), str):
            return Messages([turn_columns({"content": output["completion"]})], [_reason_of(output)])
        if isinstance(output.get("text"), str) and _reason_of(output) is not None:  # Vercel's AI SDK
            return Messages([turn_columns({**output, "content": output["text"]})], [_reason_of(output)])
        return Messages([turn_columns({"content": _verbatim(output, observation)})], [None])
    listed = output_messages({"gen_ai_output_messages": output}) if isinstance(output, list) and _are_messages(output) else None
    return listed if listed is not None else Messages([turn_columns({"content": _verbatim(output, observation)})], [None])


def _are_messages(turns: list[Any]) -> bool:
    return bool(turns) and all(isinstance(turn, dict) and turn.keys() & _MESSAGE_KEYS for turn in turns)


def _verbatim(output: Any, observation: Mapping[str, Any]) -> str:
    """The answer's text as it was logged: it may be JSON by itself."""
    raw = observation.get("output")
    return raw if isinstance(raw, str) else compact(output)


def generations_of(generations: list[Any]) -> Messages:
    """Messages of LangChain's result, and why they ended: in the generation's own information, or in the message's metadata."""
    flat = [entry for group in generations for entry in (group if isinstance(group, list) else [group]) if isinstance(entry, dict)]
    told = [mapping(entry.get("message")) for entry in flat]
    turns = [mapping(message.get("kwargs")) or message for message in told]
    choices = [turn_columns(turn if "content" in turn else {"content": entry.get("text")}) for turn, entry in zip(turns, flat, strict=True)]
    return Messages(choices or [{}], [_reason_of(mapping(entry.get("generation_info")), turn) for entry, turn in zip(flat, turns, strict=True)] or [None])


def _reason_of(*holders: Mapping[str, Any]) -> Any:
    """The reason in the first of these objects that has one, under any of its names."""
    for holder in holders:
        for given in (holder, mapping(holder.get("response_metadata"))):
            for name in ("finish_reason", "finishReason", "stop_reason", "done_reason"):
                if given.get(name) is not None:
                    return given[name]
    return None


def reasons_of(messages: Messages, metadata: Any) -> list[Reason]:
    """Why each message ended: as it says itself, else as the metadata say."""
    own = [(reasons(raw) or [NOTHING])[0] for raw in messages.reasons]
    if all(found.canonical is None for found in own):
        given = metadata_reasons(metadata)
        return given if len(given) == len(own) else given * len(own) if len(given) == 1 else own
    return own


def metadata_reasons(metadata: Any) -> list[Reason]:
    """Reasons that stand in an observation's metadata, wherever an SDK puts them."""
    return reasons(get(metadata, *_REASONS)) if isinstance(metadata, dict) else []
