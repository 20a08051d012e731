"""Measures the steps of ``nearprint.spark.dedup`` on this machine: what a document costs, and what pairs cost.

``python spark_documents.py [ROWS...]`` (one, two, four and eight million by default) needs Java, ``nearprint[spark]``
and 2 GB of disk for each million rows. Documents have 70 random words, 440 bytes. A tenth differ from another one in
two words. Prints seconds of processor time and shuffled bytes of each step, and the numbers of pairs and edges.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType

from nearprint._kept import settings_of
from nearprint.spark._candidates import Candidates, Texts
from nearprint.spark._components import DRIVER_PAIRS
from nearprint.spark._edges import materialized

ROWS = (1_000_000, 2_000_000, 4_000_000, 8_000_000)
BLOCK = 10_000
WORDS = 70
SCHEMA = StructType([StructField("id", LongType()), StructField("text", StringType())])

#: The function that makes texts goes to the executors, which cannot import it.
cloudpickle.register_pickle_by_value(sys.modules[__name__])  # type: ignore[no-untyped-call]


def texts_of(first: int, count: int) -> pa.RecordBatch:
    """Random texts; every tenth is that before it, with two other words."""
    source = np.random.default_rng(first)
    words = np.array([f"{value:05x}"[: 3 + value % 5] for value in range(1 << 17)], object)
    chosen = source.integers(0, len(words), (count, WORDS))
    near = np.arange(1, count, 10)
    chosen[near] = chosen[near - 1]
    chosen[near[:, None], [20, 50]] = source.integers(0, len(words), (len(near), 2))
    texts = [" ".join(row) for row in words[chosen]]
    return pa.RecordBatch.from_arrays([pa.array(np.arange(first, first + count)), pa.array(texts)], SCHEMA.names)


def documents(session: SparkSession, rows: int, folder: str) -> DataFrame:
    """A table in files, which the executors make."""

    def make(batches: Any) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for first in batch.column(0).to_pylist():
                yield texts_of(first, min(BLOCK, rows - first))

    session.range(0, rows, BLOCK, 16).mapInArrow(make, SCHEMA).write.parquet(folder)
    return session.read.parquet(folder)


def processor_time() -> float:
    """Seconds of this process and of those below it, ended ones included."""
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(path.parent.name)] = int(fields[1])
        ticks[int(path.parent.name)] = sum(map(int, fields[11:15]))

    def is_ours(process: int) -> bool:
        return process == os.getpid() or (process in parents and is_ours(parents[process]))

    return sum(count for process, count in ticks.items() if is_ours(process)) / os.sysconf("SC_CLK_TCK")


def shuffled(session: SparkSession) -> int:
    """Bytes that were written for shuffles so far."""
    executors = session.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(place).totalShuffleWrite() for place in range(executors.size()))


class Steps:
    """Notes what each step takes."""

    def __init__(self, session: SparkSession, rows: int) -> None:
        self._session, self._rows = session, rows

    def __call__(self, name: str, work: Callable[[], Any]) -> Any:
        before, moved = processor_time(), shuffled(self._session)
        done = work()
        seconds, moved = processor_time() - before, shuffled(self._session) - moved
        row = f"| {self._rows:,} | {name} | {seconds:.0f} s | {seconds / self._rows * 1e6:.1f} us "
        print(f"{row}| {moved / self._rows:.0f} bytes |", flush=True)
        return done


def measure(session: SparkSession, rows: int, folder: str) -> None:
    df = documents(session, rows, folder)
    steps = Steps(session, rows)
    by = Texts.of(df, "text", settings_of())
    made = by.made(df.selectExpr("id", "text as value")).withColumnRenamed("id", "number")
    made = steps("features", lambda: materialized(made))
    found = steps("vertices", lambda: Candidates.of(made, by, rows, (None, None)))
    found = found._replace(pairs=steps("pairs", lambda: materialized(found.pairs)))
    graph = steps("edges", found.graph)
    steps("decisions", lambda: graph.decided((DRIVER_PAIRS, None), False)[0].count())
    print(f"{rows:,} rows: {found.pairs.count():,} pairs, {graph.num_edges:,} edges", flush=True)


def main(sizes: list[int]) -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    for rows in sizes:
        with tempfile.TemporaryDirectory() as home:
            builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "8g")
            builder = builder.config("spark.local.dir", home).config("spark.ui.showConsoleProgress", "false")
            session = builder.getOrCreate()
            session.sparkContext.setLogLevel("OFF")
            measure(session, rows, str(Path(home) / "texts"))
            session.stop()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [*ROWS])
