"""Speed and memory of the whole `detector check` with all signals, as ratios to `orjson.loads` line by line over the same file in the same run.

    python bench/speed.py [--answers 100000] [--cache DIR] [--jobs 1 2] [--repeat 3] [--keep]

Makes the log (deterministic), runs `check --all` as a subprocess per number of jobs, prints seconds, ratio, peak resident memory per process and whether
the findings are equal byte for byte. Time of the processors is printed beside time by the clock, for busy machines.
Targets: one process <= 3.0, two jobs <= 1.7, <= 400 MB per process.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

START = datetime(2026, 11, 20, tzinfo=UTC).timestamp()
DAYS = 7
FAILING = 0.002  # share of answers with something wrong
DEPLOYMENTS = (("chat-prod", "qwen3-32b", "vllm"), ("search", "ship-8b", "vllm"), ("agents", "glm-4.6", "sglang"), ("batch", "oss-120b", "vllm"))

_ENGLISH = tuple(
    "the report of last week shows that most of our customers ask about delivery times while only few of them want to change an order so the team "  # noqa: SIM905
    "moved two people from billing to the desk and wrote down what a good answer looks like every answer names the parcel its place and the next step "
    "when a parcel is late we say why and what we do about it nobody likes to wait but people forgive a delay that is explained in plain words".split()
)
_KOREAN = tuple(
    "지난주 보고서에 따르면 고객 대부분은 배송 시간을 묻고 일부만 주문을 바꾸려고 합니다 그래서 팀은 두 사람을 상담 창구로 옮기고 좋은 답변의 "  # noqa: SIM905
    "기준을 적었습니다 답변에는 물건의 위치와 다음 단계를 꼭 적고 늦어질 때는 이유와 조치를 함께 알립니다".split()
)
_CHINESE = "上周的报告显示大多数客户询问送货时间只有少数人想修改订单因此团队把两名同事调到客服台并写下好的回答应该是什么样子每个回答都要说明包裹的位置和下一步"
_CODE = (
    "def total(rows):\n    found = 0\n    for row in rows:\n        if row.get('paid'):\n            found += row['amount']\n    return found\n",
    "export function chunk<T>(list: T[], size: number): T[][] {\n  const out = [];\n  for (let i = 0; i < list.length; i += size) {\n"
    "    out.push(list.slice(i, i + size));\n  }\n  return out;\n}\n",
    "SELECT day, count(*) AS orders\nFROM parcels\nWHERE state = 'late' AND day >= '2026-11-01'\nGROUP BY day\nORDER BY day;\n",
)


def _prose(rng: random.Random, words: tuple[str, ...], count: int, end: str) -> str:
    sentences = []
    while count > 0:
        length = rng.randint(6, 18)
        sentence = " ".join(rng.choice(words) for _ in range(length))
        sentences.append(f"{sentence[:1].upper()}{sentence[1:]} {rng.randint(1, 999)}{end}")
        count -= length
    return " ".join(sentences)


def _paragraphs(rng: random.Random, kind: str) -> str:
    if kind == "english":
        return _prose(rng, _ENGLISH, rng.randint(30, 110), ".")
    if kind == "korean":
        return _prose(rng, _KOREAN, rng.randint(20, 60), ".")
    if kind == "chinese":
        return "".join("".join(rng.choice(_CHINESE) for _ in range(rng.randint(8, 24))) + "。" for _ in range(rng.randint(3, 9)))
    if kind == "code":
        return f"```\n{rng.choice(_CODE)}```\n" + _prose(rng, _ENGLISH, 20, ".")
    if kind == "markdown":
        items = "\n".join(f"{i}. **{rng.choice(_ENGLISH)} {rng.choice(_ENGLISH)}** - {_prose(rng, _ENGLISH, 10, '.')}" for i in range(1, rng.randint(4, 8)))
        return f"## {rng.choice(_ENGLISH).title()} {rng.randint(1, 99)}\n\n{items}"
    if kind == "table":
        rows = "\n".join(f"| {rng.choice(_ENGLISH)} | {rng.randint(1, 9999)} | {rng.random():.2f} |" for _ in range(rng.randint(5, 12)))
        return f"| name | count | share |\n|---|---|---|\n{rows}"
    return json.dumps({"items": [{"name": rng.choice(_ENGLISH), "count": rng.randint(1, 9999), "late": rng.random() < 0.3} for _ in range(rng.randint(3, 14))]})


def _question(rng: random.Random, kind: str) -> str:
    """A question in the language of the answer."""
    if kind == "chinese":
        return "".join(rng.choice(_CHINESE) for _ in range(rng.randint(12, 40))) + "？"
    return _prose(rng, _KOREAN if kind == "korean" else _ENGLISH, rng.randint(5, 30), "?")


_KINDS = ("english", "korean", "chinese", "code", "markdown", "table", "json")
_WEIGHTS = (45, 15, 8, 10, 12, 4, 6)


def answers(count: int, seed: int = 1) -> Any:
    """`count` log lines as bytes, in order of time."""
    rng = random.Random(seed)
    pool = {kind: [_paragraphs(rng, kind) for _ in range(400)] for kind in _KINDS}
    step = DAYS * 86400 / count
    for number in range(count):
        yield orjson.dumps(_answer(rng, pool, number, START + number * step))


def _answer(rng: random.Random, pool: dict[str, list[str]], number: int, at: float) -> dict[str, Any]:
    deployment, model, engine = rng.choices(DEPLOYMENTS, (50, 25, 20, 5))[0]
    kind = rng.choices(_KINDS, _WEIGHTS)[0]
    content: str | None = "\n\n".join(rng.choice(pool[kind]) for _ in range(1 if kind == "json" else rng.randint(1, 5)))
    thought = rng.choice(pool["english"]) if rng.random() < 0.3 else None
    stream, cap, reason, status = rng.random() < 0.5, rng.choice((512, 1024, 2048, 4096)), "stop", 200
    used = min(cap - 1, len(content or "") // 4 + 8)
    calls: list[dict[str, Any]] = []
    if rng.random() < 0.05:
        content, reason = None, "tool_calls"
        calls = [{"id": f"call_{number}", "type": "function", "function": {"name": "find_parcel", "arguments": json.dumps({"id": rng.randint(1, 10**6)})}}]
    latency = rng.uniform(300, 9000)
    response: dict[str, Any] | None
    if rng.random() < FAILING:
        content, reason, status, used, calls = _failure(rng, content or "", cap)
    if status == 200:
        message = {"role": "assistant", "content": content, "reasoning": thought, "tool_calls": calls}
        response = {
            "id": f"chatcmpl-{rng.getrandbits(64):016x}",
            "object": "chat.completion",
            "created": int(at),
            "model": model,
            "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": reason, "stop_reason": None}],
            "usage": {"prompt_tokens": rng.randint(20, 3000), "completion_tokens": used, "total_tokens": 0, "prompt_tokens_details": None},
        }
    else:
        response = {"error": {"message": "upstream timed out", "type": "timeout", "param": None, "code": status}}
    request: dict[str, Any] = {
        "model": model,
        "messages": [
            {"role": "system", "content": "You answer questions about parcels."},
            {"role": "user", "content": _question(rng, kind)},
        ],
        "max_tokens": cap,
        "temperature": rng.choice((0, 0.3, 0.7)),
        "stream": stream,
    }
    if engine == "vllm" and rng.random() < 0.3:
        request["chat_template_kwargs"] = {"enable_thinking": thought is not None}
    return {
        "request_id": f"{rng.getrandbits(128):032x}",
        "timestamp": datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "deployment": deployment,
        "engine": engine,
        "engine_version": "0.26.0" if engine == "vllm" else "0.5.23",
        "pod": f"{deployment}-{rng.randint(0, 5)}",
        "client": rng.choice(("web", "app", "cron")),
        "endpoint": "/v1/chat/completions",
        "http_status": status,
        "latency_ms": round(latency, 1),
        "ttft_ms": round(latency / 10, 1) if stream else None,
        "error": None,
        "request": request,
        "response": response,
    }


def _failure(rng: random.Random, content: str, cap: int) -> tuple[str | None, str, int, int, list[Any]]:
    kind = rng.choice(("length", "leak", "empty", "loop", "timeout", "token", "garbage"))
    if kind == "length":
        return content, "length", 200, cap, []
    if kind == "leak":
        return f"So that is the plan.\n</think>\n\n{content}", "stop", 200, len(content) // 4, []
    if kind == "empty":
        return "", "stop", 200, 1, []
    if kind == "loop":
        return content + " and then we wait for it" * 60, "length", 200, cap, []
    if kind == "timeout":
        return None, "", 504, 0, []
    if kind == "token":
        return content + "<|im_end|>", "stop", 200, len(content) // 4, []
    return content.replace("e", "\ufffd", 9) + "\ufffd\ufffd\ufffd", "stop", 200, len(content) // 4, []


def write(path: Path, count: int) -> None:
    """Write the log once; an equal one that is there is kept."""
    if path.exists():
        return
    part = path.with_suffix(".part")
    with part.open("wb", buffering=1 << 20) as file:
        for line in answers(count):
            file.write(line)
            file.write(b"\n")
    part.rename(path)


def baseline(path: Path) -> tuple[float, float]:
    """Seconds by the clock and of the processor of `orjson.loads` line by line."""
    begin, used = time.perf_counter(), time.process_time()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - begin, time.process_time() - used


def check(path: Path, jobs: int, report: Path) -> tuple[float, float, float]:
    """Seconds by the clock and of the processors of a whole `detector check`, start-up included, and the largest resident memory of a process in MB."""
    command = [sys.executable, "-m", "detector.cli", "check", "--source", str(path), "--all", "--jobs", str(jobs), "--format", "json"]
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    with report.open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        peak = 0
        while process.poll() is None:
            peak = max(peak, *(_peak_kb(pid) for pid in _family(process.pid)), 0)
            time.sleep(0.05)
    if process.returncode not in (0, 1):
        raise SystemExit(f"check failed with exit code {process.returncode}")
    json.loads(report.read_bytes())  # a traceback also ends with exit code 1
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - begin, used, peak / 1024


def _family(pid: int) -> list[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return [pid]
    return [pid, *(int(child) for child in children)]


def _peak_kb(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("VmHWM")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "detector-bench"), help="where the log is made")
    parser.add_argument("--jobs", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--repeat", type=int, default=3, help="the best of this many runs counts, for both sides")
    parser.add_argument("--keep", action="store_true", help="leave the log where it is")
    args = parser.parse_args()
    folder = Path(args.cache)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"answers-{args.answers}.jsonl"
    write(path, args.answers)
    size = path.stat().st_size
    print(f"{args.answers:,} answers, {size / 1e6:,.0f} MB, {size / args.answers:,.0f} bytes a line")
    measured = [baseline(path) for _ in range(args.repeat)]
    base, base_used = (min(run[which] for run in measured) for which in (0, 1))
    print(f"orjson.loads line by line: {base:.2f} s ({size / base / 1e6:,.0f} MB/s), {base_used:.2f} s of the processor")
    reports = []
    for jobs in args.jobs:
        report = folder / f"report-{jobs}.json"
        runs = [check(path, jobs, report) for _ in range(args.repeat)]
        best, used, peak = min(run[0] for run in runs), min(run[1] for run in runs), max(run[2] for run in runs)
        reports.append(report.read_bytes())
        print(
            f"check --jobs {jobs}: {best:.2f} s, ratio {best / base:.2f}, {best / args.answers * 1e6:.1f} us an answer, peak {peak:,.0f} MB per process; "
            f"{used:.2f} s of the processors, ratio {used / base_used:.2f}"
        )
    print(f"findings equal for all jobs: {all(report == reports[0] for report in reports)}")
    if not args.keep:
        path.unlink()


if __name__ == "__main__":
    main()
