"""`detector rules`: list, show, lint, test and document the rules that `check` would use, or others, and the JSON Schema of a rule file.

Exit codes: 0 all is well, 1 a test failed or a file has faults (lint), 2 the rules can't be loaded at all.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from detector.arguments import add_config, add_format, add_rules

if TYPE_CHECKING:
    from detector.config import Settings
    from detector.rule_test import Outcome
    from detector.rules import Rule

OK, FAULTY, CANNOT = 0, 1, 2
EPILOG = "Exit codes: 0 all is well, 1 a test failed (test) or a file has faults (lint), 2 the rules or the configuration can't be used."


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `rules` and its verbs."""
    parser = commands.add_parser(
        "rules",
        help="list, show, lint and test the rules",
        description="Work with the rules: what is counted, and when it is news. They are those that `check` would use, unless others are named.",
        epilog=EPILOG,
    )
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", required=True)
    for verb, text, run in (
        ("list", "every rule: when it fires, severity, status", _list),
        ("lint", "every fault of every rule file, as file:line: field: reason", _lint),
        ("test", "run the cases inside the rules; prints those that fail", _test),
        ("docs", "one page of text for people per rule", _docs),
    ):
        sub = verbs.add_parser(verb, help=text, description=f"{text[:1].upper()}{text[1:]}.")
        sub.add_argument("paths", nargs="*", default=[], metavar="DIR", help="rule files or folders (default: as `check` without --rules)")
        add_rules(sub)
        add_config(sub)
        if verb == "docs":
            sub.add_argument("--output", metavar="DIR", required=True, help="folder for the pages")
        else:
            add_format(sub, "text", "json")
        sub.set_defaults(run=run)
    schema = verbs.add_parser("schema", help="the JSON Schema of a rule file, for editors", description="Print the JSON Schema of a rule file, for editors.")
    schema.set_defaults(run=_schema)
    show = verbs.add_parser("show", help="one rule in full", description="Print one rule in full.")
    show.add_argument("id", metavar="ID")
    add_format(show, "text", "json")
    add_rules(show)
    add_config(show)
    show.set_defaults(run=_show, paths=[])


def _chosen(args: argparse.Namespace) -> tuple[Settings, list[str]]:
    """The configuration, and the rule files and folders that the command line names. Raises ConfigError."""
    from detector.config import load_settings

    return load_settings(args.config, os.environ), [*args.paths, *args.rules]


def _list(args: argparse.Namespace) -> int:
    from detector.rule_choice import named_paths, rules_of
    from detector.rule_text import fires_when
    from detector.rules import replacing_files

    settings, named = _chosen(args)
    rules = rules_of(settings, named)
    replaced = replacing_files(named_paths(settings, named))
    if args.format == "json":
        _print_json([{**_as_json(rule, tests=False), "replaces_shipped": rule.id in replaced} for rule in rules])
        return OK
    marks = {rule_id: f"  (of {path}, which replaces the shipped one)" for rule_id, path in replaced.items()}
    rows = [(rule.id, rule.severity, rule.status, fires_when(rule) + marks.get(rule.id, "")) for rule in rules]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for row in rows:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))
    return OK


def _show(args: argparse.Namespace) -> int:
    from detector.errors import ConfigError
    from detector.rule_choice import rules_of
    from detector.rule_text import page
    from detector.strict_model import unknown

    rules = {rule.id: rule for rule in rules_of(*_chosen(args))}
    if args.id not in rules:
        raise ConfigError(unknown(args.id, list(rules), "rule"))
    if args.format == "json":
        _print_json(_as_json(rules[args.id], tests=True))
    else:
        print(page(rules[args.id]), end="")
    return OK


def _lint(args: argparse.Namespace) -> int:
    from detector.render.numbers import several
    from detector.rule_choice import named_paths, replacements
    from detector.rules import read_rules, replacing_files

    settings, named = _chosen(args)
    rules, faults = read_rules(named_paths(settings, named))
    if args.format == "json":
        listed = [{"path": fault.path, "line": fault.line, "field": fault.field, "reason": fault.reason} for fault in faults]
        _print_json({"rules": [rule.id for rule in rules], "faults": listed, "replaces_shipped": list(replacing_files(named_paths(settings, named)))})
    else:
        for fault in faults:
            print(fault)
        for line in replacements(settings, named):
            print(f"REMARK {line}")
        print(f"{several(len(rules), 'rule')} in order, {several(len(faults), 'fault')}", file=sys.stderr if faults else sys.stdout)
    return FAULTY if faults else OK


def _test(args: argparse.Namespace) -> int:
    from detector.render.numbers import several
    from detector.rule_choice import named_paths
    from detector.rule_test import is_blunt, run_cases
    from detector.rules import load_rules

    rules = load_rules(named_paths(*_chosen(args)))  # with their own group_by: it is what their cases were written for
    outcomes = run_cases(rules)
    failed = [outcome for outcome in outcomes if not outcome.passed]
    if args.format == "json":
        _print_json([_outcome_json(outcome) for outcome in outcomes])
        return FAULTY if failed else OK
    for outcome in failed:
        print(f"FAILED {outcome.rule.id}: {outcome.case.name}")
        for complaint in outcome.complaints:
            print(f"    {complaint}")
    for rule in rules:
        if not rule.tests:
            print(f"REMARK {rule.id}: has no tests ({rule.status})")
        elif is_blunt([outcome for outcome in outcomes if outcome.rule.id == rule.id]):
            print(f"REMARK {rule.id}: no silent case comes near; with half the threshold of {rule.threshold:g} all of them would still pass")
    print(f"{several(len(rules), 'rule')}, {several(len(outcomes), 'case')}, {len(failed)} failed")
    return FAULTY if failed else OK


def _schema(args: argparse.Namespace) -> int:
    from detector.rule_schema import rule_schema

    _print_json(rule_schema())
    return OK


def _docs(args: argparse.Namespace) -> int:
    from detector.errors import ConfigError
    from detector.render.numbers import several
    from detector.rule_choice import rules_of
    from detector.rule_text import pages

    written = pages(rules_of(*_chosen(args)))
    folder = Path(args.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in written.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can't write {folder}: {error.strerror}") from None
    print(f"{several(len(written), 'page')} in {folder}")
    return OK


def _as_json(rule: Rule, *, tests: bool) -> dict[str, Any]:
    from detector.rule_text import fires_when, written

    return {"id": rule.id, **written(rule, tests=tests), "fires_when": fires_when(rule)}


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    series = [
        {
            "labels": dict(entry.series),
            "score": None if entry.score != entry.score else entry.score,
            "flagged": entry.flagged,
            "requests": entry.requests,
            "expected": None if entry.expected != entry.expected else entry.expected,
        }
        for entry in outcome.judged
    ]
    return {
        "rule": outcome.rule.id,
        "case": outcome.case.name,
        "passed": outcome.passed,
        "threshold": outcome.rule.threshold,
        "series": series,
        "complaints": list(outcome.complaints),
    }


def _print_json(value: Any) -> None:
    print(json.dumps(value, indent=2, ensure_ascii=False))
