"""What belongs under an incident's message: its rows in Kibana, the pinned panels of its rules' metric signals, and the pages of its rules. Pure."""

from __future__ import annotations

from detector.config import Settings
from detector.errors import ConfigError
from detector.incidents import Incident
from detector.links.grafana import panel_url
from detector.links.kibana import LONGEST, DataView, rows
from detector.notify.base import Link

MOST_PANELS, MOST_VALUES = 3, 10
VARIABLES = {"model": "model_name", "deployment": "deployment", "pod": "pod"}  # label -> the name that vLLM's and SGLang's dashboards give the variable


def links_of(incident: Incident, settings: Settings, view: DataView | None) -> tuple[Link, ...]:
    """Links for one incident, over all of its time; none where the configuration names no place. No name from a log is too long or too odd for them."""
    found: list[Link] = []
    if not incident.findings:
        return ()
    start = min(incident.since, *(finding.counts.start for finding in incident.findings))
    end = max(finding.counts.end for finding in incident.findings)
    kibana = settings.kibana
    if kibana is not None and view is not None:
        address = _rows(view, start, end, incident, settings)
        if address is not None:
            found.append(Link("kibana", "Kibana", address))
    grafana = settings.grafana
    if grafana is not None:
        names = list(dict.fromkeys(name for finding in incident.findings for name in finding.panels if name in grafana.panels))
        values = {variable: sorted({value for finding in incident.findings if (value := finding.labels.get(label))}) for label, variable in VARIABLES.items()}
        variables = {name: chosen for name, chosen in values.items() if 0 < len(chosen) <= MOST_VALUES}  # more of them are better looked at together
        for name in names[:MOST_PANELS]:
            pin = grafana.panels[name]
            urls = [panel_url(grafana.url, pin.dashboard, pin.panel, start, end, chosen) for chosen in (variables, {})]
            found.append(Link("grafana", f"Grafana: {name}", urls[0] if len(urls[0]) <= LONGEST else urls[1], name))
    if settings.notify.docs_url is not None:
        found += [Link("rule", rule, f"{settings.notify.docs_url.rstrip('/')}/{rule}.md") for rule in incident.rules[:4]]
    return tuple(found)


def _rows(view: DataView, start: float, end: float, incident: Incident, settings: Settings) -> str | None:
    """The address of the incident's rows: by the examples' ids, else by its labels, else only by time; None where even that is too long."""
    kibana, fields = settings.kibana, {column: place.path[0] for column, place in settings.source.mapping.items()}
    id_field = (kibana.id_field if kibana is not None else None) or fields.get("request_id")
    ids = list(dict.fromkeys(request_id for one in incident.findings for request_id in one.request_ids if len(request_id) <= LONGEST // 4))
    for labels in ({} if ids else incident.findings[0].labels, {}):
        named = {fields[name]: value for name, value in labels.items() if name in fields}
        try:
            return rows(view, start, end, named, id_field, ids, [value for name, value in labels.items() if name not in fields and value])
        except ConfigError:
            continue
    return None
