"""Documents of log shippers: which value inside is the log line (or its parsed form), and what the shipper says about it.

Filebeat and Elastic Agent, Fluent Bit and Fluentd, docker json-file, journald, Logstash, Vector, Loki rows, Splunk, Google Cloud Logging, AWS CloudWatch,
Azure Monitor, Datadog, and log bodies of the OpenTelemetry collector. Sources: the shippers' own documentation of their output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from detector.formats.paths import as_list, get
from detector.formats.values import count, flag, instant
from detector.formats.wrapping_metadata import labels, metadata
from detector.formats.wrapping_shipped import Shipped

_BEATS = frozenset(
    ("agent", "beat", "ecs", "input", "log", "prospector", "@metadata", "data_stream", "elastic_agent", "host", "container", "kubernetes", "docker")
)
_LOGSTASH = frozenset(("@version", "tags", "host", "type", "path", "port"))
_CLOUD_WATCH = frozenset(("ingestionTime", "logStreamName", "eventId", "logGroup", "logStream"))
_AZURE_TEXT = ("LogMessage", "LogEntry", "RawData", "Message")
# Without one of these at the top an object is no shipper's document.
SHIPPER_KEYS = frozenset(
    (
        *("MESSAGE", "log", "log_processed", "log_parsed", "parsed", "line", "_entry", "textPayload", "jsonPayload", "properties", "TimeGenerated", "@message"),
        *(
            "message",
            "content",
            "attributes",
            "result",
            "_raw",
            "event",
            "event.original",
            "body",
            "body.text",
            "body_text",
            "Body",
            "source_type",
            "@timestamp",
        ),
    )
)
_DOCKER = frozenset(("log", "stream", "time", "attrs"))


def shipped(body: Mapping[str, Any]) -> Shipped | None:
    """The shipper's view of this object, or None if it is no shipper's document."""
    shape = tuple(body)
    likely = _LIKELY.get(shape)
    if likely is not None:
        found = likely(body)
        if found is not None:
            return found
    for reader in _READERS:
        found = reader(body)
        if found is not None:
            if len(_LIKELY) >= _SHAPES:
                _LIKELY.clear()
            _LIKELY[shape] = reader
            return found
    return None


def _journald(body: Mapping[str, Any]) -> Shipped | None:
    if "MESSAGE" not in body or not any(key.startswith("_") or key == "PRIORITY" for key in body):
        return None
    message = body["MESSAGE"]
    if isinstance(message, list):  # bytes, as soon as the text has an escape sequence or is no UTF-8
        octets = [entry for entry in message if isinstance(entry, int) and 0 <= entry < 256]
        message = bytes(octets).decode("utf-8", "replace") if len(octets) == len(message) else message[-1] if message else None
    envelope: dict[str, Any] = {}
    moment = instant(body.get("_SOURCE_REALTIME_TIMESTAMP") or body.get("__REALTIME_TIMESTAMP"), "us")
    if moment is not None:
        envelope["timestamp"] = moment
    pod = body.get("CONTAINER_NAME") or body.get("_HOSTNAME")
    if isinstance(pod, str):
        envelope["pod"] = pod
    partial = flag(body.get("CONTAINER_PARTIAL_MESSAGE")) is True
    return Shipped([message], envelope, partial, str(body.get("CONTAINER_ID") or body.get("_PID") or ""))


def _log_key(body: Mapping[str, Any]) -> Shipped | None:
    """docker json-file, Fluent Bit and Fluentd: the line is in `log`, its parsed copy in another key or at the root."""
    line = body.get("log")
    merged = [body[key] for key in ("log_processed", "log_parsed", "parsed") if isinstance(body.get(key), dict)]
    if not isinstance(line, str) and not merged:
        return None
    if not ("kubernetes" in body or "stream" in body or merged or body.keys() & {"@timestamp", "date", "time", "timestamp", "logtag", "_p"} or len(body) == 1):
        return None
    envelope = metadata(body)
    source = body.get("kubernetes")
    stream = f"{body.get('stream')}/{source.get('docker_id') or source.get('pod_name') if isinstance(source, dict) else ''}/{body.get('container_id') or ''}"
    part = _partial(body)
    weak = part is None and isinstance(line, str) and body.keys() <= _DOCKER
    if weak:
        part = not str(line).endswith("\n")
    return Shipped([line, *merged] if isinstance(line, str) else merged, envelope, part, stream, weak)


def _partial(body: Mapping[str, Any]) -> bool | None:
    """What the container runtime's tag says: True a piece that goes on, False the last piece, None nothing."""
    tag = body.get("logtag") or body.get("_p")
    if tag in ("P", "F"):
        return bool(tag == "P")
    if flag(body.get("partial_message")):
        return not flag(body.get("partial_last"))
    if "source_type" in body:  # Vector marks pieces that it did not put together
        return flag(body.get("_partial")) is True
    return None


def _loki_row(body: Mapping[str, Any]) -> Shipped | None:
    if "line" in body and isinstance(body["line"], str) and body.keys() & {"labels", "timestamp", "fields", "tsNs", "ts"}:
        envelope = {**labels(body.get("fields")), **labels(body.get("labels"))}
        moment = instant(body.get("timestamp") or body.get("ts") or body.get("tsNs"))
        if moment is not None:
            envelope["timestamp"] = moment
        return Shipped([body["line"]], envelope, stream=f"loki/{envelope.get('pod') or body.get('labels')}")
    if isinstance(body.get("_entry"), str):  # Promtail's pack stage
        return Shipped([body["_entry"]], labels(dict(body)))
    return None


def _google(body: Mapping[str, Any]) -> Shipped | None:
    if not body.keys() & {"textPayload", "jsonPayload"} or not body.keys() & {"insertId", "logName", "resource", "receiveTimestamp", "severity"}:
        return None
    payload = body.get("jsonPayload")
    inner = [body["textPayload"]] if isinstance(body.get("textPayload"), str) else []
    if isinstance(payload, dict):
        inner += [payload, *(payload[key] for key in ("message", "log", "MESSAGE", "msg") if isinstance(payload.get(key), (str, dict)))]
    split = body.get("split")  # Cloud Logging cuts entries at 256 KiB
    if isinstance(split, dict) and isinstance(split.get("uid"), str):
        index, total = count(split.get("index")), count(split.get("totalSplits"))
        return Shipped(inner, metadata(body), total is not None and (index or 0) < total - 1, split["uid"])
    return Shipped(inner, metadata(body), stream=f"{get(body, 'resource.labels.pod_name')}/{get(body, 'resource.labels.container_name')}/{body.get('logName')}")


def _azure(body: Mapping[str, Any]) -> Shipped | None:
    properties = body.get("properties")
    if isinstance(properties, dict) and body.keys() & {"time", "category", "resourceId"}:
        inner = [properties[key] for key in ("log", *_AZURE_TEXT) if isinstance(properties.get(key), (str, dict))]
        pod = next((properties[key] for key in ("pod", "PodName") if isinstance(properties.get(key), str)), None)
        return Shipped(inner, {**metadata(body), **({"pod": pod} if pod else {})}) if inner else None
    if "TimeGenerated" in body:
        inner = [body[key] for key in _AZURE_TEXT if isinstance(body.get(key), (str, dict))]
        return Shipped(inner, metadata(body), stream=f"{body.get('PodName') or body.get('ContainerID')}/{body.get('LogSource')}") if inner else None
    return None


def _amazon(body: Mapping[str, Any]) -> Shipped | None:
    if isinstance(body.get("@message"), (str, dict)):
        return Shipped([body["@message"]], metadata(body))
    if (
        isinstance(body.get("message"), (str, dict))
        and ("timestamp" in body or "id" in body)
        and (body.keys() & _CLOUD_WATCH or body.keys() == {"timestamp", "message", "id"})
    ):
        return Shipped([body["message"]], metadata(body), stream=f"{body.get('logGroup')}/{body.get('logStreamName') or body.get('logStream')}")
    return None


def _datadog(body: Mapping[str, Any]) -> Shipped | None:
    given = body.get("content") if isinstance(body.get("content"), dict) else body.get("attributes")
    if not isinstance(given, dict) or not (body.get("type") == "log" or given.keys() & {"tags", "service", "status"}) or "message" not in given:
        return None
    parsed = given.get("attributes")
    tags = [tag.partition(":") for tag in as_list(given.get("tags")) if isinstance(tag, str)]
    pod = next((value for name, _, value in tags if name == "pod_name"), None)
    inner = [entry for entry in (given["message"], parsed) if isinstance(entry, (str, dict)) and entry]
    return Shipped(inner, {**metadata(given), **({"pod": pod} if pod else {})}) if inner else None


def _splunk(body: Mapping[str, Any]) -> Shipped | None:
    given = body["result"] if isinstance(body.get("result"), dict) else body
    if isinstance(given.get("_raw"), str):
        moment = instant(given.get("_time"))
        return Shipped([given["_raw"]], {"timestamp": moment} if moment is not None else {})
    if isinstance(body.get("event"), (str, dict)) and "time" in body and body.keys() & {"host", "source", "sourcetype", "index"}:
        return Shipped([body["event"]], metadata(body))
    return None


def _message_key(body: Mapping[str, Any]) -> Shipped | None:
    """Filebeat, Elastic Agent, Logstash, Vector: the line is in `message` or `event.original`, its parsed form under a key or at the root."""
    if str(body.get("type", "")).startswith("org.kubeflow."):
        return None  # a CloudEvent that a sink put a time beside: its data alone would lose its id
    if _is_genai_event(body):
        return None
    message = body.get("message")
    original = get(body, "event.original") if "event" in body or "event.original" in body else None
    beats = "@timestamp" in body and (body.keys() & _BEATS or any(key.startswith(("agent.", "kubernetes.", "log.", "host.")) for key in body))
    logstash = "@timestamp" in body and (body.keys() & _LOGSTASH or body.keys() == {"@timestamp", "message"})
    vector = "source_type" in body
    merged = [body[key] for key in ("json", "parsed", "log_json", "data", "payload", "llm", "decoded") if isinstance(body.get(key), dict)]
    if not (beats or logstash or vector):
        return None
    inner = [entry for entry in (message, original) if isinstance(entry, (str, dict)) and entry]
    if not inner and not merged:
        return None  # the parsed line is at the root, or under a key of the site's own
    return Shipped([*inner, *merged], metadata(body), _partial(body), _container(body))


_SOURCES = (
    *(("container", "id"), ("kubernetes", "pod_name"), ("kubernetes", "pod"), ("kubernetes.pod.name", ""), ("kubernetes.pod_name", "")),
    *(("log", "file"), ("container_id", ""), ("file", ""), ("host", "")),
)


def _container(body: Mapping[str, Any]) -> str:
    """Which container's stream a line is of, as far as the document says."""
    for key, inner in _SOURCES:
        value = body.get(key)
        if isinstance(value, dict) and inner:
            value = value.get(inner)
        if value:
            return f"{value}/{body.get('stream') or ''}"
    return f"/{body.get('stream') or ''}"


def _is_genai_event(body: Mapping[str, Any]) -> bool:
    """An event of the GenAI conventions: its body belongs to it, and without its name nobody knows what it is."""
    return str(get(body, "event_name", "eventName", "EventName", "attributes.event.name", "Attributes.event.name") or "").startswith("gen_ai.")


_BODY_FORMS = frozenset(("text", "structured", "flattened", "stringValue"))  # how stores and OTLP spell a body; other objects are the body itself
_RECORD_KEYS = frozenset(("attributes", "resource", "observed_timestamp", "timeUnixNano", "Attributes", "Timestamp", "@timestamp"))


def _collector(body: Mapping[str, Any]) -> Shipped | None:
    """A log record of the OpenTelemetry collector whose body is the line that some process wrote."""
    if _is_genai_event(body):
        return None  # the body is the event's own, not a line
    given = body.get("body")
    found: Any = None
    if isinstance(given, str):
        found = given if body.keys() & {"attributes", "resource", "severity_text", "observed_timestamp", "timeUnixNano"} else None
    elif isinstance(given, dict) and not given.keys() <= _BODY_FORMS:
        found = given  # an object that some process wrote, whatever its keys are called
    else:
        found = get(body, "body.text", "body_text", "body.stringValue", "body.structured", "body.flattened", "body_structured", "Body")
    if not isinstance(found, (str, dict)) or not body.keys() & _RECORD_KEYS:
        return None
    envelope = metadata(body)
    moment = instant(body.get("timeUnixNano"), "ns")
    if moment is not None:
        envelope["timestamp"] = moment
    inner = [found, found["text"]] if isinstance(found, dict) and isinstance(found.get("text"), str) else [found]
    return Shipped(inner, envelope, own=isinstance(found, dict))


_SHAPES = 4096
_LIKELY: dict[tuple[str, ...], Callable[[Mapping[str, Any]], Shipped | None]] = {}  # which reader took the last document with these top-level keys
_READERS = (_journald, _log_key, _loki_row, _google, _azure, _amazon, _datadog, _splunk, _collector, _message_key)
