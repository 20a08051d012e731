"""One Python peer on one file of documents: document_peers.py NAME DOCUMENTS DUPLICATES [STATE].

DOCUMENTS holds `{"key", "text"}` a line. DUPLICATES receives the key of each document left out, a tab,
and the key of the kept document. A document is left out if its estimated similarity to an earlier kept one
is 0.7 or more. STATE is what the peer kept: it is loaded if
it exists, and saved at the end.
"""

import json
import os
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from itertools import islice

SIMILARITY = 0.7
HASHES = 128
BATCH = 1000
WORD = re.compile(r"\w+")


def shingles(text: str) -> list[str]:
    """Three neighbouring words each; a text of fewer words has its words."""
    words = WORD.findall(text.lower())
    if len(words) < 3:
        return words
    return [" ".join(three) for three in zip(words, words[1:], words[2:])]


def documents(path):
    """The keys and shingles of documents, in batches."""
    with open(path, encoding="utf-8") as lines:
        parsed = map(json.loads, lines)
        while batch := list(islice(parsed, BATCH)):
            yield [document["key"] for document in batch], [shingles(document["text"]) for document in batch]


def load(path, make):
    """The state of a former run, or a new one."""
    if path is None or not os.path.exists(path):
        return make()
    with open(path, "rb") as file:
        return pickle.load(file)


def save(path, state):
    if path is not None:
        with open(path, "wb") as file:
            pickle.dump(state, file, protocol=pickle.HIGHEST_PROTOCOL)


def most_similar(sketch, candidates, sketches):
    """The candidate with the greatest estimate of similarity, None if that is too low."""
    similarity, best = max(((sketch.jaccard(sketches[key]), key) for key in candidates), default=(0, None))
    return best if similarity >= SIMILARITY else None


def datasketch(batches, state_path):
    from datasketch import MinHash, MinHashLSH

    lsh, sketches = load(state_path, lambda: (MinHashLSH(threshold=SIMILARITY, num_perm=HASHES), {}))
    for keys, token_lists in batches:
        encoded = ([token.encode("utf-8") for token in tokens] for tokens in token_lists)
        for key, sketch in zip(keys, MinHash.generator(encoded, num_perm=HASHES)):
            kept = most_similar(sketch, lsh.query(sketch), sketches)
            if kept is not None:
                yield key, kept
            else:
                lsh.insert(key, sketch)
                sketches[key] = sketch
    save(state_path, (lsh, sketches))


def rensa(batches, _):
    from rensa import RMinHash, RMinHashDeduplicator

    deduplicator = RMinHashDeduplicator(threshold=SIMILARITY, num_perm=HASHES, use_lsh=True)
    for keys, token_lists in batches:
        sketches = RMinHash.from_token_sets(token_lists, num_perm=HASHES, seed=42)
        kept = deduplicator.add_pairs(zip(keys, sketches))
        copies = [(key, sketch) for key, sketch, keep in zip(keys, sketches, kept) if not keep]
        found = deduplicator.get_duplicate_sets([sketch for _, sketch in copies])
        yield from ((key, near[0]) for (key, _), near in zip(copies, found))


def rensa_lsh(batches, state_path):
    from rensa import RMinHash, RMinHashLSH

    # Four hashes a band: documents of similarity 0.42 share a band with a probability of one half.
    def make():
        return RMinHashLSH(threshold=SIMILARITY, num_perm=HASHES, num_bands=32), [], []

    lsh, kept_keys, sketches = load(state_path, make)
    for keys, token_lists in batches:
        for key, sketch in zip(keys, RMinHash.from_token_sets(token_lists, num_perm=HASHES, seed=42)):
            kept = most_similar(sketch, lsh.query(sketch), sketches)
            if kept is not None:
                yield key, kept_keys[kept]
            else:
                lsh.insert(len(kept_keys), sketch)
                kept_keys.append(key)
                sketches.append(sketch)
    save(state_path, (lsh, kept_keys, sketches))


def datatrove(path):
    """The four steps of FineWeb in one process each, with its 14 bands of 8 values, of three words instead of five."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import minhash
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    config = minhash.MinhashConfig(n_grams=3)
    with tempfile.TemporaryDirectory() as home:

        def reader():
            return JsonlReader(os.path.dirname(path), glob_pattern=os.path.basename(path), id_key="key")

        def written(name):
            return JsonlWriter(f"{home}/{name}", compression=None, output_filename="${rank}.jsonl")

        filtering = minhash.MinhashDedupFilter(f"{home}/remove", written("removed"), load_cluster_ids=True)
        for step, pipeline in enumerate(
            [
                [reader(), minhash.MinhashDedupSignature(f"{home}/signatures", config)],
                [minhash.MinhashDedupBuckets(f"{home}/signatures", f"{home}/buckets", config=config)],
                [minhash.MinhashDedupCluster(f"{home}/buckets", f"{home}/remove", config, save_cluster_id=True)],
                [reader(), filtering, written("kept")],
            ]
        ):
            tasks = config.num_buckets if step == 1 else 1
            LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(tasks, 2), logging_dir=f"{home}/log{step}").run()

        def clusters(name):
            with open(f"{home}/{name}/00000.jsonl", encoding="utf-8") as lines:
                for document in map(json.loads, lines):
                    if (cluster := document["metadata"].get("minhash_cluster_id", -1)) >= 0:
                        yield cluster, document["id"]

        kept = dict(clusters("kept"))
        yield from ((key, kept[cluster]) for cluster, key in clusters("removed"))


def incrededup(path):
    """The program, over documents in SQLite: 128 hashes of characters in threes, and an index on disk."""
    with open(path, encoding="utf-8") as lines, tempfile.TemporaryDirectory() as home:
        parsed = [json.loads(line) for line in lines]
        keys = {str(uuid.UUID(int=number)): document["key"] for number, document in enumerate(parsed)}
        database = sqlite3.connect(f"{home}/documents.sqlite")
        database.execute(
            "CREATE TABLE documents (id TEXT PRIMARY KEY, content TEXT NOT NULL, content_len INTEGER NOT NULL, "
            "filename TEXT, is_parent INTEGER)"
        )
        rows = ((id, document["text"], len(document["text"])) for id, document in zip(keys, parsed))
        database.executemany("INSERT INTO documents (id, content, content_len) VALUES (?, ?, ?)", rows)
        database.commit()
        program = [os.path.join(os.path.dirname(sys.executable), "incrededup"), "--sqlite", f"{home}/documents.sqlite"]
        near = ["--threshold", str(SIMILARITY), "--min-content-len", "1"]
        subprocess.run([*program, "--data-dir", f"{home}/index", *near], check=True)
        for child, parent in database.execute("SELECT child_id, parent_id FROM dupes"):
            yield keys[child], keys[parent]


PEERS = {"datasketch": datasketch, "rensa": rensa, "rensa-lsh": rensa_lsh}
#: Peers that read the documents themselves.
PROGRAMS = {"datatrove": datatrove, "incrededup": incrededup}


def main():
    name, documents_path, duplicates_path, *state_path = sys.argv[1:]
    if name in PROGRAMS:
        pairs = PROGRAMS[name](documents_path)
    else:
        pairs = PEERS[name](documents(documents_path), state_path[0] if state_path else None)
    with open(duplicates_path, "w", encoding="utf-8") as out:
        out.writelines(f"{copy}\t{kept}\n" for copy, kept in pairs)


if __name__ == "__main__":
    main()
