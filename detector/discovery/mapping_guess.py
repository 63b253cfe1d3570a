"""A mapping for documents of an unknown layout: which path holds which canonical column, in which unit, and why.

Names are hints and values decide: a path is only taken for a column when its values can be read as that column. Bodies in the API's shape are looked for
first, because they hold most columns. Nothing of the documents' text gets into a reason.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from statistics import median
from typing import Any

from detector.discovery.column_shapes import SELDOM, SHAPES, ColumnShape
from detector.formats.finish_reason import reason
from detector.formats.openai import is_body
from detector.formats.openai_stream import is_sse
from detector.formats.values import decoded, instant, number

_ENOUGH = 0.8  # share of values that must be readable as the column's type
_PRESENT = 0.02  # a path in fewer documents than this is no place of a column, except for errors
_DEPTH = 8
_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")  # of camelCase, snake_case and dotted names
_UNITS = {
    **dict.fromkeys(("ns", "nano", "nanos", "nanoseconds"), "ns"),
    **dict.fromkeys(("us", "usec", "micro", "micros", "microseconds"), "us"),
    **dict.fromkeys(("ms", "msec", "milli", "millis", "milliseconds"), "ms"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
}
_BY_WORDS, _BY_VALUES = 100, 1000  # ranks behind every name
_MOST_WORDS, _LONGEST_WORD = 20, 40  # reasons of one log: few, and short
_BY_SIZE = "by size"
NO_ZONE = " without a zone: read as UTC unless `timezone` says otherwise"


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
    return _as_its_neighbours(found)


def _bodies(documents: Sequence[dict[str, Any]]) -> list[Guess]:
    """Paths under which request, response and error bodies of the API stand, as objects, as JSON in a text, or as a recorded stream."""
    counts: dict[tuple[str, str], int] = {}
    for document in documents:
        seen: set[tuple[str, str]] = set()
        for path, node in _nodes(document, "", _DEPTH):
            kind = _body_kind(node)
            if kind is not None and _can_be_named(path):
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
    if is_body(value) and _answers(value):
        return "response"
    asks = isinstance(value.get("messages"), list) or ("prompt" in value and "model" in value)
    return "request" if asks and not value.keys() & {"response", "answer", "output"} else None


def _answers(body: dict[str, Any]) -> bool:
    """It holds an answer where the API puts one; other logs have a list `choices` too."""
    choices = body.get("choices")
    if isinstance(choices, list):
        return all(isinstance(choice, dict) and choice.keys() & {"message", "text", "delta"} for choice in choices)
    return body.get("object") == "response" or ("text" in body and "meta_info" in body) or "generated_text" in body or body.get("type") == "message"


def _nodes(node: Any, path: str, depth: int) -> Iterable[tuple[str, Any]]:
    yield path, node
    if isinstance(node, dict) and depth:
        for key, value in node.items():
            yield from _nodes(value, f"{path}.{key}" if path else key, depth - 1)
    elif isinstance(node, list) and depth and node and isinstance(node[0], dict) and path:
        yield from _nodes(node[0], f"{path}.0", depth - 1)


def _can_be_named(path: str) -> bool:
    """A configuration can hold this path: not blank, and no half of a surrogate pair, which YAML can't write."""
    return bool(path.strip()) and not any("\ud800" <= letter <= "\udfff" for letter in path)


def _leaves(documents: Sequence[dict[str, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for document in documents:
        for path, node in _nodes(document, "", _DEPTH):
            if node is not None and not isinstance(node, dict) and _can_be_named(path):
                found.setdefault(path, []).append(node)
    return found


def _best(rule: ColumnShape, values: dict[str, list[Any]], total: int, taken: set[str], inside: tuple[str, ...]) -> Guess | None:
    candidates = []
    for path, raw in values.items():
        if path in taken or path.startswith(inside) or (len(raw) / total < _PRESENT and rule.column not in SELDOM):
            continue
        rank = _rank(path, rule)
        if rank is None and rule.alone is None:
            continue
        fitting = [value for value in raw if rule.fits(value)]
        if len(fitting) / len(raw) < _ENOUGH or not _is_plausible(rule, fitting, rank):
            continue
        candidates.append((_BY_VALUES if rank is None else rank, path.count("."), -len(raw), path, fitting))
    if not candidates:
        return None
    rank, _, _, path, fitting = min(candidates, key=lambda entry: entry[:4])
    if rank == _BY_VALUES and len(candidates) > 1:
        return None  # several places look alike and no name tells them apart
    share = len(values[path]) / total
    seen = "by its values: no name tells" if rank == _BY_VALUES else ""
    if rule.kind in ("time", "duration"):
        unit, why = _time_unit(fitting) if rule.kind == "time" else _duration_unit(path, fitting)
        return Guess(rule.column, path, share, rule.kind, unit, "; ".join(filter(None, (seen, why))))
    return Guess(rule.column, path, share, rule.kind, None, seen, _words(fitting) if rule.kind == "word" else {})


def _rank(path: str, rule: ColumnShape) -> int | None:
    """How well a path names the column, by its last part, then by words of its last two; None: not at all. A unit behind the name does not count."""
    parts = [part for part in path.split(".") if not part.isdigit()] or [path]
    above = {word for part in parts[:-1] for word in _split(part)}
    if rule.column == "content" and above & rule.never:
        return None  # a turn of the question
    words = _split(parts[-1])
    bare = "".join(words[:-1] if len(words) > 1 and words[-1] in _UNITS else words)
    whole = re.sub(r"[^@a-z]", "", parts[-1].lower())
    pair = re.sub(r"[^@a-z]", "", "".join(parts[-2:]).lower())
    for rank, name in enumerate(rule.names):
        if name in (bare, whole, pair):
            return rank
    said = {*words, *(_split(parts[-2]) if len(parts) > 1 else ())}
    if not rule.words or said & rule.never or not all(said & wanted for wanted in rule.words) or not any(set(words) & wanted for wanted in rule.words):
        return None
    return _BY_WORDS + next(number for number, wanted in enumerate((set(words), said)) if all(wanted & one for one in rule.words))


def _split(name: str) -> list[str]:
    """The words of a name, in small letters."""
    return [word.lower() for word in _WORD.findall(name)]


def _is_plausible(rule: ColumnShape, fitting: Sequence[Any], rank: int | None) -> bool:
    if rank is None:
        return rule.alone is not None and rule.alone(fitting)
    if rank >= _BY_WORDS and rule.column == "content":
        return median(len(value) for value in fitting) >= 8
    if rule.column == "finish_reason":
        known = sum(reason(value).canonical != "unknown" or _meant(str(value)) is not None for value in fitting)
        return known / len(fitting) >= 0.5 and len({str(value) for value in fitting}) <= _MOST_WORDS
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
    return {word: _meant(word) or "unknown" for word in unknown if len(word) <= _LONGEST_WORD and _can_be_named(word)}


def _meant(word: str) -> str | None:
    return next((meant for pattern, meant in _MEANT if pattern.search(word)), None) if len(word) <= _LONGEST_WORD else None


def _time_unit(fitting: Sequence[Any]) -> tuple[str | None, str]:
    numbers = [read for value in fitting if (read := number(value)) is not None]
    if len(numbers) < len(fitting) / 2:
        naive = sum(instant(value) is None for value in fitting) > len(fitting) / 2
        return "iso8601", f"texts in ISO 8601{NO_ZONE if naive else ''}"
    typical = median(numbers)
    for limit, unit in ((1e11, "s"), (1e14, "ms"), (1e17, "us"), (1e20, "ns")):
        if typical < limit:
            return unit, f"numbers of {len(str(int(typical)))} digits are {unit} since 1970"
    return None, ""


def _duration_unit(path: str, fitting: Sequence[Any]) -> tuple[str | None, str]:
    numbers = [float(read) for value in fitting if (read := number(value)) is not None]
    if len(numbers) < len(fitting) / 2:
        return None, "texts that bear their unit"
    for part in reversed(path.split(".")[-2:]):
        words = _split(part)
        if len(words) > (part == path.split(".")[-1]) and words[-1] in _UNITS:
            return _UNITS[words[-1]], "the unit is in the name"
    typical = median(numbers)
    whole = all(read.is_integer() for read in numbers)
    if typical >= 1e8:
        return "ns", f"{_BY_SIZE}: the middle value is {typical:.0f}"
    if typical >= 5e5:
        return "us", f"{_BY_SIZE}: the middle value is {typical:.0f}"
    if typical >= 600 or (whole and typical >= 30):
        return "ms", f"{_BY_SIZE}: the middle value is {typical:g}, in seconds that were {typical / 60:.0f} minutes"
    return "s", f"{_BY_SIZE}: the middle value is {typical:.3g}"


def _as_its_neighbours(found: list[Guess]) -> list[Guess]:
    """Short waits look like seconds whatever their unit is: beside a whole duration they are written in its unit."""
    whole = next((entry for entry in found if entry.column == "latency_seconds" and entry.unit), None)
    if whole is None:
        return found
    beside = whole.path.rpartition(".")[0]
    return [
        replace(entry, unit=whole.unit, why=f"as {whole.path} beside it")
        if entry is not whole and entry.kind == "duration" and entry.why.startswith(_BY_SIZE) and entry.path.rpartition(".")[0] == beside
        else entry
        for entry in found
    ]
