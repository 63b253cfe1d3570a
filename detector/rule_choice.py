"""Which rules an invocation means: those of the command line, else the configuration's, else the shipped ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from detector.config import Settings
from detector.errors import ConfigError
from detector.rules import Rule, load_rules, replacing_files


def named_paths(settings: Settings, folders: Sequence[str]) -> tuple[Path | str, ...]:
    """Rule files and folders to load; empty for the shipped ones. Raises ConfigError for a blank name, which would be the working folder."""
    if any(not folder.strip() for folder in folders):
        raise ConfigError("a rule file or folder with an empty name is given: name one (is a variable unset?)")
    return tuple(folders) or settings.rule_paths


def rules_of(settings: Settings, folders: Sequence[str]) -> list[Rule]:
    """The rules, grouped as the configuration says. Raises RuleError with every fault of every file, and ConfigError."""
    rules = load_rules(named_paths(settings, folders))
    if settings.group_by is not None:
        rules = [rule.model_copy(update={"group_by": settings.group_by}) for rule in rules]
    return rules


def replacements(settings: Settings, folders: Sequence[str]) -> tuple[str, ...]:
    """A line for each rule of the site's own that stands in for the shipped one with its id: somebody may have meant to add one."""
    return tuple(f"rule {rule_id}: {path} replaces the shipped one" for rule_id, path in replacing_files(named_paths(settings, folders)).items())
