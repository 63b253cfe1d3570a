"""Template, end-of-text and tool-markup tokens in the text that the reader sees.

What it finds
    Tokens that a tokenizer or chat template uses for structure (turns, BOS/EOS, padding, fill-in-the-middle, images, bytes), tool-call markup, answer
    wrappers, and tool calls written as text, in content, reasoning or a function name; tokens after the JSON of tool arguments.

Why it matters
    Users see control tokens, tools that should run do not, and clients that parse the answer fail. It points at `skip_special_tokens`, a wrong chat template or
    end token, a missing tool parser, or speculative decoding that lets foreign tokens through.

Not flagged
    Tokens that are quoted, fenced, escaped, explained, listed or asked for (`detector.signals.mentions`, `skip_special_tokens: false`); HTML `<s>`
    strikethrough, bra-ket notation, UML arrows, generics; balanced `<answer>` elements, which prompts often ask for; tool markup in text from before
    the parsers.

Subtypes
    See `SIGNAL.subtypes`. An answer of nothing but tokens comes first, then where the token stands, then what it is.

Sources
    vllm-project/vllm#2919, #46224, #3136, #4577, #22917, #20028, #58127; vllm-project/vllm-ascend#9767; moltis-org/moltis#306; yanun0323/Whallm#5;
    raullenchai/Rapid-MLX#374; NVIDIA/TensorRT-LLM#9256; huggingface/transformers#23175; #7033 (callers who want them).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.marker_requests import is_stop_string, names_marker, requested, speaks_of_templates
from detector.signals.marker_shapes import Hit, find
from detector.signals.markers import SPECIAL_CONTAINS, Role
from detector.signals.mentions import Surroundings
from detector.signals.text_values import is_marker_alone, string_values
from detector.signals.token_look_alikes import without_look_alikes
from detector.signals.tool_text import call_as_text

_SUBTYPES: dict[Role, str] = {
    "turn": "turn_token",
    "channel": "turn_token",
    "bos": "begin_or_end_token",
    "eos": "begin_or_end_token",
    "pad": "pad_token",
    "tool": "tool_markup",
    "fim": "fim_token",
    "vision": "vision_token",
    "byte": "byte_token",
    "answer": "answer_wrapper",
    "half": "half_token",
}
_CALL_PIECES = (")]", '"name"', "call:", "functools[", "default_api.", "```tool_", "functions.")
_RAW_MARKUP = frozenset({"tool", "answer"})  # what the parsers, not the tokenizer, take out
MOST_LEAKS = 32


def observable(record: Record) -> bool:
    """The log holds the answer's text (also: that it was empty), its reasoning, or its tool calls."""
    return record.content_state != "not_captured" or record.reasoning_state in ("present", "truncated") or bool(record.tool_calls)


def _observable_rows(batch: Batch) -> list[bool]:
    if not batch.has("content_state", "not_captured"):
        return [True] * batch.size
    columns = (batch.column(name) for name in ("content_state", "reasoning_state", "tool_calls"))
    return [state != "not_captured" or thought in ("present", "truncated") or bool(calls) for state, thought, calls in zip(*columns, strict=True)]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags an answer that shows a special token; never raises; linear in the text's length."""
    if record.skip_special_tokens is False:
        return None
    for name in record.tool_calls or ():
        hits = _special(name, options)
        if hits:
            return _flag("in_function_name", hits, "a function name")
    if record.content:
        leaks = _leaks_of(record.content, record, options)
        if leaks:
            subtype = "only_tokens" if not _without(record.content, leaks).strip() else _SUBTYPES[leaks[0].role]
            return _flag(subtype, leaks, "content")
        if record.content_is_raw is not True:
            call = call_as_text(record.content, record)
            if call is not None:
                return Flag("tool_call_as_text", f"{call[0]} at character {call[1]} of content; no structured call")
    if record.reasoning:
        leaks = _leaks(record.reasoning, _special(record.reasoning, options), record, in_reasoning=True)
        if leaks:
            return _flag("in_reasoning", leaks, "reasoning")
    for index, arguments in enumerate(record.tool_arguments or ()):
        leaks = _around_json(arguments, options)
        if leaks:
            return _flag("beside_tool_arguments", leaks, f"the arguments of tool call {index}, outside their JSON texts")
    return None


def _special(text: str, options: SignalOptions) -> list[Hit]:
    """Special tokens of a text, without those that are reasoning markers; a harmony channel token is both."""
    hits = find(text, "special")
    if hits:
        thinking = {(hit.start, hit.end) for hit in find(text, "think") if hit.family != "harmony channel"}
        hits = [hit for hit in hits if (hit.start, hit.end) not in thinking]
    for token in options.special_tokens:
        at = text.find(token) if token else -1
        while at >= 0 and len(hits) < 400:
            hits.append(Hit(at, at + len(token), "turn", "configured", "configured token"))
            at = text.find(token, at + len(token))
    return sorted(hits, key=lambda hit: hit.start) if options.special_tokens else hits


def _leaks_of(content: str, record: Record, options: SignalOptions) -> list[Hit]:
    hits = _special(content, options)
    if not hits:
        return []
    values = string_values(content) if content.lstrip()[:1] in ("{", "[", '"') else None
    if values is None:
        return _leaks(content, hits, record)
    for value in values:
        if is_marker_alone(value, _special(value, options)):
            continue
        leaks = _leaks(value, _special(value, options), record)
        if leaks:
            return leaks
    return []


def _leaks(text: str, hits: list[Hit], record: Record, *, in_reasoning: bool = False) -> list[Hit]:
    """The hits that stand as structure."""
    if record.content_is_raw is True and not in_reasoning:
        hits = [hit for hit in hits if hit.role not in _RAW_MARKUP and hit.family != "harmony"]
    hits = without_look_alikes(text, hits, record)
    if not hits:
        return []
    around = Surroundings(text, hits)
    leaks = []
    for index, hit in enumerate(hits):
        if not around.is_mention(index):
            leaks.append(hit)
            if len(leaks) == MOST_LEAKS:  # a loop of tokens: each that follows costs time and tells nothing
                leaks.extend(hits[index + 1 :])
                break
    if not leaks or not (record.user_text or record.system_text or record.stop):
        return leaks
    trails = _only_trails(text, leaks)
    templates = speaks_of_templates(record)
    asked: dict[str, bool] = {}
    for hit in leaks:
        literal = text[hit.start : hit.end]
        if literal not in asked:
            asked[literal] = (
                (is_stop_string(record, literal) and hit.role == "answer")
                or requested(record, literal)
                or ((templates or names_marker(record, literal)) and not trails)
            )
    return [hit for hit in leaks if not asked[text[hit.start : hit.end]]]


def _only_trails(text: str, hits: list[Hit]) -> bool:
    """All tokens stand at the very end, glued to the last sentence: no template that was asked for."""
    at = hits[0].start
    return not _without(text[at:], [Hit(hit.start - at, hit.end - at, hit.role, hit.family, hit.name) for hit in hits]).strip() and text[at - 1 : at] in tuple(
        ".!?。！？`\n"
    )


def _around_json(arguments: str, options: SignalOptions) -> list[Hit]:
    """Tokens beside the JSON of tool arguments: only where the arguments don't parse."""
    hits = _special(arguments, options)
    if not hits or string_values(arguments) is not None:
        return []
    return [hit for hit in hits if len(re.findall(r'(?<!\\)"', arguments[: hit.start])) % 2 == 0]


def _without(text: str, hits: list[Hit]) -> str:
    pieces, at = [], 0
    for hit in hits:
        pieces.append(text[at : hit.start])
        at = hit.end
    return "".join(pieces) + text[at:]


def _flag(subtype: str, leaks: list[Hit], where: str) -> Flag:
    first = leaks[0]
    return Flag(subtype, f"{first.name} at character {first.start} of {where} (family {first.family}), {len(leaks)} in all")


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows whose text can begin a marker (byte scan), rows whose tools could have been called in text, rows with a configured token."""
    found = set(batch.text.marker.nonzero()[0].tolist())
    if batch.knows("has_tools"):
        columns = (batch.column(name) for name in ("has_tools", "tool_calls", "content"))
        for row, (tools, calls, content) in enumerate(zip(*columns, strict=True)):
            if tools and not calls and content and (content[-1] in "} \n" or any(piece in content for piece in _CALL_PIECES)):
                found.add(row)
    contents = batch.column("content")
    found.update(row for row in batch.text.start.nonzero()[0].tolist() if (text := contents[row]) and text[:24].lstrip().startswith("commentary"))
    if options.special_tokens:
        for name in ("content", "reasoning"):
            found.update(row for row, text in enumerate(batch.column(name)) if text and any(token in text for token in options.special_tokens if token))
        for name in ("tool_calls", "tool_arguments"):
            found.update(
                row for row, texts in enumerate(batch.column(name)) if any(token in text for text in texts or () for token in options.special_tokens if token)
            )
    return sorted(found)


SIGNAL = Signal(
    name="special_token_leak",
    subtypes={
        "only_tokens": "the answer holds nothing but special tokens",
        "in_function_name": "a special token inside the name of a called function",
        "in_reasoning": "a special token in the reasoning field",
        "beside_tool_arguments": "a special token after or between the JSON of tool arguments",
        "turn_token": "a role or end-of-turn token of a chat template",
        "begin_or_end_token": "begin-of-text or end-of-text",
        "tool_markup": "markup of tool calls that no parser took out",
        "tool_call_as_text": "a tool call written as text although tools were offered and no call came out",
        "answer_wrapper": "a wrapper of the final answer, such as a box or a closing answer tag",
        "pad_token": "padding, unknown or reserved tokens",
        "fim_token": "a fill-in-the-middle token",
        "vision_token": "an image or audio token",
        "byte_token": "a byte written as a token",
        "half_token": "a piece of a token",
    },
    needs=("content", "reasoning", "tool_calls"),
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(
        candidates=(
            *((Where(column, "contains", piece),) for column in ("content", "reasoning", "tool_calls", "tool_arguments") for piece in SPECIAL_CONTAINS),
            (Where("has_tools", "in", (True,)), Where("content", "contains", "{")),  # a bare call holds no token at all
        )
    ),
)
