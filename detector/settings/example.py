"""An example of `detector.yml` with every field explained, made from the models: `python -m detector.settings.example > deploy/detector.example.yml`.

Keys with a default stand as comments that show it; the others show an example, as a comment where it would need something else or exclude a neighbour.
"""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from detector.config import Settings
from detector.secrets import Secrets, variable
from detector.settings.reference import default_text, model_in

WIDTH = 118
HEAD = """\
# Every setting of detector, explained. Nothing here is needed but a source and a receiver. `#key: value`, without a space, shows a default, or an
# example of what may be set. Unknown keys are errors. Durations have a unit: 90s, 15m, 1h, 7d. Relative paths are relative to this file.
# Made from the code: python -m detector.settings.example
#
# Secrets never stand here: they come from the environment, or from the file that NAME_FILE names:
"""

ACTIVE = {  # values that the example sets
    "source.url": "https://elasticsearch.example:9200",
    "source.index": "llm-*",
    "grafana.url": "https://grafana.example",
    "grafana.panels.<name>.dashboard": "vllm-overview",
    "grafana.panels.<name>.panel": "4",
    "kibana.url": "https://kibana.example",
    "prometheus.url": "https://prometheus.example",
    "notify.slack.channel": "C0123456789",
    "notify.alertmanager.url": "http://alertmanager.example:9093",
}
SHOWN = {  # examples of what may be set, as comments
    "source.path": "[logs/]",
    "source.cloud_id": "my-deployment:ZXhhbXBsZQ==",
    "source.format": "envelope",
    "source.mapping.<name>.path": "result.took",
    "source.mapping.<name>.unit": "ms",
    "source.mapping.<name>.values": '{"-": null}',
    "source.timezone": "Asia/Seoul",
    "source.tls.ca_file": "/etc/detector/ca.pem",
    "source.tls.fingerprint": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "source.proxy": "http://proxy.example:3128",
    "group_by": "[deployment, model]",
    "rules": "[shipped, rules/]",
    "schedule.cron": '"*/5 * * * *"',
    "schedule.groups.<name>.rules": "[finish_reason_length_level, empty_content_level]",
    "schedule.groups.<name>.every": "1h",
    "schedule.groups.<name>.cron": '"0 * * * *"',
    "schedule.heartbeat": "https://heartbeat.example/ping/detector",
    "kibana.data_view": "llm-*",
    "kibana.id_field": "response.id",
    "notify.webhook.url": "https://hook.example/llm",
    "notify.file.path": "incidents.md",
    "notify.index.name": "detector-findings",
    "notify.routes[].match": "[deployment=chat, severity=critical]",
    "notify.routes[].to": "[slack]",
    "notify.routes[].channel": "C9876543210",
    "notify.routes[].owner": "S0123456789",
    "notify.quiet[].match": "[severity=warning]",
    "notify.quiet[].days": "[sat, sun]",
    "notify.quiet[].from": '"22:00"',
    "notify.quiet[].to": '"07:00"',
    "notify.quiet[].timezone": "Asia/Seoul",
    "notify.quiet[].comment": "the weekend's batch jobs",
    "notify.docs_url": "https://docs.example/rules",
    "signals.think_markers": "[</inner>]",
    "signals.special_tokens": '["<|end|>"]',
}
NAMES = {"source.mapping": "latency_seconds", "grafana.panels": "ttft", "schedule.groups": "hourly"}


def example() -> str:
    """The text of the example."""
    variables = textwrap.wrap(", ".join(variable(field.name) for field in dataclasses.fields(Secrets)), WIDTH)
    secrets = "".join(f"#   {line}\n" for line in variables)
    return HEAD + secrets + "\n".join(_section(Settings, "", "", commented=False)) + "\n"


def _section(model: type[BaseModel], prefix: str, indent: str, *, commented: bool) -> Iterator[str]:
    for name, field in model.model_fields.items():
        path = f"{prefix}{field.alias or name}"
        inner, below = model_in(field.annotation)
        if inner is None:
            yield from _key(path, field, indent, commented=commented)
            continue
        live = not commented and any(key.startswith(f"{path}{below}.") for key in ACTIVE)
        mark = "" if live else "#"
        if not prefix:
            yield ""
        yield from _explained(field.description or _first_line(inner), indent)
        yield f"{indent}{mark}{name}:"
        deeper = indent + "  "
        if below == ".<name>":
            yield f"{deeper}{mark}{NAMES[path]}:"
            deeper += "  "
        elif below == "[]":
            yield f"{deeper}{mark}-  # each entry:"
            deeper += "  "
        yield from _section(inner, f"{path}{below}.", deeper, commented=not live)


def _key(path: str, field: FieldInfo, indent: str, *, commented: bool) -> Iterator[str]:
    if not indent:
        yield ""
    yield from _explained(field.description or "", indent)
    name = path.rpartition(".")[2]
    if path in ACTIVE and not commented:
        yield f"{indent}{name}: {ACTIVE[path]}"
    else:
        yield f"{indent}#{name}: {ACTIVE.get(path) or SHOWN.get(path) or default_text(field)}"


def _explained(text: str, indent: str) -> Iterator[str]:
    for line in textwrap.wrap(text, WIDTH - len(indent)):
        yield f"{indent}# {line}"


def _first_line(model: type[BaseModel]) -> str:
    return (model.__doc__ or "").strip().splitlines()[0]


def lacking() -> list[str]:
    """Keys for which the example has neither a default nor a value to show: a new setting needs one in `SHOWN`."""
    from detector.settings.reference import keys

    shown = {*ACTIVE, *SHOWN}
    return [path for path, field in keys(Settings) if path not in shown and not default_text(field)]


if __name__ == "__main__":
    print(example(), end="")
