"""All pairs within 3 bits of a column of a Dask data frame.

pip install "nearprint[pandas]" "dask[dataframe]"
python pairs_with_dask.py
"""

from __future__ import annotations

import dask.dataframe as dd
import numpy as np
import pandas as pd

from nearprint import find_all, partition

K = 3
PAIRS = pd.DataFrame({"a": np.empty(0, np.uint64), "b": np.empty(0, np.uint64), "distance": np.empty(0, np.uint32)})
ROWS = pd.DataFrame({"group": np.empty(0, np.uint64), "fingerprint": np.empty(0, np.uint64)})


def keys(part: pd.DataFrame) -> pd.DataFrame:
    return partition.block_keys(part["fingerprint"].to_numpy(np.uint64), K).to_pandas()


def join(part: pd.DataFrame) -> pd.DataFrame:
    rows = part["group"].to_numpy(np.uint64), part["fingerprint"].to_numpy(np.uint64)
    return partition.join_blocks(*rows, K).to_pandas()


def main() -> None:
    numbers = np.random.default_rng(1)
    prints = numbers.integers(0, 2**64, 200_000, dtype=np.uint64)
    prints[1::10] = prints[::10] ^ np.uint64(1 << 40)
    frame = dd.from_pandas(pd.DataFrame({"fingerprint": prints}), npartitions=8)
    keyed = frame.map_partitions(keys, meta=ROWS)
    # After the shuffle, all rows of a group are in one partition.
    pairs = keyed.shuffle("group", npartitions=8).map_partitions(join, meta=PAIRS).compute()
    print(len(pairs), "pairs; of one list", len(find_all(prints, K)))


if __name__ == "__main__":
    main()
