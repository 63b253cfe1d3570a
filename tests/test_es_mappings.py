"""Mappings that differ from index to index, and objects mapped as nested: what a query would pass over in silence is read, or said to be a sample."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from detector.observation import Observation, observe
from detector.signals.base import SignalOptions, Where, signals
from detector.sources.elasticsearch import ClusterSource
from detector.sources.es_cluster import open_cluster
from detector.sources.es_columns import Column
from detector.sources.es_connection import Connection
from detector.sources.es_fields import read_fields
from detector.sources.es_query import ALL, Translator
from detector.sources.files import Files
from tests.es_index import WINDOW, create_mapped, fill, own, source
from tests.fault_proxy import Answer, Asked, fault_proxy
from tests.llm_log import documents
from tests.nodes.nodes import Node

FEW = 300  # documents that may be read of 1,200: everything that can be counted is counted
_TIME = {"@timestamp": {"type": "date"}}
_WORD = {"type": "keyword"}


def _typed(**properties: Any) -> dict[str, Any]:
    return {"properties": {**_TIME, **properties}}


_LABELLED = _typed(deployment=_WORD, pod=_WORD)
_NESTED = _typed(deployment=_WORD, pod=_WORD, response={"properties": {"choices": {"type": "nested"}}})
# mappings of the first and of the second half of the log
PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nested choices": (_NESTED, _NESTED),
    "labels as keyword, then as text with keyword": (_LABELLED, _typed()),
    "labels as text with keyword, then as keyword": (_typed(), _LABELLED),
    "labels as text, then as text with keyword": (_typed(deployment={"type": "text"}, pod={"type": "text"}), _typed()),
    "all mapped, then labels only": (_LABELLED, {"dynamic": False, **_LABELLED}),
    "all mapped, then the time only": (_typed(), {"dynamic": False, **_typed()}),
    "all mapped, then a response that is not indexed": (_typed(), _typed(response={"type": "object", "enabled": False})),
    "status as float, then as long": (_typed(status={"type": "float"}), _typed(status={"type": "long"})),
    "token counts as words": (
        _typed(response={"properties": {"usage": {"properties": {"completion_tokens": _WORD}}}}),
        _typed(response={"properties": {"usage": {"properties": {"completion_tokens": _WORD}}}}),
    ),
}


def _log() -> list[dict[str, Any]]:
    """Healthy answers and, in the second half, so few failures that a sample of 200 may hold none of them."""
    healthy = [
        document
        for document in documents(1600, seed=5)
        if "</think>" not in json.dumps(document) and ((document["response"] or {}).get("choices") or [{}])[0].get("finish_reason") == "stop"
    ]
    log = copy.deepcopy(healthy[:1200])
    for number in (700, 710):
        log[number]["response"]["choices"][0]["message"]["content"] = "Hier ist </think> die Antwort."
    for number in (720, 721, 722):
        log[number]["response"]["choices"][0]["finish_reason"] = "length"
        log[number]["response"]["usage"]["completion_tokens"] = log[number]["request"]["max_tokens"]
    for number in (1100, 1101):  # at the cap, where the reason is not known
        log[number]["response"]["choices"][0]["finish_reason"] = None
        log[number]["response"]["usage"]["completion_tokens"] = log[number]["request"]["max_tokens"]
    return log


LOG = _log()


def _rows(seen: Observation, name: str) -> list[tuple[object, ...]]:
    return [row for row in seen.ledger.rows() if row[2].partition("/")[0] == name]


@pytest.mark.parametrize("pair", PAIRS)
def test_what_an_index_does_not_map_is_not_passed_over(node: Node, pair: str, tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(document, ensure_ascii=False) + "\n" for document in LOG), encoding="utf-8")
    by_file = observe(Files([str(path)]), signals(), SignalOptions())
    number = list(PAIRS).index(pair)
    first, second = own(f"llm-differ-{number}-first"), own(f"llm-differ-{number}-second")
    for index, mapping in zip((first, second), PAIRS[pair], strict=True):
        create_mapped(node, index, mapping)
    assert fill(node, first, LOG[:600]) == []
    assert fill(node, second, LOG[600:], first=600) == []

    counted = observe(source(node, f"{first},{second}", read_at_most=FEW), signals(), SignalOptions())
    said = " ".join(entry.what for entry in counted.tally.could_not)
    unsaid = {name for name in signals() if _rows(counted, name) != _rows(by_file, name) and name not in said}
    assert not unsaid, f"{unsaid} differ from the file, and nothing says so"
    everything = observe(source(node, f"{first},{second}"), signals(), SignalOptions())
    assert all(_rows(everything, name) == _rows(by_file, name) for name in signals())


# -- without a node ------------------------------------------------------------------------------------------------------------------------------
def _caps(**fields: dict[str, Any]) -> dict[str, Any]:
    """A `_field_caps` answer over the indices a and b; a type is given as True, or as the indices that have it."""
    found = {}
    for name, types in fields.items():
        found[name.replace("__", ".")] = {
            word: {"type": word, "searchable": True, "aggregatable": word not in ("text", "unmapped"), **({} if where is True else {"indices": where})}
            for word, where in types.items()
        }
    return {"indices": ["a", "b"], "fields": found}


def test_a_field_that_an_index_lacks_is_asked_only_where_no_document_there_holds_it() -> None:
    fields = read_fields(_caps(error={"keyword": ["a"], "unmapped": ["b"]}, status={"long": True}))
    assert fields.seen_in([("a", ["error", "status"]), ("b", ["status"])]).exact("error") is not None  # dynamic mapping: b has no document with it
    hidden = fields.seen_in([("a", ["error", "status"]), ("b", ["error", "status"])])
    assert hidden.exact("error") is None
    assert hidden.countable("error") is None
    assert not hidden.tells("error")
    assert hidden.countable("status") is not None


def test_a_multi_field_of_a_later_template_is_not_counted_by() -> None:
    fields = read_fields(_caps(pod={"text": True}, pod__keyword={"keyword": ["b"], "unmapped": ["a"]}))
    assert fields.countable("pod") is not None
    hidden = fields.seen_in([("a", ["pod"])])
    assert hidden.countable("pod") is None
    assert hidden.at("pod").kind == "text"


def test_fields_of_nested_objects_are_not_asked() -> None:
    fields = read_fields(_caps(choices={"nested": True}, choices__content={"text": True}, choices__content__keyword={"keyword": True}))
    assert fields.exact("choices.content") is None
    assert not fields.tells("choices")


def test_an_object_tells_only_if_all_below_it_do() -> None:
    fields = read_fields(_caps(error={"object": True}, error__type={"keyword": True}, error__text={"text": ["a"], "unmapped": ["b"]}))
    assert fields.tells("error")
    assert not fields.seen_in([("b", ["error.text"])]).tells("error")


def test_a_flattened_object_that_another_index_does_not_map() -> None:
    fields = read_fields(_caps(response={"flattened": ["a"], "unmapped": ["b"]}))
    assert fields.exact("response.id") is not None
    assert fields.seen_in([("b", ["response.id"])]).exact("response.id") is None


def test_types_that_no_cluster_groups_by_together() -> None:
    fields = read_fields(_caps(status={"long": ["a"], "float": ["b"]}, code={"long": ["a"], "short": ["b"]}, host={"ip": ["a"], "keyword": ["b"]}))
    assert fields.countable("status") is None
    assert fields.countable("host") is None
    assert fields.countable("code") is not None


def test_a_cluster_that_refuses_to_count_is_read(node: Node) -> None:
    """Whatever it refuses: documents can be read, and why nothing is counted is said."""
    index = own("llm-refusing")
    create_mapped(node, index, _typed())
    assert fill(node, index, LOG[:400]) == []

    def refuse(asked: Asked, _: Callable[[], Answer]) -> Answer | None:
        if b"composite" not in asked.body:
            return None
        return Answer(500, {"content-type": "application/json"}, b'{"error": {"type": "class_cast_exception", "reason": "x"}, "status": 500}')

    with fault_proxy(node.url) as proxy:
        proxy.faults.append(refuse)
        reading = ClusterSource(lambda: open_cluster(Connection(urls=(proxy.url,)), index, lambda _: None), window=WINDOW, read_at_most=FEW)
        seen = observe(reading, signals(), SignalOptions())
    assert seen.tally.requests > 0
    assert any("the cluster refuses to count (class_cast_exception)" in entry.why for entry in seen.tally.could_not)


def test_words_are_not_compared_as_numbers() -> None:
    columns = {name: Column(name, "field", (name,), values={"900": frozenset([900])}) for name in ("completion_tokens", "max_tokens")}
    fields = read_fields(_caps(completion_tokens={"keyword": True}, max_tokens={"long": True}))
    asked = Translator(columns, fields, {"max_tokens": [1024]}).condition(Where("completion_tokens", "gte_column", "max_tokens"))
    assert asked == ALL
