"""A mapping for documents of an unknown layout: which path holds which canonical column, in which unit, and why.

Names are hints and values decide: a path is only taken for a column when its values can be read as that column. Bodies in the API's shape are looked for
first, because they hold most columns. Nothing of the documents' text gets into a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from detector.discovery.column_shapes import SELDOM, SHAPES, ColumnShape
from detector.formats.finish_reason import reason
from detector.formats.openai import is_body
from detector.formats.openai_stream import is_sse
from detector.formats.values import decoded, number

_ENOUGH = 0.8  # share of values that must be readable as the column's type
_PRESENT = 0.02  # a path in fewer documents than this is no place of a column, except for errors
_DEPTH = 8
_UNIT_IN_NAME = re.compile(r"(?:^|[._-])(ns|nanos|nanoseconds|us|micros|microseconds|ms|millis|milliseconds|s|sec|secs|seconds)$|(Ms|Ns|Us|Seconds|Millis)$")
_UNITS = {
    "nanos": "ns",
    "nanoseconds": "ns",
    "micros": "us",
    "microseconds": "us",
    "millis": "ms",
    "milliseconds": "ms",
    "sec": "s",
    "secs": "s",
    "seconds": "s",
}


@dataclass(frozen=True)
class Guess:
    """`path` holds `column` in `share` of the documents; `unit` and `why` as far as there is something to say; `values`: words of the log → canonical words."""

    column: str
    path: str
    share: float
    kind: str
    unit: str | None = None
    why: str = ""
    values: dict[str, str] = field(default_factory=dict)


def guess(documents: Sequence[dict[str, Any]]) -> list[Guess]:
    """The places of columns in documents of one layout, bodies first; each column and each path at most once."""
    if not documents:
        return []
    found = _bodies(documents)
    inside = tuple(f"{entry.path}." for entry in found)
    values = _leaves(documents)
    taken = {entry.path for entry in found}
    for rule in SHAPES:
        best = _best(rule, values, len(documents), taken, inside)
        if best is not None:
            found.append(best)
            taken.add(best.path)
    return found


def _bodies(documents: Sequence[dict[str, Any]]) -> list[Guess]:
    """Paths under which request, response and error bodies of the API stand, as objects, as JSON in a text, or as a recorded stream."""
    counts: dict[tuple[str, str], int] = {}
    for document in documents:
        seen: set[tuple[str, str]] = set()
        for path, node in _nodes(document, "", _DEPTH):
            kind = _body_kind(node)
            if kind is not None and path:
                seen.add((kind, path))
        for key in seen:
            counts[key] = counts.get(key, 0) + 1
    found = []
    for kind in ("response", "request"):
        places = [(number, -path.count("."), path) for (what, path), number in counts.items() if what == kind]
        if places:
            number, _, path = max(places)
            if number / len(documents) >= 0.1:
                found.append(Guess(kind, path, number / len(documents), "body", why=f"a {kind} body in the API's shape"))
    return found


def _body_kind(node: Any) -> str | None:
    value = decoded(node)
    if isinstance(value, str):
        return "response" if is_sse(value) else None
    if not isinstance(value, dict):
        return None
    if is_body(value) and "choices" in value:
        return "response"
    asks = isinstance(value.get("messages"), list) or ("prompt" in value and "model" in value)
    return "request" if asks and not value.keys() & {"response", "answer", "output"} else None


def _nodes(node: Any, path: str, depth: int) -> Iterable[tuple[str, Any]]:
    yield path, node
    if isinstance(node, dict) and depth:
        for key, value in node.items():
            yield from _nodes(value, f"{path}.{key}" if path else key, depth - 1)


def _leaves(documents: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for document in documents:
        for path, node in _nodes(document, "", _DEPTH):
            if path and node is not None and not isinstance(node, dict):
                found.setdefault(path, []).append(node)
    return found


def _best(rule: ColumnShape, values: dict[str, list[Any]], total: int, taken: set[str], inside: tuple[str, ...]) -> Guess | None:
    candidates = []
    for path, raw in values.items():
        if path in taken or path.startswith(inside):
            continue
        rank = _rank(path, rule.names)
        if rank is None or (len(raw) / total < _PRESENT and rule.column not in SELDOM):
            continue
        fitting = [value for value in raw if rule.fits(value)]
        if len(fitting) / len(raw) >= _ENOUGH and _is_plausible(rule, fitting):
            candidates.append((rank, path.count("."), -len(raw), path, fitting))
    if not candidates:
        return None
    rank, _, _, path, fitting = min(candidates, key=lambda entry: entry[:4])
    share = len(values[path]) / total
    if rule.kind == "time":
        unit, why = _time_unit(fitting)
        return Guess(rule.column, path, share, rule.kind, unit, why)
    if rule.kind == "duration":
        unit, why = _duration_unit(path, fitting)
        return Guess(rule.column, path, share, rule.kind, unit, why)
    if rule.kind == "word":
        return Guess(rule.column, path, share, rule.kind, None, "", _words(fitting))
    return Guess(rule.column, path, share, rule.kind)


def _rank(path: str, names: tuple[str, ...]) -> int | None:
    """How well a path's last part names the column; None: not at all. A unit behind the name does not count."""
    last = path.rpartition(".")[2]
    bare = re.sub(r"[^@a-z]", "", _UNIT_IN_NAME.sub("", last).lower())
    whole = re.sub(r"[^@a-z]", "", last.lower())
    pair = re.sub(r"[^@a-z]", "", "".join(path.lower().split(".")[-2:]))
    for rank, name in enumerate(names):
        if name in (bare, whole, pair):
            return rank
    return None


def _is_plausible(rule: ColumnShape, fitting: Sequence[Any]) -> bool:
    if rule.column == "finish_reason":
        known = sum(reason(value).canonical != "unknown" for value in fitting)
        return known / len(fitting) >= 0.5
    if rule.column == "content":
        return median(len(value) for value in fitting) >= 2
    if rule.column == "request_id":
        return len(set(fitting)) > 0.5 * len(fitting)
    return bool(fitting)


_MEANT = (  # words of home-made logs; a guess that the file asks its reader to correct
    (re.compile(r"cap|max|limit|trunc|length", re.IGNORECASE), "length"),
    (re.compile(r"tool|func|call", re.IGNORECASE), "tool_calls"),
    (re.compile(r"filter|safe|moder|block", re.IGNORECASE), "content_filter"),
    (re.compile(r"abort|cancel|kill|timeout|timed", re.IGNORECASE), "abort"),
    (re.compile(r"err|fail|exception", re.IGNORECASE), "error"),
    (re.compile(r"ok|done|end|eos|success|natural|normal", re.IGNORECASE), "stop"),
)


def _words(fitting: Sequence[Any]) -> dict[str, str]:
    """What words of the log, that no producer is known to write, may mean."""
    unknown = sorted({str(value) for value in fitting if reason(value).canonical == "unknown"})[:8]
    return {word: next((meant for pattern, meant in _MEANT if pattern.search(word)), "unknown") for word in unknown if len(word) <= 40}


def _time_unit(fitting: Sequence[Any]) -> tuple[str | None, str]:
    numbers = [read for value in fitting if (read := number(value)) is not None]
    if len(numbers) < len(fitting) / 2:
        return "iso8601", "texts in ISO 8601"
    typical = median(numbers)
    for limit, unit in ((1e11, "s"), (1e14, "ms"), (1e17, "us"), (1e20, "ns")):
        if typical < limit:
            return unit, f"numbers of {len(str(int(typical)))} digits are {unit} since 1970"
    return None, ""


def _duration_unit(path: str, fitting: Sequence[Any]) -> tuple[str, str]:
    named = _UNIT_IN_NAME.search(path.rpartition(".")[2])
    if named:
        word = (named[1] or named[2]).lower()
        return _UNITS.get(word, word), "the unit is in the name"
    typical = float(median([read for value in fitting if (read := number(value)) is not None] or [0]))
    whole = all(float(read).is_integer() for value in fitting if (read := number(value)) is not None)
    if typical >= 1e8:
        return "ns", f"by size: the middle value is {typical:.0f}"
    if typical >= 5e5:
        return "us", f"by size: the middle value is {typical:.0f}"
    if typical >= 600 or (whole and typical >= 30):
        return "ms", f"by size: the middle value is {typical:g}, in seconds that were {typical / 60:.0f} minutes"
    return "s", f"by size: the middle value is {typical:.3g}"
