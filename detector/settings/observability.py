"""`prometheus:`, `grafana:` and `kibana:` where metrics are asked for and where links lead."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from detector.diagnosis.panel_names import PANEL_NAMES
from detector.settings.values import WebAddress
from detector.strict_model import Seconds, Strict, unknown


def _panel_name(name: str) -> str:
    if name not in PANEL_NAMES:
        raise ValueError(unknown(name, list(PANEL_NAMES), "panel"))
    return name


PanelName = Annotated[str, AfterValidator(_panel_name)]


class PrometheusSettings(Strict):
    """A server that speaks Prometheus' query API; a bearer token is DETECTOR_PROMETHEUS_TOKEN."""

    url: WebAddress
    """Address of the server, up to but without `/api/v1`."""
    timeout: Seconds = 30.0
    """Limit on one query."""


class PinnedPanel(Strict):
    """One Grafana panel."""

    dashboard: str
    """The dashboard's uid."""
    panel: int = Field(ge=0, strict=True)
    """The panel's id on it."""


class GrafanaSettings(Strict):
    """Grafana; an API token is DETECTOR_GRAFANA_TOKEN."""

    url: WebAddress
    """Address of Grafana, as people open it."""
    panels: dict[PanelName, PinnedPanel] = Field(default_factory=dict)
    """Metric signal → the panel that plots it."""


class KibanaSettings(Strict):
    """Kibana, or OpenSearch Dashboards."""

    url: WebAddress
    """Address as people open it, without space and path."""
    product: Literal["kibana", "opensearch-dashboards"] = "kibana"
    """Which of the two it is: their addresses differ."""
    space: str = "default"
    """Kibana space that holds the data view."""
    data_view: str | None = None
    """Id or name of the data view (index pattern); that of `source.index` when left out. Looked up with the source's credentials."""
    id_field: str | None = None
    """Field of the log that holds the request's id, such as `response.id`; without it, and without a mapping, ids are looked for in all fields."""
