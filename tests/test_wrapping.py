"""Peeling: nested wrappings, split lines, bulk files, order, and memory that stays flat."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from detector.formats import vllm_calls
from detector.formats.base import Document, Rejected
from detector.formats.detect import Detector
from detector.formats.joining import ByKey
from detector.formats.literals import quoted, unescaped
from detector.formats.paths import MISSING, as_list, find, get, indexed, leaves, otlp_attributes, scalar
from detector.formats.reader import Reader
from detector.formats.repr_values import Call, Cut, value
from detector.formats.wrapping import Peeler
from detector.formats.wrapping_lines import is_csv_header, raw_documents
from detector.record import Record

ANSWER = "(APIServer pid=1) INFO 11-30 09:00:05 [logger.py:71] Generated response {}: output: 'Aye.', output_token_ids: [1], finish_reason: stop"


def body(name: str, text: str = "Aye.") -> dict[str, Any]:
    return {"id": name, "object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}


def peeled(*raw: Any) -> list[Document]:
    peeler = Peeler(Detector().detect)
    return [inner for at, one in enumerate(raw) for inner in peeler.feed(Document(one, f"log:{at + 1}"))] + peeler.finish()


def ids(lines: list[str]) -> list[str | None]:
    return [found.request_id for found in Reader().read(raw_documents(lines, "log")) if isinstance(found, Record)]


# paths


@pytest.mark.parametrize(
    "document",
    [
        {"gen_ai.request.model": "m"},
        {"gen_ai": {"request": {"model": "m"}}},
        {"gen_ai": {"request.model": "m"}},
        {"gen_ai.request": {"model": "m"}},
        {"gen_ai": '{"request": {"model": "m"}}'},
        {"gen_ai": {"request": '{"model": "m"}'}},
    ],
)
def test_a_path_is_found_however_it_is_spelled(document: dict[str, Any]) -> None:
    assert find(document, "gen_ai.request.model") == "m"


def test_paths_tell_null_from_missing() -> None:
    document = {"a": {"b": None}, "a.c": 1, "list": [{"x": 5}]}
    assert find(document, "a.b") is None
    assert find(document, "a.d") is MISSING
    assert get(document, "a.b", "a.c") == 1
    assert find(document, "list.0.x") == 5
    assert find(document, "list.7.x") is MISSING
    assert scalar([["v"]]) == "v"
    assert as_list('["a", "b"]') == ["a", "b"]
    assert as_list(None) == []


def test_indexed_and_listed_attributes_become_objects() -> None:
    flat = {"p.0.role": "user", "p.0.content": "a", "p.10.role": "x", "p.2.role": "tool", "q": 1}
    assert indexed(leaves(flat), "p") == [{"role": "user", "content": "a"}, {"role": "tool"}, {"role": "x"}]
    listed = [
        {"key": "n", "value": {"intValue": "7"}},
        {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "a"}]}}},
        {"key": "o", "value": {"kvlistValue": {"values": [{"key": "x", "value": {"boolValue": True}}]}}},
    ]
    assert otlp_attributes(listed) == {"n": 7, "l": ["a"], "o": {"x": True}}


# literals


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (r"'it\'s'", "it's"),
        (r'"it\'s"', "it's"),
        (r"'\u00e9\x41\101\n\\'", "\u00e9AA\n\\"),
        (r'"\u{1F600}\t"', "\U0001f600\t"),
        (r"'\ud83d\ude00'", "\U0001f600"),
        (r"'\q'", r"\q"),
    ],
)
def test_quoted_texts_are_decoded(line: str, text: str) -> None:
    found = quoted(line, 0)
    assert found is not None
    assert found.text == text
    assert found.closed


def test_a_text_without_its_closing_quote_was_cut() -> None:
    found = quoted(r"'abc\'", 0)
    assert found is not None
    assert not found.closed
    assert quoted("abc", 0) is None
    assert unescaped("\\") == "\\"


def test_python_reprs_are_read_where_a_literal_parser_fails() -> None:
    read, end = value("GenerateReqInput(rid='a', x=None, t='h' ... 'l', ids=[1, 2] ... [8, 9], s={'a': [True, -1.5e3]}, f=<Foo (1, 2)>, o=Bar(z=1))")
    assert isinstance(read, Call)
    assert read["rid"] == "a"
    assert isinstance(read["t"], Cut)
    assert read["ids"] == [1, 2, "...", 8, 9]
    assert read["s"] == {"a": [True, -1500.0]}
    assert read["o"] == {"z": 1}
    assert end > 0


# lines


def test_pretty_json_json_lines_and_text_share_a_file() -> None:
    lines = [
        "plain text\n",
        "{\n",
        '  "a": [\n',
        "    1\n",
        "  ]\n",
        "}\n",
        '{"b": 2}\n',
        "{\n",
        '  "c": "broken\n',
        '{"d": 4}\n',
        "[\n",
        '{"e": 5},\n',
        '{"f": 6}\n',
        "]\n",
    ]
    assert [document.body for document in raw_documents(lines, "log")] == [
        "plain text",
        {"a": [1]},
        {"b": 2},
        "{",
        '  "c": "broken',
        {"d": 4},
        {"e": 5},
        {"f": 6},
    ]


def test_a_line_that_is_cut_costs_only_itself() -> None:
    lines = ['{"id": "x", "choices": [\n', *(json.dumps(body(f"chatcmpl-{at}")) + "\n" for at in range(3))]
    outcomes = list(Reader().read(raw_documents(lines, "log")))
    assert [found.request_id for found in outcomes if isinstance(found, Record)] == ["chatcmpl-0", "chatcmpl-1", "chatcmpl-2"]
    assert len([found for found in outcomes if isinstance(found, Rejected)]) == 1


def test_recorded_streams_are_one_document_each() -> None:
    chunk = 'data: {{"id":"{}","object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{"content":"a"}},"finish_reason":{}}}]}}\n'
    lines = [
        chunk.format("c1", "null"),
        "\n",
        chunk.format("c1", '"stop"'),
        "\n",
        "data: [DONE]\n",
        "\n",
        chunk.format("c2", "null"),
        "\n",
        chunk.format("c3", '"stop"'),
    ]
    assert ids(lines) == ["c1", "c2", "c3"]


def test_tables_are_known_by_their_header() -> None:
    assert is_csv_header('"@timestamp","_id","message"')
    assert is_csv_header("id,start_time,output,usage")
    assert not is_csv_header('{"a": 1, "b": 2, "message": 3}')
    assert is_csv_header('"@timestamp",message'), "two columns chosen in Kibana's Discover"
    assert not is_csv_header("Time, gentlemen")
    assert not is_csv_header("Hello, dear harbour master, the message is late")


# wrappings


def test_four_wrappings_around_one_answer() -> None:
    inner = json.dumps({"log": ANSWER.format("chatcmpl-n") + "\n", "stream": "stdout", "kubernetes": {"pod_name": "p-1"}})
    hit = {"_index": "i", "_id": "d", "_source": {"@timestamp": "2026-11-30T00:00:05Z", "@version": "1", "message": inner}}
    found = peeled(json.dumps({"hits": {"hits": [hit]}}))
    assert len(found) == 1
    assert str(found[0].body).startswith("(APIServer pid=1)")
    assert found[0].envelope == {"timestamp": 1795996805.0, "pod": "p-1", "doc_index": "i", "doc_id": "d"}


def test_a_home_made_wrapping_is_peeled_if_it_leads_to_a_known_format() -> None:
    assert [document.body for document in peeled({"app": "x", "when": 1, "payload": json.dumps(body("chatcmpl-h"))})] == [body("chatcmpl-h")]
    strange = {"app": "x", "payload": json.dumps({"k": 1})}
    assert [document.body for document in peeled(strange)] == [strange]


def test_pieces_that_do_not_fit_are_each_counted() -> None:
    whole = json.dumps(body("chatcmpl-p", "A long answer that was cut."))
    lines = [{"@timestamp": "2026-11-30T00:00:05Z", "agent": {"type": "filebeat"}, "message": piece} for piece in (whole[:60], "and no rest of it", whole)]
    outcomes = list(Reader().read(Document(line, f"log:{at}") for at, line in enumerate(lines)))
    assert [type(found) for found in outcomes] == [Rejected, Rejected, Record]


def test_newest_first_is_turned_round_for_joining_and_back_for_output() -> None:
    values = [[f"17959968{at:02d}000000000", ANSWER.format(f"chatcmpl-{at}")] for at in (9, 8, 7)]
    document = Document({"data": {"resultType": "streams", "result": [{"stream": {}, "values": values}]}}, "log:1")
    assert [found.request_id for found in Reader().read([document]) if isinstance(found, Record)] == ["chatcmpl-9", "chatcmpl-8", "chatcmpl-7"]


def test_deep_nesting_ends() -> None:
    deep: Any = body("chatcmpl-deep")
    for _ in range(100):
        deep = {"message": json.dumps(deep), "@timestamp": "2026-11-30T00:00:05Z", "@version": "1"}
        if len(deep["message"]) > 1_000_000:
            break
    assert list(Reader().read([Document(deep, "log:1")]))


# order and memory


def test_records_keep_the_order_of_their_answers() -> None:
    request = "(APIServer pid=1) INFO 11-30 09:00:01 [logger.py:63] Received request {}: params: SamplingParams(n=1, max_tokens=5), lora_request: None."
    lines = [request.format("a"), ANSWER.format("held"), request.format("b"), ANSWER.format("b"), json.dumps(body("json")), ANSWER.format("a")]
    assert ids([line + "\n" for line in lines]) == ["held", "b", "json", "a"]


def _log(answers: int) -> Iterator[Document]:
    request = "(APIServer pid=1) INFO 11-30 09:00:01 [logger.py:63] Received request {}: params: SamplingParams(n=1, max_tokens=5), lora_request: None."
    for at in range(answers):
        yield Document(request.format(f"lost-{at}"), f"log:{at}")
        yield Document(ANSWER.format(f"held-{at}"), f"log:{at}")
        yield Document({"log": "half a line " * 20, "stream": f"s{at % 7}", "time": "2026-11-30T00:00:05Z", "attrs": {"tag": "x"}}, f"log:{at}")


def _peak(answers: int) -> int:
    tracemalloc.start()
    count = sum(1 for _ in Reader().read(_log(answers)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count >= 2 * answers
    return peak


def test_memory_does_not_grow_with_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests that never end, answers without a request, lines without their ends: the worst for a reader that joins."""
    monkeypatch.setattr(vllm_calls, "_REQUESTS", 200)  # the bounds are reached in a test's time
    monkeypatch.setattr(vllm_calls, "_RECENT", 100)
    _peak(100)  # what is made once
    assert _peak(1600) < 1.3 * _peak(800)


def test_groups_close_when_complete_or_too_old() -> None:
    def read(group: Any) -> Iterator[Record]:
        yield Record(request_id="+".join(str(document.body) for document in group))

    joiner = ByKey(lambda document: str(document.body)[0], read, lambda group: len(group) == 2, window=3)
    documents = [Document(text, "log:1", {}, at) for at, text in enumerate(("a1", "b1", "a2", "c1", "d1", "e1", "f1"), start=1)]
    got = [[outcome.record.request_id for outcome in joiner.feed(document)] for document in documents]  # type: ignore[union-attr]
    assert got == [[], [], ["a1+a2"], [], [], ["b1"], []]
    assert joiner.holds_from() == 4
    assert [outcome.record.request_id for outcome in joiner.finish()] == ["c1", "d1", "e1", "f1"]  # type: ignore[union-attr]
