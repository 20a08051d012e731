"""What text-dedup left out: text_dedup_clusters.py DOCUMENTS CLUSTERS DUPLICATES.

CLUSTERS is the union-find structure that `text_dedup.minhash --debug` saves, over the numbers of the lines in
DOCUMENTS. text-dedup keeps the root of each cluster, which need not be its first document.
"""

import json
import pickle
import sys


def main():
    documents_path, clusters_path, duplicates_path = sys.argv[1:]
    with open(documents_path, encoding="utf-8") as lines:
        keys = [json.loads(line)["key"] for line in lines]
    with open(clusters_path, "rb") as file:
        clusters = pickle.load(file)
    with open(duplicates_path, "w", encoding="utf-8") as out:
        for number in sorted(clusters.parent):
            root = clusters.find(number)
            if root != number:
                out.write(f"{keys[number]}\t{keys[root]}\n")


if __name__ == "__main__":
    main()
