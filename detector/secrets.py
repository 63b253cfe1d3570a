"""Secrets: from `DETECTOR_…` variables of the environment, or from the files that `DETECTOR_…_FILE` name. Never printed, never in the configuration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path

from detector.errors import ConfigError

MAX_BYTES = 64 << 10  # no token is longer; a secret file that names a device must not hang or fill memory


@dataclass(frozen=True, repr=False)
class Secrets:
    """Every secret that `detector` may need; None: not given. The field `es_api_key` comes from `DETECTOR_ES_API_KEY` or `DETECTOR_ES_API_KEY_FILE`."""

    es_api_key: str | None = None
    es_username: str | None = None
    es_password: str | None = None
    es_bearer_token: str | None = None
    slack_token: str | None = None
    slack_webhook_url: str | None = None
    webhook_secret: str | None = None
    grafana_token: str | None = None
    prometheus_token: str | None = None
    pagerduty_key: str | None = None
    store_password: str | None = None

    def __repr__(self) -> str:
        given = [field.name for field in fields(self) if getattr(self, field.name) is not None]
        return f"Secrets(given: {', '.join(given) or 'none'})"


def variable(name: str) -> str:
    """The environment variable of a secret."""
    return f"DETECTOR_{name.upper()}"


def load_secrets(environ: Mapping[str, str]) -> Secrets:
    """All secrets of an environment.

    Raises:
        ConfigError: with every fault: an unreadable or empty file, or a secret given both ways. No value is shown.
    """
    values: dict[str, str | None] = {}
    complaints: list[str] = []
    for field in fields(Secrets):
        name = variable(field.name)
        direct, file = environ.get(name), environ.get(f"{name}_FILE")
        if direct and file:
            complaints.append(f"{name} and {name}_FILE are both set: unset one of them")
        elif file:
            values[field.name] = _from_file(f"{name}_FILE", Path(file), complaints)
        elif direct:
            values[field.name] = _clean(name, direct, complaints)
    if values.get("es_password") and not values.get("es_username"):
        complaints.append("DETECTOR_ES_PASSWORD is set without DETECTOR_ES_USERNAME")
    if complaints:
        raise ConfigError("\n".join(complaints))
    return Secrets(**values)


def _from_file(name: str, path: Path, complaints: list[str]) -> str | None:
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        complaints.append(f"{name}: {path} can't be read: {error.strerror or type(error).__name__}")
        return None
    if len(raw) > MAX_BYTES:
        complaints.append(f"{name}: {path} is too large to be a secret")
        return None
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        complaints.append(f"{name}: {path} is not text")
        return None
    return _clean(name, text, complaints)


def _clean(name: str, text: str, complaints: list[str]) -> str | None:
    """The secret without the line end that editors and `echo` leave behind."""
    value = text.strip()
    if not value:
        complaints.append(f"{name}: is empty")
    elif not value.isprintable():
        complaints.append(f"{name}: holds a line break or control character")
    else:
        return value
    return None
