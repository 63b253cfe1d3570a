"""Which rules an invocation means, and what is said of those that replace shipped ones."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detector.cli import main
from detector.rules import default_folder, load_rules
from tests.answers import days, write

REPLACED = "think_tag_leak"
SAID = "replaces the shipped one"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with `mine/`, which holds a changed shipped rule, a mere copy of one, one with another comment, and one of the site's own."""
    monkeypatch.chdir(tmp_path)
    shipped = default_folder()
    (tmp_path / "mine").mkdir()
    text = (shipped / f"{REPLACED}.yml").read_text()
    (tmp_path / "mine" / f"{REPLACED}.yml").write_text(text.replace("severity: warning", "severity: critical"))
    (tmp_path / "mine" / "special_token_leak.yml").write_bytes((shipped / "special_token_leak.yml").read_bytes())
    (tmp_path / "mine" / "garbled_text_level.yaml").write_text("# ours\n" + (shipped / "garbled_text_level.yml").read_text())
    (tmp_path / "mine" / "ours.yml").write_text(text)
    write(tmp_path / "log.jsonl", days(1, 60))
    return tmp_path


def config(text: str) -> None:
    Path("detector.yml").write_text(text)


@pytest.mark.parametrize("named", [("--rules", "mine"), ("--rules", f"mine/{REPLACED}.yml"), ("--rules", "shipped", "--rules", "mine"), ()])
def test_check_and_backtest_say_which_rule_replaces_a_shipped_one(site: Path, capsys: pytest.CaptureFixture[str], named: tuple[str, ...]) -> None:
    if not named:
        config("rules: [shipped, mine/]\n")
    line = f"rule {REPLACED}: mine/{REPLACED}.yml {SAID}"
    assert main(["check", "--all", "--source", "log.jsonl", *named]) == 0
    assert capsys.readouterr().out.count(SAID) == 1
    assert main(["check", "--all", "--source", "log.jsonl", "--format", "json", *named]) == 0
    assert [note for note in json.loads(capsys.readouterr().out)["notes"] if SAID in note] == [line]
    main(["backtest", "--source", "log.jsonl", *named])
    assert f"detector: {line}\n" in capsys.readouterr().err


def test_the_worker_says_it_at_its_start(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config("source: {path: log.jsonl}\nrules: mine\nnotify: {file: {path: out.txt}}\n")
    main(["run", "--once"])
    assert f"rule {REPLACED}: mine/{REPLACED}.yml {SAID}\n" in capsys.readouterr().err


def test_list_and_lint_say_it(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "list", "mine"]) == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert [rule_id for rule_id, line in lines.items() if SAID in line] == [REPLACED]
    assert main(["rules", "list", "mine", "--format", "json"]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out) if entry["replaces_shipped"]] == [REPLACED]
    assert main(["rules", "lint", "mine"]) == 0
    assert capsys.readouterr().out == f"REMARK rule {REPLACED}: mine/{REPLACED}.yml {SAID}\n4 rules in order, 0 faults\n"
    assert main(["rules", "lint", "mine", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["replaces_shipped"] == [REPLACED]


def test_without_own_rules_nothing_is_said(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["rules", "list"], ["rules", "lint"], ["check", "--all", "--source", "log.jsonl"]):
        assert main(arguments) == 0
        assert SAID not in "".join(capsys.readouterr())


@pytest.mark.parametrize("verb", ["list", "test", "lint"])
def test_rules_are_those_that_check_would_use(site: Path, capsys: pytest.CaptureFixture[str], verb: str) -> None:
    number = len(load_rules())

    def counted(*arguments: str) -> int:
        assert main(["rules", verb, *arguments]) == 0
        out = capsys.readouterr().out
        return len(out.splitlines()) if verb == "list" else int(out.splitlines()[-1].split()[0])

    assert counted() == number
    Path("other.yml").write_text("rules: [shipped, mine]\n")
    assert counted("--config", "other.yml") == number + 1
    config("rules: mine/ours.yml\n")
    assert counted() == 1
    assert counted("mine") == counted("--rules", "mine") == 4
    assert counted("mine/ours.yml", f"mine/{REPLACED}.yml") == 2


def test_show_finds_the_rules_of_the_configuration(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config("rules: mine/ours.yml\ngroup_by: [pod]\n")
    assert main(["rules", "show", "ours"]) == 0
    assert "each pod is judged by itself" in capsys.readouterr().out
    assert main(["rules", "show", "answer_lost"]) == 2
    assert main(["rules", "show", "answer_lost", "--rules", "shipped"]) == 0


@pytest.mark.parametrize("line", ["check --all --source log.jsonl", "backtest --source log.jsonl", "rules list", "run --once"])
def test_an_empty_list_of_rules_is_refused(site: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    config("source: {path: log.jsonl}\n\nrules: []\n")
    assert main(line.split()) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("detector: detector.yml:3: rules: is an empty list, so no rule is switched on: name rule files or folders, or leave `rules` out")


@pytest.mark.parametrize("arguments", [["check", "--all", "--source", "log.jsonl", "--rules", ""], ["rules", "list", " "]])
def test_a_blank_name_of_a_folder_is_not_the_working_folder(site: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    Path("ours.yml").write_text((site / "mine" / "ours.yml").read_text())
    assert main(arguments) == 2
    assert "empty name" in capsys.readouterr().err
    config("rules: ['']\n")
    assert main(["rules", "list"]) == 2
    assert "detector.yml:1: rules: holds an empty name" in capsys.readouterr().err
