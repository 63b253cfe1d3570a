"""Links to pinned Grafana panels: absolute window with padding, variables from the incident's labels.

Shape of the address: https://grafana.com/docs/grafana/latest/dashboards/share-dashboards-panels/ (`/d/UID/SLUG?from=&to=&viewPanel=&var-NAME=`); times are in
milliseconds since 1970, in UTC, so that the reader's zone does not move the window.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, urlencode

PADDING_SHARE, SHORTEST_PADDING = 0.25, 15 * 60.0  # of the window on each side, at least a quarter of an hour: what came before is half of the answer


def panel_url(base: str, dashboard: str, panel: int, start: float, end: float, variables: Mapping[str, Sequence[str]] | None = None) -> str:
    """The address of one panel over `[start, end)` (seconds since 1970 UTC), padded.

    Args:
        variables: dashboard variable -> values; a variable that the dashboard lacks is ignored by Grafana.
    """
    padding = max(SHORTEST_PADDING, (end - start) * PADDING_SHARE)
    query: list[tuple[str, str]] = [
        ("orgId", "1"),
        ("from", str(round((start - padding) * 1000))),
        ("to", str(round((end + padding) * 1000))),
        ("timezone", "utc"),
    ]
    for name, values in sorted((variables or {}).items()):
        query += [(f"var-{name}", value) for value in values]
    query.append(("viewPanel", str(panel)))
    return f"{base.rstrip('/')}/d/{quote(dashboard, safe='')}/{quote(dashboard.lower(), safe='')}?{urlencode(query, quote_via=quote, errors='replace')}"
