"""A configuration's text as settings, or as its faults."""

from __future__ import annotations

from pathlib import Path

import pytest

from detector.config import Settings, load_settings
from detector.errors import ConfigError


def loaded(folder: Path, text: str, environ: dict[str, str] | None = None) -> Settings:
    path = folder / "detector.yml"
    path.write_text(text, encoding="utf-8")
    return load_settings(path, environ or {})


def faults_of(folder: Path, text: str) -> list[str]:
    with pytest.raises(ConfigError) as error:
        loaded(folder, text)
    return [line.removeprefix(f"{folder}/detector.yml:") for line in str(error.value).splitlines()]
