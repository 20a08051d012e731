"""Times single calls of ``compat.simhash``, beside simhash-py if it is installed.

``python calls.py`` prints microseconds of processor time per call, which other processes hardly change: the median of
five rounds, their range, and the median of simhash-py in the same process.
"""

from __future__ import annotations

import importlib
import random
import statistics
import time
import timeit
from types import ModuleType
from typing import Any, Optional

from nearprint.compat import simhash

ROUNDS = 5
#: The seconds of a round, about.
ROUND_SECONDS = 0.2
CALLS = (
    "num_differing_bits(one, other)",
    "compute(ten)",
    "compute(thousand)",
    "compute(iter(ten))",
    "unsigned_hash(text)",
    "find_all(ten, 4, 3)",
    "find_all(thousand, 4, 3)",
)


def arguments() -> dict[str, Any]:
    """What the calls are about."""
    source = random.Random(4)
    thousand = [source.getrandbits(64) for _ in range(1000)]
    text = b"a shingle of four words"
    return {"one": thousand[0], "other": thousand[1], "ten": thousand[:10], "thousand": thousand, "text": text}


def microseconds(call: str, module: ModuleType) -> list[float]:
    """The time of a call in each round, the shortest first."""
    timer = timeit.Timer(call, timer=time.process_time, globals={**vars(module), **arguments()})
    number, seconds = timer.autorange()
    number = max(1, round(number * ROUND_SECONDS / seconds))
    return sorted(1e6 * taken / number for taken in timer.repeat(ROUNDS, number))


def simhash_py() -> Optional[ModuleType]:
    try:
        return importlib.import_module("simhash")
    except ImportError:
        return None


def main() -> None:
    peer = simhash_py()
    for call in CALLS:
        taken = microseconds(call, simhash)
        line = f"{call}: {statistics.median(taken):.2f} us ({taken[0]:.2f} to {taken[-1]:.2f})"
        if peer is not None:
            line += f", simhash-py {statistics.median(microseconds(call, peer)):.2f} us"
        print(line)


if __name__ == "__main__":
    main()
