"""What a wrapping knows about the answer inside it: when it was logged, by which pod of which deployment, and where it is stored.

Key names: Beats and ECS (`kubernetes.pod.name`), Fluent Bit and Vector (`kubernetes.pod_name`), OpenTelemetry resources (`k8s.pod.name`), Google Cloud
(`resource.labels.pod_name`), Loki and Promtail labels (`pod`), Elasticsearch hits (`_index`, `_id`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

from detector.formats.paths import get, scalar
from detector.formats.values import instant, text

_TIMES = ("@timestamp", "timestamp", "time", "date", "Timestamp", "TimeGenerated", "eventTime")
_INGESTED_PATHS = ("event.ingested", "receiveTimestamp", "ingestionTime", "observed_timestamp", "@ingestionTime")
_POD_PATHS = (
    "kubernetes.pod.name",
    "kubernetes.pod_name",
    "k8s.pod.name",
    "resource.attributes.k8s.pod.name",
    "resource.k8s.pod.name",
    "resource.labels.pod_name",
    "PodName",
    "podName",
    "k8s_pod_name",
    "pod_name",
)
_DEPLOYMENT_PATHS = (
    "kubernetes.labels.app_kubernetes_io/name",
    "kubernetes.labels.app.kubernetes.io/name",
    "kubernetes.labels.app",
    "kubernetes.pod_labels.app.kubernetes.io/name",
    "kubernetes.pod_labels.app",
    "kubernetes.deployment.name",
    "kubernetes.statefulset.name",
    "resource.attributes.service.name",
    "service.name",
)
_INGESTED, _POD, _DEPLOYMENT = (tuple((path, path.partition(".")[0]) for path in paths) for paths in (_INGESTED_PATHS, _POD_PATHS, _DEPLOYMENT_PATHS))
_ROOTS = frozenset((*_TIMES, *(root for paths in (_INGESTED, _POD, _DEPLOYMENT) for _, root in paths)))
_FLAT_ROOTS = tuple(sorted(f"{root}." for root in ("kubernetes", "resource", "k8s", "event", "service")))
_FILE_KEYS = frozenset(("log", "log.file.path", "file", "filename", "source", "tag"))
_CONTAINER_FILE = re.compile(r"/var/log/(?:containers/([a-z0-9.-]+)_[a-z0-9-]+_|pods/[a-z0-9-]+_([a-z0-9.-]+)_[0-9a-f-]+/)")


def metadata(body: Mapping[str, Any], *, times: bool = True) -> dict[str, Any]:
    """Canonical columns that an object's shipping metadata gives: timestamp, ingested_at, pod, deployment; absent ones are left out.

    `times`: the object is a shipper's, so its time is the time of the line inside.
    """
    if not has_metadata(body.keys()):
        return {}
    found: dict[str, Any] = {}
    if times:
        for key in _TIMES:
            moment = instant(scalar(body[key])) if key in body else None
            if moment is not None:
                found["timestamp"] = moment
                break
    dotted = any("." in key for key in body)
    ingested = instant(_first(body, _INGESTED, dotted=dotted))
    if ingested is not None:
        found["ingested_at"] = ingested
    pod = text(_first(body, _POD, dotted=dotted)) or _pod_of_file(body)
    if pod is not None:
        found["pod"] = pod
    deployment = text(_first(body, _DEPLOYMENT, dotted=dotted))
    if deployment is not None:
        found["deployment"] = deployment
    return found


def _first(body: Mapping[str, Any], paths: tuple[tuple[str, str], ...], *, dotted: bool) -> Any:
    """The first value at one of these paths; without dotted keys at the top only paths whose first key is there need a look."""
    for path, root in paths:
        if dotted or root in body:
            found = get(body, path)
            if found is not None:
                return scalar(found)
    return None


def has_metadata(keys: Set[str]) -> bool:
    """An object with these top-level keys can hold shipping metadata."""
    return not _ROOTS.isdisjoint(keys) or any(key.startswith(_FLAT_ROOTS) for key in keys)


def labels(given: Any) -> dict[str, Any]:
    """Columns from a flat set of labels (Loki, Promtail)."""
    if not isinstance(given, dict):
        return {}
    found = {}
    for column, names in (
        ("pod", ("pod", "k8s_pod_name", "pod_name", "kubernetes_pod_name", "instance")),
        ("deployment", ("service_name", "app", "app_kubernetes_io_name", "deployment", "job")),
    ):
        value = next((given[name] for name in names if isinstance(given.get(name), str) and given[name]), None)
        if value is not None:
            found[column] = value
    return found


def _pod_of_file(body: Mapping[str, Any]) -> str | None:
    """The pod from the path that the kubelet gives a container's log file."""
    if _FILE_KEYS.isdisjoint(body):
        return None
    path = get(body, "log.file.path", "file", "filename", "source", "tag")
    match = _CONTAINER_FILE.match(path) if isinstance(path, str) else None
    return (match[1] or match[2]) if match else None
