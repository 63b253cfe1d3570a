"""YAML that a person wrote, with the line of every value: `read` gives plain data, `Fault`s and positions.

The YAML 1.2 core schema without its traps: `off`, `no`, `12:30` and dates stay text; duplicate keys, tabs, anchors, merge keys, tags and second
documents are faults that name their line. It must not know what the file is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from detector.errors import Fault

Loc = tuple[str | int, ...]  # where a value stands: keys and list indexes from the top

MAX_BYTES = 4 << 20  # nobody writes rules or settings of this size by hand: a log file was named by mistake
MAX_DEPTH = 40  # deeper than any file of ours; bounds what hostile nesting can cost

_NULL = re.compile(r"~|null|Null|NULL|")
_BOOL = re.compile(r"true|True|TRUE|false|False|FALSE")
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INFINITY = re.compile(r"([-+]?)\.(inf|Inf|INF)")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class YamlFile:
    """One parsed file: `data` (None when empty or unreadable), the 1-based line of every value, and what is wrong with the text itself."""

    path: str
    data: Any
    lines: Mapping[Loc, int]
    faults: tuple[Fault, ...] = ()

    def line(self, loc: Loc) -> int:
        """Line of a value, or of the nearest value around it when `loc` itself is not in the file (a missing key)."""
        for length in range(len(loc), -1, -1):
            if loc[:length] in self.lines:
                return self.lines[loc[:length]]
        return 1

    def fault(self, loc: Loc, reason: str) -> Fault:
        """A fault at a value."""
        return Fault(self.path, self.line(loc), dotted(loc), reason)


def dotted(loc: Loc) -> str:
    """`('tests', 0, 'name')` as people write it: `tests[0].name`; `(file)` for the whole file."""
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "(file)"


def read(path: Path) -> YamlFile:
    """Parse a file; a file that can't be opened or decoded gives a fault, never an exception."""
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        return _unreadable(str(path), 1, f"can't be read: {error.strerror or type(error).__name__}")
    if len(raw) > MAX_BYTES:
        return _unreadable(str(path), 1, f"is larger than {MAX_BYTES >> 20} MiB; is this really a file to be configured with?")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _unreadable(str(path), raw[: error.start].count(b"\n") + 1, "is not UTF-8 text")
    return parse(text, str(path))


def parse(text: str, path: str) -> YamlFile:
    """Parse YAML text; `path` is what faults call the file."""
    control = _CONTROL.search(text)
    if control:
        return _unreadable(path, text.count("\n", 0, control.start()) + 1, "holds a control character; is this a text file?")
    builder = _Builder(path)
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # libyaml is some ten times faster, where the wheel has it
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.YAMLError as error:
        builder.faults.append(_syntax_fault(error, text, path))
        return YamlFile(path, None, builder.lines, tuple(builder.faults))
    except _TooDeepError as error:
        return _unreadable(path, error.line, f"is nested deeper than {MAX_DEPTH} levels")
    return YamlFile(path, builder.data, builder.lines, tuple(builder.faults))


class _TooDeepError(Exception):
    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


def _unreadable(path: str, line: int, reason: str) -> YamlFile:
    return YamlFile(path, None, {(): line}, (Fault(path, line, "(file)", reason),))


def _syntax_fault(error: yaml.YAMLError, text: str, path: str) -> Fault:
    """A parser's complaint as one line; the commonest, a tab used as indentation, in plain words."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    lines = text.splitlines() or [""]
    line = min(mark.line + 1 if mark else 1, len(lines))  # a file that ends too early is wrong on its last line
    if "\t" in lines[line - 1][: len(lines[line - 1]) - len(lines[line - 1].lstrip())]:
        return Fault(path, line, "(file)", "a tab is used as indentation; YAML allows only spaces")
    problem = getattr(error, "problem", None) or "can't be parsed as YAML"
    context = getattr(error, "context", None)
    return Fault(path, line, "(file)", f"not valid YAML: {f'{context}, ' if context else ''}{problem}")


@dataclass
class _Frame:
    """An open mapping or list; `key` is the mapping key whose value comes next."""

    value: dict[str, Any] | list[Any]
    loc: Loc
    key: str | None = None
    skip: bool = False  # the next value belongs to a refused key


@dataclass
class _Builder:
    """Builds data from parser events with a stack of its own, so that depth is bounded by us and not by Python."""

    path: str
    data: Any = None
    lines: dict[Loc, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    stack: list[_Frame] = field(default_factory=list)
    documents: int = 0

    def take(self, event: yaml.Event) -> None:
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents == 2:
                self._fault(line, (), "holds a second YAML document (---); only the first is read")
        elif self.documents > 1 or isinstance(event, (yaml.StreamStartEvent, yaml.StreamEndEvent, yaml.DocumentEndEvent)):
            return
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            self.stack.pop()
        else:
            self._node(event, line)

    def _node(self, event: yaml.Event, line: int) -> None:
        if self._expects_key():
            self._key(event, line)
            return
        loc = self._place(line)
        if isinstance(event, yaml.AliasEvent):
            self._fault(line, loc, "aliases (*name) are not supported: write the value out")
            self._put(None)
            return
        if getattr(event, "anchor", None):
            self._fault(line, loc, "anchors (&name) are not supported: write the value out where it is used")
        if getattr(event, "tag", None) not in (None, "!"):
            self._fault(line, loc, f"the tag {event.tag} is not supported")  # type: ignore[attr-defined]  # nodes that are no alias have a tag
        if isinstance(event, yaml.ScalarEvent):
            self._put(self._scalar(event, line, loc))
            return
        container: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
        self._put(container)
        if len(self.stack) >= MAX_DEPTH:
            raise _TooDeepError(line)
        self.stack.append(_Frame(container, loc))

    def _expects_key(self) -> bool:
        return bool(self.stack) and isinstance(self.stack[-1].value, dict) and self.stack[-1].key is None and not self.stack[-1].skip

    def _key(self, event: yaml.Event, line: int) -> None:
        frame = self.stack[-1]
        if not isinstance(event, yaml.ScalarEvent):
            self._fault(line, frame.loc, "a key must be plain text")
            frame.skip = True
            if not isinstance(event, yaml.AliasEvent):  # its inside is read into a container that nobody keeps
                self.stack.append(_Frame([] if isinstance(event, yaml.SequenceStartEvent) else {}, frame.loc))
            return
        key = event.value
        assert isinstance(frame.value, dict)  # noqa: S101  # by _expects_key
        if key == "<<":
            self._fault(line, (*frame.loc, key), "merge keys (<<) are not supported: write the values out")
            frame.skip = True
        elif key in frame.value:
            first = self.lines.get((*frame.loc, key), line)
            self.faults.append(Fault(self.path, line, dotted((*frame.loc, key)), f"the key is given twice (first on line {first})"))
            frame.skip = True
        else:
            frame.key = key
            self.lines[(*frame.loc, key)] = line

    def _place(self, line: int) -> Loc:
        """Where the value that comes now stands."""
        if not self.stack:
            self.lines[()] = line
            return ()
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            loc: Loc = (*frame.loc, len(frame.value))
            self.lines.setdefault(loc, line)
            return loc
        return (*frame.loc, frame.key) if frame.key is not None else frame.loc

    def _put(self, value: Any) -> None:
        if not self.stack:
            self.data = value
            return
        frame = self.stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is not None:
            frame.value[frame.key] = value
            frame.key = None
        frame.skip = False

    def _scalar(self, event: yaml.ScalarEvent, line: int, loc: Loc) -> Any:
        text: str = event.value
        if event.style in ("'", '"', "|", ">") or event.tag == "!":
            return text
        if _NULL.fullmatch(text):
            return None
        if _BOOL.fullmatch(text):
            return text[0] in "tT"
        if _INT.fullmatch(text):
            return int(text)
        if _FLOAT.fullmatch(text):
            return float(text)
        infinity = _INFINITY.fullmatch(text)
        if infinity:
            return float(f"{infinity[1]}inf")
        if text in (".nan", ".NaN", ".NAN"):
            self._fault(line, loc, "not a number (.nan) is no value to work with")
            return None
        return text

    def _fault(self, line: int, loc: Loc, reason: str) -> None:
        self.faults.append(Fault(self.path, line, dotted(loc), reason))
