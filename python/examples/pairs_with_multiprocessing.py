"""All pairs within 3 bits of a list that is spread over processes.

python pairs_with_multiprocessing.py
"""

from __future__ import annotations

import multiprocessing

import numpy as np

from nearprint import Result, find_all, partition

K = 3
TASKS = 8


def made(count: int) -> np.ndarray:
    """Random fingerprints; every tenth is near the one before it."""
    numbers = np.random.default_rng(1)
    prints = numbers.integers(0, 2**64, count, dtype=np.uint64)
    prints[1::10] = prints[::10] ^ np.uint64(1 << 40)
    return prints


def join(rows: tuple[np.ndarray, np.ndarray]) -> Result:
    return partition.join_blocks(*rows, K)


def main() -> None:
    prints = made(200_000)
    keyed = partition.block_keys(prints, K)
    groups, replicated = keyed["group"], keyed["fingerprint"]
    tasks = [(groups[mine], replicated[mine]) for mine in (groups % TASKS == task for task in range(TASKS))]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        pairs = pool.map(join, tasks)
    print(sum(map(len, pairs)), "pairs; of one list", len(find_all(prints, K)))


if __name__ == "__main__":
    main()
