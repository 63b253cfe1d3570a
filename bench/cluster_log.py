"""A large request log in a cluster, for the measurements of this folder: 50 series, answers of about 1.5 kB, few failures. Deterministic.

`incident`: another log of the same size, healthy but for three small incidents in its last hour (`PLANTED`). That hour is a peak with four times the usual
traffic, and one deployment has two fifths of all of it: a leak of 0.2 % is not even one answer an hour elsewhere. Five deployments answer in English,
where `think` is an ordinary word.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

from tests.es_index import create
from tests.nodes.nodes import Node

START = 1_795_000_020.0  # a whole minute, in the past: ElastAlert2 waits for times that are still to come
SECONDS = 2 * 86_400.0
DEPLOYMENTS, MODELS = 25, 2
_WORDS = "모델 서버 요청 답변 길이 시간 로그 분포 값은 이어서 가끔 먼저 보통 다음 사용자 문서 처리 결과 확인 설명".split()  # noqa: SIM905
BULK = 1000
PEAK = 4  # times the usual traffic, in the last hour of the log with incidents
BUSY = 2  # the number of the deployment with two fifths of its traffic
ENGLISH = range(20, 25)  # the numbers of those that answer in English
PLANTED = {"request_failure": "deployment-07", "length_cutoff": "deployment-12", "think_leak": f"deployment-{BUSY:02d}"}  # signal → where it goes wrong
_ENGLISH_WORDS = "the report shows that most requests were answered in time and a few of them took longer than usual because one server was restarted".split()  # noqa: SIM905


def lines(count: int, seed: int = 1, *, healthy: bool = False, incident: bool = False) -> Iterator[bytes]:
    """Bulk bodies of `BULK` documents; `healthy`: nothing in them is wrong; `incident`: the log with `PLANTED`."""
    body: list[str] = []
    for document in with_incidents(count, seed) if incident else documents(count, seed, healthy=healthy):
        body += ['{"index":{}}', json.dumps(document, ensure_ascii=False)]
        if len(body) >= 2 * BULK:
            yield ("\n".join(body) + "\n").encode()
            body = []
    if body:
        yield ("\n".join(body) + "\n").encode()


def documents(count: int, seed: int, *, healthy: bool) -> Iterator[dict[str, Any]]:
    """The usual log: the same few failures everywhere and all the time."""
    dice = random.Random(seed)
    texts = _texts(dice, _WORDS)
    for number in range(count):
        at = START + SECONDS * number / count
        deployment = dice.randrange(DEPLOYMENTS)
        model = f"model-{deployment % 5}-{dice.randrange(MODELS)}"
        chance = 1.0 if healthy else dice.random()
        text = dice.choice(texts)
        reason, tokens, status = "stop", dice.randrange(50, 500), 200
        if chance < 0.005:
            reason, tokens = "length", 2048
        elif chance < 0.025:
            text = _leaked(text)
        elif chance < 0.0255:
            text = ""
        elif chance < 0.0265:
            status = 504
        yield _document(dice, number, at, deployment, model, text, reason, tokens, status)


def with_incidents(count: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """The log with incidents. Everywhere and always 0.5 % of the answers are cut and 0.1 % of the requests time out, as in a healthy service. In the last
    hour half of one deployment's requests time out for ten minutes, 12 % of another one's answers are cut, and every 500th answer of one model of the
    busy deployment leaks `</think>`. Of the English answers one in fifty says "I think"."""
    dice = random.Random(seed)
    korean, english = _texts(dice, _WORDS), _texts(dice, _ENGLISH_WORDS)
    usual = SECONDS / 3600 - 1  # hours, of usual traffic
    leaking = 0
    for number in range(count):
        hour = (usual + PEAK) * number / count
        into = (hour - usual) / PEAK  # how far into the last hour, from 0 to 1
        at = START + 3600 * (hour if into < 0 else usual + into)
        deployment = BUSY if dice.random() < 0.4 else dice.randrange(DEPLOYMENTS)
        version = int(dice.random() < (0.2 if deployment == BUSY else 0.5))
        name = f"deployment-{deployment:02d}"
        text = dice.choice(english if deployment in ENGLISH else korean)
        if deployment in ENGLISH and dice.random() < 0.02:
            text = f"{text[:100]} I think {text[100:]}"
        reason, tokens, status = "stop", dice.randrange(50, 500), 200
        failing = 0.5 if name == PLANTED["request_failure"] and 0.6 <= into < 0.6 + 1 / 6 else 0.001
        cut = 0.12 if name == PLANTED["length_cutoff"] and into >= 0 else 0.005
        chance = dice.random()
        if chance < failing:
            status = 504
        elif chance < failing + cut:
            reason, tokens = "length", 2048
        elif name == PLANTED["think_leak"] and version == 0 and into >= 0:
            leaking += 1
            text = _leaked(text) if leaking % 500 == 250 else text
        yield _document(dice, number, at, deployment, f"model-{deployment % 5}-{version}", text, reason, tokens, status)


def wrong_in_last_hour(count: int) -> dict[tuple[str, str], dict[str, tuple[int, int]]]:
    """What is wrong where `PLANTED` says so: (signal, deployment) → model → flagged requests and all that can show it. Counted without the detector."""
    found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
    for one in with_incidents(count):
        if datetime.fromisoformat(one["@timestamp"]).timestamp() < START + SECONDS - 3600:
            continue
        choice = one["response"]["choices"][0] if one["response"] else None
        wrong = {"request_failure": choice is None}
        if choice:
            wrong |= {"length_cutoff": choice["finish_reason"] == "length", "think_leak": "</think>" in choice["message"]["content"]}
        for what, flag in wrong.items():
            if PLANTED[what] == one["deployment"]:
                counts, model = found.setdefault((what, one["deployment"]), {}), one["request"]["model"]
                flagged, requests = counts.get(model, (0, 0))
                counts[model] = flagged + flag, requests + 1
    return found


def _texts(dice: random.Random, words: Sequence[str]) -> list[str]:
    return [" ".join(dice.choice(words) + (str(dice.randrange(100)) if dice.random() < 0.2 else "") for _ in range(220)) for _ in range(3000)]


def _leaked(text: str) -> str:
    return text[:200] + "</think>\n\n" + text[200:]


def _document(dice: random.Random, number: int, at: float, deployment: int, model: str, text: str, reason: str, tokens: int, status: int) -> dict[str, Any]:
    """What a gateway logs of one request."""
    response: dict[str, Any] = {
        "id": f"chatcmpl-{number:08d}",
        "object": "chat.completion",
        "model": model,
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
        "usage": {"prompt_tokens": 300, "completion_tokens": tokens, "total_tokens": 300 + tokens},
    }
    return {
        "@timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),  # as text: ElastAlert2 takes no other
        "id": f"log-{number:08d}",
        "deployment": f"deployment-{deployment:02d}",
        "pod": f"pod-{deployment:02d}-0",
        "request": {"model": model, "messages": [{"role": "user", "content": text[:60]}], "max_tokens": 2048},
        "response": response if status == 200 else None,
        "status": status,
        "latency_ms": dice.randrange(300, 9000),
    }


def filled(node: Node, count: int, *, healthy: bool = False, incident: bool = False) -> str:
    """The index of `count` documents; made when it is not there. Gives its name."""
    index = f"llm-bench-v4-{count}{'-healthy' if healthy else ''}{'-incident-1' if incident else ''}"
    try:
        if node.ask("GET", f"/{index}/_count")["count"] == count:
            return index
    except OSError:
        pass
    word = {"type": "keyword"}
    create(node, index, {"@timestamp": {"type": "date"}, "deployment": word, "pod": word})
    node.ask("PUT", f"/{index}/_settings", {"index": {"refresh_interval": "-1"}})

    def send(body: bytes) -> None:
        answer = node.ask("POST", f"/{index}/_bulk", body)
        if answer["errors"]:
            raise RuntimeError("the server refused documents of the bench")

    with ThreadPoolExecutor(2) as pool:
        pending = []
        for body in lines(count, healthy=healthy, incident=incident):
            pending.append(pool.submit(send, body))
            if len(pending) > 4:
                pending.pop(0).result()
        for job in pending:
            job.result()
    node.ask("PUT", f"/{index}/_settings", {"index": {"refresh_interval": "1s"}})
    node.ask("POST", f"/{index}/_refresh")
    node.ask("POST", f"/{index}/_forcemerge?max_num_segments=5")
    return index
