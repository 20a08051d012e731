"""One deduplication in Spark of one file of documents: spark_peers.py NAME DOCUMENTS DUPLICATES.

The files are the same as in document_peers.py. A document is left out if the Jaccard similarity to an earlier kept one
is 0.7 or more. NAME is `nearprint`, `mllib`, or `session`: what Spark takes to start, and to send the texts to a
process of Python and back.
"""

import os
import sys

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

SIMILARITY = 0.7
# One hash each, so that documents of this similarity meet in one of them with a probability of 0.9919.
TABLES = 4
# Hashes of shingles: two of a document's 300 are equal with a probability of 0.04.
FEATURES = 1 << 20


def nearprint(documents: DataFrame) -> list[tuple[int, int]]:
    from nearprint import spark

    found = spark.dedup(documents, text="text", similarity=SIMILARITY, annotate=True)
    rows = found.where("duplicate_of is not null").select("id", "duplicate_of").toArrow()
    return list(zip(rows["id"].to_pylist(), rows["duplicate_of"].to_pylist()))


def mllib(documents: DataFrame) -> list[tuple[int, int]]:
    from pyspark.ml.feature import HashingTF, MinHashLSH, NGram, RegexTokenizer

    # Words as `\w+` finds them; a text of fewer than three has no shingle, and cannot be hashed.
    words = RegexTokenizer(inputCol="text", outputCol="words", pattern="\\w+", gaps=False).transform(documents)
    shingles = NGram(n=3, inputCol="words", outputCol="shingles").transform(words).where(sf.size("shingles") > 0)
    hashing = HashingTF(numFeatures=FEATURES, binary=True, inputCol="shingles", outputCol="features")
    sets = hashing.transform(shingles).select("id", "features").persist()
    model = MinHashLSH(inputCol="features", outputCol="hashes", numHashTables=TABLES, seed=42).fit(sets)
    joined = model.approxSimilarityJoin(sets, sets, 1 - SIMILARITY + 1e-9, "distance")
    pairs = joined.select(sf.col("datasetA.id").alias("a"), sf.col("datasetB.id").alias("b"), "distance").where("a < b")
    earlier: dict[int, list[tuple[float, int]]] = {}
    for a, b, distance in zip(*pairs.toArrow().to_pydict().values()):
        earlier.setdefault(b, []).append((distance, a))
    duplicates: dict[int, int] = {}
    for b in sorted(earlier):
        kept = [(distance, a) for distance, a in earlier[b] if a not in duplicates]
        if kept:
            duplicates[b] = min(kept)[1]
    return list(duplicates.items())


def session(documents: DataFrame) -> list[tuple[int, int]]:
    documents.mapInArrow(lambda batches: batches, documents.schema).write.format("noop").mode("overwrite").save()
    return []


PEERS = {"nearprint": nearprint, "mllib": mllib, "session": session}


def main() -> None:
    name, documents_path, duplicates_path = sys.argv[1:]
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.driver.memory", "4g")
    spark = builder.config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    lines = spark.read.schema("key string, text string").json(documents_path)
    # Ids ascend in the order of the lines.
    documents = lines.withColumn("id", sf.monotonically_increasing_id())
    found = PEERS[name](documents.select("id", "text"))
    table = documents.select("id", "key").toArrow()
    keys = dict(zip(table["id"].to_pylist(), table["key"].to_pylist()))
    with open(duplicates_path, "w", encoding="utf-8") as out:
        out.writelines(f"{keys[copy]}\t{keys[kept]}\n" for copy, kept in sorted(found))
    spark.stop()
    gateway = SparkContext._gateway
    if gateway is not None:
        # The processor time of Java counts once it has ended.
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait()


if __name__ == "__main__":
    main()
