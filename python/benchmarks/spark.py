"""Times ``nearprint.spark`` on clusters of one, two and four workers that run on this machine.

``python spark.py [ROWS]`` (four million for each worker by default) needs Java and ``nearprint[spark]``. A fifth of
the rows are near-duplicates, and a twentieth share one block. Prints seconds, shuffled bytes, and the processor time
of nearprint itself for all tasks beside that for one list.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StructField, StructType

import nearprint
from nearprint import spark

ROWS = 4_000_000
K = 3
BATCH = 1 << 16


def rows_of(first: int, count: int) -> pa.RecordBatch:
    """Random fingerprints; every fifth is at most two bits away from the one before it."""
    source = np.random.default_rng(first)
    numbers = source.integers(0, 2**64, count, np.uint64)
    numbers[::20] &= np.uint64(0xFFFF_FFFF_FFFF)
    near = numbers[:-1:5]
    for _ in range(2):
        near = near ^ (np.uint64(1) << source.integers(0, 64, len(near), np.uint64))
    numbers[1::5][: len(near)] = near[: len(numbers[1::5])]
    ids = np.arange(first, first + count)
    return pa.RecordBatch.from_arrays([pa.array(ids), pa.array(numbers.view(np.int64))], ["id", "fingerprint"])


def table(session: SparkSession, rows: int, partitions: int) -> DataFrame:
    """Rows that the executors make, and keep."""

    def make(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for first in batch.column(0).to_pylist():
                yield rows_of(first, min(BATCH, rows - first))

    starts = session.range(0, rows, BATCH, partitions)
    schema = StructType([StructField("id", LongType()), StructField("fingerprint", LongType())])
    df = starts.mapInArrow(make, schema).persist()
    df.count()
    return df


def session_of(workers: int, home: str) -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master(f"local-cluster[{workers},1,2048]")
    for name, value in {
        "spark.eventLog.enabled": "false",
        "spark.local.dir": home,
        "spark.ui.showConsoleProgress": "false",
        "spark.executorEnv.PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


def shuffled(session: SparkSession) -> int:
    """Bytes that were written for shuffles so far."""
    store = session.sparkContext._jsc.sc().statusStore()
    executors = store.executorList(False)
    return sum(executors.apply(place).totalShuffleWrite() for place in range(executors.size()))


def timed(session: SparkSession, work: Callable[[], Any]) -> tuple[float, int, Any]:
    before, started = shuffled(session), time.perf_counter()
    done = work()
    seconds = time.perf_counter() - started
    time.sleep(0.5)
    return seconds, shuffled(session) - before, done


def count_pairs(df: DataFrame) -> int:
    return spark.pairs(df, K).count()


def count_clusters(df: DataFrame) -> int:
    return spark.clusters(df, K, driver_pairs=10**9).count()


def main(rows: int) -> None:
    print("| workers | rows | pairs | clusters | runs | shuffled for pairs, a row |")
    print("|---|---|---|---|---|---|")
    for workers in (1, 2, 4):
        with tempfile.TemporaryDirectory() as home:
            session = session_of(workers, home)
            df = table(session, rows * workers, workers * 4)
            spark.pairs(df.limit(1000), K).count()
            pairs, moved, found = timed(session, partial(count_pairs, df))
            clusters, _, _ = timed(session, partial(count_clusters, df))
            runs, _, _ = timed(session, partial(spark.build_runs, df, str(Path(home) / "runs"), partitions=4))
            session.stop()
        print(
            f"| {workers} | {rows * workers:,} | {pairs:.1f} s, {found:,} | {clusters:.1f} s | {runs:.1f} s "
            f"| {moved / (rows * workers):.0f} bytes |"
        )
    numbers = rows_of(0, rows).column(1).to_numpy().view(np.uint64)
    started = time.perf_counter()
    count = len(nearprint.find_all(numbers, K, threads=1))
    print(f"one list of {rows:,}: {time.perf_counter() - started:.1f} s, {count:,} pairs")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROWS)
