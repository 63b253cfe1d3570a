"""Settings: the whole of `detector.yml` as one model, and the secrets of the environment beside it.

Unknown keys are errors, every key has a default, and all faults are told at once as `file:line: field: reason`. A section is a file in
`detector.settings`. It must not import what it configures.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, PrivateAttr, ValidationError, field_validator

from detector.errors import ConfigError
from detector.rules import SHIPPED
from detector.secrets import Secrets, load_secrets
from detector.settings.incidents import IncidentSettings
from detector.settings.notify import NotifySettings
from detector.settings.observability import GrafanaSettings, KibanaSettings, PrometheusSettings
from detector.settings.privacy import PrivacySettings
from detector.settings.schedule import ScheduleSettings
from detector.settings.signals import SignalSettings
from detector.settings.source import SourceSettings
from detector.settings.values import Texts
from detector.strict_model import Seconds, Strict, faults
from detector.yaml_file import read

DEFAULT_FILE = "detector.yml"

SeriesLabel = Literal["deployment", "model", "engine", "engine_version", "pod", "stream"]


class Settings(Strict):
    """`detector.yml`."""

    model_config = ConfigDict(title="detector configuration")

    source: SourceSettings = SourceSettings()
    group_by: tuple[SeriesLabel, ...] | None = Field(None, min_length=1)
    """Labels that make a series, for all rules; each rule's own when left out."""
    rules: Texts = ()
    """Rule files and folders (not none), relative to this file; `shipped` stands for those that ship with detector, which are used when this is left out."""
    store: str = "sqlite:///detector.db"
    """Where incidents and messages are kept (SQLAlchemy URL); a password is DETECTOR_STORE_PASSWORD."""
    retention: Seconds = 2592000.0
    """How long counts, delivered messages, resolved incidents and ended silences are kept; the audit stays."""
    schedule: ScheduleSettings = ScheduleSettings()
    incidents: IncidentSettings = IncidentSettings()
    prometheus: PrometheusSettings | None = None
    grafana: GrafanaSettings | None = None
    kibana: KibanaSettings | None = None
    notify: NotifySettings = NotifySettings()
    language: Literal["en", "ko"] = "en"
    """Language of messages."""
    privacy: PrivacySettings = PrivacySettings()
    signals: SignalSettings = SignalSettings()

    _folder: Path = PrivateAttr(default_factory=Path)
    _secrets: Secrets = PrivateAttr(default_factory=Secrets)

    @field_validator("rules")
    @classmethod
    def _names_rules(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("is an empty list, so no rule is switched on: name rule files or folders, or leave `rules` out for those that ship with detector")
        if any(not path.strip() for path in value):
            raise ValueError("holds an empty name: name rule files or folders, or `shipped`")
        return value

    @field_validator("store")
    @classmethod
    def _is_database(cls, value: str) -> str:
        try:
            parts = urlsplit(value)
            password = parts.password
        except ValueError:
            raise ValueError("is no database address: write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME") from None
        if parts.scheme.partition("+")[0] not in {"sqlite", "postgresql"}:
            raise ValueError("is no database address: write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME")
        if parts.scheme.partition("+")[0] == "sqlite" and parts.query and "uri=true" not in parts.query:
            raise ValueError("may hold no options (?…): write sqlite:///FILE")
        if password is not None:
            raise ValueError("must hold no password: set DETECTOR_STORE_PASSWORD, or DETECTOR_STORE_PASSWORD_FILE")
        return value

    @property
    def folder(self) -> Path:
        """What relative paths of the file are relative to."""
        return self._folder

    @property
    def secrets(self) -> Secrets:
        """The environment's secrets."""
        return self._secrets

    @property
    def rule_paths(self) -> tuple[Path | str, ...]:
        """Rule files and folders, fit for `load_rules`."""
        return tuple(SHIPPED if path == SHIPPED else self._folder / path for path in self.rules)


def load_settings(path: Path | str | None, environ: Mapping[str, str]) -> Settings:
    """Settings of a file, and secrets of an environment; `path` None: `./detector.yml` if there is one, else the defaults.

    Raises:
        ConfigError: with every fault of file and environment.
    """
    complaints: list[str] = []
    secrets = Secrets()
    try:
        secrets = load_secrets(environ)
    except ConfigError as error:
        complaints.append(str(error))
    chosen = Path(path) if path is not None else Path(DEFAULT_FILE)
    settings = Settings()
    if path is not None or chosen.is_file():
        try:
            settings = _anchored(_read(chosen), chosen.parent)
        except ConfigError as error:
            complaints.insert(0, str(error))
    if complaints:
        raise ConfigError("\n".join(complaints))
    settings._folder = chosen.parent
    settings._secrets = secrets
    return settings


def _anchored(settings: Settings, folder: Path) -> Settings:
    """The settings with the files that they name placed relative to `folder`: a scheduled run has another working folder than its author."""
    source, store = settings.source, settings.store
    if source.tls.ca_file:
        tls = source.tls.model_copy(update={"ca_file": str(folder / source.tls.ca_file)})
        source = source.model_copy(update={"tls": tls})
    kind, mark, name = store.partition(":///")
    if mark and kind.partition("+")[0] == "sqlite" and name and not name.startswith((":", "file:")):
        store = f"{kind}{mark}{folder / name}"
    notify = settings.notify
    if notify.file is not None and notify.file.path != "-":
        notify = notify.model_copy(update={"file": notify.file.model_copy(update={"path": str(folder / notify.file.path)})})
    return settings.model_copy(update={"source": source, "store": store, "notify": notify})


def _read(path: Path) -> Settings:
    file = read(path)
    found = list(file.faults)
    data = {} if file.data is None else file.data  # an empty file is all defaults
    if not isinstance(data, dict):
        found.append(file.fault((), "must be a mapping of settings (source, rules, notify, …)"))
    else:
        try:
            settings = Settings.model_validate(data)
            if not found:
                return settings
        except ValidationError as error:
            found += faults(error, Settings, file)
    raise ConfigError("\n".join(str(fault) for fault in sorted(found)))
