"""Nearprint and its peers on the same data, one thread each: prints one table.

    benches/peers/libraries.sh                       one million rows
    benches/peers/libraries.sh --rows 10000000 --only nearprint,mih-rs,scan
    benches/peers/libraries.sh --rows 10000000 --bits 256

Half of the queries are near a stored value, half are random; 5% of the values are near another one (or,
with --skewed, 30% share 200 values of their first 16 bits as well). Near is 3 of 64 bits, or 31 of 256 bits. Recall
is what a peer found of what comparing with everything finds, over the queries that both had time for.
"""

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))

PEERS = {
    64: {
        "scan": "comparing with everything (AVX-512)",
        "nearprint": "nearprint, one query at a time",
        "nearprint-batch": "nearprint, in a batch",
        "mih-rs": "mih-rs, 3 blocks",
        "gaoya": "gaoya, 4 blocks",
        "gaoya-default": "gaoya, 5 blocks as in its example",
        "bk-tree": "bk-tree",
        "faiss-flat": "FAISS IndexBinaryFlat",
        "faiss-multihash": "FAISS IndexBinaryMultiHash 4x16",
        "usearch": "usearch (HNSW, approximate)",
        "duckdb": "DuckDB, join on four bands",
    },
    256: {
        "scan": "comparing with everything (AVX-512)",
        "nearprint": "nearprint, one query at a time",
        "nearprint-batch": "nearprint, in a batch",
        "faiss-flat": "FAISS IndexBinaryFlat",
        "faiss-hash": "FAISS IndexBinaryHash, 16 bits, one may differ",
        "faiss-multihash": "FAISS IndexBinaryMultiHash 16x16, one of 16 may differ",
    },
}
#: The distance of near values, by their bits.
NEAR = {64: 3, 256: 31}


def near(random, values, count, bits):
    """Stored values with up to so many bits flipped as near ones may have."""
    chosen = values[random.integers(0, len(values), count)]
    flips = random.integers(0, NEAR[bits] + 1, count)
    at = np.arange(count)
    for flip in range(NEAR[bits]):
        place = random.integers(0, bits, count, dtype=np.uint64)
        bit = np.where(flips > flip, np.uint64(1) << place % np.uint64(64), np.uint64(0))
        chosen[at, place // np.uint64(64)] ^= bit
    return chosen


def generate(home, rows, bits, skewed):
    random = np.random.default_rng(42)
    values = random.integers(0, 2**64, (rows, bits // 64), dtype=np.uint64)
    if skewed:
        popular = random.integers(0, 2**16, 200, dtype=np.uint64) << np.uint64(48)
        hot = random.random(rows) < 0.3
        values[hot, 0] = random.choice(popular, int(hot.sum())) | values[hot, 0] >> np.uint64(16)
    values[::20] = near(random, values, len(values[::20]), bits)
    queries = random.integers(0, 2**64, (1_000_000, bits // 64), dtype=np.uint64)
    queries[::2] = near(random, values, len(queries) // 2, bits)
    paths = os.path.join(home, "values"), os.path.join(home, "queries")
    values.tofile(paths[0])
    queries.tofile(paths[1])
    return paths


def memory_kb(pid):
    """What a process holds now, mapped files aside, and the most that it has been resident with."""
    try:
        with open(f"/proc/{pid}/status") as status:
            fields = dict(line.split(":", 1) for line in status)
    except OSError:
        return 0, 0
    return tuple(int(fields.get(name, "0").split()[0]) for name in ("RssAnon", "VmHWM"))


def run(command):
    """What a peer reports, and the most memory that it held, mapped files aside and with them."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    most, resident = 0, 0

    def watch():
        nonlocal most, resident
        while process.poll() is None:
            anonymous, high = memory_kb(process.pid)
            most, resident = max(most, anonymous), max(resident, high)
            time.sleep(0.02)

    watcher = threading.Thread(target=watch)
    watcher.start()
    output, _ = process.communicate()
    watcher.join()
    if process.returncode != 0:
        sys.exit(f"{' '.join(command)} failed")
    return {**json.loads(output), "memory": most * 1024, "resident": resident * 1024}


def shown(value, unit):
    if value is None:
        return "-"
    if unit == "s":
        return f"{value:.4f} s" if value < 0.1 else f"{value:.2f} s"
    if unit == "MB":
        return f"{value / 1e6:,.0f} MB"
    return f"{value:,.2f} us" if value < 100 else f"{value:,.0f} us"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, choices=NEAR, default=64)
    parser.add_argument("--skewed", action="store_true")
    parser.add_argument("--seconds", type=float, default=10, help="for asking, each")
    parser.add_argument("--only", help="names of peers, separated by commas: " + ", ".join(PEERS[64]))
    parser.add_argument("--binary", required=True, help="the compiled peers")
    arguments = parser.parse_args()
    bits, k = arguments.bits, NEAR[arguments.bits]
    wanted = arguments.only.split(",") if arguments.only else list(PEERS[bits])
    kind = "skewed" if arguments.skewed else "uniform"
    print(f"{arguments.rows:,} {kind} rows of {bits} bits, k = {k}, one thread, {datetime.date.today()}\n")
    print("| | build | memory at most | resident at most | on disk | reopen | a query | recall | all pairs |")
    print("|---|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as home:
        data = generate(home, arguments.rows, bits, arguments.skewed)
        truth = None
        for name in ["scan", *(name for name in wanted if name != "scan")]:
            python = name.startswith("faiss") or name in ("usearch", "duckdb")
            program = [sys.executable, os.path.join(HERE, "python_peers.py")] if python else [arguments.binary]
            report = run([*program, name, *data, str(arguments.seconds), str(bits), str(k)])
            counts = report["counts"]
            truth = truth or counts
            common = min(len(counts), len(truth))
            recall = sum(counts[:common]) / max(sum(truth[:common]), 1)
            cells = [
                PEERS[bits][name],
                shown(report["build"], "s"),
                shown(report["memory"], "MB"),
                shown(report["resident"], "MB"),
                shown(report.get("disk"), "MB"),
                shown(report.get("reopen"), "s"),
                shown(report["seconds"] / len(counts) * 1e6, "us"),
                f"{100 * recall:.1f}%",
                shown(report.get("pairs"), "s"),
            ]
            if "pairs_in_memory" in report:
                cells[-1] += f", {shown(report['pairs_in_memory'], 's')} of a list"
            if name in wanted:
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
