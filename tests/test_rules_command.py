"""The command `rules`: list, show, lint, test."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from detector.cli import main
from detector.rules import Rule, load_rules
from tests.rule_texts import GOOD, changed


def test_lint_prints_every_fault_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yml").write_text(changed("severity: warning", "severity: loud"))
    (tmp_path / "good.yml").write_text(GOOD)
    assert main(["rules", "lint", str(tmp_path)]) == 1
    out, err = capsys.readouterr()
    assert out == f"{tmp_path}/bad.yml:3: severity: must be 'info', 'warning' or 'critical', got 'loud'\n"
    assert err == "1 rule in order, 1 fault\n"
    (tmp_path / "bad.yml").unlink()
    assert main(["rules", "lint", str(tmp_path)]) == 0
    assert main(["rules", "lint", "--format", "json", str(tmp_path)]) == 0
    assert json.loads(capsys.readouterr().out.partition("\n")[2]) == {"rules": ["good"], "faults": [], "replaces_shipped": []}


def test_test_prints_what_was_expected_and_got_and_exits_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "wrong.yml").write_text(changed("threshold: 0.1", "threshold: 0.9"))
    assert main(["rules", "test", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "FAILED wrong: fires at one half\n" in out
    assert "expected a score of 0.9 or more, got deployment d, model m: score 0.398 (50 of 100 flagged)" in out
    assert out.endswith("1 rule, 2 cases, 1 failed\n")


def test_test_remarks_on_a_rule_whose_silent_cases_prove_little(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "blunt.yml").write_text(GOOD)
    assert main(["rules", "test", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "REMARK blunt: no silent case comes near; with half the threshold of 0.1 all of them would still pass\n1 rule, 2 cases, 0 failed\n"
    )


def test_a_case_with_too_few_requests_to_judge_does_not_count_as_silent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "few.yml").write_text(changed("threshold: 0.1", "threshold: 0.1\nmin_requests: 60"))
    assert main(["rules", "test", str(tmp_path)]) == 1
    assert "FAILED few: silent at nothing\n    expected a verdict, got deployment d, model m: could not be judged (" in capsys.readouterr().out


def test_broken_rules_end_list_and_test_with_exit_code_2_and_every_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.yml").write_text(changed("severity: warning", "severity: loud"))
    for verb in ("list", "test"):
        assert main(["rules", verb, str(tmp_path)]) == 2
        assert "bad.yml:3: severity" in capsys.readouterr().err


def test_show_suggests_the_nearest_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "think_tag_leek"]) == 2
    assert "unknown rule 'think_tag_leek'; did you mean 'think_tag_leak'?" in capsys.readouterr().err


def test_list_and_show_give_json_that_a_rule_can_be_made_from_again(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "show", "think_tag_leak", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    shown.pop("fires_when")
    (rule,) = [rule for rule in load_rules() if rule.id == "think_tag_leak"]
    assert Rule.model_validate(shown) == rule
    assert main(["rules", "list", "--format", "json"]) == 0
    assert [entry["id"] for entry in json.loads(capsys.readouterr().out)] == [rule.id for rule in load_rules()]


def test_lint_names_what_looks_like_a_rule_and_is_no_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "good.yml").write_text(GOOD)
    (tmp_path / "gone.yml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder.yml").mkdir()
    assert main(["rules", "lint", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "gone.yml:1: (file): is a folder, or a link that leads nowhere" in out
    assert "folder.yml:1: (file): is a folder, or a link that leads nowhere" in out
