"""All pairs within 3 bits of a column of a Ray dataset.

pip install nearprint "ray[data]"
python pairs_with_ray.py
"""

from __future__ import annotations

import numpy as np
import ray

from nearprint import find_all, partition

K = 3
TASKS = 8


def keys(batch: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    keyed = partition.block_keys(batch["data"].astype(np.uint64), K)
    return {"task": keyed["group"] % TASKS, **keyed}


def join(task: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    rows = task["group"].astype(np.uint64), task["fingerprint"].astype(np.uint64)
    return dict(partition.join_blocks(*rows, K))


def main() -> None:
    numbers = np.random.default_rng(1)
    prints = numbers.integers(0, 2**64, 200_000, dtype=np.uint64)
    prints[1::10] = prints[::10] ^ np.uint64(1 << 40)
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    keyed = ray.data.from_numpy(prints).map_batches(keys)
    # A group of the dataset is a task: all rows with its keys.
    pairs = keyed.groupby("task").map_groups(join, batch_format="numpy")
    print(pairs.count(), "pairs; of one list", len(find_all(prints, K)))
    ray.shutdown()


if __name__ == "__main__":
    main()
