"""Rules: one YAML file each, its stem is the rule's id. `load_rules` gives every rule or every fault at once.

A rule says which signal to count, which statistic to score it with, from which score on it fires, and what to tell the person who is woken up.
It must not compute anything.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, JsonValue, ValidationError, model_validator

from detector.errors import Fault, RuleError
from detector.rule_case import Case
from detector.strict_model import Minutes, MinutesOrZero, Strict, faults
from detector.yaml_file import YamlFile, read

_ID = re.compile(r"^[a-z][a-z0-9]*(_[a-z0-9]+)*$")
SHIPPED = "shipped"  # in a list of rule files and folders: those that ship with detector

Severity = Literal["info", "warning", "critical"]
Status = Literal["experimental", "stable"]


class RuleTexts(Strict):
    """What a rule says, in another language."""

    title: str = Field(min_length=5, max_length=90)
    """As the rule's title."""
    meaning: str = Field(min_length=10)
    """As the rule's meaning."""
    impact: str = Field(min_length=10)
    """As the rule's impact."""
    next_steps: tuple[str, ...] = ()
    """As many as the rule has."""


class Rule(Strict):
    """One rule, as its file gives it; durations in minutes."""

    model_config = ConfigDict(title="detector rule")

    id: str = Field(pattern=_ID.pattern, exclude=True)
    """The file's stem."""
    title: str = Field(min_length=10, max_length=90)
    """What happened, in one line for a person: the symptom, not the guessed cause."""
    status: Status
    """experimental never notifies; stable needs at least one firing and one silent test."""
    severity: Severity
    """By consequence. info: look some day; warning: look today; critical: users see it now."""
    signal: str
    """The signal that is counted (`detector scan` shows it per answer)."""
    subtypes: tuple[str, ...] = ()
    """Only these subtypes of the signal count; all of them when left out."""
    statistic: dict[str, dict[str, JsonValue]] = Field(alias="detector", min_length=1, max_length=1)
    """The statistic and its parameters, such as `{spike: {}}`."""
    threshold: float = Field(gt=0, strict=True)
    """The rule fires when the statistic's score reaches this."""
    min_requests: int = Field(0, ge=0, strict=True)
    """With fewer requests in the window the rule can't judge, and says so."""
    group_by: tuple[Literal["deployment", "model", "engine", "engine_version", "pod", "stream"], ...] = ("deployment", "model")
    """Labels that make a series: each combination of their values is judged by itself."""
    window_minutes: Minutes = Field(alias="window")
    """The stretch that is judged."""
    baseline_minutes: Minutes = Field(7 * 1440, alias="baseline")
    """The stretch before the window that it is compared with."""
    for_minutes: MinutesOrZero = Field(0, alias="for")
    """How long it must fire before a message goes out; `0m`: at once."""
    meaning: str = Field(min_length=20)
    """What was counted, over what."""
    impact: str = Field(min_length=20)
    """What a user of the API notices."""
    false_positives: tuple[str, ...] = ()
    """What else looks like this, and how to tell it apart."""
    causes: tuple[str, ...] = ()
    """Ids of known causes, likeliest first."""
    next_steps: tuple[str, ...] = ()
    """First checks, each with a time span and field names."""
    panels: tuple[str, ...] = ()
    """Metric signals whose Grafana panels belong beside this."""
    references: tuple[str, ...] = ()
    """Reports of this failure upstream."""
    korean: RuleTexts | None = None
    """title, meaning, impact and next_steps in Korean, for messages with `language: ko`; without it they are as above."""
    tests: tuple[Case, ...] = ()
    """Cases that the rule is held to; at the end of the file."""

    @model_validator(mode="after")
    def _is_sound(self) -> Rule:
        if len(set(self.group_by)) != len(self.group_by):
            raise ValueError("group_by names a label twice")
        if self.korean is not None and len(self.korean.next_steps) != len(self.next_steps):
            raise ValueError(f"korean has {len(self.korean.next_steps)} next_steps, the rule has {len(self.next_steps)}")
        if self.status == "stable":
            kinds = {bool(case.firing) for case in self.tests if not case.cannot_judge}
            missing = [word for word, kind in (("firing", True), ("silent", False)) if kind not in kinds]
            if missing:
                raise ValueError(f"a stable rule needs at least one firing and one silent test; it has no {' and no '.join(missing)} one")
        return self

    @property
    def digest(self) -> str:
        """Twelve hexadecimal digits that change with what the rule computes and says, not with its tests."""
        return hashlib.sha256(self.model_dump_json(by_alias=True, exclude={"tests"}).encode("utf-8", "surrogatepass")).hexdigest()[:12]

    @property
    def detector(self) -> str:
        """Name of the statistic."""
        return next(iter(self.statistic))

    @property
    def params(self) -> dict[str, Any]:
        """The statistic's parameters as the file gives them."""
        return dict(self.statistic[self.detector])


def default_folder() -> Path:
    """The rules that ship with `detector`: `detector/_rules` of an installed package, `rules/` of a source checkout. Raises RuleError."""
    package = Path(__file__).resolve().parent
    for folder in (package / "_rules", package.parent / "rules"):
        if folder.is_dir():
            return folder
    raise RuleError([Fault(str(package / "_rules"), 1, "(folder)", "the rules that ship with detector are missing; install it again")])


def load_rules(paths: Iterable[Path | str] = ()) -> list[Rule]:
    """Rules of all files and folders (`*.yml`, `*.yaml` directly inside), ordered by id; the shipped ones when `paths` is empty.

    The word `shipped` among `paths` stands for the shipped ones, and a file of the site's own takes the place of the shipped rule with its id.

    Raises:
        RuleError: with every fault of every file.
    """
    rules, found = read_rules(paths)
    if found:
        raise RuleError(found)
    return rules


def read_rules(paths: Iterable[Path | str] = ()) -> tuple[list[Rule], list[Fault]]:
    """The rules that can be used, and every fault of the others."""
    rules: dict[str, tuple[Rule, Path]] = {}
    found: list[Fault] = []
    chosen = [default_folder() if path == SHIPPED else Path(path) for path in paths] or [default_folder()]
    for path in sorted(_files(chosen, found), key=lambda file: not _is_shipped(file)):
        rule, complaints = read_rule(path)
        found += complaints
        if rule is None:
            continue
        if rule.id in rules and not _is_shipped(rules[rule.id][1]):
            found.append(Fault(str(path), 1, "id", f"the id '{rule.id}' is taken by {rules[rule.id][1]}; rename one of the files"))
            continue
        rules[rule.id] = (rule, path)
    return [rule for _, (rule, _) in sorted(rules.items())], sorted(found)


def replacing_files(paths: Iterable[Path | str]) -> dict[str, Path]:
    """Files that are not shipped but say something else than the shipped one with their id, by id; a mere copy is none."""
    shipped = {path.stem: path for path in _files([default_folder()], [])}
    own = [path for path in _files([Path(path) for path in paths if path != SHIPPED], []) if path.stem in shipped and not _is_shipped(path)]
    return {path.stem: path for path in sorted(own) if read(path).data != read(shipped[path.stem]).data}


def _is_shipped(path: Path) -> bool:
    return path.resolve().parent == default_folder()


def read_rule(path: Path) -> tuple[Rule | None, list[Fault]]:
    """One file's rule, or None and all its faults."""
    from detector.rule_checks import check  # it looks into signals and detectors, which the model itself can do without

    file = read(path)
    rule, found = rule_of(file, path.stem)
    if rule is not None:
        found += check(rule, file)
    return (None, found) if found else (rule, [])


def rule_of(file: YamlFile, rule_id: str) -> tuple[Rule | None, list[Fault]]:
    """The rule that a parsed file gives by itself, before it is held against the signals and statistics there are."""
    found = list(file.faults)
    if not isinstance(file.data, dict):
        if not found:
            found.append(file.fault((), "holds no rule: a mapping of title, status, severity, signal, … is expected"))
        return None, found
    data = dict(file.data)
    if "id" in data:
        found.append(file.fault(("id",), "a rule has no id field: its file name is its id"))
        del data["id"]
    if not _ID.fullmatch(rule_id):
        found.append(file.fault(("id",), f"the file's name is the rule's id, and '{rule_id}' can't be one: use a to z, digits and _, such as my_symptom.yml"))
        rule_id = "unnamed"
    try:
        return Rule.model_validate({**data, "id": rule_id}), found
    except ValidationError as error:
        return None, found + faults(error, Rule, file)


def _files(paths: Sequence[Path], found: list[Fault]) -> list[Path]:
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(entry for entry in path.iterdir() if entry.suffix.lower() in {".yml", ".yaml"})
            found += [Fault(str(entry), 1, "(file)", "is a folder, or a link that leads nowhere") for entry in inside if not entry.is_file()]
            if not inside:
                found.append(Fault(str(path), 1, "(folder)", "holds no rule (*.yml)"))
            files += [entry for entry in inside if entry.is_file()]
        elif path.is_file():
            files.append(path)
        else:
            found.append(Fault(str(path), 1, "(file)", "no such file or folder"))
    return list({path.resolve(): path for path in files}.values())
