"""How a cluster is to be reached: addresses, credentials, proxies; without a node."""

from __future__ import annotations

import pytest

from detector.errors import ConfigError
from detector.secrets import Secrets, load_secrets
from detector.sources.choice import cluster_address
from detector.sources.es_connection import Connection, authorization, connection


@pytest.mark.parametrize(
    ("environ", "header"),
    [
        ({}, None),
        ({"DETECTOR_ES_API_KEY": "id:key"}, "ApiKey aWQ6a2V5"),
        ({"DETECTOR_ES_API_KEY": "aWQ6a2V5"}, "ApiKey aWQ6a2V5"),
        ({"DETECTOR_ES_USERNAME": "ü", "DETECTOR_ES_PASSWORD": "p:w"}, "Basic w7w6cDp3"),
        ({"DETECTOR_ES_BEARER_TOKEN": "t"}, "Bearer t"),
    ],
)
def test_authorization(environ: dict[str, str], header: str | None) -> None:
    assert authorization(load_secrets(environ)) == header


def test_two_kinds_of_credentials() -> None:
    with pytest.raises(ConfigError, match="keep one") as caught:
        authorization(Secrets(es_api_key="very-secret", es_username="u", es_password="p"))
    assert "very-secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["https://u:top-secret@es:9200", "ftp://es", "es:9200", "https://"])
def test_addresses_that_can_not_be_used(url: str) -> None:
    with pytest.raises(ConfigError, match=r"source\.url") as caught:
        Connection(urls=(url,))
    assert "top-secret" not in str(caught.value)


def test_secrets_do_not_show() -> None:
    shown = repr(Connection(urls=("https://es:9200",), authorization="ApiKey abc", proxy="http://u:p@proxy:3128"))
    assert "abc" not in shown
    assert "u:p" not in shown


def test_proxies_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("https_proxy", "http://proxy.example:3128")
    monkeypatch.setenv("no_proxy", "internal.example")
    reached = Connection(urls=("https://es.example:9200",))
    assert reached.proxy_for("https://es.example:9200") == "http://proxy.example:3128"
    assert reached.proxy_for("https://internal.example:9200") is None
    assert reached.proxy_for("https://127.0.0.1:9200") is None


def test_settings_become_a_connection() -> None:
    from detector.settings.source import SourceSettings

    settings = SourceSettings.model_validate({"url": ["https://a:9200/", "https://b:9200"], "index": "llm-*", "timeout": "5s", "tls": {"verify": False}})
    made = connection(settings, Secrets(es_api_key="id:key"))
    assert made.urls == ("https://a:9200", "https://b:9200")
    assert made.timeout_seconds == 5
    assert made.verify is False
    assert made.authorization == "ApiKey aWQ6a2V5"


def test_an_address_with_its_pattern() -> None:
    """A cluster may lie behind a path of a proxy; with an index of its own the whole path is that."""
    assert cluster_address("http://es:9200/prefix/llm-%2A,-llm-old", "--source") == ("http://es:9200/prefix", "llm-*,-llm-old")
    assert cluster_address("https://es/llm-*/", "--source") == ("https://es", "llm-*")
    assert cluster_address("https://es/a/b/", "it", "llm-*") == ("https://es/a/b", "llm-*")
    for wrong in ("http://es:9200/", "http://es:9200", "http://es/llm?x=1", "http://es/llm#x", "http://u:p@es/llm", "http:///llm", "http://es:x/llm"):
        with pytest.raises(ConfigError, match="--source"):
            cluster_address(wrong, "--source")


def test_what_may_be_printed() -> None:
    """Hosts and ports are, credentials of a proxy are not."""
    reached = Connection(urls=("https://a.example:9200/prefix", "https://b.example"), authorization="ApiKey abc", proxy="http://u:p-word@proxy.example:3128")
    assert reached.shown == "https://a.example:9200/prefix or https://b.example"
    assert reached.route == "https://a.example:9200/prefix or https://b.example through the proxy http://proxy.example:3128"
    assert Connection(urls=("http://127.0.0.1:9",), proxy="http://proxy.example:3128").route == "http://127.0.0.1:9"
    assert Connection(cloud_id="prod:ZXhhbXBsZS5pbnZhbGlkJGFiYyRkZWY=").shown == "Elastic Cloud (abc.example.invalid)"


def test_addresses_as_clients_take_them() -> None:
    """With a port, each once: the clients have defaults of their own, or none, and one of them does not take an address twice."""
    urls = ("http://es", "https://es/path/", "http://[::1]", "http://es:80", "https://es:9200")
    assert Connection(urls=urls).addresses == ("http://es:80", "https://es:443/path", "http://[::1]:80", "https://es:9200")


@pytest.mark.parametrize("flavour", ["elasticsearch", "opensearch"])
def test_clients_take_every_kind_of_address(flavour: str) -> None:
    from detector.sources.es_wire import ElasticsearchWire, OpenSearchWire

    reached = Connection(urls=("http://es", "http://es:80", "https://es/path", "https://[2001:db8::1]:9200"), proxy="http://proxy.example:3128")
    (ElasticsearchWire if flavour == "elasticsearch" else OpenSearchWire)(reached).close()


@pytest.mark.parametrize(
    ("given", "used"), [("proxy.example:3128", "http://proxy.example:3128"), ("http://u:p%40w@proxy.example", "http://u:p%40w@proxy.example")]
)
def test_proxies_as_people_write_them(given: str, used: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", given)
    assert Connection(urls=("http://es.example:9200",)).proxy_for("http://es.example:9200") == used


@pytest.mark.parametrize("given", ["socks5://u:top-secret@proxy.example:1080", "http://u:top-secret@:x", "http://"])
def test_proxies_that_can_not_be_used(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", given)
    with pytest.raises(ConfigError, match="HTTP_PROXY") as caught:
        Connection(urls=("http://es.example:9200",)).proxy_for("http://es.example:9200")
    assert "top-secret" not in str(caught.value)


def test_loopback_of_either_kind_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://proxy.example:3128")
    for url in ("http://[::1]:9200", "http://127.0.0.1:9200", "http://localhost"):
        assert Connection(urls=(url,)).proxy_for(url) is None


@pytest.mark.parametrize("cloud_id", ["foo", "prod:%%%", "name:Zm9v", "name:!!!", "name:"])
def test_cloud_ids_that_can_not_be_read(cloud_id: str) -> None:
    with pytest.raises(ConfigError, match=r"source\.cloud_id"):
        Connection(cloud_id=cloud_id)


@pytest.mark.parametrize("secrets", [Secrets(es_bearer_token="토큰"), Secrets(es_api_key="ключ")])
def test_credentials_that_no_header_can_hold(secrets: Secrets) -> None:
    with pytest.raises(ConfigError, match="only ASCII") as caught:
        authorization(secrets)
    assert "토큰" not in str(caught.value)
