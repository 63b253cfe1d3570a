"""Mutates logs of every producer and reads them: no exception, every document that gave no record counted with a reason.

    python bench/fuzz_formats.py [--mutants 100000] [--producer NAME ...] [--seed 1]

Prints per producer how many mutated logs were read, how many records and rejections came out, and the time. The short run is
`tests/test_format_mutations.py`; both use the same mutator and the same checks.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from detector.formats.reader import Reader
from tests.format_mutations import mutated
from tests.test_format_mutations import INPUTS, check


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutants", type=int, default=100_000, help="mutated logs per producer")
    parser.add_argument("--producer", nargs="*", default=sorted(INPUTS))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    failed = 0
    for producer in args.producer:
        chance = random.Random(f"{args.seed} {producer}")
        start, outcomes, faults = time.perf_counter(), 0, 0
        for number in range(args.mutants):
            text = mutated(chance.choice(INPUTS[producer]), chance)
            try:
                outcomes += check(text, Reader())
            except Exception as error:
                faults += 1
                if faults <= 3:
                    print(f"{producer} mutant {number}: {type(error).__name__}: {str(error)[:300]}\n    {text[:600]!r}", file=sys.stderr)
        failed += faults
        print(f"{producer:<20} {args.mutants} logs  {outcomes} outcomes  {faults} faults  {time.perf_counter() - start:.0f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
