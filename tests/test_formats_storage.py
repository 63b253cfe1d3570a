"""Stores re-spell documents: nest what was dotted, flatten what was nested, sort keys, turn lists of one into the value. The records must stay the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.test_formats import FIXTURES, read, same

PRODUCERS = (
    *("otel-new", "otel-old", "openinference", "openllmetry", "langfuse", "ecs"),
    *("litellm", "litellm-spend", "kserve", "envoy", "higress", "kong", "apisix"),
)


def _documents(text: str) -> list[dict[str, Any]] | None:
    """The JSON objects of a log, one a line or one array; None where it is anything else."""
    try:
        found = json.loads(text)
        found = found if isinstance(found, list) else [found]
    except ValueError:
        try:
            found = [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return None
    return found if all(isinstance(entry, dict) for entry in found) else None


def nested(node: Any) -> Any:
    """Dotted keys as objects, at any depth (synthetic `_source`)."""
    if isinstance(node, list):
        return [nested(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    found: dict[str, Any] = {}
    for key, value in node.items():
        place, parts = found, key.split(".") if not key.startswith(".") else [key]
        for part in parts[:-1]:
            place = place.setdefault(part, {})
        inner = nested(value)
        if isinstance(place.get(parts[-1]), dict) and isinstance(inner, dict):
            place[parts[-1]].update(inner)
        else:
            place[parts[-1]] = inner
    return found


def flattened(node: dict[str, Any], start: str = "") -> dict[str, Any]:
    """Objects as dotted keys; lists stay (tables, answers with `fields`)."""
    found: dict[str, Any] = {}
    for key, value in node.items():
        if isinstance(value, dict) and value:
            found.update(flattened(value, f"{start}{key}."))
        else:
            found[f"{start}{key}"] = value
    return found


def without_lists_of_one(node: Any) -> Any:
    """A list of one plain value as the value."""
    if isinstance(node, dict):
        return {key: without_lists_of_one(value) for key, value in node.items()}
    return node[0] if isinstance(node, list) and len(node) == 1 and not isinstance(node[0], (dict, list)) else node


def by_name(node: Any) -> Any:
    return json.loads(json.dumps(node, sort_keys=True))


CASES = [
    (fixture, documents)
    for fixture in FIXTURES
    if fixture["producer"] in PRODUCERS and (documents := _documents(fixture["input"])) is not None and '"fields"' not in fixture["input"]
]
# Binary-mode events and Go's header map lose what belongs together when everything is flattened; Vector's events keep their body under a line's name.
NOT_FLAT = ("headers of a sink", "Go names, base64", "Vector's opentelemetry source")


@pytest.mark.parametrize("respelled", [nested, flattened, without_lists_of_one, by_name, lambda node: without_lists_of_one(nested(node))])
def test_records_do_not_depend_on_the_stores_spelling(respelled: Callable[[Any], Any]) -> None:
    assert len(CASES) > 100
    different = []
    for fixture, documents in CASES:
        if respelled is flattened and fixture["why"].startswith(NOT_FLAT):
            continue
        text = "".join(json.dumps(respelled(document), ensure_ascii=False) + "\n" for document in documents)
        records, _, _ = read({**fixture, "input": text})
        if len(records) != len(fixture["expect"]):
            different.append(f"{fixture['id']} ({fixture['why']}): {len(records)} records")
        for expected, record in zip(fixture["expect"], records, strict=False):
            different += [
                f"{fixture['id']} ({fixture['why']}): {column} {getattr(record, column)!r} instead of {value!r}"
                for column, value in expected.items()
                if column not in ("pod", "deployment") and not same(column, value, getattr(record, column))
            ]
    assert different == []
