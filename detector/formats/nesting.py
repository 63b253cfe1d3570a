"""Objects put back together that a store took apart: dotted names at the top (search answers with `fields`, table exports), lists of objects as objects.

Elasticsearch's synthetic `_source` gives a list of objects as one object of lists, and a list of one as the object itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from detector.formats.values import decoded

_DEPTH = 12


def nested(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object with dotted names at its top turned into objects; as it is where there are none."""
    if not any("." in key for key in body):
        return body
    found: dict[str, Any] = {}
    for key, value in body.items():
        parts = key.split(".")
        if len(parts) == 1 or len(parts) > _DEPTH or not all(parts):
            found[key] = {**found[key], **value} if isinstance(found.get(key), dict) and isinstance(value, dict) else value
            continue
        node = found
        for part in parts[:-1]:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        node[parts[-1]] = value
    return found


def objects(value: Any) -> list[dict[str, Any]]:
    """A list of objects: as it is, from JSON in a text, or of the one object that is left of a list of one. Objects of lists are not taken apart."""
    value = decoded(value)
    if isinstance(value, dict):
        return [] if any(isinstance(inner, list) and len(inner) > 1 for inner in value.values()) else [value]
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []
