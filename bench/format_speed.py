"""Reading speed per format: answers a second from a file to batches, as a share of the plain NDJSON path (request and response in one document).

    python bench/format_speed.py [--answers 4000] [--repeat 3]

Every log holds the same answers (mean 2 KB of text) in the shape of its producer. Two shares are printed: of the plain NDJSON path, which decodes typed
rows straight to columns, and of the general path, which reads the same NDJSON through detection and records as every other format is read.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from detector.reading import ReadingOptions
from detector.sources.base import Tally
from detector.sources.files import Files
from tests.producers import gateways, tracers
from tests.producers.answers import Answer, Choice, Producer

WORDS = "the tide turns at noon so we load the barge before it and wait for the pilot who knows the channel and its lights better than we do".split()  # noqa: SIM905
START = 1795996800


def texts(count: int) -> list[str]:
    chance = random.Random(1)
    return [" ".join(chance.choices(WORDS, k=chance.randint(150, 700))) for _ in range(count)]


def at(number: int) -> str:
    return datetime.fromtimestamp(START + number, UTC).isoformat().replace("+00:00", "Z")


def body(number: int, text: str) -> dict[str, Any]:
    usage = {"prompt_tokens": 20, "completion_tokens": len(text) // 5, "total_tokens": 20 + len(text) // 5}
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}]
    return {"id": f"chatcmpl-{number}", "object": "chat.completion", "created": START + number, "model": "ship-8b", "choices": choices, "usage": usage}


def envelope(number: int, text: str) -> list[str]:
    request = {"model": "ship-8b", "max_tokens": 4096, "messages": [{"role": "user", "content": "When?"}]}
    return [json.dumps({"timestamp": at(number), "request": request, "response": body(number, text), "status": 200, "latency_ms": 900})]


def vllm(number: int, text: str) -> list[str]:
    prefix = "(APIServer pid=1) INFO 11-30 09:00:05 "
    sampling = "SamplingParams(n=1, presence_penalty=0.0, temperature=0.7, top_p=0.95, seed=None, stop=[], ignore_eos=False, max_tokens=4096)"
    return [
        f"{prefix}[logger.py:63] Received request chatcmpl-{number}: params: {sampling}, lora_request: None.",
        f"{prefix}[logger.py:92] Generated response chatcmpl-{number}: output: {text!r}, finish_reason: stop",
    ]


def filebeat(number: int, text: str) -> list[str]:
    shipped = {
        "@timestamp": at(number),
        "agent": {"type": "filebeat"},
        "log": {"offset": 1},
        "kubernetes": {"pod": {"name": "ship-0"}, "labels": {"app": "ship"}},
    }
    return [json.dumps({**shipped, "message": line}) for line in vllm(number, text)]


def sglang(number: int, text: str) -> dict[str, Any]:
    meta = {
        "id": f"r{number}",
        "finish_reason": {"type": "stop", "matched": 2},
        "prompt_tokens": 20,
        "completion_tokens": 400,
        "cached_tokens": 0,
        "e2e_latency": 1.5,
    }
    obj = {"rid": f"r{number}", "text": None, "sampling_params": {"temperature": 0.7, "max_new_tokens": 4096, "n": 1}, "stream": False}
    return {"timestamp": "2026-11-30T09:00:00.1", "event": "request.finished", "rid": f"r{number}", "obj": obj, "out": {"text": text, "meta_info": meta}}


def sglang_text(number: int, text: str) -> list[str]:
    document = sglang(number, text)
    arguments = ", ".join(f"{name}={value!r}" for name, value in document["obj"].items())
    return [f"[2026-11-30 09:00:00] Finish: obj=GenerateReqInput({arguments}), out={document['out']!r}"]


def docker(number: int, text: str) -> list[str]:
    return [json.dumps({"log": json.dumps(body(number, text)) + "\n", "stream": "stdout", "time": at(number)})]


def hits(number: int, text: str) -> list[str]:
    return [json.dumps({"_index": "llm", "_id": str(number), "_source": {"@timestamp": at(number), **body(number, text)}})]


def batch(number: int, text: str) -> list[str]:
    return [
        json.dumps(
            {"id": f"b{number}", "custom_id": f"row-{number}", "response": {"status_code": 200, "request_id": "q", "body": body(number, text)}, "error": None}
        )
    ]


def nginx(number: int, text: str) -> list[str]:
    named = {"time_iso8601": at(number), "request_id": f"n{number}", "request_method": "POST", "request_uri": "/v1/chat/completions", "status": "200"}
    return [json.dumps({**named, "request_time": "1.5", "upstream_addr": "10.0.0.1:8000", "upstream_status": "200", "http_user_agent": "x"})]


def rendered(producer: Producer) -> Callable[[int, str], list[str]]:
    """The answer as the tests render it for this producer, with ids of its own."""

    def made(number: int, text: str) -> list[str]:
        log = producer.render(Answer(f"n{number}", (Choice(text, "stop"),))) or ""
        return log.replace(tracers.SPAN, f"{number + 1:016x}").replace('"c-1"', f'"c-{number}"').splitlines()

    return made


LOGS: dict[str, Callable[[int, str], list[str]]] = {
    "envelope": envelope,
    "openai": lambda number, text: [json.dumps(body(number, text))],
    "vllm_text": vllm,
    "vllm_text in filebeat": filebeat,
    "sglang_json": lambda number, text: ["[2026-11-30 09:00:00] " + json.dumps(sglang(number, text))],
    "sglang_text": sglang_text,
    "openai in docker": docker,
    "openai in hits": hits,
    "batch": batch,
    "nginx": nginx,
    **{producer.name or producer.format: rendered(producer) for producer in (*gateways.PRODUCERS, *tracers.PRODUCERS) if producer.format != "nginx"},
}


def seconds(path: Path, repeat: int, expected: int, *, general: bool = False) -> float:
    best = float("inf")
    for _ in range(repeat):
        start = time.process_time()  # of this process alone: other work on the machine must not decide
        read = sum(found.size for found in Files([str(path)], ReadingOptions(in_order=general)).batches(Tally()))
        best = min(best, time.process_time() - start)
        if read != expected:
            raise SystemExit(f"{path.name}: {read} records instead of {expected}")
    return best


def lines(make: Callable[[int, str], list[str]], answers: list[str]) -> Iterator[str]:
    for number, text in enumerate(answers):
        yield from make(number, text)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--answers", type=int, default=4000)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    answers = texts(args.answers)
    plain = general = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name, make in LOGS.items():
            path = Path(folder) / f"{name.replace(' ', '_')}.log"
            path.write_text("".join(line + "\n" for line in lines(make, answers)))
            took = seconds(path, args.repeat, args.answers)
            if name == "envelope":
                plain, general = took, seconds(path, args.repeat, args.answers, general=True)
            size = path.stat().st_size / 1e6
            speed = f"{args.answers / took:>9.0f} answers/s  {size / took:>7.1f} MB/s"
            print(f"{name:<24} {speed}  {plain / took:>6.0%} of the plain path  {general / took:>6.0%} of the general path")


if __name__ == "__main__":
    main()
