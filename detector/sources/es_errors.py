"""What went wrong with a request, in words for somebody who was just woken up: what, where, and what to do about it.

Only statuses, error types and fixed phrases of an answer are used: its texts may hold parts of documents. Of names that it gives back, only those are
repeated that stand in the configured index pattern.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from detector.errors import SourceError
from detector.network_causes import CLOSED, EXPIRED, NO_CONNECT, NOT_TLS, OTHER_NAME
from detector.sources.base import CouldNot
from detector.sources.es_connection import Connection
from detector.sources.es_honesty import SOURCELESS, SOURCELESS_REMEDY
from detector.sources.es_pattern import parts, remotes
from detector.sources.es_wire import WireError

Json = Any
_REMEDIES = {
    "unauthorized": "set DETECTOR_ES_API_KEY, or DETECTOR_ES_USERNAME and DETECTOR_ES_PASSWORD, to credentials that the cluster knows",
    "forbidden": "grant the role `read` and `view_index_metadata` on the index (deploy/elasticsearch/role.json)",
    "missing": "check `source.index`; `detector doctor` lists the indices that these credentials see",
    "rejected": "run less often or ask for a shorter window; the cluster has more work than it can do",
    "unavailable": "look at the cluster's health; nothing was judged",
    "remote": "look at `GET _remote/info` on the cluster that is asked (is the remote up, its transport port open?), or leave it out of `source.index`",
    "timeout": "raise `source.timeout`, or ask for a shorter window",
    "connection": "check `source.url`, the network and the proxy",
    "tls": "give the authority's certificate as `source.tls.ca_file`, or the certificate's SHA-256 as `source.tls.fingerprint`",
    "not_json": "something in front of the cluster answers in its place (a login page, a proxy): give an address that leads to the cluster itself",
    "not_a_cluster": "give the address of Elasticsearch or OpenSearch itself, not that of Kibana or of a login page",
    "product": "let the proxy in front of the cluster pass the header X-Elastic-Product",
    "refused": "run `detector doctor`; if it finds nothing, report this with the type of the error",
}
_KINDS = {401: "unauthorized", 403: "forbidden", 404: "missing", 408: "timeout", 429: "rejected", 502: "unavailable", 503: "unavailable", 504: "unavailable"}
_UNREACHED = frozenset({"connect_transport_exception", "no_seed_node_left_exception", "node_disconnected_exception", "node_not_connected_exception"})
_NO_REMOTE = "no_such_remote_cluster_exception"
_NEW_KEY = "create a new one (POST _security/api_key with deploy/elasticsearch/api-key.json) and set DETECTOR_ES_API_KEY to it"
_BRACKETED = re.compile(r"\[([A-Za-z0-9_.-]{1,80})\]")
_KEY_FAULTS = {"api key is expired": "has expired", "has been invalidated": "was revoked", "unable to find apikey": "is not known to this cluster"}


class ClusterError(SourceError):
    """A request that stayed without a good answer.

    Args:
        kind: unauthorized, forbidden, missing, rejected, unavailable, remote, timeout, connection, tls, not_json, not_a_cluster, product, refused.
        types: error types that the cluster named, outermost first.
        remedy: what to do, where the kind's own remedy does not fit.
    """

    def __init__(self, kind: str, why: str, *, status: int = 0, types: tuple[str, ...] = (), remedy: str | None = None) -> None:
        super().__init__(why, remedy or _REMEDIES.get(kind, _REMEDIES["refused"]))
        self.kind, self.status, self.types = kind, status, types
        self.args = (kind, why)  # what it is made of anew in another process

    def __str__(self) -> str:
        return f"{self.why}: {self.remedy}"

    def could_not(self, what: str) -> CouldNot:
        """The same as something that could not be looked at."""
        return CouldNot(what, self.why, self.remedy)


def cluster_error(error: WireError, index: str, connection: Connection) -> ClusterError:
    """A wire's failure in plain words."""
    where, route = connection.shown, connection.route
    if error.kind == "timeout":
        seconds = f"{connection.timeout_seconds:g} s"
        if error.detail == NO_CONNECT:
            return ClusterError("timeout", f"no connection to {route} within {seconds}", remedy=_REMEDIES["connection"])
        return ClusterError("timeout", f"no answer from {route} within {seconds}")
    if error.kind == "connection":
        plain = error.detail == CLOSED and any(url.startswith("http:") for url in connection.urls)
        remedy = "check `source.url`: a port that speaks TLS does this to http://, and needs https://" if plain else None
        return ClusterError("connection", f"no connection to {route} ({error.detail})", remedy=remedy)
    if error.kind == "tls":
        return _tls(where, error.detail)
    if error.kind == "product":
        why = f"the answer of {where} does not name its product, which Elasticsearch always does: something in between strips its headers"
        return ClusterError("product", why)
    if error.kind == "not_json":
        return ClusterError("not_json", f"the answer of {where} is no JSON, or cut off")
    return _refusal(error, index, connection)


def _tls(where: str, detail: str) -> ClusterError:
    if detail == NOT_TLS:
        return ClusterError("connection", f"{where}: {NOT_TLS}", remedy="write http:// in `source.url`, or give the port that speaks TLS")
    remedies = {EXPIRED: "renew the cluster's certificate", OTHER_NAME: "write the address in `source.url` with the name that the certificate was made for"}
    return ClusterError("tls", f"the certificate of {where} is not trusted ({detail})", remedy=remedies.get(detail))


def _refusal(error: WireError, index: str, connection: Connection) -> ClusterError:
    """An answer with a status that is no success."""
    types = tuple(_types(error.body))
    named = f"HTTP {error.status}{', ' + types[0] if types else ''}"
    kind = _KINDS.get(error.status, "refused")
    remedy = None
    if _NO_REMOTE in types:
        kind, remedy = "remote", "check the name before the colon in `source.index`; `GET _remote/info` lists those that the cluster knows"
        why = f"the cluster knows no remote cluster {_remote(error.body, index)}"
    elif remotes(index) and (_UNREACHED.intersection(types) or ("illegal_state_exception" in types and "connections to remote cluster [" in _text(error.body))):
        kind, why = "remote", f"the remote cluster {_remote(error.body, index)} can't be reached"
    elif "index_closed_exception" in types:
        why, remedy = (
            f"the index {_culprit(error.body, index) or index} is closed",
            "open it, or leave it out of `source.index`; a pattern passes over closed indices",
        )
    elif SOURCELESS in _text(error.body):
        why, remedy = f"{index} keeps no documents, only what is indexed of them (_source is disabled in its mapping)", SOURCELESS_REMEDY
    elif types and types[0].startswith("invalid_"):  # invalid_index_name_exception, invalid_alias_name_exception
        why, remedy = f"{index} is no name or pattern of indices", "check `source.index`"
    elif isinstance(error.body, dict) and str(error.body.get("error")).startswith("no handler found for uri"):
        why, remedy = f"{connection.shown} knows no such path", "write `source.url` without what stands behind the port, unless the cluster lies behind a path"
    elif kind == "unauthorized":
        fault, remedy = _credentials(error.body, connection)
        why = f"{connection.shown} does not accept the credentials: {fault}"
    elif kind == "missing":
        why = _missing(error.body, types, index)
    else:
        words = {
            "forbidden": f"these credentials may not read {index}",
            "rejected": "the cluster is overloaded",
            "unavailable": "the cluster is not available",
            "timeout": "the cluster gave up waiting",
        }
        why = words.get(kind, "the cluster refused a request")
    return ClusterError(kind, f"{why} ({named})", status=error.status, types=types, remedy=remedy)


def _remote(body: Json, index: str) -> str:
    """The remote cluster that an error is about, as far as it says so: one that the pattern asks."""
    asked = remotes(index)
    named = [name for name in _BRACKETED.findall(_text(body)) if any(fnmatchcase(name, one) for one in asked)]
    return " or ".join(dict.fromkeys(named or asked))


def _credentials(body: Json, connection: Connection) -> tuple[str, str | None]:
    """What is wrong with them, and the remedy where it is a special one."""
    scheme = (connection.authorization or "").partition(" ")[0]
    if not scheme:
        return "none were given", None
    if scheme == "ApiKey":
        text = _text(body)
        known = next((words for phrase, words in _KEY_FAULTS.items() if phrase in text), None)
        return f"the API key {known or 'is wrong'}", _NEW_KEY if known else None
    return ("the bearer token is wrong or has expired" if scheme == "Bearer" else "user or password is wrong"), None


def _missing(body: Json, types: tuple[str, ...], index: str) -> str:
    if types and "index_not_found_exception" not in types:
        return "something asked for is gone"
    culprit = _culprit(body, index)
    return f"there is no index {index}" if culprit in (None, index) else f"there is no index {culprit}, which is part of {index}"


def _culprit(body: Json, index: str) -> str | None:
    """The part of the pattern that an error is about, if it says so."""
    error = body.get("error") if isinstance(body, dict) else None
    if not isinstance(error, dict):
        return None
    roots = error.get("root_cause")
    for one in (*(roots if isinstance(roots, list) else ()), error):
        name = one.get("index") if isinstance(one, dict) else None
        found = next((part for part in parts(index) if isinstance(name, str) and name in (part, part.partition(":")[2])), None)
        if found:
            return found
    return None


def _text(body: Json) -> str:
    """The whole answer, to look for fixed phrases and for our own words in it; never shown."""
    return json.dumps(body, default=str)


def _types(body: Json) -> Iterator[str]:
    """Error types of an answer, outermost first: fixed words of the server, never text of documents."""
    error = body.get("error") if isinstance(body, dict) else None
    depth = 0
    while isinstance(error, dict) and depth < 8:
        if isinstance(error.get("type"), str):
            yield error["type"][:80]
        for root in error.get("root_cause") or ():
            if isinstance(root, dict) and isinstance(root.get("type"), str):
                yield root["type"][:80]
        error, depth = error.get("caused_by"), depth + 1
