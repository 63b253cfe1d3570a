"""One JSON request to a receiver, with its failures mapped: what may be tried again, what never helps. Addresses are shown without credentials and query."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

import urllib3

from detector.errors import NotifyError
from detector.network_causes import cause

TIMEOUT = 15.0  # seconds for one request
RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
_POOL = urllib3.PoolManager(retries=False, maxsize=2)


def shown(url: str) -> str:
    """Scheme and host of an address: the rest may hold a secret (webhook URLs do)."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}{f':{parts.port}' if parts.port else ''}"


def send_json(name: str, method: str, url: str, body: Any, headers: dict[str, str] | None = None) -> Any:
    """Send JSON and return the answer's JSON (None when it has none).

    Raises:
        NotifyError: refused (not retryable for most 4xx), or no answer.
    """
    data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
    try:
        answer = _POOL.request(method, url, body=data, headers={"Content-Type": "application/json", **(headers or {})}, timeout=TIMEOUT, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        raise NotifyError(f"{name}: no answer from {shown(url)} ({cause(error)})", retryable=True) from None
    if 200 <= answer.status < 300:
        try:
            return json.loads(answer.data) if answer.data else None
        except ValueError:
            return None
    said = answer.data[:200].decode("utf-8", "replace").replace("\n", " ")
    text = f"{name}: {shown(url)} answered {answer.status}{f': {said}' if said.isprintable() and said else ''}"
    raise NotifyError(text, retryable=answer.status in RETRYABLE, retry_after_seconds=_seconds(answer.headers.get("Retry-After")), status=answer.status)


def _seconds(text: str | None) -> float | None:
    try:
        return float(text) if text is not None else None
    except ValueError:
        return None
