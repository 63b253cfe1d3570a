"""The id of a data view, asked of Kibana or OpenSearch Dashboards once: links need the id, people know the name or the pattern."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import quote

from detector.errors import ConfigError, SourceError
from detector.links.kibana import Product, choose_data_view

TIMEOUT_SECONDS = 10.0
LARGEST_ANSWER = 8 << 20
_PATHS: dict[Product, str] = {"kibana": "/api/data_views", "opensearch-dashboards": "/api/saved_objects/_find?type=index-pattern&per_page=1000&fields=title"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect leads to a login page; following it would hand the credentials on."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def find_data_view(url: str, space: str, wanted: str, *, product: Product = "kibana", authorization: str | None = None) -> str:
    """The id of the data view whose id, title or name is `wanted`.

    Raises:
        ConfigError: there is none, or several.
        SourceError: it can't be asked; give the id in the configuration then.
    """
    return choose_data_view(list_data_views(url, space, product=product, authorization=authorization), wanted)


def list_data_views(url: str, space: str, *, product: Product = "kibana", authorization: str | None = None) -> list[dict[str, str]]:
    """Id, title and name of every data view that these credentials may see. Raises SourceError."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError("kibana.url: must look like https://kibana.example:5601")
    prefix = f"/s/{quote(space, safe='')}" if space not in ("", "default") and product == "kibana" else ""
    header = "kbn-xsrf" if product == "kibana" else "osd-xsrf"
    request = urllib.request.Request(url.rstrip("/") + prefix + _PATHS[product], headers={header: "true", "Accept": "application/json"})  # noqa: S310 (checked above)
    if authorization:
        request.add_header("Authorization", authorization)
    try:
        with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS) as answer:
            body = json.loads(answer.read(LARGEST_ANSWER))
    except urllib.error.HTTPError as error:
        with error:
            raise SourceError(
                f"Kibana does not list its data views (HTTP {error.code}): give the id as kibana.data_view, or credentials that may read them"
            ) from None
    except ValueError:
        raise SourceError("what answers at kibana.url is no Kibana (no JSON): check the address") from None
    except OSError as error:
        raise SourceError(f"kibana.url can't be reached ({type(error).__name__}): check the address") from None
    listed = body.get("data_view", body.get("saved_objects")) if isinstance(body, dict) else None
    if not isinstance(listed, list):
        raise SourceError("what answers at kibana.url lists no data views: check the address")
    found = []
    for one in listed:
        if isinstance(one, dict) and isinstance(one.get("id"), str):
            attributes = one.get("attributes")
            inner = attributes if isinstance(attributes, dict) else one
            found.append({"id": one["id"], "title": str(inner.get("title", "")), "name": str(inner.get("name", ""))})
    return found
