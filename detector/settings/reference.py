"""The reference of `detector.yml` for people, made from the models: `python -m detector.settings.reference > docs/configuration.md`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from detector.config import Settings
from detector.secrets import Secrets, variable
from detector.strict_model import DURATION

HEAD = """\
# Configuration

`--config FILE` names the file; otherwise `./detector.yml` is read if there is one. Every key has a default, an unknown key is an error, and all faults are told
at once as `file:line: field: reason`. Durations are written with a unit (`90s`, `15m`, `1h`, `7d`). Relative paths are relative to the file.
"""
SECRETS = """
## Secrets

Never in the file: each comes from the environment, or from the file that the variable with `_FILE` behind its name names (`DETECTOR_SLACK_TOKEN_FILE`).
"""


def reference() -> str:
    """Markdown: one table row per key, ordered as in the models, then the variables of the secrets."""
    rows = [f"| `{path}` | {field.description or ''} | {_default(field)} |" for path, field in keys(Settings)]
    variables = [f"- `{variable(field.name)}`" for field in dataclasses.fields(Secrets)]
    table = ["| key | meaning | without it |", "|---|---|---|", *rows]
    return "\n".join([HEAD, *table, SECRETS, *variables]) + "\n"


def keys(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key that holds a value, as a dotted path (`<name>` for a key of the user's choice, `[]` for each entry of a list), with its field."""
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner, below = model_in(field.annotation)
        if inner is None:
            yield path, field
        else:
            yield from keys(inner, f"{path}{below}.")


def model_in(annotation: Any) -> tuple[type[BaseModel] | None, str]:
    """The section that a field holds, and what stands in its path for a name of the user's choice or the entries of a list."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, ""
    for inner in get_args(annotation):
        found, _ = model_in(inner)
        if found is not None:
            return found, {dict: ".<name>", tuple: "[]"}.get(get_origin(annotation), "")
    return None, ""


def default_text(field: FieldInfo) -> str:
    """A field's default as it would be written; empty when there is none."""
    value = None if field.is_required() else field.get_default(call_default_factory=True)
    if value is None or value in ((), {}):
        return ""
    if DURATION in field.metadata:
        size, unit = next((size, unit) for size, unit in ((86400, "d"), (3600, "h"), (60, "m"), (1, "s")) if value % size == 0)
        return f"{value / size:g}{unit}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required in its section"
    return f"`{text}`" if (text := default_text(field)) else "–"


if __name__ == "__main__":
    print(reference(), end="")
