"""How to reach a cluster: addresses, credentials, trust and proxies. Secrets come from the environment or from files, and are never printed."""

from __future__ import annotations

import ipaddress
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import getproxies_environment, proxy_bypass

from detector.errors import ConfigError
from detector.secrets import Secrets
from detector.settings.source import SourceSettings

Flavour = Literal["elasticsearch", "opensearch"]
DEFAULT_TIMEOUT_SECONDS = 30.0
_FINGERPRINT_DIGITS = 64  # SHA-256 in hex


@dataclass(frozen=True)
class Connection:
    """Everything that is needed to send a request.

    Args:
        urls: `scheme://host:port[/prefix]` without user information; several are tried in turn.
        cloud_id: of an Elastic Cloud deployment, in place of `urls`.
        authorization: the Authorization header's value; hidden from `repr`.
        ca_file: PEM file of the authority that signed the cluster's certificate, where the system does not know it.
        fingerprint: SHA-256 of the certificate (hex, colons allowed), in place of trust in an authority.
        verify: False accepts any certificate.
        timeout_seconds: for one request.
        proxy: `http://host:port`; None: what HTTPS_PROXY, HTTP_PROXY and NO_PROXY say. Loopback addresses never go through a proxy.
        flavour: only needed where something in between strips what tells the two apart.
    """

    urls: tuple[str, ...] = ()
    cloud_id: str | None = None
    authorization: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    fingerprint: str | None = None
    verify: bool = True
    timeout_seconds: float = DEFAULT_TIMEOUT_SECONDS
    proxy: str | None = field(default=None, repr=False)  # may hold a password
    flavour: Flavour | None = None

    def __post_init__(self) -> None:
        if bool(self.urls) == bool(self.cloud_id):
            raise ConfigError("source: give either url or cloud_id")
        for url in self.urls:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigError("source.url: must look like https://host:9200")
            if parts.username or parts.password:
                raise ConfigError("source.url: holds a user or password; set DETECTOR_ES_USERNAME and DETECTOR_ES_PASSWORD (or …_FILE) instead")
        if self.cloud_id:
            _check_cloud_id(self.cloud_id)
        if self.ca_file and not Path(self.ca_file).is_file():
            raise ConfigError(f"source.tls.ca_file: there is no file {self.ca_file}")
        if self.ca_file and self.fingerprint:
            raise ConfigError("source.tls: give either ca_file or fingerprint")
        if self.fingerprint is not None:
            plain = self.fingerprint.replace(":", "").lower()
            if len(plain) != _FINGERPRINT_DIGITS or set(plain) - set("0123456789abcdef"):
                raise ConfigError("source.tls.fingerprint: must be the SHA-256 fingerprint of a certificate: 64 hex digits, colons allowed")

    @property
    def addresses(self) -> tuple[str, ...]:
        """The addresses as clients take them: each once, with its port (the two clients take different ones where there is none)."""
        return tuple(dict.fromkeys(_with_port(url) for url in self.urls))

    @property
    def shown(self) -> str:
        """The addresses as they may be printed: they hold no credentials."""
        return " or ".join(self.urls) if self.urls else f"Elastic Cloud ({_cloud_host(self.cloud_id or '')})"

    @property
    def route(self) -> str:
        """The same, with the proxy on the way."""
        proxies = {proxy for url in self.urls if (proxy := self.proxy_for(url))}
        hosts = sorted(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" for parts in map(urlsplit, proxies))
        return f"{self.shown} through the proxy {' or '.join(hosts)}" if hosts else self.shown

    def proxy_for(self, url: str) -> str | None:
        """The proxy that requests to this address go through."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        if _is_loopback(host):
            return None
        if self.proxy:
            return self.proxy
        given = None if proxy_bypass(host) else getproxies_environment().get(parts.scheme)
        return _proxy(given, parts.scheme) if given else None


def host_and_port(host: str, port: int) -> str:
    """Both as they stand in an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _with_port(url: str) -> str:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return f"{parts.scheme}://{host_and_port(parts.hostname or '', port)}{parts.path.rstrip('/')}"


def _proxy(given: str, scheme: str) -> str:
    """A proxy of the environment, which may be written without a scheme. Raises ConfigError, which shows nothing of it: it may hold a password."""
    address = given if "://" in given else f"http://{given}"
    try:
        parts = urlsplit(address)
        known = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        known = False
    if not known:
        raise ConfigError(f"{scheme.upper()}_PROXY: must look like http://HOST:PORT (other kinds of proxies are not spoken to), or name the host in NO_PROXY")
    return address


def _check_cloud_id(cloud_id: str) -> None:
    """As its only reader reads it. Raises ConfigError."""
    from elastic_transport.client_utils import parse_cloud_id

    try:
        parse_cloud_id(cloud_id)
        _cloud_host(cloud_id)
    except ValueError:
        raise ConfigError("source.cloud_id: can't be read: copy it whole from the deployment's page (NAME:LETTERS), or give source.url") from None


def _cloud_host(cloud_id: str) -> str:
    """The host that a cloud id stands for: `NAME:base64(HOST$ELASTICSEARCH$KIBANA)`. Raises ValueError."""
    host, cluster = b64decode(cloud_id.rpartition(":")[2]).decode().split("$")[:2]
    return f"{cluster}.{host}"


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def connection(settings: SourceSettings, secrets: Secrets) -> Connection:
    """The connection that configuration and environment describe. Raises ConfigError."""
    tls = settings.tls
    return Connection(
        urls=tuple(str(url).rstrip("/") for url in settings.url),
        cloud_id=settings.cloud_id,
        authorization=authorization(secrets),
        ca_file=tls.ca_file,
        fingerprint=tls.fingerprint,
        verify=tls.verify,
        timeout_seconds=settings.timeout,
        proxy=settings.proxy,
    )


def authorization(secrets: Secrets) -> str | None:
    """The Authorization header's value. Raises ConfigError when two kinds of credentials are given, or what can be none."""
    given: dict[str, str | None] = {
        "DETECTOR_ES_API_KEY": secrets.es_api_key,
        "DETECTOR_ES_USERNAME": secrets.es_username,
        "DETECTOR_ES_BEARER_TOKEN": secrets.es_bearer_token,
    }
    kinds = [name for name, value in given.items() if value]
    if len(kinds) > 1:
        raise ConfigError(f"more than one kind of credentials is set: {', '.join(kinds)}; keep one")
    for name in ("DETECTOR_ES_API_KEY", "DETECTOR_ES_BEARER_TOKEN"):
        if not (given[name] or "").isascii():
            raise ConfigError(f"{name}: holds characters that no such credentials have (only ASCII); copy it anew")
    if secrets.es_api_key:
        key = secrets.es_api_key
        return "ApiKey " + (b64encode(key.encode()).decode() if ":" in key else key)  # both `id:key` and its base64 form are handed out
    if secrets.es_username:
        if not secrets.es_password:
            raise ConfigError("DETECTOR_ES_USERNAME is set without DETECTOR_ES_PASSWORD")
        return "Basic " + b64encode(f"{secrets.es_username}:{secrets.es_password}".encode()).decode()
    return f"Bearer {secrets.es_bearer_token}" if secrets.es_bearer_token else None
