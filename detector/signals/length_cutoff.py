"""Answers that were cut because a token limit was reached.

What it finds
    Finish reason `length`, from the engine or inferred where a gateway hides it (completion tokens at the requested cap while the reason is missing,
    unknown or rewritten), and tool calls that were cut although the reason says `tool_calls`.

Why it matters
    The user sees half an answer, or none when thinking used up the cap; half a tool call fails in the caller. A rising share is the earliest sign of
    a thinking budget that is ignored, of end tokens that are missed, and of prompts that fill the window.

Not flagged
    Caps that are small on purpose (`small_cap_tokens`; classifiers, probes, warm-up, prefill legs, keyboard suggestions), fill-in-the-middle
    completions, `ignore_eos` and `min_tokens` runs, calls that the producer marks as probes. A small cap still counts where it starved the answer: only
    thinking came out, or a demanded JSON document does not close.

Subtypes
    See `SIGNAL.subtypes`. The first that fits is taken, from the most to the least specific.

Sources
    vllm-project/vllm#52640 (thinking eats the cap), #47963 (cut tool call reported as tool_calls), #21181 (invisible tokens up to the cap), #35705 (cap 10
    on a thinking model), NousResearch/hermes-agent#106571 (window full), OoriData/OgbujiPT#14 and huggingface/text-generation-inference#2421 (default
    caps), vllm-project/perf-eval#20 and vllm-project/router#113 (caps of one token on purpose).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import orjson

from detector.batch import Batch
from detector.record import Record
from detector.signals.base import Flag, PushDown, Signal, SignalOptions, Where
from detector.signals.request_failure import failed, failed_rows

# Caps that servers set when the request has none: OpenAI and vLLM completions 16, TGI /generate 20 (before 2.0) and 100, SGLang and Ollama 128,
# LM Studio and some gateways 256 and 512 stay out: users ask for these. LiteLLM sets 4096 for Anthropic models.
DEFAULT_CAPS = frozenset({16, 20, 100, 128, 4096})
# A token shows at least a quarter of a character in any script (byte fallback: four tokens for one emoji); far above that the tokens were invisible.
INVISIBLE_TOKENS_PER_CHARACTER = 4
INVISIBLE_SLACK_TOKENS = 32
WINDOW_STEP = 1024  # windows of models are multiples of this
WINDOW_SLACK_TOKENS = 8  # engines keep a few tokens back (bonus and speculative tokens)
_UNSEEN_REASONS = frozenset({None, "unknown"})
_FILL_IN_MIDDLE = re.compile(r"<\|?fim[_▁]|<fim-|<｜fim▁|<PRE>|\[SUFFIX\]|<\|fim", re.IGNORECASE)  # StarCoder, Qwen, DeepSeek, CodeLlama, Codestral
_FILL_ENDPOINT = re.compile(r"/fim\b|/infill\b")  # Mistral, llama.cpp
_OPEN_END = re.compile(r"[^\W\d_]$|[,;:(–-]$")  # a letter or an opening sign; numbers, closing signs and full stops may end an answer
_OPEN_THINKING = re.compile(r"\s*\W{0,3}\s*(?:<\w*:?think(?:ing)?>|\[THINK\]|◁think▷|<\|channel\|?>)")
_CLOSED_THINKING = re.compile(r"</\w*:?think(?:ing)?>|\[/THINK\]|◁/think▷|<channel\|>|<\|end\|>")


def observable(record: Record) -> bool:
    """A finished answer whose end the log shows: a finish reason, or token counts from which it follows."""
    if failed(record):
        return False
    if record.finish_reason not in _UNSEEN_REASONS:
        return True
    return record.completion_tokens is not None and record.max_tokens is not None


def _observable_rows(batch: Batch) -> list[bool]:
    if batch.is_sound and not batch.has("finish_reason", *_UNSEEN_REASONS):
        return [True] * batch.size
    return [
        not bad and (reason not in _UNSEEN_REASONS or (used is not None and cap is not None))
        for bad, reason, used, cap in zip(
            failed_rows(batch), batch.column("finish_reason"), batch.column("completion_tokens"), batch.column("max_tokens"), strict=True
        )
    ]


def judge(record: Record, options: SignalOptions) -> Flag | None:
    """Flags a cut answer; never raises."""
    if not observable(record) or record.is_probe or _fixed_length(record):
        return None
    said = record.finish_reason == "length"
    at_cap = _at_cap(record)
    cut_call = _cut_call(record, at_cap)
    low_trust = record.finish_reason == "stop" and record.finish_reason_source == "gateway"
    inferred = at_cap and (record.finish_reason in _UNSEEN_REASONS or low_trust or _stops_in_mid_sentence(record))
    if not (said or inferred or cut_call):
        return None
    if _fill_in_middle(record):
        return None
    starved = _thinking_only(record)
    if _small_cap(record, options) and not (starved or _open_document(record)):
        return None
    subtype = _subtype(record, starved=starved, cut_call=cut_call)
    return Flag(subtype, _reason(record, subtype, inferred=(inferred and not said) or record.finish_reason_source == "inferred"))


def _subtype(record: Record, *, starved: bool, cut_call: bool) -> str:
    if cut_call:
        return "tool_call_cut"
    if starved:
        return "thinking_ate_budget"
    if _window_full(record):
        return "context_full"
    if record.max_tokens is None and record.completion_tokens in DEFAULT_CAPS:
        return "default_cap"
    if _invisible(record):
        return "invisible_tokens"
    return "answer_cut"


def _at_cap(record: Record) -> bool:
    """Completion tokens reached the requested cap. Token counts are sums over choices, so nothing follows for n > 1."""
    cap, used = record.max_tokens, record.completion_tokens
    return cap is not None and used is not None and 0 < cap <= used and (record.n or 1) == 1


def _fixed_length(record: Record) -> bool:
    """Load tests and warm-ups make the model write up to its cap."""
    forced = record.min_tokens is not None and record.max_tokens is not None and record.min_tokens >= record.max_tokens > 0
    return bool(record.ignore_eos) or forced


def _stops_in_mid_sentence(record: Record) -> bool:
    """`stop` with the last allowed token, inside a sentence: gateways that know no better write `stop` (BerriAI/litellm#27101)."""
    text = (record.content or "").rstrip()
    return (
        record.finish_reason == "stop"
        and record.stop_reason is None
        and record.content_state == "present"
        and len(text) >= 40
        and _OPEN_END.search(text) is not None
    )


def _cut_call(record: Record, at_cap: bool) -> bool:
    if not record.tool_calls or record.finish_reason not in ("length", "tool_calls"):
        return False
    if record.finish_reason == "tool_calls" and at_cap:
        return True
    open_arguments = any(_ends_open(text) for text in record.tool_arguments or ())
    if not open_arguments:
        return False
    used, cap = record.completion_tokens, record.max_tokens
    return record.finish_reason == "length" or used is None or cap is None or (record.n or 1) > 1 or _window_full(record)


def _ends_open(text: str) -> bool:
    """A JSON document that breaks off: it fails to parse only because its end is missing."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return False
    try:
        json.loads(stripped, strict=False)
    except json.JSONDecodeError as error:
        return error.pos >= len(stripped) - 1 or error.msg.startswith("Unterminated string")
    except (RecursionError, ValueError):  # ValueError: integers beyond Python's digit limit
        return False
    return False


def _open_document(record: Record) -> bool:
    return record.response_format in ("json_object", "json_schema") and record.content is not None and _ends_open(record.content)


def _small_cap(record: Record, options: SignalOptions) -> bool:
    return record.max_tokens is not None and 0 < record.max_tokens < options.small_cap_tokens


def _fill_in_middle(record: Record) -> bool:
    if record.endpoint is not None and _FILL_ENDPOINT.search(record.endpoint):
        return True
    return bool(record.has_suffix) or (record.user_text is not None and _FILL_IN_MIDDLE.search(record.user_text) is not None)


def _thinking_only(record: Record) -> bool:
    """Thinking is there and no answer: in its own field, as an unclosed block in the content, or by the count of reasoning tokens."""
    if record.tool_calls:
        return False
    visible = (record.content or "").strip()
    if record.content_state in ("present", "truncated") and visible:
        opened = _OPEN_THINKING.match(visible)
        return opened is not None and _CLOSED_THINKING.search(visible, opened.end()) is None
    if record.reasoning is not None and record.reasoning.strip():
        return record.content_state == "empty" or (not visible and record.content_state == "present")
    return record.reasoning_tokens is not None and record.completion_tokens is not None and 0 < record.completion_tokens <= record.reasoning_tokens


def _window_full(record: Record) -> bool:
    """The answer ended well before its cap, or prompt and answer together end at a multiple of 1,024 tokens."""
    used, cap, prompt = record.completion_tokens, record.max_tokens, record.prompt_tokens
    if used is None or (record.n or 1) > 1:
        return False
    if cap is not None and cap > 0:
        return used < cap
    if prompt is None or prompt < used or used in DEFAULT_CAPS:
        return False
    return (prompt + used) % WINDOW_STEP in (0, *range(WINDOW_STEP - WINDOW_SLACK_TOKENS, WINDOW_STEP))


def _invisible(record: Record) -> bool:
    if record.completion_tokens is None or record.content_state not in ("present", "empty") or (record.n or 1) > 1:
        return False
    if record.reasoning_state in ("not_captured", "truncated") and record.reasoning_tokens:
        return False
    texts = (record.content, record.reasoning, *(record.tool_arguments or ()))
    visible = sum(len(text.strip()) for text in texts if text)
    return record.completion_tokens > INVISIBLE_TOKENS_PER_CHARACTER * visible + INVISIBLE_SLACK_TOKENS


def _reason(record: Record, subtype: str, *, inferred: bool) -> str:
    used = "?" if record.completion_tokens is None else str(record.completion_tokens)
    cap = "no requested cap" if record.max_tokens is None else f"a cap of {record.max_tokens}"
    how = "inferred from token counts" if inferred else f"finish reason {record.finish_reason}"
    detail = {
        "thinking_ate_budget": "; thinking is there, the answer is not",
        "tool_call_cut": "; the tool call is cut",
        "context_full": f"; prompt {'?' if record.prompt_tokens is None else record.prompt_tokens} tokens: the window is full",
        "default_cap": "; the number is a server's default cap",
        "invisible_tokens": "; far more tokens than visible text",
        "answer_cut": "",
    }[subtype]
    return f"{used} completion tokens at {cap}, {how}{detail}"


def candidates(batch: Batch, options: SignalOptions) -> Iterable[int]:
    """Rows with reason `length`, rows at their cap, and rows with tool calls whose arguments are no JSON."""
    reasons, caps, used, calls = (batch.column(name) for name in ("finish_reason", "max_tokens", "completion_tokens", "tool_calls"))
    arguments = batch.column("tool_arguments")
    return [
        row
        for row, (reason, cap, tokens, called) in enumerate(zip(reasons, caps, used, calls, strict=True))
        if reason == "length"
        or (cap is not None and tokens is not None and tokens >= cap)
        or (called and reason == "tool_calls" and not all(map(_is_json, arguments[row] or ())))
    ]


def _is_json(text: str) -> bool:
    """Cheaper than `_ends_open`, which is False of every such text."""
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


SIGNAL = Signal(
    name="length_cutoff",
    subtypes={
        "thinking_ate_budget": "the cap was used up by thinking, no answer came",
        "tool_call_cut": "a tool call was cut at the cap, or its arguments break off",
        "context_full": "the answer ended before its cap because prompt and answer filled the window",
        "default_cap": "no cap was requested and the answer ended at a server's default",
        "invisible_tokens": "tokens far exceed the visible text: the answer was over, invisible tokens ran to the cap",
        "answer_cut": "the answer was cut at the cap",
    },
    needs=("finish_reason", "completion_tokens with max_tokens"),
    observable=observable,
    observable_rows=_observable_rows,
    judge=judge,
    candidates=candidates,
    push_down=PushDown(
        candidates=(
            (Where("finish_reason", "in", ("length", "tool_calls")),),
            (Where("finish_reason", "in", ("unknown", "stop")), Where("completion_tokens", "gte_column", "max_tokens")),
            (Where("finish_reason", "missing"), Where("completion_tokens", "gte_column", "max_tokens")),
        ),
    ),
)
