"""A cluster: one call with back-off, errors in plain words with their remedy, and the differences between Elasticsearch and OpenSearch."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from detector.errors import SourceError
from detector.sources.base import CouldNot
from detector.sources.es_connection import Connection, Flavour
from detector.sources.es_errors import ClusterError as ClusterError  # raised here, so it is to be had here
from detector.sources.es_errors import cluster_error
from detector.sources.es_honesty import Remotes, gaps
from detector.sources.es_pattern import remotes
from detector.sources.es_wire import ONLY_ELASTICSEARCH, ElasticsearchWire, OpenSearchWire, Wire, WireError, probe, quoted

Json = Any
RETRIED = frozenset({"rejected", "unavailable", "remote", "connection", "not_json"})
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.5  # doubled each time; five attempts wait up to 7.5 s, which outlasts a full queue and a failover
LONGEST_PAUSE_SECONDS = 20.0
PIT_KEEP_ALIVE = "2m"


@dataclass
class Cluster:
    """An open connection. `pause` sleeps (given so that tests need not wait); `sent` counts requests, retries included."""

    connection: Connection
    index: str
    wire: Wire
    pause: Callable[[float], None] = time.sleep
    sent: int = 0
    retried: int = 0
    gaps: list[CouldNot] = field(default_factory=list)  # what answers so far lacked
    remotes: Remotes = field(default_factory=Remotes)

    @property
    def flavour(self) -> Flavour:
        return self.wire.flavour

    @property
    def path(self) -> str:
        """The index pattern as a path."""
        return "/" + quoted(self.index)

    def ask(self, method: str, path: str, body: Json = None, params: Mapping[str, str] | None = None, *, retry: bool = True) -> Json:
        """One request; waits and tries again where that can help. Raises ClusterError."""
        for attempt in range(1, ATTEMPTS + 1):
            self.sent += 1
            try:
                return self.wire.send(method, path, params or {}, body, self.connection.timeout_seconds)
            except WireError as error:
                failure = cluster_error(error, self.index, self.connection)
                wait = _wait(error, attempt)
            elsewhere = (
                failure.kind == "timeout" and not failure.status and attempt < len(self.connection.addresses)
            )  # a node that is silent is passed over then
            if not retry or not (failure.kind in RETRIED or elsewhere) or attempt == ATTEMPTS:
                raise failure
            self.retried += 1
            self.pause(wait)
        raise AssertionError("unreachable")

    def search(self, body: Json, *, what: str, pit: str | None = None, params: Mapping[str, str] | None = None) -> Json:
        """One search. Partial answers are asked for again as such and then noted in `gaps`: counts from them are never taken as complete.

        Raises:
            ClusterError: no answer at all.
        """
        path = "/_search" if pit is not None else f"{self.path}/_search"
        asked = dict(body, timeout=f"{max(1, int(self.connection.timeout_seconds * 0.8))}s")  # the cluster gives up first and says what it has
        if pit is not None:
            asked["pit"] = {"id": pit, "keep_alive": PIT_KEEP_ALIVE}
        query = {**(params or {}), **({} if pit is not None else {"ignore_unavailable": "false", "allow_no_indices": "true"})}
        try:
            answer = self.ask("POST", path, asked, {**query, "allow_partial_search_results": "false"})
        except ClusterError as error:
            if not ("search_phase_execution_exception" in error.types and error.kind in ("unavailable", "refused", "timeout")):
                raise
            answer = self.ask("POST", path, asked, {**query, "allow_partial_search_results": "true"})
        self.note(gaps(answer, what, self.flavour))
        if pit is None:
            self.remotes.seen(answer)
        else:
            self.note(self.remotes.absent(answer))
        return answer

    def note(self, gaps: Iterable[CouldNot]) -> None:
        """Keep what could not be seen, once."""
        self.gaps.extend(gap for gap in dict.fromkeys(gaps) if gap not in self.gaps)

    @contextlib.contextmanager
    def point_in_time(self) -> Iterator[list[str]]:
        """A consistent view of the index: a list whose only element is the newest id (answers may rename it). Always closed."""
        if remotes(self.index) and not self.remotes:  # who is there must be known, to notice who is not in the view
            self.search({"size": 0, "track_total_hits": False}, what=f"the documents of {self.index}")
        if self.flavour == "elasticsearch":
            opened = self.ask("POST", f"{self.path}/_pit", None, {"keep_alive": PIT_KEEP_ALIVE})["id"]
        else:
            opened = self.ask("POST", f"{self.path}/_search/point_in_time", None, {"keep_alive": PIT_KEEP_ALIVE})["pit_id"]
        current = [opened]
        try:
            yield current
        finally:
            with contextlib.suppress(SourceError):  # it may have expired; it would end by itself in two minutes anyway
                if self.flavour == "elasticsearch":
                    self.ask("DELETE", "/_pit", {"id": current[0]}, retry=False)
                else:
                    self.ask("DELETE", "/_search/point_in_time", {"pit_id": [current[0]]}, retry=False)

    def version(self) -> str | None:
        """The server's version where this user may ask for it; None otherwise. Nothing depends on it."""
        for path, read in (("/_nodes/_local", _node_version), ("/", _root_version)):
            with contextlib.suppress(SourceError, KeyError, TypeError, StopIteration):
                return read(self.ask("GET", path, retry=False))
        return None

    def close(self) -> None:
        self.wire.close()


def _node_version(answer: Json) -> str:
    return str(next(iter(answer["nodes"].values()))["version"])


def _root_version(answer: Json) -> str:
    return str(answer["version"]["number"])


def open_cluster(connection: Connection, index: str, pause: Callable[[float], None] = time.sleep) -> Cluster:
    """Find out what answers at an address and open its client. Raises ClusterError, ConfigError."""
    failure: ClusterError | None = None
    for attempt in range(1, ATTEMPTS + 1):
        try:
            flavour, why = probe(connection, f"/{quoted(index)}/_field_caps", {"fields": f"@timestamp,{ONLY_ELASTICSEARCH}", "allow_no_indices": "true"})
            break
        except WireError as error:
            failure = cluster_error(error, index, connection)
            if failure.kind not in ("rejected", "unavailable") or attempt == ATTEMPTS:
                raise failure from None
            pause(_wait(error, attempt))
    if flavour is None:
        raise ClusterError("not_a_cluster", f"{connection.shown} answers, but not as a search cluster: {why}")
    wire: Wire = ElasticsearchWire(connection) if flavour == "elasticsearch" else OpenSearchWire(connection)
    return Cluster(connection, index, wire, pause)


def _wait(error: WireError, attempt: int) -> float:
    """Seconds before the next attempt: what the server asks for, else doubling with jitter."""
    asked = next((value for name, value in error.headers.items() if name.lower() == "retry-after"), "")
    if str(asked).isdigit():
        return min(float(str(asked)), LONGEST_PAUSE_SECONDS)
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
    return pause * (0.75 + random.random() / 2)  # noqa: S311 (spreads retries; no secret)
