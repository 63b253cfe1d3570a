"""The JSON Schema of a rule file, for editors: made from the model, with the names that this installation knows."""

from __future__ import annotations

from typing import Any

from detector.detectors.base import detectors
from detector.diagnosis.cause_ids import CAUSE_IDS
from detector.diagnosis.panel_names import PANEL_NAMES
from detector.record import COLUMNS
from detector.rule_case import CASE_COLUMNS
from detector.rules import Rule
from detector.signals.base import signals

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def rule_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) that accepts what `load_rules` accepts, as far as a schema can tell."""
    schema = Rule.model_json_schema(by_alias=True)
    properties = schema["properties"]
    properties.pop("id")
    schema["required"] = [name for name in schema["required"] if name != "id"]
    properties["signal"] |= {"enum": sorted(signals())}
    properties["subtypes"]["items"] |= {"enum": sorted({subtype for signal in signals().values() for subtype in signal.subtypes})}
    properties["causes"]["items"] |= {"enum": sorted(CAUSE_IDS)}
    properties["panels"]["items"] |= {"enum": sorted(PANEL_NAMES)}
    properties["references"]["items"] |= {"format": "uri"}
    definitions = schema["$defs"]
    statistics = {}
    for name, kind in sorted(detectors().items()):
        inner = kind.PARAMETERS.model_json_schema(by_alias=True)
        definitions |= inner.pop("$defs", {})
        statistics[name] = inner
    properties["detector"] |= {"properties": statistics, "additionalProperties": False}
    row = definitions["Row"]
    row["additionalProperties"] = False
    row["properties"] |= {name: {"description": _described(name)} for name in CASE_COLUMNS}
    return {"$schema": DRAFT, **schema}


def _described(column: str) -> str:
    """A record column's meaning with its unit."""
    metadata = COLUMNS[column].metadata
    return f"{metadata['meaning']} [{metadata['unit']}]" if metadata["unit"] else str(metadata["meaning"])
