"""Compares a batch of queries in Python and in Rust, and times ``compat.simhash.find_all``.

``python speed.py [ROWS]`` (ten million by default) needs cargo, the source tree and an installed nearprint.
It prints ratios.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import nearprint
from nearprint.compat import simhash

ROWS = 10_000_000
QUERIES = 1_000_000
LIST = 1_000_000
TIMES = 7
#: Seconds that simhash-py's find_all takes for a million hashes, 4 or 5 blocks and 3 bits, on the machine of the
#: README.
SIMHASH_PY_SECONDS = 1.4


def near_and_far(count: int, near: npt.NDArray[np.uint64], source: np.random.Generator) -> npt.NDArray[np.uint64]:
    """Random numbers, half of them at most two bits away from one of ``near``."""
    numbers = source.integers(0, 2**64, count, np.uint64)
    chosen = source.choice(near, count // 2)
    for _ in range(2):
        chosen = chosen ^ (np.uint64(1) << source.integers(0, 64, len(chosen), np.uint64))
    numbers[::2][: len(chosen)] = chosen
    return numbers


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """The seconds that the work takes, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def rust_batch(database: Path, queries: Path, k: int) -> tuple[float, int]:
    """The best time of the Rust library, and the number of matches."""
    manifest = Path(__file__).with_name("Cargo.toml")
    command = ["cargo", "run", "--quiet", "--release", "--locked", "--manifest-path", str(manifest), "--"]
    output = subprocess.check_output([*command, str(database), str(queries), str(k), str(TIMES)], text=True)
    lines = [line.split() for line in output.splitlines()]
    return min(float(seconds) for seconds, _ in lines), int(lines[0][1])


def batches(rows: int) -> None:
    source = np.random.default_rng(7)
    numbers = source.integers(0, 2**64, rows, np.uint64)
    queries = near_and_far(QUERIES, numbers, source)
    with tempfile.TemporaryDirectory() as home:
        path, file = Path(home) / "corpus.np", Path(home) / "queries.u64"
        queries.tofile(file)
        seconds, database = timed(lambda: nearprint.build(path, numbers))
        print(f"build of {rows:,} rows: {seconds:.2f} s")
        with database:
            rust, matches = rust_batch(path, file, 3)
            found = [timed(lambda: database.query_batch(queries, 3)) for _ in range(TIMES)]
            python = min(seconds for seconds, _ in found)
            again, _ = rust_batch(path, file, 3)
            assert len(found[0][1]) == matches
    rust = min(rust, again)
    print(f"query_batch of {QUERIES:,}, k = 3, {matches:,} matches: Rust {rust:.3f} s, Python {python:.3f} s")
    print(f"ratio {python / rust:.2f} (at most 1.2 is wanted)")


def lists() -> None:
    source = np.random.default_rng(8)
    numbers = source.integers(0, 2**64, LIST, np.uint64)
    numbers[-LIST // 20 :] = near_and_far(LIST // 20, numbers, source)
    given = numbers.tolist()
    for form, hashes in (("a list", given), ("an array", numbers)):
        for blocks in (4, 5):
            found = [timed(partial(simhash.find_all, hashes, blocks, 3)) for _ in range(TIMES)]
            seconds = min(seconds for seconds, _ in found)
            print(
                f"compat.simhash.find_all of {LIST:,} in {form}, {blocks} blocks, {len(found[0][1]):,} pairs: "
                f"{seconds:.3f} s, {SIMHASH_PY_SECONDS / seconds:.1f} times as fast as simhash-py (10 is wanted)"
            )


if __name__ == "__main__":
    batches(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
    lists()
