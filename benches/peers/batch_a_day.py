"""A batch a day: a database of fingerprints of 64 bits is built once, and 100,000 are looked up in it, k = 3.

    python benches/peers/batch_a_day.py --nearprint target/release/nearprint

Prints the processor time of each step, a process of its own with two threads, and the bytes on disk. DuckDB has a table
of the fingerprints, and joins on each of their four bands of 16 bits. Before a cold batch, what the system
caches of the database is dropped. All find the same number of pairs, or this fails. Needs duckdb and numpy.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
from libraries import generate

BATCH = 100_000
BANDS = ", ".join(f"(f >> {16 * band}) & 65535 AS b{band}" for band in range(4))
#: What a DuckDB process does, with its arguments.
DUCKDB = f"""
import sys, duckdb, numpy as np
step, path, fingerprints = sys.argv[1:]
connection = duckdb.connect(path, config={{"threads": 2}})
connection.execute("SET enable_progress_bar = false")
values = np.fromfile(fingerprints, np.uint64)
connection.register("given", {{"f": values}})
if step == "build":
    connection.execute("CREATE TABLE rows AS SELECT f FROM given")
    connection.execute("CHECKPOINT")
else:
    connection.execute("CREATE TEMP TABLE asked AS SELECT f FROM given")
    q, r = (f"(SELECT f, rowid AS id, {BANDS} FROM {{table}})" for table in ("asked", "rows"))
    joins = (f"SELECT q.id, r.id FROM {{q}} q JOIN {{r}} r USING (b{{band}}) WHERE bit_count(xor(q.f, r.f)) <= 3"
             for band in range(4))
    print(connection.execute("SELECT count(*) FROM (" + " UNION ".join(joins) + ")").fetchone()[0])
"""


def timed(command, output):
    """The processor time and the time of a process, whose output goes to a file."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=output)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start


def files_of(database):
    """The paths of a database: a file, or the files of a folder."""
    inside = [os.path.join(database, name) for name in os.listdir(database)] if os.path.isdir(database) else [database]
    return [path for path in inside if os.path.isfile(path)]


def drop_cached(database):
    """Has the system forget what it caches of the files."""
    for path in files_of(database):
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def steps(name, nearprint, home, values, batch):
    """The path of a database, and the commands that build it and ask a batch."""
    path = os.path.join(home, name)
    if name == "DuckDB":
        command = [sys.executable, "-c", DUCKDB]
        return path, [*command, "build", path, values], [*command, "ask", path, batch]
    common = [nearprint, "-q", "-j", "2"]
    build = [*common, "build", path, values, "-k", "3", "--layout", name.split()[-1]]
    return path, build, [*common, "query", path, batch]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=20_000_000)
    parser.add_argument("--nearprint", required=True, help="the program")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        values, queries = (shutil.move(path, f"{path}.u64") for path in generate(home, arguments.rows, 64, False))
        batch = os.path.join(home, "batch.u64")
        np.fromfile(queries, np.uint64, BATCH).tofile(batch)
        print(f"{arguments.rows:,} rows, batches of {BATCH:,}, medians of {arguments.rounds}\n")
        print("| | build, CPU-s | on disk, MB | cold batch, s | CPU-s | warm batch, CPU-s | pairs |")
        print("|---|---|---|---|---|---|---|")
        found = set()
        for name in ("nearprint, auto", "nearprint, small", "nearprint, fast", "DuckDB"):
            figures = []
            for _ in range(arguments.rounds):
                path, build, ask = steps(name, arguments.nearprint, home, values, batch)
                with open(os.path.join(home, "found"), "w+") as output:
                    built, _ = timed(build, subprocess.DEVNULL)
                    size = sum(os.path.getsize(file) for file in files_of(path))
                    drop_cached(path)
                    cold, waited = timed(ask, subprocess.DEVNULL)
                    warm, _ = timed(ask, output)
                    output.seek(0)
                    lines = output.read().split("\n")
                pairs = int(lines[0]) if name == "DuckDB" else len(lines) - 1
                figures.append((built, size / 1e6, waited, cold, warm))
                shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
            found.add(pairs)
            built, size, waited, cold, warm = np.median(figures, axis=0)
            print(f"| {name} | {built:.1f} | {size:.0f} | {waited:.2f} | {cold:.2f} | {warm:.2f} | {pairs:,} |", flush=True)
    if len(found) != 1:
        sys.exit("they found different numbers of pairs")


if __name__ == "__main__":
    main()
