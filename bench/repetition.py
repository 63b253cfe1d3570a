"""Prints how well and how fast `repetition` works: by kind on a corpus, what the cheap gate loses, bytes per second of each step.

usage: python -m bench.repetition [--seeds 21,22,23] [--per 60] [--speed]
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable

import numpy as np

from bench.repetition_corpus import LANGUAGES, code, corpus, markdown, positives, prose
from detector import loop_gate, loops
from detector.batch import Batch
from detector.byte_kernels import PAD, describe
from detector.marker_hints import compile_hints
from detector.record import Record
from detector.signals.base import SignalOptions
from detector.signals.repetition import judge
from detector.text_scan import joined, scan

TARGET_TRUE, TARGET_FALSE = 0.97, 0.003


def quality(seed: int, per: int) -> tuple[float, float]:
    """True and false positive rate on one seed, printed by kind."""
    samples = corpus(seed, per)
    hits: Counter[tuple[bool, str]] = Counter()
    totals: Counter[tuple[bool, str]] = Counter()
    for sample in samples:
        totals[sample.loops, sample.kind] += 1
        hits[sample.loops, sample.kind] += judge(Record(content=sample.text), SignalOptions()) is not None
    found, loop_count = sum(hits[key] for key in totals if key[0]), sum(totals[key] for key in totals if key[0])
    false, other_count = sum(hits[key] for key in totals if not key[0]), sum(totals[key] for key in totals if not key[0])
    kinds = ", ".join(f"{kind} {hits[True, kind] / count:.2f}" for (loops_, kind), count in totals.items() if loops_)
    wrong = {kind: hits[False, kind] for (loops_, kind) in totals if not loops_ and hits[False, kind]}
    print(f"seed {seed}: TPR {found / loop_count:.4f} of {loop_count}, FPR {false / other_count:.4%} of {other_count}; {kinds}; false: {wrong or 'none'}")
    return found / loop_count, false / other_count


def gate_loss(seed: int, per: int) -> tuple[int, int]:
    """(loops that the measurement calls one, of them not passed by the gate)."""
    space = loops.thread_workspace()
    measured = lost = 0
    for sample in positives(random.Random(seed), per):
        raw = sample.text.encode()
        buffer = np.frombuffer(raw + bytes(PAD), np.uint8)
        found = loops.measure(buffer, max(0, len(raw) - loops.WINDOW), len(raw), *space[:3])
        periodic = found[loops.RUN] >= max(loops.RUN_LEAST, loops.COPIES_LEAST * found[loops.LAG])
        if periodic or found[loops.MASS4] > loops.MASS4_LEAST or found[loops.MASS3] > loops.MASS3_LEAST:
            measured += 1
            lost += not loop_gate.suspicious(buffer, 0, len(raw), *space)
    return measured, lost


def speed() -> None:
    """CPU time of each step on ordinary answers of 2 KB, the best of five runs."""
    rng = random.Random(1)
    sets = {f"prose {language}": [prose(rng, language, 2048 if language == "en" else 800) for _ in range(1024)] for language in LANGUAGES}
    sets["code"] = [code(rng, 2048) for _ in range(1024)]
    sets["markdown"] = [markdown(rng, "en", 2048) for _ in range(1024)]
    sets["loops"] = [sample.text for sample in positives(rng, 60)]

    def megabytes(size: int, step: Callable[[], object]) -> float:
        step()
        best = float("inf")
        for _ in range(5):
            start = time.process_time()
            step()
            best = min(best, time.process_time() - start)
        return size / best / 1e6

    hints, space = compile_hints(), loops.thread_workspace()
    for name, texts in sets.items():
        buffer, starts = joined(texts)
        size = int(starts[-1])
        ends = [(int(first), int(last)) for first, last in itertools.pairwise(starts)]
        rates = {
            "whole scan": megabytes(size, lambda texts=texts: scan(Batch(len(texts), {"content": texts}))),  # type: ignore[misc]
            "join": megabytes(size, lambda texts=texts: joined(texts)),  # type: ignore[misc]
            "markers and odd characters": megabytes(size, lambda buffer=buffer, starts=starts: describe(buffer, starts, *hints)),  # type: ignore[misc]
            "loop gate": megabytes(size, lambda buffer=buffer, starts=starts: loop_gate.suspicious_rows(buffer, starts, *space)),  # type: ignore[misc]
            "full measurement": megabytes(
                size,
                lambda buffer=buffer, ends=ends: [loops.measure(buffer, max(first, last - loops.WINDOW), last, *space[:3]) for first, last in ends],  # type: ignore[misc]
            ),
        }
        kept = scan(Batch(len(texts), {"content": texts})).loop.mean()
        print(f"{name:12s} {size / len(texts):6.0f} B  candidates {kept:6.2%}  " + "  ".join(f"{step} {rate:.0f} MB/s" for step, rate in rates.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", default="21,22,23")
    parser.add_argument("--per", type=int, default=60)
    parser.add_argument("--speed", action="store_true", help="only the speeds")
    arguments = parser.parse_args()
    if not arguments.speed:
        rates = [quality(int(seed), arguments.per) for seed in arguments.seeds.split(",")]
        true, false = (sum(column) / len(rates) for column in zip(*rates, strict=True))
        print(f"mean: TPR {true:.4f} (target {TARGET_TRUE}), FPR {false:.4%} (target {TARGET_FALSE:.1%})")
        losses = [gate_loss(int(seed), arguments.per) for seed in arguments.seeds.split(",")]
        print(f"gate: {sum(lost for _, lost in losses)} of {sum(measured for measured, _ in losses)} measured loops lost")
    speed()


if __name__ == "__main__":
    main()
