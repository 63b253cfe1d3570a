"""What belongs under an incident's message: its rows in Kibana, the pinned panels of its rules' metric signals, and the pages of its rules. Pure."""

from __future__ import annotations

from detector.config import Settings
from detector.incidents import Incident
from detector.links.grafana import panel_url
from detector.links.kibana import DataView, rows
from detector.notify.base import Link

MOST_PANELS = 3
VARIABLES = {"model": "model_name", "deployment": "deployment", "pod": "pod"}  # label -> the name that vLLM's and SGLang's dashboards give the variable


def links_of(incident: Incident, settings: Settings) -> tuple[Link, ...]:
    """Links for one incident; none where the configuration names no place."""
    found: list[Link] = []
    if not incident.findings:
        return ()
    start = min(finding.counts.start for finding in incident.findings)
    end = max(finding.counts.end for finding in incident.findings)
    kibana = settings.kibana
    if kibana is not None and kibana.data_view:
        view = DataView(kibana.url, kibana.data_view, kibana.space)
        finding = incident.findings[0]
        ids = [request_id for one in incident.findings for request_id in one.request_ids]
        found.append(Link("kibana", "Kibana", rows(view, start, end, {} if ids else finding.labels, kibana.id_field, list(dict.fromkeys(ids)))))
    grafana = settings.grafana
    if grafana is not None:
        names = list(dict.fromkeys(name for finding in incident.findings for name in finding.panels if name in grafana.panels))
        variables = {
            variable: sorted({value for finding in incident.findings if (value := finding.labels.get(label))}) for label, variable in VARIABLES.items()
        }
        for name in names[:MOST_PANELS]:
            pin = grafana.panels[name]
            url = panel_url(grafana.url, pin.dashboard, pin.panel, start, end, {key: values for key, values in variables.items() if values})
            found.append(Link("grafana", f"Grafana: {name}", url, name))
    if settings.notify.docs_url is not None:
        found += [Link("rule", rule, f"{settings.notify.docs_url.rstrip('/')}/{rule}.md") for rule in incident.rules[:4]]
    return tuple(found)
