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
import sys
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


PEERS = {"datasketch": datasketch, "rensa": rensa, "rensa-lsh": rensa_lsh}


def main():
    name, documents_path, duplicates_path, *state_path = sys.argv[1:]
    pairs = PEERS[name](documents(documents_path), state_path[0] if state_path else None)
    with open(duplicates_path, "w", encoding="utf-8") as out:
        out.writelines(f"{copy}\t{kept}\n" for copy, kept in pairs)


if __name__ == "__main__":
    main()
