"""A large request log in a cluster, for the measurements of this folder: 50 series, answers of about 1.5 kB, few failures. Deterministic."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
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


def lines(count: int, seed: int = 1, *, healthy: bool = False) -> Iterator[bytes]:
    """Bulk bodies of `BULK` documents; `healthy`: nothing in them is wrong."""
    dice = random.Random(seed)
    texts = [" ".join(dice.choice(_WORDS) + (str(dice.randrange(100)) if dice.random() < 0.2 else "") for _ in range(220)) for _ in range(3000)]
    body: list[str] = []
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
            text = text[:200] + "</think>\n\n" + text[200:]
        elif chance < 0.0255:
            text = ""
        elif chance < 0.0265:
            status = 504
        response: dict[str, Any] | None = {
            "id": f"chatcmpl-{number:08d}",
            "object": "chat.completion",
            "model": model,
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": reason}],
            "usage": {"prompt_tokens": 300, "completion_tokens": tokens, "total_tokens": 300 + tokens},
        }
        document = {
            "@timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),  # as text: ElastAlert2 takes no other
            "id": f"log-{number:08d}",
            "deployment": f"deployment-{deployment:02d}",
            "pod": f"pod-{deployment:02d}-0",
            "request": {"model": model, "messages": [{"role": "user", "content": text[:60]}], "max_tokens": 2048},
            "response": response if status == 200 else None,
            "status": status,
            "latency_ms": dice.randrange(300, 9000),
        }
        body += ['{"index":{}}', json.dumps(document, ensure_ascii=False)]
        if len(body) >= 2 * BULK:
            yield ("\n".join(body) + "\n").encode()
            body = []
    if body:
        yield ("\n".join(body) + "\n").encode()


def filled(node: Node, count: int, *, healthy: bool = False) -> str:
    """The index of `count` documents; made when it is not there. Gives its name."""
    index = f"llm-bench-v4-{count}{'-healthy' if healthy else ''}"
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
        for body in lines(count, healthy=healthy):
            pending.append(pool.submit(send, body))
            if len(pending) > 4:
                pending.pop(0).result()
        for job in pending:
            job.result()
    node.ask("PUT", f"/{index}/_settings", {"index": {"refresh_interval": "1s"}})
    node.ask("POST", f"/{index}/_refresh")
    node.ask("POST", f"/{index}/_forcemerge?max_num_segments=5")
    return index
