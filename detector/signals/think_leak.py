"""Reasoning markers in the text that the reader sees.

What it finds
    A marker of any reasoning family (see `detector.signals.markers`) that stands as structure in content, tool arguments or a function name: whole
    blocks, half tags, lone closers, harmony and Gemma channels, channel words whose special tokens were stripped (`analysis…assistantfinal`, `thought`
    glued to the answer), prose markers of older families, and a site's own end-of-thinking strings (`SignalOptions.think_markers`).

Why it matters
    Users read the model's private thinking, and clients that parse the answer break. It points at a missing or wrong reasoning parser, a budget that the
    parser does not know of, or an engine bug; where it comes with more `length` ends the thinking budget is not respected (reference incident 2).

Not flagged
    Markers that are quoted, fenced, escaped, explained, listed, or that the request asked for (`detector.signals.mentions`); markers inside the reasoning
    field; text from before the reasoning parser and /v1/completions, where no parser runs; a whole block that a gateway merged on purpose
    (`merge_reasoning_content_in_choices`); untagged chains of thought.

Subtypes
    See `SIGNAL.subtypes`. Where the marker stands comes before what it is.

Sources
    vllm-project/vllm#44676, #26239, #38212, #46042, #14202, #32587; NousResearch/hermes-agent#75094; livekit/agents#6942; Augustas11/macprovider#743;
    1CatAI/1Cat-vLLM#569; BerriAI/litellm#9029; the label rules in the project's case files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.channel_words import channel_word, prose_marker
from detector.signals.marker_requests import is_stop_string, names_marker, requested
from detector.signals.marker_shapes import MOST_HITS, Hit, find
from detector.signals.markers import STARTS, THINK_CONTAINS
from detector.signals.mentions import Surroundings
from detector.signals.text_values import argument_values, is_file_call, is_marker_alone, string_values

MOST_LEAKS = 32  # markers that are counted; a loop of more needs no exact number
REPEATED_CLOSERS = 3  # more closers than openers, and at least this many: the loop of 1CatAI/1Cat-vLLM#569, not one lost opener
_ELEMENT = re.compile(r"\s*<(?!/)(?:\?xml|([A-Za-z][\w.-]{0,40}))\b[^<>\n]{0,200}>")
_MERGES = frozenset({"merge_reasoning_content_in_choices"})
_ALONE = re.compile(r"[ \t]*(?=\n\s*\n?\S)")


def observable(record: Record) -> bool:
    """The log holds the parsed answer (also: that it was empty) or its tool calls."""
    return record.content_is_raw is not True and (record.content_state != "not_captured" or bool(record.tool_calls or record.tool_arguments))


def _observable_rows(batch: Batch) -> list[bool]:
    if not batch.has("content_is_raw", True) and not batch.has("content_state", "not_captured"):
        return [True] * batch.size
    columns = (batch.column(name) for name in ("content_is_raw", "content_state", "tool_calls", "tool_arguments"))
    return [raw is not True and (state != "not_captured" or bool(calls or arguments)) for raw, state, calls, arguments in zip(*columns, strict=True)]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags an answer that shows a reasoning marker; never raises; linear in the text's length."""
    if record.content_is_raw is True:
        return None
    for name in record.tool_calls or ():
        hits = find(name, "think")
        if hits:
            return Flag("in_function_name", f"{hits[0].name} at character {hits[0].start} of a function name (family {hits[0].family})")
    flag = _judge_content(record, options) if record.content else None
    return flag or _judge_arguments(record, options)


def _judge_content(record: Record, options: SignalOptions) -> Flag | None:
    content = record.content or ""
    custom = _custom(content, options)
    hits = find(content, "think")
    if hits or custom:
        values = string_values(content) if content.lstrip()[:1] in ("{", "[", '"') else None
        if values is not None:
            for value in values:
                if is_marker_alone(value, find(value, "think")):
                    continue
                leaks = _leaks(value, find(value, "think"), record) + _leaks(value, _custom(value, options), record)
                if leaks:
                    return _flag(leaks, "a text inside the JSON content")
        else:
            leaks = _leaks(content, hits, record)
            if leaks and not (_MERGES.intersection(record.gateway_options or ()) and _is_merged_block(content, leaks)):
                return _flag(leaks, "content")
            leaks = _leaks(content, custom, record)
            if leaks:
                return Flag("custom_marker", f"configured marker at character {leaks[0].start} of content, {len(leaks)} in all")
    word = channel_word(content, record)
    if word is not None:
        return Flag("channel_words", f"{word[0]} at character {word[1]} of content (channel words without their special tokens)")
    place = prose_marker(content, record)
    if place is not None:
        return Flag("prose_markers", f"response marker at character {place} of content after a thought-process marker (family granite prose)")
    return None


def _judge_arguments(record: Record, options: SignalOptions) -> Flag | None:
    names = record.tool_calls or ()
    for index, arguments in enumerate(record.tool_arguments or ()):
        if not find(arguments, "think") and not _custom(arguments, options):
            continue
        file_call = index < len(names) and is_file_call(names[index])
        for value in argument_values(arguments):
            if is_marker_alone(value, find(value, "think")):
                continue
            leaks = _leaks(value, sorted(find(value, "think") + _custom(value, options), key=lambda hit: hit.start), record)
            if file_call and "\n" in value.strip():  # a file about parsers or templates holds markers; a forced end of thinking is a closer alone
                leaks = [hit for hit in leaks if hit.role == "close"] if not any(hit.role == "open" for hit in leaks) else []
                leaks = [hit for hit in leaks if value[hit.end :].startswith("\n\n") or not value[hit.end :].strip()]
            if leaks:
                return Flag(
                    "in_tool_arguments", f"{leaks[0].name} at character {leaks[0].start} of an argument of tool call {index} (family {leaks[0].family})"
                )
    return None


def _custom(text: str, options: SignalOptions) -> list[Hit]:
    hits: list[Hit] = []
    for marker in options.think_markers:
        at = text.find(marker) if marker else -1
        while at >= 0 and len(hits) < MOST_HITS:
            hits.append(Hit(at, at + len(marker), "close", "configured", "configured marker"))
            at = text.find(marker, at + len(marker))
    return sorted(hits, key=lambda hit: hit.start)


def _leaks(text: str, hits: list[Hit], record: Record) -> list[Hit]:
    """The hits that stand as structure."""
    if not hits:
        return []
    around = Surroundings(text, _with_headers(text, hits))
    element = _enclosing_element(text)
    leaks = []
    asked: dict[str, bool] = {}
    named: dict[str, bool] = {}
    thinking = set(hits)
    for index, hit in enumerate(around.hits):
        if hit not in thinking:
            continue
        literal = text[hit.start : hit.end]
        if element is not None and element[0] <= hit.start < element[1]:
            continue
        if around.is_mention(index) and not _escaped_fence(around, hit, record):
            continue
        if hit.role == "open" and hit.start > 0 and literal[1:2].isupper() and (text[hit.start - 1].isalnum() or text[hit.start - 1] == "_"):
            continue  # a type parameter, as in List<Thought>
        if literal not in asked:
            asked[literal] = requested(record, literal)
            named[literal] = names_marker(record, literal)
        if is_stop_string(record, literal) and not text[hit.end :].strip():
            continue
        if asked[literal] or (named[literal] and not _is_structure(text, hit)):
            continue
        leaks.append(hit)
        if len(leaks) == MOST_LEAKS:
            break
    return leaks


def _with_headers(text: str, hits: list[Hit]) -> list[Hit]:
    """A harmony channel token belongs to a header of several tokens, which is spoken of as a whole."""
    if not any(hit.role == "channel" for hit in hits):
        return hits
    places = {hit.start for hit in hits}
    return sorted(hits + [hit for hit in find(text, "special") if hit.start not in places], key=lambda hit: hit.start)


def _escaped_fence(around: Surroundings, hit: Hit, record: Record) -> bool:
    """A closer alone on its line, with text after it, in a fence that the thinking never closed although the answer ended by itself."""
    return hit.role == "close" and around.code.is_doubtful(hit.start) and record.finish_reason != "length" and _is_structure(around.text, hit)


def _is_structure(text: str, hit: Hit) -> bool:
    """The marker opens the text, or stands alone at a line's beginning or end with text after it."""
    if not text[: hit.start].strip():
        return hit.role != "close" or text[hit.end : hit.end + 1] in ("", "\n")
    line_start = text.rfind("\n", 0, hit.start) + 1
    alone = not text[line_start : hit.start].strip()
    return (alone or hit.role == "close") and _ALONE.match(text, hit.end) is not None


def _enclosing_element(text: str) -> tuple[int, int] | None:
    """Span inside an element of the request's own that holds the whole answer, or that comes before the first marker; None where there is none."""
    match = _ELEMENT.match(text)
    if match is None or find(match.group(), "think") or (find(match.group(), "special") and match.group(1) != "response"):
        return None
    if match.group(1) is None:
        return match.end(), len(text)
    end = text.rfind(f"</{match.group(1)}")
    return (match.end(), end) if end > match.end() else None


def _is_merged_block(text: str, leaks: list[Hit]) -> bool:
    return [hit.role for hit in leaks] == ["open", "close"] and not text[: leaks[0].start].strip()


def _flag(leaks: list[Hit], where: str) -> Flag:
    opens = sum(hit.role == "open" for hit in leaks)
    closes = sum(hit.role == "close" for hit in leaks)
    first = leaks[0]
    if all(hit.family == "half tag" for hit in leaks):
        subtype = "half_tag"
    elif first.role == "channel" or (first.family == "gemma channel" and opens):
        subtype = "channel_tokens"
    elif closes >= REPEATED_CLOSERS and closes > opens:
        subtype = "repeated_close"
    elif opens and closes:
        subtype = "balanced_block"
    else:
        subtype = "close_only" if closes else "open_only"
    return Flag(subtype, f"{first.name} at character {first.start} of {where} (family {first.family}); {opens} opening, {closes} closing")


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows whose text can begin a marker (byte scan), and rows with a configured marker."""
    contents, raw = batch.column("content"), batch.column("content_is_raw")
    found = set(batch.text.marker.nonzero()[0].tolist())
    found.update(row for row in batch.text.start.nonzero()[0].tolist() if (text := contents[row]) and text[:24].lstrip().startswith(STARTS))
    if options.think_markers:
        arguments = batch.column("tool_arguments")
        for row in range(batch.size):
            texts = (contents[row] or "", *(arguments[row] or ()))
            if any(marker in text for marker in options.think_markers if marker for text in texts):
                found.add(row)
    return [row for row in sorted(found) if raw[row] is not True]


SIGNAL = Signal(
    name="think_leak",
    subtypes={
        "in_function_name": "a reasoning marker inside the name of a called function",
        "in_tool_arguments": "a reasoning marker inside tool-call arguments: forced tokens during a call, or a parser that misses the call",
        "channel_tokens": "harmony or Gemma channel tokens",
        "channel_words": "channel words glued to the text, their special tokens stripped",
        "prose_markers": "sentences that an older family uses as markers",
        "custom_marker": "a marker from the configuration",
        "repeated_close": "closers over and over",
        "balanced_block": "a whole block: opener and closer",
        "close_only": "a closer without its opener: parser missing, or thinking re-entered",
        "open_only": "an opener that is never closed",
        "half_tag": "a piece of a tag",
    },
    needs=("content", "tool_arguments"),
    parsed_text=True,
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(
        candidates=tuple((Where(column, "contains", piece),) for column in ("content", "tool_arguments", "tool_calls") for piece in THINK_CONTAINS)
    ),
)
