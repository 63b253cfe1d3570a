"""Rules as text for people: when a rule fires in one line, and its page (`docs/rules/<id>.md`, printed by `rules show`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic.fields import FieldInfo

from detector.rule_case import Row
from detector.rules import Rule

_UNITS = ((10080, "w"), (1440, "d"), (60, "h"), (1, "m"))


def short(minutes: int) -> str:
    """Minutes as people write them in rules: `15m`, `6h`, `7d`."""
    if not minutes:
        return "0m"
    size, unit = next((size, unit) for size, unit in _UNITS if minutes % size == 0 and (unit != "w" or minutes > 10080))
    return f"{minutes // size}{unit}"


def written(rule: Rule, *, tests: bool) -> dict[str, Any]:
    """The rule with the keys and durations of its file."""
    data = rule.model_dump(mode="json", by_alias=True, exclude=set() if tests else {"tests"}, exclude_defaults=False)
    for name in ("window", "baseline", "for"):
        data[name] = short(data[name])
    for case in data.get("tests", ()):
        for row in (*case["baseline"], *case["current"]):
            for name in ("at", "every"):
                row[name] = None if row[name] is None else short(row[name])
    return data


def fires_when(rule: Rule) -> str:
    """When the rule fires, in one line."""
    what = f"{rule.signal} ({', '.join(rule.subtypes)})" if rule.subtypes else rule.signal
    if rule.detector == "hits":
        how = f"{rule.threshold:g} or more within {rule.params.get('within', '6h')}"
    elif rule.detector == "share":
        how = f"surely more than {rule.threshold * 100:g} % over {short(rule.window_minutes)}"
    else:
        how = f"{rule.detector} score of {rule.threshold:g} or more against the {short(rule.baseline_minutes)} before"
    return f"{what}: {how}"


def page(rule: Rule) -> str:
    """The rule's page in Markdown; headings in the order in which someone who was woken up reads."""
    lines = [f"# {rule.title}", "", f'<a id="{rule.id}"></a>`{rule.id}` · {rule.severity} · {rule.status}', ""]
    lines += ["## Meaning", "", rule.meaning.strip(), "", "## Impact", "", rule.impact.strip(), ""]
    lines += _section("First checks", rule.next_steps, numbered=True)
    lines += _section("Likely causes", [f"`{cause}`" for cause in rule.causes])
    lines += _section("What else looks like this", rule.false_positives)
    lines += ["## When it fires", "", f"- {fires_when(rule)}"]
    lines += [f"- each {' × '.join(rule.group_by)} is judged by itself" + (f", from {rule.min_requests:,} requests on" if rule.min_requests else "")]
    lines += [f"- a message goes out {'after ' + short(rule.for_minutes) if rule.for_minutes else 'at once'}", ""]
    lines += _section("Panels to look at", [f"`{panel}`" for panel in rule.panels])
    lines += _section("References", [f"<{reference}>" for reference in rule.references])
    return "\n".join(lines).rstrip() + "\n"


def pages(rules: Sequence[Rule]) -> dict[str, str]:
    """File name → text: one page per rule, and a page with a table of all rules and of the fields of a rule file."""
    lines = ["# Rules", "", "| rule | what happened | fires when | severity |", "|---|---|---|---|"]
    lines += [f"| [{rule.id}]({rule.id}.md) | {rule.title} | {fires_when(rule)} | {rule.severity} |" for rule in rules]
    lines += ["", "## Fields of a rule file", "", "The file's name is the rule's id. `detector rules schema` prints a JSON Schema for editors.", ""]
    lines += ["| field | meaning | without it |", "|---|---|---|"]
    lines += [_field_row(field.alias or name, field) for name, field in Rule.model_fields.items() if name != "id"]
    lines += ["", "## Rows of a test case", "", "Every other key is a record column; rows without labels belong to deployment `d` and model `m`.", ""]
    lines += ["| field | meaning | without it |", "|---|---|---|"]
    lines += [_field_row(name, field) for name, field in Row.model_fields.items()]
    return {"README.md": "\n".join(lines) + "\n", **{f"{rule.id}.md": page(rule) for rule in rules}}


def _field_row(name: str, field: FieldInfo) -> str:
    default = "required" if field.is_required() else _default(field.default)
    return f"| `{name}` | {field.description or ''} | {default} |"


def _default(value: Any) -> str:
    if value is None or value == ():
        return "–"
    if isinstance(value, tuple):
        return f"`[{', '.join(value)}]`"
    return f"`{short(value)}`" if isinstance(value, int) and value >= 1440 else f"`{value}`"


def _section(title: str, entries: Sequence[str], *, numbered: bool = False) -> list[str]:
    if not entries:
        return []
    marks = [f"{index}." if numbered else "-" for index in range(1, len(entries) + 1)]
    return [f"## {title}", "", *(f"{mark} {entry.strip()}" for mark, entry in zip(marks, entries, strict=True)), ""]
