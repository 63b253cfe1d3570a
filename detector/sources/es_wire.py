"""The two clients behind one call: elasticsearch-py 8 for Elasticsearch 8 and 9, opensearch-py for OpenSearch; which one is found out.

Nothing here depends on `GET /`, which a role for reading logs may not call.
"""

from __future__ import annotations

import ssl
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import quote, unquote, urlencode, urlsplit

from detector.errors import ConfigError
from detector.network_causes import cause
from detector.sources.es_connection import Connection, Flavour, host_and_port
from detector.sources.es_json import answer_of

Json = Any
JSON_HEADERS = {"accept": "application/json", "content-type": "application/json"}
ONLY_ELASTICSEARCH = "_tier"  # a metadata field of every Elasticsearch index since 7.10
OPENSEARCH_INSTALL = 'this cluster is OpenSearch, and its client is not installed: pip install "llm-response-detector[opensearch]"'


@dataclass
class WireError(Exception):
    """A request that got no good answer, in words of neither client.

    `kind`: http, connection, timeout, tls, not_json, product. `status` and `body` are set for http.
    """

    kind: str
    status: int = 0
    body: Json = None
    headers: Mapping[str, str] = field(default_factory=dict)
    detail: str = ""


class Wire(Protocol):
    """Sends one request; no retry. Raises WireError."""

    flavour: Flavour

    def send(self, method: str, path: str, params: Mapping[str, str], body: Json, timeout: float) -> Json: ...

    def close(self) -> None: ...


def quoted(pattern: str) -> str:
    """An index pattern as one path segment; nothing in it can leave the segment."""
    return quote(pattern, safe="*,:-_.+<>")


class ElasticsearchWire:
    """elasticsearch-py 8.x: speaks with compatibility header 8, which servers 8 and 9 take."""

    flavour: Flavour = "elasticsearch"

    def __init__(self, connection: Connection) -> None:
        import elasticsearch

        self._errors = elasticsearch
        place: dict[str, Any] = {"cloud_id": connection.cloud_id} if connection.cloud_id else {"hosts": list(connection.addresses)}
        if connection.ca_file:
            place["ca_certs"] = connection.ca_file
        if connection.fingerprint:
            place["ssl_assert_fingerprint"] = connection.fingerprint
        if not connection.verify:
            place |= {"verify_certs": False, "ssl_show_warn": False}
        reader = _elasticsearch_json()
        self._client = elasticsearch.Elasticsearch(
            **place,
            serializers=dict.fromkeys(("application/json", "application/vnd.elasticsearch+json"), reader),
            headers={"authorization": connection.authorization} if connection.authorization else {},
            node_class=_proxy_node(connection),
            max_retries=0,
            retry_on_timeout=False,
            http_compress=True,
        )

    def send(self, method: str, path: str, params: Mapping[str, str], body: Json, timeout: float) -> Json:
        errors = self._errors
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", errors.ElasticsearchWarning)  # deprecation notes for the cluster's owner, one per request
                client = self._client.options(request_timeout=timeout)
                return client.perform_request(method, path, params=dict(params), headers=dict(JSON_HEADERS), body=body).body
        except errors.ApiError as error:
            if isinstance(error, errors.UnsupportedProductError):
                raise WireError("product" if "json" in (error.meta.mimetype or "") else "not_json") from error
            raise WireError("http", int(error.meta.status), error.body, dict(error.meta.headers)) from error
        except errors.SerializationError as error:
            raise WireError("not_json") from error
        except errors.ConnectionTimeout as error:
            raise WireError("timeout", detail=cause(error)) from error
        except errors.SSLError as error:
            raise WireError("tls", detail=cause(error)) from error
        except errors.ConnectionError as error:
            raise WireError("connection", detail=cause(error)) from error
        except errors.TransportError as error:
            raise WireError("not_json", detail=type(error).__name__) from error

    def close(self) -> None:
        self._client.close()


class OpenSearchWire:
    """opensearch-py. Raises ConfigError when it is not installed."""

    flavour: Flavour = "opensearch"

    def __init__(self, connection: Connection) -> None:
        try:
            import opensearchpy
        except ImportError:
            raise ConfigError(OPENSEARCH_INSTALL) from None
        self._errors = opensearchpy.exceptions
        if not connection.urls:
            raise ConfigError("source.cloud_id: names an Elastic Cloud deployment, but OpenSearch answers there; give url")
        settings: dict[str, Any] = {"headers": {"authorization": connection.authorization}} if connection.authorization else {}
        proxy = connection.proxy_for(connection.addresses[0])
        if proxy and connection.fingerprint:
            raise ConfigError("source.fingerprint: can't be checked through a proxy for OpenSearch; give ca_file")
        if proxy:
            settings |= {"connection_class": opensearchpy.RequestsHttpConnection, "proxies": {"http": proxy, "https": proxy}}
        if connection.fingerprint:
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # the fingerprint is checked in their place
            settings |= {"ssl_context": context, "ssl_assert_fingerprint": connection.fingerprint}
        elif connection.ca_file:
            settings["ca_certs"] = connection.ca_file
        if not connection.verify:
            settings |= {"verify_certs": False, "ssl_show_warn": False}
        self._client = opensearchpy.OpenSearch(
            hosts=list(connection.addresses),
            max_retries=0,
            retry_on_status=(),
            retry_on_timeout=True,  # with no retry: only so that the next request goes to another address
            http_compress=True,
            serializer=_opensearch_json(),
            **settings,
        )

    def send(self, method: str, path: str, params: Mapping[str, str], body: Json, timeout: float) -> Json:
        errors = self._errors
        try:
            answer = self._client.transport.perform_request(method, path, params=dict(params), body=body, timeout=timeout)
        except errors.ConnectionTimeout as error:
            raise WireError("timeout", detail=cause(error)) from error
        except errors.SSLError as error:
            raise WireError("tls", detail=cause(error)) from error
        except errors.ConnectionError as error:
            if isinstance(error.info, UnicodeDecodeError):  # an answer that was cut inside a character, which the client takes for a broken connection
                raise WireError("not_json") from error
            raise WireError("connection", detail=cause(error)) from error
        except errors.TransportError as error:
            status = error.status_code if isinstance(error.status_code, int) else 0
            raise WireError("http", status, error.info if isinstance(error.info, dict) else None) from error
        except errors.SerializationError as error:
            raise WireError("not_json") from error
        if isinstance(answer, str):
            raise WireError("not_json")
        return answer

    def close(self) -> None:
        self._client.close()


def probe(connection: Connection, path: str, params: Mapping[str, str]) -> tuple[Flavour | None, str]:
    """Which kind of cluster answers: (flavour, why not).

    Elasticsearch names itself in the header `X-Elastic-Product` of every answer since 7.14, refusals included, and its client insists on it. What answers
    JSON of a search engine without that header is taken as OpenSearch, unless it has a field that only Elasticsearch has: then something strips headers.

    Raises:
        WireError: nothing answers, or headers are stripped.
    """
    import elastic_transport

    if connection.flavour or connection.cloud_id:
        return connection.flavour or "elasticsearch", ""
    nodes = [_node_config(connection, url) for url in connection.addresses]
    headers = {"accept": "application/json"} | ({"authorization": connection.authorization} if connection.authorization else {})
    transport = elastic_transport.Transport(nodes, node_class=_proxy_node(connection), max_retries=len(nodes) - 1, retry_on_timeout=True)
    try:
        target = f"{path}?{urlencode(params)}"
        meta, body = transport.perform_request("GET", target, headers=headers, request_timeout=connection.timeout_seconds)
    except elastic_transport.ConnectionTimeout as error:
        raise WireError("timeout", detail=cause(error)) from error
    except elastic_transport.TlsError as error:
        raise WireError("tls", detail=cause(error)) from error
    except elastic_transport.ConnectionError as error:
        raise WireError("connection", detail=cause(error)) from error
    except elastic_transport.TransportError:
        return None, "the answer is not JSON"
    finally:
        transport.close()
    if meta.headers.get("x-elastic-product") == "Elasticsearch":
        return "elasticsearch", ""
    if meta.status in (401, 403, 429, 502, 503, 504):  # nobody gets further than this, or somebody in front answers for a cluster that does not
        raise WireError("http", meta.status, body if isinstance(body, dict) else None, dict(meta.headers))
    if isinstance(body, dict) and ONLY_ELASTICSEARCH in body.get("fields", {}):
        raise WireError("product")
    if isinstance(body, dict) and ("fields" in body or "_shards" in body or (isinstance(body.get("error"), (dict, str)) and "status" in body)):
        return "opensearch", ""
    return None, f"the answer (HTTP {meta.status}) is not that of a search engine"


def _elasticsearch_json() -> Any:
    """The client's reader of JSON, with ours in its place."""
    from elastic_transport import SerializationError
    from elasticsearch.serializer import JsonSerializer

    class Reader(JsonSerializer):
        def loads(self, data: bytes) -> Any:
            try:
                return answer_of(data)
            except ValueError as error:
                raise SerializationError("no JSON", (error,)) from None

    return Reader()


def _opensearch_json() -> Any:
    """The same for the other client, which hands over text."""
    from opensearchpy.exceptions import SerializationError
    from opensearchpy.serializer import JSONSerializer

    class Reader(JSONSerializer):
        def loads(self, s: str) -> Any:
            try:
                return answer_of(s.encode("utf-8", "surrogatepass"))
            except ValueError as error:
                raise SerializationError(s[:0], error) from None

    return Reader()


def _node_config(connection: Connection, url: str) -> Any:
    import elastic_transport

    parts = urlsplit(url)
    trust: dict[str, Any] = {}
    if parts.scheme == "https":
        trust = {"verify_certs": connection.verify, "ssl_show_warn": False, "ca_certs": connection.ca_file, "ssl_assert_fingerprint": connection.fingerprint}
        trust = {key: value for key, value in trust.items() if value is not None}
    return elastic_transport.NodeConfig(parts.scheme, parts.hostname or "", parts.port or 0, path_prefix=parts.path.rstrip("/"), **trust)


def _proxy_node(connection: Connection) -> Any:
    """The HTTP node class of elastic-transport, which knows no proxies, with one added where this connection has one."""
    import elastic_transport
    import urllib3

    base: Any = elastic_transport.Urllib3HttpNode

    class ProxyNode(base):  # type: ignore[misc]  # elastic_transport's class is looked up when needed, to keep this import out of start-up
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            address = f"{config.scheme}://{host_and_port(config.host, config.port)}"
            proxy = connection.proxy_for(address)
            self._manager: Any = None
            if proxy is None:
                return
            direct: Any = vars(self)["pool"]  # typed by no stub; it says how the server is to be trusted
            trust: dict[str, Any] = {}
            if config.scheme == "https":
                trust = {name: getattr(direct, name) for name in ("assert_hostname", "ca_certs", "cert_reqs")}
                trust |= {"ssl_context": direct.conn_kw.get("ssl_context"), "assert_fingerprint": config.ssl_assert_fingerprint}
            parts = urlsplit(proxy)
            user = f"{unquote(parts.username)}:{unquote(parts.password or '')}" if parts.username else None
            credentials = urllib3.make_headers(proxy_basic_auth=user) if user else None
            where = f"{parts.scheme}://{host_and_port(parts.hostname or '', parts.port or 3128)}"
            self._manager = urllib3.ProxyManager(where, proxy_headers=credentials, **trust)
            self.pool = self._manager
            self._path_prefix = address + self.path_prefix  # a proxy wants the whole address

        def close(self) -> None:
            if self._manager is None:
                super().close()
            else:
                self._manager.clear()

    return ProxyNode
