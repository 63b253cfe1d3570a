"""Secrets come from the environment or from files, and are never shown."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from detector.errors import ConfigError
from detector.secrets import Secrets, load_secrets, variable
from tests.config_texts import faults_of, loaded

SECRET = "s3cr3t-of-this-test"


@pytest.mark.parametrize(
    "text",
    [
        f"source: {{url: 'https://u:{SECRET}@es', index: i}}",
        f"source: {{url: 'ftp://u:{SECRET}@es', index: i}}",
        f"source: {{url: 'https://u:{SECRET}@es:port', index: i}}",
        f"source: {{url: 'https://[u:{SECRET}@es', index: i}}",
        f"source: {{path: x, proxy: 'http://u:{SECRET}@proxy'}}",
        f"store: postgresql://u:{SECRET}@host/db",
        f"store: mysql://u:{SECRET}@host/db",
        f"notify: {{webhook: {{url: 'https://u:{SECRET}@hook'}}}}",
        f"slack_token: {SECRET}",
        f"notify: {{slack: {{channel: C0123456789, token: {SECRET}}}}}",
        f"notify: {{slack: {SECRET}}}",
        f"source: {SECRET}",
        f"notify:\n  slack: [ {SECRET}",
    ],
)
def test_a_secret_in_the_file_is_refused_and_not_repeated(tmp_path: Path, text: str) -> None:
    assert not [fault for fault in faults_of(tmp_path, text) if SECRET in fault]


def test_every_secret_comes_from_its_variable_or_its_file(tmp_path: Path) -> None:
    for field in fields(Secrets):
        extra = {} if field.name != "es_password" else {"DETECTOR_ES_USERNAME": "reader"}
        assert getattr(load_secrets({variable(field.name): SECRET, **extra}), field.name) == SECRET
        file = tmp_path / field.name
        file.write_text(f"{SECRET}\n")
        assert getattr(load_secrets({f"{variable(field.name)}_FILE": str(file), **extra}), field.name) == SECRET
    assert load_secrets({}) == Secrets()
    assert load_secrets({"DETECTOR_SLACK_TOKEN": ""}).slack_token is None, "an empty variable counts as unset"


def test_secrets_are_not_shown_by_repr_dump_or_errors(tmp_path: Path) -> None:
    read = loaded(tmp_path, "notify: {slack: {channel: C0123456789}}\n", {"DETECTOR_SLACK_TOKEN": SECRET})
    assert read.secrets.slack_token == SECRET
    shown = repr(read) + repr(read.secrets) + str(read.secrets) + repr(read.model_dump()) + read.model_dump_json()
    assert SECRET not in shown
    assert repr(read.secrets) == "Secrets(given: slack_token)"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a\nb\n", "holds a line break or control character"),
        (b"\xff\xfe", "is not text"),
        (b"x" * 70_000, "is too large to be a secret"),
    ],
)
def test_a_secret_file_that_is_no_secret_is_an_error_without_its_content(tmp_path: Path, raw: bytes, reason: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(raw)
    with pytest.raises(ConfigError) as error:
        load_secrets({"DETECTOR_SLACK_TOKEN_FILE": str(file)})
    assert str(error.value).startswith("DETECTOR_SLACK_TOKEN_FILE: ")
    assert str(error.value).endswith(reason)


def test_a_secret_given_both_ways_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="DETECTOR_SLACK_TOKEN and DETECTOR_SLACK_TOKEN_FILE are both set: unset one of them"):
        load_secrets({"DETECTOR_SLACK_TOKEN": SECRET, "DETECTOR_SLACK_TOKEN_FILE": str(tmp_path / "x")})
