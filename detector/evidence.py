"""Evidence: what is known about the flagged requests of one minute, series and signal, with a few examples and no text."""

from __future__ import annotations

from dataclasses import dataclass, field

EXAMPLES_KEPT = 5


@dataclass(frozen=True, order=True)
class Example:
    """One flagged request: enough to find it again, and no text of it."""

    timestamp: float
    request_id: str
    subtype: str
    reason: str = ""
    doc_index: str = ""
    doc_id: str = ""


@dataclass
class Evidence:
    """What is known about the flagged requests of one minute, series and signal."""

    subtypes: dict[str, int] = field(default_factory=dict)
    also: dict[str, int] = field(default_factory=dict)  # other signal -> how many of these requests it flags too
    examples: list[Example] = field(default_factory=list)
    first: float = float("inf")
    last: float = float("-inf")

    def add(self, other: Evidence) -> None:
        """Fold another partition's evidence in; the earliest examples stay."""
        for subtype, count in other.subtypes.items():
            self.subtypes[subtype] = self.subtypes.get(subtype, 0) + count
        for signal, count in other.also.items():
            self.also[signal] = self.also.get(signal, 0) + count
        self.examples = sorted({*self.examples, *other.examples})[:EXAMPLES_KEPT]
        self.first, self.last = min(self.first, other.first), max(self.last, other.last)
