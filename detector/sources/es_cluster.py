"""A cluster: one call with back-off, errors in plain words with their remedy, and the differences between Elasticsearch and OpenSearch."""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from detector.errors import SourceError
from detector.sources.base import CouldNot
from detector.sources.es_connection import Connection, Flavour
from detector.sources.es_honesty import gaps
from detector.sources.es_wire import ONLY_ELASTICSEARCH, ElasticsearchWire, OpenSearchWire, Wire, WireError, probe, quoted

Json = Any
RETRIED = frozenset({"rejected", "unavailable", "connection", "not_json"})
ATTEMPTS = 5
FIRST_PAUSE_SECONDS = 0.5  # doubled each time; five attempts wait up to 7.5 s, which outlasts a full queue and a failover
LONGEST_PAUSE_SECONDS = 20.0
PIT_KEEP_ALIVE = "2m"
_REMEDIES = {
    "unauthorized": "set DETECTOR_ES_API_KEY, or DETECTOR_ES_USERNAME and DETECTOR_ES_PASSWORD, to credentials that the cluster knows",
    "forbidden": "grant the role `read` and `view_index_metadata` on the index (deploy/elasticsearch/role.json)",
    "missing": "check `source.index`; `detector doctor` lists what it matches",
    "rejected": "run less often or ask for a shorter window; the cluster has more work than it can do",
    "unavailable": "look at the cluster's health; nothing was judged",
    "timeout": "raise `source.timeout`, or ask for a shorter window",
    "connection": "check `source.url`, the network and the proxy",
    "tls": "give the authority's certificate as `source.tls.ca_file`, or the certificate's SHA-256 as `source.tls.fingerprint`",
    "not_json": "something in front of the cluster answers in its place (a login page, a proxy): give an address that leads to the cluster itself",
    "not_a_cluster": "give the address of Elasticsearch or OpenSearch itself, not that of Kibana or of a login page",
    "product": "let the proxy in front of the cluster pass the header X-Elastic-Product",
    "refused": "run `detector doctor`; if it finds nothing, report this with the type of the error",
}


class ClusterError(SourceError):
    """A request that stayed without a good answer.

    Args:
        kind: unauthorized, forbidden, missing, rejected, unavailable, timeout, connection, tls, not_json, not_a_cluster, product, refused.
        types: error types that the cluster named, outermost first.
    """

    def __init__(self, kind: str, why: str, *, status: int = 0, types: tuple[str, ...] = ()) -> None:
        self.kind, self.why, self.status, self.types = kind, why, status, types
        self.remedy = _REMEDIES.get(kind, _REMEDIES["refused"])
        super().__init__(f"{why}: {self.remedy}")

    def could_not(self, what: str) -> CouldNot:
        """The same as something that could not be looked at."""
        return CouldNot(what, self.why, self.remedy)


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
                failure = cluster_error(error, self.index)
                wait = _wait(error, attempt)
            if not retry or failure.kind not in RETRIED or attempt == ATTEMPTS:
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
        for gap in gaps(answer, what, self.flavour):
            if gap not in self.gaps:
                self.gaps.append(gap)
        return answer

    @contextlib.contextmanager
    def point_in_time(self) -> Iterator[list[str]]:
        """A consistent view of the index: a list whose only element is the newest id (answers may rename it). Always closed."""
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
            failure = cluster_error(error, index)
            if failure.kind not in ("rejected", "unavailable") or attempt == ATTEMPTS:
                raise failure from None
            pause(_wait(error, attempt))
    if flavour is None:
        raise ClusterError("not_a_cluster", f"{connection.shown} answers, but not as a search cluster: {why}")
    wire: Wire = ElasticsearchWire(connection) if flavour == "elasticsearch" else OpenSearchWire(connection)
    return Cluster(connection, index, wire, pause)


def cluster_error(error: WireError, index: str) -> ClusterError:
    """A wire's failure in plain words. Only statuses and error types of the answer are used: its texts may hold parts of documents."""
    if error.kind == "timeout":
        return ClusterError("timeout", "no answer within the time limit")
    if error.kind == "connection":
        return ClusterError("connection", f"no connection ({error.detail})")
    if error.kind == "tls":
        return ClusterError("tls", f"the cluster's certificate is not trusted ({error.detail})")
    if error.kind == "product":
        return ClusterError("product", "the answer does not name its product, which Elasticsearch always does: something in between strips its headers")
    if error.kind == "not_json":
        return ClusterError("not_json", "the answer is no JSON, or cut off")
    types = tuple(_types(error.body))
    named = f"HTTP {error.status}{', ' + types[0] if types else ''}"
    kinds = {401: "unauthorized", 403: "forbidden", 404: "missing", 408: "timeout", 429: "rejected", 502: "unavailable", 503: "unavailable", 504: "unavailable"}
    kind = kinds.get(error.status, "refused")
    words = {
        "unauthorized": f"the cluster does not accept the credentials ({named})",
        "forbidden": f"these credentials may not read {index} ({named})",
        "missing": f"there is no index {index} ({named})" if "index_not_found_exception" in types or not types else f"something asked for is gone ({named})",
        "rejected": f"the cluster is overloaded ({named})",
        "unavailable": f"the cluster is not available ({named})",
        "timeout": f"the cluster gave up waiting ({named})",
    }
    return ClusterError(kind, words.get(kind, f"the cluster refused a request ({named})"), status=error.status, types=types)


def _types(body: Json) -> Iterator[str]:
    """Error types of an answer, outermost first: fixed words of the server, never text of documents."""
    error = body.get("error") if isinstance(body, dict) else None
    depth = 0
    while isinstance(error, dict) and depth < 8:
        if isinstance(error.get("type"), str):
            yield error["type"][:80]
        for cause in error.get("root_cause") or ():
            if isinstance(cause, dict) and isinstance(cause.get("type"), str):
                yield cause["type"][:80]
        error, depth = error.get("caused_by"), depth + 1


def _wait(error: WireError, attempt: int) -> float:
    """Seconds before the next attempt: what the server asks for, else doubling with jitter."""
    asked = next((value for name, value in error.headers.items() if name.lower() == "retry-after"), "")
    if str(asked).isdigit():
        return min(float(str(asked)), LONGEST_PAUSE_SECONDS)
    pause: float = FIRST_PAUSE_SECONDS * 2 ** (attempt - 1)
    return pause * (0.75 + random.random() / 2)  # noqa: S311 (spreads retries; no secret)
