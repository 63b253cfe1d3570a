"""`detector scan`: one line per answer, in the order of the log, whatever is in it."""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from detector.cli import main

SHARED = Path(__file__).parents[2] / "shared"


def answer(content: Any, finish: str = "stop", **changes: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": finish}
    body = {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 400}}
    return {"request": {"model": "m", "max_tokens": 400}, "response": body, "status": 200, **changes}


def scan(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, list[dict[str, Any]], str]:
    code = main(["scan", *arguments, "--format", "jsonl"])
    out, err = capsys.readouterr()
    return code, [json.loads(line) for line in out.splitlines()], err


def test_every_answer_has_a_line_in_order(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    several = answer("one", id="many")
    several["response"]["choices"].append({"index": 1, "message": {"content": "two"}, "finish_reason": "length"})
    usage_only = {
        "request": {"model": "m", "stream": True},
        "response": {"object": "chat.completion.chunk", "choices": [], "usage": {}},
        "status": 200,
        "id": "usage",
    }
    lines = [
        json.dumps(answer("fine", id="a")),
        json.dumps(several),
        "broken {",
        json.dumps(answer("So it is.\n</think>\n\nThe tide.", record_id="b")),
        json.dumps(usage_only),
        json.dumps(answer("fine", request_id="c")),
        json.dumps({"request": {"model": "m"}, "response": None, "status": 504}),
        json.dumps({"request": {"input": "x", "model": "e"}, "response": {"object": "list", "data": []}, "status": 200}),
        json.dumps(answer("fine", id="a")),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(lines))
    code, found, err = scan(capsys, str(path))
    assert [entry["id"] for entry in found] == ["a", "many#0", "many#1", "b", "usage", "c", f"{path}:7", "a"]
    assert [entry["labels"] for entry in found] == [[], [], ["length_cutoff"], ["think_leak"], [], [], ["request_failure"], []]
    assert all(set(entry) == {"id", "labels", "subtypes", "reasons"} for entry in found)
    assert all(len(entry["labels"]) == len(entry["subtypes"]) == len(entry["reasons"]) for entry in found)
    assert f"{path}:3: unreadable: text that no format recognises" in err
    assert f"{path}:8: no answer: no answer of a chat or completion" in err
    assert "So it is" not in err
    assert code == 2


def test_text_output_and_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text(json.dumps(answer("fine", id="a")) + "\n" + json.dumps(answer("", id="b", finish="stop")))
    assert main(["scan", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "a  ok"
    assert out.splitlines()[1].startswith("b  empty_content (")


def test_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Standard:
        buffer = io.BytesIO(json.dumps(answer("fine", id="a")).encode())

    monkeypatch.setattr(sys, "stdin", Standard())
    assert [entry["id"] for entry in scan(capsys, "-")[1]] == ["a"]


def test_a_mapping_in_the_configuration(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, path = tmp_path / "detector.yml", tmp_path / "log.jsonl"
    config.write_text("source:\n  mapping: {record_id: key, content: out.text, finish_reason: why}\n")
    path.write_text(json.dumps({"key": "k1", "out": {"text": ""}, "why": "stop"}))
    code, found, _ = scan(capsys, str(path), "--config", str(config))
    assert (code, [(entry["id"], entry["labels"]) for entry in found]) == (0, [("k1", ["empty_content"])])


def test_what_can_not_be_read_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty = tmp_path / "empty.log"
    empty.touch()
    code, found, err = scan(capsys, str(empty))
    assert (code, found) == (2, [])
    assert f"{empty}: the file is empty" in err
    assert main(["scan", str(tmp_path / "nothing")]) == 2
    assert "no such file" in capsys.readouterr().err
    assert main(["scan", str(empty), "--format-of", "nonsense"]) == 2


@pytest.mark.shared
@pytest.mark.parametrize("name", ["cases/responses.jsonl"])
def test_labelled_answers(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path} is kept beside this checkout, and is not here")
    _, found, _ = scan(capsys, str(path))
    got: dict[str, set[str]] = {}
    for entry in found:
        got.setdefault(entry["id"].partition("#")[0], set()).update(entry["labels"])
    cases = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(got) == [case["id"] for case in cases]
    wrong = [(case["id"], sorted(got[case["id"]])) for case in cases if not set(case["expect"]) <= got[case["id"]] <= {*case["expect"], *case["may"]}]
    assert wrong == []


@pytest.mark.parametrize("data", [b"\n\n", gzip.compress(b"")])
def test_a_log_without_answers_is_not_in_order(data: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "log"
    path.write_bytes(data)
    code, answers, err = scan(capsys, str(path))
    assert (code, answers) == (2, [])
    assert "the log is empty" in err
