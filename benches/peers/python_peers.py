"""One Python peer on one set of data: python_peers.py NAME VALUES QUERIES SECONDS BITS K; prints one JSON object."""

import json
import os
import sys
import tempfile
import time

import numpy as np

BATCH = 1000


def timed(report, name, work):
    start = time.perf_counter()
    result = work()
    report[name] = time.perf_counter() - start
    return result


def ask(report, queries, seconds, count):
    """Asks batch by batch, as long as there is time; count(batch) gives the number of matches of each."""
    counts = []
    start = time.perf_counter()
    for at in range(0, len(queries), BATCH):
        counts.extend(int(found) for found in count(queries[at : at + BATCH]))
        if time.perf_counter() - start > seconds:
            break
    report["seconds"] = time.perf_counter() - start
    report["counts"] = counts


def faiss_peer(report, values, queries, seconds, k, make):
    import faiss

    faiss.omp_set_num_threads(1)
    rows, asked = as_bytes(values), as_bytes(queries)
    index = make(faiss)
    timed(report, "build", lambda: index.add(rows))
    with tempfile.TemporaryDirectory() as home:
        path = os.path.join(home, "index")
        faiss.write_index_binary(index, path)
        report["disk"] = os.path.getsize(path)
        index = timed(report, "reopen", lambda: faiss.read_index_binary(path))

    def count(batch):
        # Strictly less than the radius is what FAISS takes.
        limits, _, _ = index.range_search(batch, k + 1)
        return np.diff(limits.astype(np.int64))

    ask(report, asked, seconds, count)


def near_buckets(index):
    """Looks also where one bit of a hash differs, as the index of PDQ hashes in ThreatExchange does."""
    index.nflip = 1
    return index


def as_bytes(values):
    return values.reshape(len(values), -1).view(np.uint8)


def usearch(report, values, queries, seconds, k):
    from usearch.index import Index

    rows = as_bytes(values)
    index = Index(ndim=64, metric="hamming", dtype="b1")
    keys = np.arange(len(values), dtype=np.uint64)
    timed(report, "build", lambda: index.add(keys, rows, threads=1))
    with tempfile.TemporaryDirectory() as home:
        path = os.path.join(home, "index")
        index.save(path)
        report["disk"] = os.path.getsize(path)
        index = timed(report, "reopen", lambda: Index.restore(path))

    def count(batch):
        found = index.search(as_bytes(batch), 10, threads=1)
        near = np.arange(10)[None, :] < np.asarray(found.counts).reshape(-1, 1)
        return (near & (np.asarray(found.distances) <= k)).reshape(len(batch), -1).sum(axis=1)

    ask(report, queries, seconds, count)


def duckdb(report, values, queries, seconds, k):
    import duckdb as engine

    home = tempfile.TemporaryDirectory()
    path = os.path.join(home.name, "duck.db")
    connection = engine.connect(path, config={"threads": 1})
    bands = ", ".join(f"(f >> {16 * band}) & 65535 AS b{band}" for band in range(4))

    def build():
        connection.register("loaded", {"f": values, "id": np.arange(len(values))})
        connection.execute(f"CREATE TABLE rows AS SELECT f, id, {bands} FROM loaded")
        connection.execute("CHECKPOINT")

    timed(report, "build", build)
    connection.close()
    report["disk"] = os.path.getsize(path)
    connection = timed(report, "reopen", lambda: engine.connect(path, config={"threads": 1}))

    def joined(left, right, extra):
        one = (f"SELECT l.id AS a, r.id AS b FROM {left} l JOIN {right} r ON l.b{band} = r.b{band} "
               f"WHERE bit_count(xor(l.f, r.f)) <= {k} {extra}" for band in range(4))
        return " UNION ".join(one)

    def count(batch):
        connection.register("asked", {"f": batch, "id": np.arange(len(batch))})
        connection.execute(f"CREATE OR REPLACE TEMP TABLE q AS SELECT f, id, {bands} FROM asked")
        found = connection.execute(f"SELECT a, count(*) FROM ({joined('q', 'rows', '')}) GROUP BY a").fetchall()
        counts = [0] * len(batch)
        for query, matches in found:
            counts[query] = matches
        return counts

    ask(report, queries, seconds, count)
    if len(values) <= 1_000_000:
        pairs = f"SELECT count(*) FROM ({joined('rows', 'rows', 'AND l.f < r.f')})"
        timed(report, "pairs", lambda: connection.execute(pairs).fetchall())


def faiss_of(make):
    return lambda *data: faiss_peer(*data, make)


PEERS = {
    64: {
        "faiss-flat": faiss_of(lambda faiss: faiss.IndexBinaryFlat(64)),
        "faiss-multihash": faiss_of(lambda faiss: faiss.IndexBinaryMultiHash(64, 4, 16)),
        "usearch": usearch,
        "duckdb": duckdb,
    },
    256: {
        "faiss-flat": faiss_of(lambda faiss: faiss.IndexBinaryFlat(256)),
        "faiss-hash": faiss_of(lambda faiss: near_buckets(faiss.IndexBinaryHash(256, 16))),
        "faiss-multihash": faiss_of(lambda faiss: near_buckets(faiss.IndexBinaryMultiHash(256, 16, 16))),
    },
}


def main():
    name, values, queries, seconds, bits, k = sys.argv[1:]
    report = {}
    read = [np.fromfile(path, dtype="<u8") for path in (values, queries)]
    if int(bits) > 64:
        read = [words.reshape(-1, int(bits) // 64) for words in read]
    PEERS[int(bits)][name](report, *read, float(seconds), int(k))
    print(json.dumps(report))


if __name__ == "__main__":
    main()
