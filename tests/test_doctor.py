"""`detector doctor`: what it says about real nodes, and that each problem comes with its remedy."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from detector.checkups.base import Asked, Line, examine_all
from detector.cli import main
from detector.config import load_settings
from tests import fault_proxy as faults
from tests.es_index import MAPPINGS, create, fill, own
from tests.fault_proxy import fault_proxy
from tests.llm_log import documents
from tests.nodes.nodes import BLIND, READER, Node

INDEX = own("llm-doctor")
COUNT = 300


def _fill(node: Node, *, ahead: float = 0.0, late: float | None = None) -> None:
    """A log that ends `ahead` seconds from now, received `late` seconds after it was written."""
    log = documents(COUNT, start=time.time() - 3500 + ahead, seconds=3490)
    if late is not None:
        for number, document in enumerate(log):
            at = time.time() - 3500 + ahead + 3490 * number / COUNT + late
            document["event"] = {"ingested": int(at * 1000)}
    create(node, INDEX, {**MAPPINGS["text with keyword 256"], "event": {"properties": {"ingested": {"type": "date"}}}})
    assert fill(node, INDEX, log) == []


def _config(folder: Path, node: Node, url: str | None = None, **source: Any) -> str:
    settings = {"source": {"url": url or node.url, "index": INDEX, **({"tls": {"ca_file": node.ca}} if node.ca else {}), **source}}
    path = folder / "detector.yml"
    path.write_text(json.dumps(settings))  # JSON is YAML
    return str(path)


def _lines(config: str, environ: dict[str, str] | None = None) -> list[Line]:
    return list(examine_all(load_settings(config, environ or {}), Asked(), time.time()))


def _about(lines: list[Line], what: str) -> list[Line]:
    return [line for line in lines if line.what == what]


def _problems(lines: list[Line]) -> list[str]:
    assert all(line.remedy for line in lines if line.state == "problem")
    return [f"{line.what}: {line.seen}" for line in lines if line.state == "problem"]


def test_a_healthy_log(node: Node, tmp_path: Path) -> None:
    _fill(node, late=30)
    lines = _lines(_config(tmp_path, node))
    assert _problems(lines) == []
    assert f"{node.flavour} {node.version}" in _about(lines, "connection")[0].seen
    assert INDEX in _about(lines, "indices")[0].seen
    assert "envelope (200)" in _about(lines, "format")[0].seen
    assert "deployment 100 %" in _about(lines, "coverage")[0].seen
    assert "candidates to fetch" in _about(lines, "signal request_failure")[0].seen
    assert "analysed text" in _about(lines, "text response.choices.message.content")[0].seen
    assert "within 30 s" in _about(lines, "lag")[0].seen


def test_late_documents_ask_for_a_longer_lag(node: Node, tmp_path: Path) -> None:
    _fill(node, late=400)
    lines = _lines(_config(tmp_path, node))
    problem = _about(lines, "lag")[0]
    assert problem.state == "problem"
    assert "source.lag to 40" in problem.remedy


def test_a_clock_that_is_ahead(node: Node, tmp_path: Path) -> None:
    _fill(node, ahead=900)
    assert any(problem.startswith("clock: the newest document is 8") for problem in _problems(_lines(_config(tmp_path, node))))


def test_a_log_that_stopped(node: Node, tmp_path: Path) -> None:
    _fill(node, ahead=-7200)
    lines = _lines(_config(tmp_path, node))
    assert any("the newest is of" in problem for problem in _problems(lines))
    assert not _about(lines, "coverage")


def test_documents_that_are_no_answers(node: Node, tmp_path: Path) -> None:
    create(node, INDEX, {"@timestamp": {"type": "date"}})
    assert fill(node, INDEX, [{"@timestamp": int(time.time() * 1000) - 5000, "cpu": 0.5, "host": f"h{number}"} for number in range(20)]) == []
    problems = _problems(_lines(_config(tmp_path, node)))
    assert any(problem.startswith("format: 20 of 20 documents can't be read") for problem in problems)


def test_no_date_field(node: Node, tmp_path: Path) -> None:
    create(node, INDEX, {"timestamp": {"type": "float"}})
    assert fill(node, INDEX, [{"timestamp": time.time(), "model": "m"}]) == []
    lines = _lines(_config(tmp_path, node))
    assert any("no date field" in problem for problem in _problems(lines))
    assert any("`date`" in line.remedy for line in lines)


@pytest.mark.elasticsearch9
def test_the_least_privilege_role(secured: Node, tmp_path: Path) -> None:
    _fill(secured)
    config = _config(tmp_path, secured)
    lines = _lines(config, {"DETECTOR_ES_USERNAME": READER[0], "DETECTOR_ES_PASSWORD": READER[1]})
    assert _problems(lines) == []
    assert "version unknown" in _about(lines, "connection")[0].seen
    assert "read and view_index_metadata" in _about(lines, "privileges")[0].seen
    denied = _lines(config, {"DETECTOR_ES_USERNAME": BLIND[0], "DETECTOR_ES_PASSWORD": BLIND[1]})
    assert any("role.json" in line.remedy for line in denied)
    refused = _problems(_lines(config, {"DETECTOR_ES_USERNAME": "reader", "DETECTOR_ES_PASSWORD": "not-the-pass-word"}))
    assert any("does not accept the credentials" in problem for problem in refused)
    assert not any("not-the-pass-word" in problem for problem in refused)


def test_partial_answers_are_problems(node: Node, tmp_path: Path) -> None:
    _fill(node)

    def time_out(body: dict[str, Any]) -> None:
        body["timed_out"] = True

    with fault_proxy(node.url) as proxy:
        proxy.faults = [faults.on("/_search?", faults.changed(time_out), times=1)]
        assert any("stopped at its time limit" in problem for problem in _problems(_lines(_config(tmp_path, node, proxy.url))))


def test_the_command(node: Node, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _fill(node)
    assert main(["doctor", "--source", f"{node.url}/{INDEX}"]) == 0
    assert "No problem found." in capsys.readouterr().out
    assert main(["doctor", "--source", f"{node.url}/llm-no-such-index"]) == 2
    shown = capsys.readouterr().out
    assert "PROBLEM" in shown
    assert "check `source.index`" in shown


def test_files(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(document) + "\n" for document in documents(50)) + "not json\n")
    assert main(["doctor", "--source", str(log)]) == 2
    shown = capsys.readouterr().out
    assert "coverage: of 50 records" in shown
    assert "can't be read" in shown
    assert main(["doctor", "--source", str(tmp_path / "nope")]) == 2


def test_a_long_file_is_looked_at_from_its_beginning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Read ahead is more than what is looked at: both numbers are of answers, and of the same ones."""
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps(document) + "\n" for document in documents(9000, start=time.time() - 9000, seconds=9000)))
    assert main(["doctor", "--source", str(log)]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "format:" in line]
    looked_at = line.partition("(")[2].partition(")")[0]
    assert line.endswith(f"in the first {looked_at} answers")
    assert 2000 <= int(looked_at.replace(",", "")) < 9000


def test_what_a_log_hides_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "access.json"
    log.write_text('{"msec": 1795939200.0, "request_uri": "/v1/chat/completions", "status": "200", "request_time": "0.5"}\n' * 3)
    main(["doctor", "--source", str(log)])
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "read as nginx" in line]
    assert "off: empty_content" in line
    assert "it does not show text" in line


def test_a_mapped_place_where_nothing_stands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "own.jsonl").write_text('{"t": 1795939200, "answer": "At noon.", "why": "stop", "code": "fine"}\n' * 3)
    config = tmp_path / "detector.yml"
    config.write_text(
        "source:\n  path: own.jsonl\n  mapping: {timestamp: t, content: anwser, finish_reason: why, status_code: code, error_type: err, choice_index: n}\n"
    )
    assert main(["doctor", "--config", str(config)]) == 2
    shown = capsys.readouterr().out
    assert "PROBLEM  mapping of content: nothing that can be read as content stands at anwser in any of 3 records" in shown
    assert "correct source.mapping.content.path" in shown
    assert "PROBLEM  mapping of status_code" in shown
    assert "note     mapping of error_type" in shown, "a healthy log has none"
    assert "mapping of finish_reason" not in shown


def test_raw_text_is_said_to_be_what_hides_leaks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = "(APIServer pid=7) INFO 11-29 12:00:00 [logger.py:72] Generated response chatcmpl-{} (streaming complete): output: 'Aye', "
    line += "finish_reason: streaming_complete\n"
    log = tmp_path / "vllm.log"
    log.write_text("".join(line.format(number) for number in range(5)))
    main(["doctor", "--source", str(log)])
    main(["check", "--all", "--source", str(log)])
    shown = " ".join(capsys.readouterr().out.split())
    assert "signal think_leak: no record can show it: it needs content or tool_arguments as the user read it" in shown
    assert "signal think_leak: no request in this log shows it: it needs content or tool_arguments as the user read it" in shown
