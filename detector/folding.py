"""Findings of one incident: those on one deployment that share enough of their requests get one key."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace

from detector.findings import Finding


def fold(findings: Sequence[Finding]) -> list[Finding]:
    """Give findings of one incident the same `incident` key: in the same place, and with at least half of the smaller one's requests in common.

    The key holds no numbers: the place (`Finding.place`) and the most important signal of the incident.
    """
    root = list(range(len(findings)))

    def find(i: int) -> int:
        while root[i] != i:
            i = root[i]
        return i

    for i, one in enumerate(findings):
        for j in range(i):
            other = findings[j]
            if one.place == other.place and (one.signal == other.signal or _overlap(one, other)):
                a, b = find(i), find(j)
                root[max(a, b)] = min(a, b)
    keys = {}
    for i, finding in enumerate(findings):
        head = find(i)
        if head == i:
            keys[i] = fingerprint(finding.place, finding.signal)
    return [replace(finding, incident=keys[find(i)]) for i, finding in enumerate(findings)]


def _overlap(one: Finding, other: Finding) -> bool:
    shared = max(one.also.get(other.signal, 0), other.also.get(one.signal, 0))
    return shared * 2 >= max(1, min(one.counts.flagged, other.counts.flagged)) and shared > 0


def fingerprint(place: str, signal: str) -> str:
    """The id of an incident that begins with this signal in this place (`Finding.place`): stable over runs and processes."""
    return hashlib.sha256(f"{place}\x1f{signal}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
