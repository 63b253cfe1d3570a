"""Which source an invocation means: files or a cluster, from the command line or the configuration."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from detector.config import Settings
from detector.errors import ConfigError
from detector.sources.base import Source

if TYPE_CHECKING:
    from detector.placing import Span
    from detector.rules import Rule

_URL = re.compile(r"https?://", re.IGNORECASE)


def is_address(source: str) -> bool:
    """True for a cluster's address, false for a path."""
    return _URL.match(source) is not None


def cluster_address(source: str, named: str, index: str | None = None, otherwise: str = "") -> tuple[str, str]:
    """`(URL, index pattern)` of an address on the command line; `named` and `otherwise` are words of complaints. Raises ConfigError."""
    try:
        parts = urlsplit(source)
        parts.port  # noqa: B018 (reading it checks it)
    except ValueError:
        raise ConfigError(f"{named} is no address: write http(s)://HOST:PORT/INDEX_PATTERN") from None
    if parts.username or parts.password:
        raise ConfigError(f"{named} must hold no password: set DETECTOR_ES_USERNAME and DETECTOR_ES_PASSWORD, or DETECTOR_ES_API_KEY")
    if not parts.hostname:
        raise ConfigError(f"{named} names no host: write http(s)://HOST:PORT/INDEX_PATTERN")
    path = parts.path.rstrip("/")
    before = len(path) if "<" not in path else path.index("<")  # date math may hold a slash: <llm-{now/d}>
    cut = path.rfind("/", 0, before)
    prefix, pattern = (path, index) if index else (path[: max(cut, 0)], unquote(path[cut + 1 :]))  # a cluster may lie behind a path
    if not pattern:
        raise ConfigError(f"{named} {parts.scheme}://{parts.netloc} names no index: write http(s)://HOST:PORT/INDEX_PATTERN{otherwise}")
    if parts.query or parts.fragment:
        raise ConfigError(f"{named} may hold no query (? or #): write http(s)://HOST:PORT/INDEX_PATTERN")
    return f"{parts.scheme}://{parts.netloc}{prefix}", pattern


def open_source(settings: Settings, source: str | None, *, jobs: int, format_of: str | None, span: Span, rules: Sequence[Rule], now: float) -> list[Source]:
    """The partitions of the chosen log, at most `jobs`; one for a cluster, which shares out its own work.

    Args:
        source: `--source`, or None for the configuration's.
        now: seconds since 1970 UTC; the end of a cluster's window where the span names none.

    Raises:
        ConfigError: no source is named, or it can't be understood. SourceError: it leads nowhere.
    """
    if jobs < 1:
        raise ConfigError(f"--jobs {jobs}: at least one process has to read")
    chosen = settings.source
    if source is not None and not source.strip():
        raise ConfigError("--source is empty: name a path or an address (is a variable unset?)")
    if source is not None and is_address(source):
        url, index = cluster_address(source, "--source")
        chosen = chosen.model_copy(update={"url": (url,), "index": index, "path": (), "cloud_id": None})
    elif source is not None:
        chosen = chosen.model_copy(update={"path": (source,), "url": (), "index": None, "cloud_id": None})
    if chosen.url or chosen.cloud_id:
        from detector.sources.elasticsearch import cluster_source

        return [cluster_source(settings.model_copy(update={"source": chosen}), settings.secrets, format_of=format_of, span=span, rules=rules, now=now)]
    paths = list(chosen.path)
    if not paths:
        raise ConfigError("no log is named: give --source PATH or URL, or set source.path or source.url in detector.yml")
    if source is None:
        paths = [path if path == "-" or os.path.isabs(path) else str(settings.folder / path) for path in paths]
    from detector.reading import ReadingOptions
    from detector.sources.files import Files

    files = Files(paths, ReadingOptions(format_of or chosen.format, chosen.mapping, chosen.timezone))
    return list(files.partitions(jobs)) if jobs > 1 else [files]
