"""Tool calls written as text: what a tool parser should have turned into a structured call."""

from __future__ import annotations

import json
import re

from detector.record import Record
from detector.signals.code_spans import CodeSpans

LONGEST_CALL = 4000  # characters at the end of an answer in which a call is looked for
_PYTHONIC = re.compile(r"(?:^|(?<=[\n.!?:。]))[ \t]*\[[ \t]*([A-Za-z_][\w.]{0,80}\([^\n]{0,2000}\))[ \t]*\]\s*\Z")
_PYTHONIC_ARGUMENTS = re.compile(r"[A-Za-z_][\w.]{0,80}\((?:\s*\)|\s*[A-Za-z_]\w{0,60}\s*=\s*\S)")
# Phi-4 mini; Gemma 4, Gemini and Kimi without their tokens.
_NAMED = re.compile(r"functools\[\s*\{|(?:^|\n)\s*call:[A-Za-z_][\w.-]{0,80}\{|print\(default_api\.\w|(?:^|\n)\s*functions\.[A-Za-z_]\w{0,80}:\d{1,3}\s{0,4}\{")
_BARE = re.compile(r"\s{0,8}([A-Za-z_][\w.-]{2,80})\s{0,4}(?=\{)")
_HARMONY = re.compile(r"(?:\A\s*|assistant)commentary[ \t]?to=functions\.\w|(?:\A|\s)to=functions\.\w+[ \t]?(?:<\||code|json|\{)")
_FENCE = re.compile(r"^```(?:tool_code|tool_calls?|tool_use)[ \t]*$", re.M)


def call_as_text(content: str, record: Record) -> tuple[str, int] | None:
    """Kind of call and its place in characters, or None."""
    if "functions." in content and not content.lstrip().startswith("analysis"):
        match = _HARMONY.search(content)
        if match is not None and not _coded(content, match.start()):
            return "harmony commentary call", match.start()
    if record.tool_calls or record.has_tools is not True:
        return None
    if "```tool_" in content:
        match = _FENCE.search(content)
        if match is not None:
            return "fenced tool call", match.start()
    match = _NAMED.search(content) if "functools[" in content or "call:" in content or "default_api." in content or "functions." in content else None
    if match is not None and not _coded(content, match.start()):
        return "named call", match.start()
    place = _bare_call(content)
    if place is not None:
        return "bare call", place
    tail_start = max(0, len(content) - LONGEST_CALL)
    tail = content[tail_start:]
    stripped = tail.rstrip()
    if stripped.endswith(")]"):
        opened = max(
            stripped.rfind("\n["),
            stripped.rfind(".["),
            stripped.rfind(":["),
            stripped.rfind(". ["),
            stripped.rfind(": ["),
            0 if stripped.lstrip().startswith("[") else -1,
        )
        if opened >= 0:
            match = _PYTHONIC.search(stripped, opened)
            if match is not None and _PYTHONIC_ARGUMENTS.match(match.group(1)) and not _coded(content, tail_start + match.end() - 2):
                return "pythonic call", tail_start + match.start(1)
    if '"name"' in tail and stripped[-1:] in ("}", "]") and record.response_format in (None, "text"):
        place = _json_call(stripped)
        if place is not None and not _coded(content, tail_start + place):
            return "JSON call", tail_start + place
    return None


def _bare_call(content: str) -> int | None:
    """A function's name and a JSON object, and nothing else: Mistral and GLM-4 calls that lost their tokens."""
    match = _BARE.match(content) if content.rstrip().endswith("}") and len(content) < LONGEST_CALL else None
    if match is None:
        return None
    try:
        value = json.loads(content[match.end() :])
    except (ValueError, RecursionError):
        return None
    return match.start(1) if isinstance(value, dict) else None


def _json_call(tail: str) -> int | None:
    """Place of a JSON call that ends the text and begins a line, or None."""
    for match in list(re.finditer(r"(?:^|\n)[ \t]*(?=[{\[])", tail))[:3]:
        try:
            value = json.loads(tail[match.end() :])
        except (ValueError, RecursionError):
            continue
        calls = value if isinstance(value, list) else [value]
        if calls and all(isinstance(call, dict) and _is_call(call) for call in calls):
            return match.end()
    return None


def _is_call(call: dict[str, object]) -> bool:
    inner = call.get("function")
    if isinstance(inner, dict) and call.get("type") == "function":
        return _is_call(inner)
    return isinstance(call.get("name"), str) and isinstance(call.get("arguments", call.get("parameters")), (dict, str)) and len(call) <= 4


def _coded(content: str, at: int) -> bool:
    return CodeSpans(content).holds(at)
