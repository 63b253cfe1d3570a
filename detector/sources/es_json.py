"""Answers of a cluster as Python values. The documents of a page can stay bytes, so that the fast path reads them without a dict for each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import msgspec
import orjson

_raw_sources: ContextVar[bool] = ContextVar("raw_sources", default=False)


_NOTHING = msgspec.Raw(b"null")


class _Hit(msgspec.Struct, gc=False):
    index: str | None = msgspec.field(name="_index", default=None)
    doc_id: str | None = msgspec.field(name="_id", default=None)
    source: msgspec.Raw = msgspec.field(name="_source", default=_NOTHING)
    sort: Any = None


class _Hits(msgspec.Struct, gc=False):
    hits: list[_Hit]
    total: Any = None


class _Page(msgspec.Struct, gc=False):
    hits: _Hits
    timed_out: Any = None
    terminated_early: Any = None
    pit_id: Any = None
    shards: Any = msgspec.field(name="_shards", default=None)
    clusters: Any = msgspec.field(name="_clusters", default=None)


_PAGE = msgspec.json.Decoder(_Page)


@contextmanager
def raw_sources() -> Iterator[None]:
    """Within this, answers to searches keep each hit's `_source` as `msgspec.Raw` (bytes of JSON)."""
    token = _raw_sources.set(True)
    try:
        yield
    finally:
        _raw_sources.reset(token)


def answer_of(data: bytes) -> Any:
    """The value of an answer. Raises ValueError when it is no JSON."""
    if _raw_sources.get():
        try:
            return _as_dict(_PAGE.decode(data))
        except msgspec.MsgspecError:
            pass  # an error, or no answer to a search
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)  # takes what orjson refuses: lone surrogates, as half an emoji in somebody's answer


def source_of(hit: Any) -> Any:
    """The document of a hit, whether it was decoded with its page or kept as bytes."""
    source = hit.get("_source")
    return answer_of(bytes(source)) if isinstance(source, msgspec.Raw) else source


def _as_dict(page: _Page) -> dict[str, Any]:
    hits = [{"_index": hit.index, "_id": hit.doc_id, "_source": hit.source, "sort": hit.sort} for hit in page.hits.hits]
    beside = {
        "timed_out": page.timed_out,
        "terminated_early": page.terminated_early,
        "pit_id": page.pit_id,
        "_shards": page.shards,
        "_clusters": page.clusters,
    }
    return {"hits": {"hits": hits, "total": page.hits.total}, **{name: value for name, value in beside.items() if value is not None}}
