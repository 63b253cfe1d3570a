"""Rule files and the YAML under them: every fault at once, at its line, in words that help."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from detector.errors import RuleError
from detector.record import COLUMNS, SERIES_LABELS
from detector.rule_case import CASE_COLUMNS, Row
from detector.rule_schema import rule_schema
from detector.rules import default_folder, load_rules, read_rules
from detector.yaml_file import MAX_BYTES, MAX_DEPTH, parse, read
from tests.rule_texts import GOOD, changed, faults_of


def test_a_good_rule_loads_with_durations_in_minutes_and_its_stem_as_id(tmp_path: Path) -> None:
    (tmp_path / "length_share.yml").write_text(GOOD)
    (rule,) = load_rules([tmp_path])
    assert (rule.id, rule.window_minutes, rule.baseline_minutes, rule.for_minutes) == ("length_share", 60, 7 * 1440, 0)
    assert (rule.detector, rule.params, rule.group_by) == ("share", {}, ("deployment", "model"))
    with pytest.raises(ValueError, match="frozen"):
        rule.threshold = 1.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("threshold: 0.1", "treshold: 0.1", ["1: threshold: is missing", "6: treshold: unknown key 'treshold'; did you mean 'threshold'?"]),
        ("threshold: 0.1", "threshold: high", ["6: threshold: must be a valid number, got 'high'"]),
        ("threshold: 0.1", "threshold: 0", ["6: threshold: must be greater than 0, got 0"]),
        (
            "threshold: 0.1",
            "threshold: .nan",
            ["6: threshold: must be a valid number, got nothing", "6: threshold: not a number (.nan) is no value to work with"],
        ),
        ("severity: warning", "severity: warn", ["3: severity: must be 'info', 'warning' or 'critical', got 'warn'; did you mean 'warning'?"]),
        ("signal: length_cutoff", "signal: lenght_cutoff", ["4: signal: unknown signal 'lenght_cutoff'; did you mean 'length_cutoff'?"]),
        ("{share: {}}", "{shares: {}}", ["5: detector.shares: unknown detector 'shares'; did you mean 'share'?"]),
        ("{share: {}}", "{share: {confidance: 0.9}}", ["5: detector.share.confidance: unknown parameter 'confidance'; did you mean 'confidence'?"]),
        ("{share: {}}", "share", ["5: detector: must be a mapping, got text"]),
        ("window: 1h", "window: 1 hour", ["7: window: '1 hour' is not a duration: write a number and one of s, m, h, d, w, such as 90s, 15m, 1h or 7d"]),
        ("window: 1h", "window: 60", ["7: window: 60 has no unit: write a number and one of s, m, h, d, w, such as 90s, 15m, 1h or 7d"]),
        ("window: 1h", "window: 1h\nid: other", ["8: id: a rule has no id field: its file name is its id"]),
        ("window: 1h", "window: 1h\ncauses: [context_window_ful]", ["8: causes[0]: unknown cause 'context_window_ful'; did you mean 'context_window_full'?"]),
        ("window: 1h", "window: 1h\npanels: [ttft, ttft]", ["8: panels[1]: 'ttft' is named twice"]),
        ("window: 1h", "window: 1h\nsubtypes: [answer_cutt]", ["8: subtypes[0]: unknown subtype of length_cutoff 'answer_cutt'; did you mean 'answer_cut'?"]),
        ("window: 1h", "window: 1h\nreferences: [see wiki]", ["8: references[0]: is no web address (https://…)"]),
        ("window: 1h", "window: 1h\ngroup_by: [model, model]", ["1: (file): group_by names a label twice"]),
        (
            "count: 50, finish_reason: length",
            "count: 50, finish_reson: length",
            ["12: tests[0].current[1].finish_reson: unknown record column 'finish_reson'; did you mean 'finish_reason'?"],
        ),
        (
            "finish_reason: length}",
            "finish_reason: length, engine_version: 0.10}",
            ["12: tests[0].current[1].engine_version: must be a valid string (write it in quotes)"],
        ),
        ("finish_reason: length}", "finish_reason: lenght}", None),
        ("count: 50, finish_reason: length", "count: 0, finish_reason: length", ["12: tests[0].current[1].count: must be greater than or equal to 1, got 0"]),
        ("finish_reason: length}", "finish_reason: length, every: 1m}", ["12: tests[0].current[1]: `every` needs `at`: where does the first request stand?"]),
        (
            "finish_reason: length}",
            "finish_reason: length, at: 55m, every: 1m}",
            ["12: tests[0].current[1].at: places requests past the end of the stretch, which is 60 minutes long"],
        ),
        ("[{deployment: d, model: m}]", "[{deployment: d}]", ["13: tests[0].firing[0]: must give exactly the labels of group_by: deployment, model"]),
        ("silent at nothing", "fires at one half", ["14: tests[1].name: another test has the same name"]),
    ],
)
def test_a_fault_stands_at_its_line_with_its_reason(tmp_path: Path, old: str, new: str, expected: list[str] | None) -> None:
    found = faults_of(tmp_path, changed(old, new))
    if expected is None:
        assert found == [
            "12: tests[0].current[1].finish_reason: must be 'stop', 'length', 'tool_calls', 'content_filter', 'abort', 'error', 'repetition' or 'unknown'"
        ]
    else:
        assert found == expected


def test_all_faults_of_all_files_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "one.yml").write_text(changed("severity: warning", "severity: loud").replace("signal: length_cutoff", "signal: 3"))
    (tmp_path / "two.yml").write_text("title: [")
    (tmp_path / "three.yml").write_text(GOOD)
    with pytest.raises(RuleError) as error:
        load_rules([tmp_path, tmp_path / "none.yml"])
    assert [(Path(fault.path).name, fault.line, fault.field) for fault in error.value.faults] == [
        ("none.yml", 1, "(file)"),
        ("one.yml", 3, "severity"),
        ("one.yml", 4, "signal"),
        ("two.yml", 1, "(file)"),
    ]
    rules, _ = read_rules([tmp_path])
    assert [rule.id for rule in rules] == ["three"]


def test_faults_of_the_text_and_of_the_rule_are_told_together(tmp_path: Path) -> None:
    found = faults_of(tmp_path, changed("severity: warning", "severity: loud\nseverity: info"))
    assert found == ["3: severity: must be 'info', 'warning' or 'critical', got 'loud'", "4: severity: the key is given twice (first on line 3)"]


def test_the_same_id_in_two_folders_is_a_fault(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rule.yml").write_text(GOOD)
    _, found = read_rules([tmp_path / "a", tmp_path / "b"])
    assert [(fault.path, fault.field) for fault in found] == [(str(tmp_path / "b/rule.yml"), "id")]


def test_a_site_adds_its_own_rules_to_the_shipped_ones_and_may_replace_one_by_its_id(tmp_path: Path) -> None:
    shipped = {rule.id: rule for rule in load_rules()}
    (tmp_path / "ours.yml").write_text(GOOD)
    (tmp_path / "think_tag_leak.yml").write_text(GOOD)
    for paths in (["shipped", tmp_path], [tmp_path, "shipped"]):
        rules = {rule.id: rule for rule in load_rules(paths)}
        assert set(rules) == {*shipped, "ours"}
        assert [id for id in shipped if rules[id] != shipped[id]] == ["think_tag_leak"]


def test_a_file_named_twice_is_read_once() -> None:
    assert load_rules(["shipped", default_folder(), next(default_folder().glob("*.yml"))]) == load_rules()


@pytest.mark.parametrize(("drop", "word"), [("fires", "firing"), ("silent", "silent")])
def test_a_stable_rule_needs_a_firing_and_a_silent_case_and_an_experimental_one_does_not(tmp_path: Path, drop: str, word: str) -> None:
    head, *cases = re.split(r"(?m)^  - ", GOOD)
    text = head + "".join(f"  - {case}" for case in cases if drop not in case)
    assert faults_of(tmp_path, text) == [f"1: (file): a stable rule needs at least one firing and one silent test; it has no {word} one"]
    assert faults_of(tmp_path, text.replace("status: stable", "status: experimental")) == []


@pytest.mark.parametrize("name", ["Rule.yml", "2fast.yml", "a-b.yml", "double__mark.yml"])
def test_a_file_name_that_is_no_id_is_a_fault(tmp_path: Path, name: str) -> None:
    assert any("id: " in fault for fault in faults_of(tmp_path, GOOD, name))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "1: (file): holds no rule: a mapping of title, status, severity, signal, … is expected"),
        ("- a\n- b\n", "1: (file): holds no rule: a mapping of title, status, severity, signal, … is expected"),
        ("title: a\n\tstatus: b\n", "2: (file): a tab is used as indentation; YAML allows only spaces"),
        ("a: &x {b: 1}\nc: *x\n", "1: a: anchors (&name) are not supported: write the value out where it is used"),
        ("a: 1\nb:\n  <<: {c: 1}\n", "3: b.<<: merge keys (<<) are not supported: write the values out"),
        ("a: !!python/object:os.system x\n", "1: a: the tag tag:yaml.org,2002:python/object:os.system is not supported"),
        ("a: 1\n---\nb: 1\n", "2: (file): holds a second YAML document (---); only the first is read"),
        ("a: 1\n? [x, y]\n: 2\n", "2: (file): a key must be plain text"),
        ("a: \x00\n", "1: (file): holds a control character; is this a text file?"),
        ("a: " + "[" * (MAX_DEPTH + 5), f"1: (file): is nested deeper than {MAX_DEPTH} levels"),
    ],
)
def test_yaml_that_people_should_not_write_is_refused_in_plain_words(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in faults_of(tmp_path, text)


def test_files_that_are_no_text_give_a_fault(tmp_path: Path) -> None:
    (tmp_path / "binary.yml").write_bytes(b"a: 1\nb: \xff\xfe\n")
    (tmp_path / "large.yml").write_bytes(b"#" * (MAX_BYTES + 1))
    assert [str(fault).partition(":")[2] for name in ("binary.yml", "large.yml") for fault in read(tmp_path / name).faults] == [
        "2: (file): is not UTF-8 text",
        "1: (file): is larger than 4 MiB; is this really a file to be configured with?",
    ]
    assert read(tmp_path / "missing.yml").faults[0].reason == "can't be read: No such file or directory"


def test_words_that_old_yaml_takes_for_booleans_or_numbers_stay_words() -> None:
    file = parse("a: off\nb: no\nc: 12:30\nd: 2026-01-01\ne: 'true'\nf: true\ng: ~\nh: 1e3\ni: 007\nj: |\n  x\n", "f")
    assert file.data == {"a": "off", "b": "no", "c": "12:30", "d": "2026-01-01", "e": "true", "f": True, "g": None, "h": 1000.0, "i": 7, "j": "x\n"}
    assert [file.line((key,)) for key in "abcj"] == [1, 2, 3, 10]
    assert file.line(("j", "none", 3)) == 10


@given(st.text(alphabet=st.sampled_from("ab:-{}[],'\"\n \t&*!|>#?%@<~1."), max_size=80))
def test_no_text_makes_the_yaml_reader_raise(text: str) -> None:
    file = parse(text, "f")
    assert file.data is None or isinstance(file.data, (dict, list, str, int, float, bool))
    assert all(fault.line >= 1 for fault in file.faults)


SCALARS = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text("abc é☃", max_size=6)
KEYS = st.text("abc", min_size=1, max_size=3)


@given(st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12))
def test_json_is_read_as_json_reads_it(value: object) -> None:
    file = parse(json.dumps(value, ensure_ascii=False), "f")
    assert (file.data, file.faults) == (value, ())


@given(count=st.integers(1, 5000), length=st.integers(1, 2000))
def test_requests_of_a_row_are_spread_evenly_and_none_is_lost(count: int, length: int) -> None:
    placed = Row(count=count).minutes(length)
    assert sum(number for _, number in placed) == count
    assert all(0 <= minute < length for minute, _ in placed)
    numbers = [number for _, number in placed]
    assert max(numbers) - min(numbers) <= 1


def test_rows_placed_by_at_and_every() -> None:
    row = Row.model_validate({"count": 3, "at": "10m", "every": "5m"})
    assert row.minutes(60) == [(10, 1), (15, 1), (20, 1)]
    assert Row.model_validate({"count": 3, "at": "10m"}).minutes(60) == [(10, 3)]


@pytest.mark.parametrize(("content", "state"), [(None, "empty"), ("", "empty"), ("text", "present")])
def test_a_row_that_names_content_says_that_it_was_captured(content: str | None, state: str) -> None:
    record = Row.model_validate({"content": content}).record()
    assert (record.content, record.content_state, record.reasoning_state) == (content or None, state, "not_captured")


def test_labels_and_columns_of_the_model_are_those_of_the_record() -> None:
    assert set(rule_schema()["properties"]["group_by"]["items"]["enum"]) == set(SERIES_LABELS)
    assert set(CASE_COLUMNS) < set(COLUMNS)


def test_the_schema_accepts_every_shipped_rule_and_refuses_what_the_loader_refuses() -> None:
    schema = rule_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted(default_folder().glob("*.yml")):
        assert [error.message for error in validator.iter_errors(read(path).data)] == []
    for old, new in (
        ("threshold: 0.1", "treshold: 0.1"),
        ("severity: warning", "severity: warn"),
        ("{share: {}}", "{shares: {}}"),
        ("window: 1h", "window: 60"),
    ):
        assert list(validator.iter_errors(parse(changed(old, new), "f").data)), f"{new} should be refused"
    assert not list(validator.iter_errors(parse(GOOD, "f").data))


def test_every_field_of_the_schema_is_explained_to_the_editor() -> None:
    schema = rule_schema()
    assert [name for name, field in schema["properties"].items() if "description" not in field] == []
    assert [name for name, field in schema["$defs"]["Row"]["properties"].items() if "description" not in field] == []
