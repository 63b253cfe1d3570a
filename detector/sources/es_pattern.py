"""Index patterns as people write them: `llm-*,-llm-old*,tokyo:llm-*,<llm-{now/d}>`."""

from __future__ import annotations

import re

_PART = re.compile(r"(?:<[^>]*>|[^,<])+")  # date math may hold commas
_REMOTE = re.compile(r"^-?([^:<]+):(?!:)")  # a::failures is a selector, no cluster


def parts(index: str) -> list[str]:
    """The parts of a pattern."""
    return _PART.findall(index)


def remotes(index: str) -> list[str]:
    """Names (or patterns) of the remote clusters that a pattern asks."""
    found = (_REMOTE.match(part) for part in parts(index) if not part.startswith("-"))
    return list(dict.fromkeys(match[1] for match in found if match))


def local(index: str) -> list[str]:
    """The parts that are asked of the cluster itself, without exclusions."""
    return [part for part in parts(index) if not part.startswith("-") and not _REMOTE.match(part)]


def cluster_of(name: str) -> str:
    """The remote cluster of an index as answers name it; "" for one of the cluster's own."""
    match = _REMOTE.match(name)
    return match[1] if match else ""
