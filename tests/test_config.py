"""`detector.yml` and the secrets beside it: every fault at once, nothing secret ever printed."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

from detector import config, settings
from detector.config import Settings, load_settings
from detector.errors import ConfigError
from detector.settings.reference import keys, reference
from detector.signals.base import SignalOptions
from detector.strict_model import Strict
from tests.config_texts import faults_of, loaded

DESIGNED = """\
source: {url: https://es.example:9200, index: llm-*, lag: 2m}
group_by: [deployment, model]
rules: [rules/]
store: sqlite:///detector.db
schedule: {every: 5m}
prometheus: {url: https://prometheus.example}
grafana: {url: https://grafana.example, panels: {ttft: {dashboard: uid, panel: 4}}}
kibana: {url: https://kibana.example, space: default, data_view: llm-*}
notify:
  slack: {channel: C0123456789, base_url: https://slack.com/api/}
  webhook: {url: https://hook.example/llm}
  alertmanager: {url: http://127.0.0.1:9093}
  storm: 5
  docs_url: https://docs.example/rules
language: en
privacy: {content: off}
"""


def test_the_documented_file_loads(tmp_path: Path) -> None:
    read = loaded(tmp_path, DESIGNED)
    assert (read.source.url, read.source.index, read.source.lag) == (("https://es.example:9200",), "llm-*", 120.0)
    assert read.rule_paths == (tmp_path / "rules/",)
    assert read.grafana is not None
    assert read.grafana.panels["ttft"].panel == 4
    assert read.notify.slack is not None
    assert (read.schedule.every, read.notify.storm, read.privacy.content) == (300.0, 5, "off")


def test_an_empty_file_and_no_file_are_all_defaults(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = loaded(tmp_path, "# nothing yet\n")
    assert empty.model_dump(exclude={"store"}) == Settings().model_dump(exclude={"store"})
    assert empty.store == f"sqlite:///{tmp_path}/detector.db"
    (tmp_path / "detector.yml").unlink()
    monkeypatch.chdir(tmp_path)
    assert load_settings(None, {}).model_dump() == Settings().model_dump()
    assert load_settings(None, {}).rule_paths == ()


def test_the_file_in_the_working_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "detector.yml").write_text("language: ko\n")
    monkeypatch.chdir(tmp_path)
    assert load_settings(None, {}).language == "ko"


def test_a_named_file_that_is_missing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none.yml:1: \(file\): can't be read: No such file or directory"):
        load_settings(tmp_path / "none.yml", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sorce: {path: x}", ["1: sorce: unknown key 'sorce'; did you mean 'source'?"]),
        ("source: {path: x, lagg: 2m}", ["1: source.lagg: unknown key 'lagg'; did you mean 'lag'?"]),
        ("source:\n  path: x\n  tls:\n    ca: y\n", ["4: source.tls.ca: unknown key 'ca'; did you mean 'ca_file'?"]),
        ("source: {path: x, url: https://es}", ["1: source: gives path and url: a source is one of path, url or cloud_id"]),
        ("source: {url: https://es}", ["1: source: index is missing: which indices hold the log? (such as index: llm-*)"]),
        ("source: {path: x, index: llm-*}", ["1: source: index belongs to a cluster (url), not to files (path)"]),
        ("source: {url: es:9200, index: i}", ["1: source.url[0]: is no web address: write https://HOST[:PORT]"]),
        ("source: {url: 'https://es:port', index: i}", ["1: source.url[0]: is no web address: write https://HOST[:PORT]"]),
        ("source: {path: x, timezone: Asia/Soul}", ["1: source.timezone: 'Asia/Soul' is no time zone: write an IANA name such as UTC or Asia/Seoul"]),
        (
            "source: {path: x, timezone: ../../etc/passwd}",
            ["1: source.timezone: '../../etc/passwd' is no time zone: write an IANA name such as UTC or Asia/Seoul"],
        ),
        (
            "source: {path: x, mapping: {finish_resaon: a.b}}",
            ["1: source.mapping.finish_resaon: unknown record column 'finish_resaon'; did you mean 'finish_reason'?"],
        ),
        (
            "source: {path: x, mapping: {ttft_seconds: {path: a, unit: minutes}}}",
            ["1: source.mapping.ttft_seconds.unit: must be 's', 'ms', 'us', 'ns' or 'iso8601', got 'minutes'"],
        ),
        (
            "source:\n  path: x\n  format: vlm_text",
            ["3: source.format: unknown format 'vlm_text'; did you mean 'vllm_text'?; `detector formats list` shows them"],
        ),
        (
            "source:\n  path: x\n  mapping:\n    finish_reason:\n      path: why\n"
            "      values:\n        done: stpo\n        other: unknown\n        eos: eos\n        0: null",
            ["7: source.mapping.finish_reason.values.done: unknown finish reason 'stpo'; did you mean 'stop'?"],
        ),
        (
            "source:\n  path: x\n  mapping:\n    content: ''\n    stream: {path: s, unit: ms}\n    latency_seconds: {path: took, unit: iso8601}",
            [
                "4: source.mapping.content.path: is empty: write the keys from the document's top to the value, with dots between them",
                "5: source.mapping.stream.unit: belongs to times and durations, and stream is neither: remove it",
                "6: source.mapping.latency_seconds.unit: must be 's', 'ms', 'us' or 'ns': a duration is no time of day",
            ],
        ),
        ("source: {path: x, tls: {fingerprint: abc}}", ["1: source.tls.fingerprint: is no SHA-256 fingerprint: 64 hexadecimal digits, with or without colons"]),
        (
            "group_by: [deployment, modle]",
            ["1: group_by[1]: must be 'deployment', 'model', 'engine', 'engine_version', 'pod' or 'stream', got 'modle'; did you mean 'model'?"],
        ),
        ("group_by: []", ["1: group_by: is empty: it needs at least 1 entry"]),
        ("group_by: [pods]", ["1: group_by[0]: must be 'deployment', 'model', 'engine', 'engine_version', 'pod' or 'stream', got 'pods'; did you mean 'pod'?"]),
        ("source: {path: x, timezone: ''}", ["1: source.timezone: '' is no time zone: write an IANA name such as UTC or Asia/Seoul"]),
        ("store: 'sqlite:///x.db?mode=ro'", ["1: store: may hold no options (?…): write sqlite:///FILE"]),
        ("store: mysql://x", ["1: store: is no database address: write sqlite:///FILE or postgresql+psycopg://USER@HOST/NAME"]),
        ("schedule: {every: 5}", ["1: schedule.every: 5 has no unit: write a number and one of s, m, h, d, w, such as 90s, 15m, 1h or 7d"]),
        ("schedule: {every: 0m}", ["1: schedule.every: must be longer than nothing"]),
        (
            "grafana: {panels: {tttf: {dashboard: uid, panel: x}}}",
            [
                "1: grafana.panels.tttf.panel: must be a valid integer, got 'x'",
                "1: grafana.panels.tttf: unknown panel 'tttf'; did you mean 'ttft'?",
                "1: grafana.url: is missing",
            ],
        ),
        (
            "notify: {slack: {channel: '#alerts'}}",
            ["1: notify.slack.channel: is no channel id: open the channel's details in Slack and copy the id (C0123456789)"],
        ),
        ("notify: {storm: 0}", ["1: notify.storm: must be greater than or equal to 1, got 0"]),
        ("language: fr", ["1: language: must be 'en' or 'ko', got 'fr'"]),
        ("privacy: {content: true}", ["1: privacy.content: must be 'off' or 'masked', got true"]),
        ("signals: {small_cap_tokens: yes}", ["1: signals.small_cap_tokens: must be a valid integer, got 'yes'"]),
        ("just text", ["1: (file): must be a mapping of settings (source, rules, notify, …)"]),
        ("language: en\nlanguage: ko", ["2: language: the key is given twice (first on line 1)"]),
    ],
)
def test_a_fault_stands_at_its_line_with_its_reason(tmp_path: Path, text: str, expected: list[str]) -> None:
    assert sorted(faults_of(tmp_path, text)) == sorted(expected)


def test_all_faults_of_file_and_environment_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "detector.yml"
    path.write_text("sorce: 1\nlanguage: fr\nnotify:\n  slack: {chanel: C0123456789}\n")
    with pytest.raises(ConfigError) as error:
        load_settings(path, {"DETECTOR_SLACK_TOKEN_FILE": str(tmp_path / "none"), "DETECTOR_ES_PASSWORD": "hunter2"})
    assert [line.removeprefix(f"{path}:") for line in str(error.value).splitlines()] == [
        "1: sorce: unknown key 'sorce'; did you mean 'source'?",
        "2: language: must be 'en' or 'ko', got 'fr'",
        "4: notify.slack.chanel: unknown key 'chanel'; did you mean 'channel'?",
        "4: notify.slack.channel: is missing",
        f"DETECTOR_SLACK_TOKEN_FILE: {tmp_path}/none can't be read: No such file or directory",
        "DETECTOR_ES_PASSWORD is set without DETECTOR_ES_USERNAME",
    ]


@pytest.mark.parametrize("content", ["off", "false", "'off'"])
def test_off_and_false_both_keep_content_out_of_messages(tmp_path: Path, content: str) -> None:
    assert loaded(tmp_path, f"privacy: {{content: {content}}}\n").privacy.content == "off"


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ("sqlite:///state/detector.db", "sqlite:///{folder}/state/detector.db"),
        ("sqlite:////var/lib/detector.db", "sqlite:////var/lib/detector.db"),
        ("sqlite:///:memory:", "sqlite:///:memory:"),
        ("sqlite://", "sqlite://"),
        ("postgresql+psycopg://u@h/db", "postgresql+psycopg://u@h/db"),
    ],
)
def test_files_are_named_relative_to_the_configuration(tmp_path: Path, store: str, expected: str) -> None:
    read = loaded(tmp_path, f"store: '{store}'\nsource: {{url: https://es, index: i, tls: {{ca_file: ca.pem}}}}\n")
    assert read.store == expected.format(folder=tmp_path)
    assert read.source.tls.ca_file == str(tmp_path / "ca.pem")


def test_the_word_shipped_names_the_rules_that_ship_with_detector(tmp_path: Path) -> None:
    assert loaded(tmp_path, "rules: [shipped, mine/]").rule_paths == ("shipped", tmp_path / "mine/")


def test_one_value_does_where_several_are_taken(tmp_path: Path) -> None:
    read = loaded(
        tmp_path, "source: {path: logs/, mapping: {model: a.b, ttft_seconds: {path: [c, d], unit: ms}}}\nrules: mine/\nsignals: {think_markers: </inner>}\n"
    )
    assert (read.source.path, read.rules, read.signals.think_markers) == (("logs/",), ("mine/",), ("</inner>",))
    assert read.source.mapping["model"].path == ("a.b",)
    assert read.source.mapping["ttft_seconds"].path == ("c", "d")


def test_what_signals_may_be_told_is_what_they_take() -> None:
    options = [field.name for field in fields(SignalOptions)]
    assert list(type(Settings().signals).model_fields) == options
    assert Settings().signals.options() == SignalOptions()


def test_every_section_is_strict_and_has_a_file_of_its_own() -> None:
    folder = Path(settings.__path__[0])
    declared = [node.name for file in folder.glob("*.py") for node in ast.parse(file.read_text()).body if isinstance(node, ast.ClassDef)]
    assert len(declared) > 8
    for model in Strict.__subclasses__():
        if model.__module__.startswith("detector.settings"):
            assert model.model_config["extra"] == "forbid"
            assert model.model_config["frozen"]


def test_every_key_is_explained() -> None:
    assert [path for path, field in keys(Settings) if not field.description] == []


def test_the_reference_is_up_to_date() -> None:
    """`python -m detector.settings.reference > docs/configuration.md` writes it."""
    assert (Path(__file__).parent.parent / "docs" / "configuration.md").read_text(encoding="utf-8") == reference()


def test_reading_settings_pulls_in_no_heavy_library() -> None:
    heavy = ("numpy", "pandas", "sklearn", "elasticsearch", "slack_sdk", "sqlalchemy", "apscheduler")
    code = f"import sys, detector.config as c; c.load_settings(None, {{}}); print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}, cwd=Path(config.__file__).parent.parent
    )
    assert done.stdout.strip() == "[]"
