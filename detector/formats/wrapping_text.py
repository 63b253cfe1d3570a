"""Prefixes that shippers and terminals put in front of a log line: colours, compose names, container runtime columns, syslog and journal heads, times.

Sources: containerd CRI log format (`time stream P|F text`), docker compose, kubectl and docker `--timestamps`, RFC 3164 and RFC 5424, Fluentd stdout, logcli.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from detector.formats.values import instant
from detector.formats.wrapping_metadata import labels

_ROUNDS = 6  # prefixes on one line; real ones have up to three
_COLOUR = re.compile(r"(?:\x1b|#033|\\u001b|\\x1b|\^\[)\[[0-9;]*[mK]|^\[[0-9;]{1,8}m")
_BARE_COLOUR = re.compile(r"\[[0-9;]{1,8}m")  # the escape character itself was lost
_HEAD = 300
_COLOUR_MARKS = ("#033[", "\\u001b[", "\\x1b[", "^[[")
_ISO = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})? ?(?:Z|[+-]\d\d:?\d\d)"
_CRI = re.compile(rf"({_ISO}) (stdout|stderr) ([PF])(?::[\w.]+)? ?")
_COMPOSE = re.compile(r"([A-Za-z0-9][\w.@-]{0,120}) *\| ?")
_KUBECTL = re.compile(r"\[pod/([^/\]\s]+)/[^\]\s]+\] ")
_COLUMNS = re.compile(rf"\d{{10,19}}[\t ]+({_ISO})[\t ]+")
_TIME = re.compile(rf"({_ISO})[\t ]+")
_LABELS = re.compile(r'\{((?:[A-Za-z_]\w*="(?:[^"\\]|\\.)*"(?:, ?)?)+)\}[\t ]+')
_LABEL = re.compile(r'([A-Za-z_]\w*)="((?:[^"\\]|\\.)*)"')
_SYSLOG = re.compile(r"(?:<\d{1,3}>)?[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d [\w.:-]+ [\w./@-]+(?:\[\d+\])?: ")
_SYSLOG5424 = re.compile(rf"<\d{{1,3}}>1 ({_ISO}|-) \S+ \S+ \S+ \S+ (?:-|\[[^\]]*\]) ")
_HOST_PROCESS = re.compile(r"[\w.-]+ [\w./@-]+\[\d+\]: ")


_OF_FIRST: dict[str, tuple[re.Pattern[str], ...]] = {"<": (_SYSLOG5424, _SYSLOG), "{": (_LABELS,)}
_OF_DIGIT = (_COLUMNS, _TIME, _COMPOSE)
_OF_LETTER = (_SYSLOG, _COMPOSE)


@dataclass
class Line:
    """A log line without its prefixes; `part`: this is a piece of a longer line (True: more follows, False: the last one, None: whole or not known)."""

    text: str
    envelope: dict[str, Any] = field(default_factory=dict)
    part: bool | None = None
    stream: str = ""


def strip_prefixes(line: str, recognised: Callable[[str], object]) -> Line:
    """Take off what shippers put in front; stops as soon as a format recognises what is left, because producers write times in front as well."""
    coloured = "\x1b[" in line or (line[:1] == "[" and _BARE_COLOUR.match(line)) or any(mark in line[:_HEAD] for mark in _COLOUR_MARKS)
    found = Line(_COLOUR.sub("", line) if coloured else line)
    for _ in range(_ROUNDS):
        text = found.text
        if text[:1] == "(":  # a process name: the producer's own
            return found
        if text[:1] in "{[" and text[-1:] in "}]" and not _KUBECTL.match(text):  # JSON, not a prefix
            return found
        if not _one_prefix(found, recognised) or found.part is not None:  # what follows in a piece may be the middle of a line
            return found
    return found


def _one_prefix(line: Line, recognised: Callable[[str], object]) -> bool:
    text = line.text
    match = _CRI.match(text) if text[:1].isdigit() else None
    if match:
        _at(line, match[1])
        line.stream, line.part = match[2], match[3] == "P"
        line.text = text[match.end() :]
        return True
    match = _KUBECTL.match(text) if text[:1] == "[" else None
    if match:
        line.envelope.setdefault("pod", match[1])
        line.text = text[match.end() :]
        return True
    for pattern in _OF_FIRST.get(text[:1]) or (_OF_DIGIT if text[:1].isdigit() else _OF_LETTER):
        match = pattern.match(text)
        if match is None:
            continue
        rest = text[match.end() :]
        if recognised(text) and not recognised(rest):  # the producer's own
            return False
        if pattern is _LABELS:
            for column, value in labels(dict(_LABEL.findall(match[1]))).items():
                line.envelope.setdefault(column, value)
        elif pattern is _COMPOSE:
            line.envelope.setdefault("pod", match[1])
        elif pattern is not _SYSLOG:  # which has no year and gives no time
            _at(line, match[1])
            host = _HOST_PROCESS.match(rest)
            rest = rest[host.end() :] if host else rest
        line.text = rest
        return True
    return False


def _at(line: Line, written: str) -> None:
    moment = instant(written.replace(" ", "T", 1).replace(" ", "")) if written != "-" else None
    if moment is not None:
        line.envelope.setdefault("timestamp", moment)
