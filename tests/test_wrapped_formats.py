"""What a shipper wraps around a log line changes nothing of the answer in it: every fixture of single lines, inside every kind of shipper's document."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from detector.formats.base import Rejected
from detector.formats.reader import Reader
from detector.formats.wrapping_lines import raw_documents
from detector.record import Record
from tests.test_formats import FIXTURES, same

OF_THE_SHIPPER = {"timestamp", "pod", "deployment", "doc_id", "doc_index"}
OF_LINES = {
    *("vllm-text", "vllm-json", "sglang-text", "sglang-json", "tgi", "ray-serve", "router", "nginx", "batch", "envoy", "kong", "apisix", "higress"),
    *("litellm", "litellm-spend", "openai-json", "triton", "kserve", "otel-new", "otel-old", "openllmetry", "openinference", "langfuse", "librechat"),
}
TEXT = {"vllm-text", "sglang-text", "tgi", "ray-serve", "router", "triton"}
POD = {"pod": {"name": "w-0"}, "namespace": "prod"}
FLAT_POD = {"pod_name": "w-0", "docker_id": "d"}

Wrap = Callable[[list[str]], Iterable[str]]


def at(position: int) -> str:
    return f"2026-11-29T04:{position // 60:02d}:{position % 60:02d}.500000000Z"


def dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def in_two(line: str) -> tuple[str, str]:
    half = max(1, len(line) // 2)
    return line[:half], line[half:]


def cri(lines: list[str]) -> list[str]:
    return [f"{at(n)} stderr F {line}" for n, line in enumerate(lines)]


def cri_pieces(lines: list[str]) -> list[str]:
    return [f"{at(n)} stdout {tag} {piece}" for n, line in enumerate(lines) for tag, piece in zip("PF", in_two(line), strict=True)]


def docker(lines: list[str]) -> list[str]:
    return [dumped({"log": line + "\n", "stream": "stdout", "time": at(n)}) for n, line in enumerate(lines)]


def docker_pieces(lines: list[str]) -> list[str]:
    pieces = [(n, piece) for n, line in enumerate(lines) for piece in in_two(line + "\n")]
    return [dumped({"log": piece, "stream": "stdout", "time": at(n)}) for n, piece in pieces]


def filebeat(lines: list[str]) -> list[str]:
    return [dumped({"@timestamp": at(n), "agent": {"type": "filebeat"}, "message": line, "kubernetes": POD}) for n, line in enumerate(lines)]


def fluent_bit(lines: list[str]) -> list[str]:
    return [dumped({"@timestamp": at(n), "stream": "stdout", "log": line + "\n", "kubernetes": FLAT_POD}) for n, line in enumerate(lines)]


def fluentd_text(lines: list[str]) -> list[str]:
    return [f"2026-11-29 04:00:{n % 60:02d}.000000000 +0000 kube.x: " + dumped({"log": line, "kubernetes": FLAT_POD}) for n, line in enumerate(lines)]


def journal(lines: list[str]) -> list[str]:
    return [dumped({"__REALTIME_TIMESTAMP": str(1795924800000000 + n), "_HOSTNAME": "h", "PRIORITY": "6", "MESSAGE": line}) for n, line in enumerate(lines)]


def kubectl(lines: list[str]) -> list[str]:
    return [f"[pod/w-0/c] {line}" for line in lines]


def kubectl_times(lines: list[str]) -> list[str]:
    return [f"{at(n)} {line}" for n, line in enumerate(lines)]


def logstash_of_fluent_bit(lines: list[str]) -> list[str]:
    return [dumped({"@timestamp": at(n), "@version": "1", "host": "h", "message": line}) for n, line in enumerate(fluent_bit(lines))]


def vector(lines: list[str]) -> list[str]:
    kubernetes = {"pod_name": "w-0"}
    return [dumped({"message": line, "source_type": "kubernetes_logs", "kubernetes": kubernetes, "timestamp": at(n)}) for n, line in enumerate(lines)]


def loki(lines: list[str]) -> list[str]:
    values = [[str((1795924800 + n) * 10**9), line] for n, line in enumerate(lines)]
    return [dumped({"status": "success", "data": {"resultType": "streams", "result": [{"stream": {"pod": "w-0"}, "values": values}]}})]


def google(lines: list[str]) -> list[str]:
    resource = {"labels": {"pod_name": "w-0"}}
    return [dumped({"insertId": str(n), "textPayload": line, "resource": resource, "timestamp": at(n), "logName": "x"}) for n, line in enumerate(lines)]


def search(lines: list[str]) -> list[str]:
    return [dumped({"hits": {"hits": [{"_index": "l", "_id": str(n), "_source": json.loads(hit)} for n, hit in enumerate(filebeat(lines))]}})]


def otlp(lines: list[str]) -> list[str]:
    records = [{"timeUnixNano": str((1795924800 + n) * 10**9), "body": {"stringValue": line}} for n, line in enumerate(lines)]
    return [dumped({"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]})]


WRAPS: tuple[Wrap, ...] = (
    *(cri, cri_pieces, docker, docker_pieces, filebeat, fluent_bit, fluentd_text, journal, kubectl, kubectl_times),
    *(logstash_of_fluent_bit, vector, loki, google, search, otlp),
)


def single_lines(fixture: dict[str, Any]) -> list[str] | None:
    """The fixture's lines, if each is a document of its own."""
    lines = [line.rstrip("\r") for line in fixture["input"].split("\n") if line.strip()]
    if fixture["producer"] not in OF_LINES or any(line.startswith(("data:", "event:", "☁", "Context", "Extensions")) for line in lines):
        return None
    for line in lines:
        if line.lstrip()[:1] not in ("{", "["):
            if fixture["producer"] not in TEXT:
                return None
        elif fixture["producer"] not in TEXT or line[:1] == "{":
            try:
                document = json.loads(line)
            except ValueError:
                return None
            if isinstance(document, dict) and document.keys() in ({"create"}, {"index"}):  # of a bulk file: no entry of a log that is shipped
                return None
    return lines


@pytest.mark.parametrize("wrap", WRAPS, ids=lambda wrap: wrap.__name__)
def test_a_wrapped_log_gives_the_same_records(wrap: Wrap) -> None:
    different = []
    read = 0
    for fixture in FIXTURES:
        lines = single_lines(fixture)
        if lines is None:
            continue
        read += 1
        outcomes = list(Reader().read(raw_documents([line + "\n" for line in wrap(lines)], "log")))
        records = [outcome for outcome in outcomes if isinstance(outcome, Record)]
        rejected = [outcome for outcome in outcomes if isinstance(outcome, Rejected)]
        good = len(records) == len(fixture["expect"]) and fixture["ignored_lines"] in (None, len(rejected))
        for expected, record in zip(fixture["expect"], records, strict=False):
            good = good and all(same(column, value, getattr(record, column)) for column, value in expected.items() if column not in OF_THE_SHIPPER)
        if not good:
            different.append(fixture["id"])
    assert different == []
    assert read > 200
