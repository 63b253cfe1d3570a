"""CloudEvents as text blocks, the way the event display of Knative prints them: cloud symbol, indented attributes, then the data.

Source: KServe documentation "Inference Logger" (message dumper); knative event_display.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from detector.formats.values import decoded

BLOCK_START = re.compile(r"\s*(?:\u2601\ufe0f?)?\s*cloudevents\.Event\s*$")
_SECTION = re.compile(r"(Context Attributes|Extensions|Data(?: \(binary\))?),?\s*$")
_ATTRIBUTE = re.compile(r"\s*([A-Za-z][\w-]*): ?(.*)$")


def cloud_event(lines: Sequence[str]) -> dict[str, Any] | None:
    """The event as an object with its attributes at the top and `data` decoded if it is JSON; None if the block holds no event type."""
    event: dict[str, Any] = {}
    section = ""
    data: list[str] = []
    for line in lines:
        named = _SECTION.fullmatch(line.strip())
        if named and not section.startswith("Data"):
            section = named[1]
        elif section.startswith("Data"):
            data.append(line)
        elif section:
            attribute = _ATTRIBUTE.match(line)
            if attribute:
                event[attribute[1]] = attribute[2].strip()
    if "type" not in event:
        return None
    text = "\n".join(line[2:] if line.startswith("  ") else line for line in data).strip()
    event["data"] = decoded(text) if text else None
    return event
