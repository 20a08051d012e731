"""Deduplication from Python: lists, tables and files, by one implementation."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import nearprint


def texts_of(count: int) -> list[str]:
    """Texts; half are earlier ones with some words changed."""
    source = random.Random(5)
    words = [f"word{number}" for number in range(400)]
    texts: list[str] = []
    for index in range(count):
        text = source.choice(texts).split() if index % 2 and texts else source.choices(words, k=60)
        for _ in range(source.randrange(6)):
            text[source.randrange(len(text))] = source.choice(words)
        texts.append(" ".join(text))
    return texts


def test_lists_tables_and_files_give_the_same(tmp_path: Path) -> None:
    texts, scores = texts_of(300), [index * 7 % 31 for index in range(300)]
    expected = nearprint.dedup(texts, keep=scores)
    assert 50 < expected["kept"].sum() < 250
    assert (expected["kept"] == (expected["duplicate_of"] == -1)).all()
    table = pyarrow.table({"body": texts, "score": scores})
    frame = table.to_pandas()
    for given in (table, table.to_reader(), frame, polars.DataFrame(frame), {"body": texts, "score": scores}):
        found = nearprint.dedup(given, text="body", keep="max:score")
        assert found["duplicate_of"].tolist() == expected["duplicate_of"].tolist()
    pages, unique = tmp_path / "pages.jsonl", tmp_path / "unique.jsonl"
    pages.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    report = nearprint.dedup_files(pages, unique, text_field="body", keep="max:score", cluster_size=True)
    assert (report.documents, report.kept) == (300, expected["kept"].sum())
    assert sum(report.by_similarity) == report.duplicates and report.copies is not None
    kept = [json.loads(line) for line in unique.read_text().splitlines()]
    assert [row["body"] for row in kept] == frame[expected["kept"]]["body"].tolist()
    assert [row["cluster_size"] for row in kept] == expected["cluster_size"][expected["kept"]].tolist()
    clusters = np.where(expected["kept"], np.arange(300), expected["duplicate_of"])
    assert (expected["cluster"] == clusters).all()
    assert expected["cluster_size"].tolist() == [(clusters == one).sum() for one in clusters]


def test_the_first_and_the_longest(tmp_path: Path) -> None:
    texts = ["one two three four five six seven", "one two three four five six seven eight", "other words, all of them"]
    first = nearprint.dedup(pandas.Series(texts))
    assert first["duplicate_of"].tolist() == [-1, 0, -1]
    assert np.isnan(first["similarity"]).tolist() == [True, False, True] and 0.5 < first["similarity"][1] <= 1
    assert nearprint.dedup(np.array(texts), keep="longest")["duplicate_of"].tolist() == [1, -1, -1]
    assert nearprint.dedup(texts, keep=[None, 5, None])["duplicate_of"].tolist() == [1, -1, -1]
    assert nearprint.dedup(texts, confirm="jaccard:0.99")["kept"].all()
    assert nearprint.dedup(texts, similarity=0.99)["kept"].all()
    assert nearprint.dedup([texts[0]] * 3, recipe="simhash", k=0)["duplicate_of"].tolist() == [-1, 0, 0]
    assert len(nearprint.dedup([])) == 0
    assert nearprint.dedup(["", "", "a b"], min_tokens=1)["kept"].all()


def test_databases_remember_and_jobs_resume(tmp_path: Path) -> None:
    pages, out, database = tmp_path / "pages.jsonl", tmp_path / "out.jsonl", tmp_path / "seen.np"
    pages.write_text("".join(json.dumps({"url": str(at), "text": text}) + "\n" for at, text in enumerate(texts_of(50))))
    options: dict[str, Any] = {"database": database, "key_field": "url", "duplicates": tmp_path / "duplicates.tsv"}
    first = nearprint.dedup_files([pages], out, **options)
    again = nearprint.dedup_files([pages], out, **options)
    assert again.already_complete and (again.kept, again.documents) == (first.kept, 50)
    with nearprint.open(database) as opened:
        assert len(opened) == first.kept and opened.recipe == nearprint.recipe_line("minhash")
    later = nearprint.dedup_files([pages], tmp_path / "later.jsonl", **{**options, "annotate": True})
    assert later.kept == 0 and len((tmp_path / "later.jsonl").read_text().splitlines()) == 50


def test_misfits_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("{")

    def refused(why: str, texts: Any, **options: Any) -> None:
        with pytest.raises((nearprint.InputError, TypeError), match=why):
            nearprint.dedup(texts, **options)

    refused("item 1: NoneType", ["a", None])
    refused("one text", "a")
    refused("1 numbers for 2", ["a", "b"], keep=[1])
    refused("3 numbers for 2", ["a", "b"], keep=[1, 2, 3])
    refused("item 0: str", ["a"], keep=["b"])
    refused("item 0 is nan", ["a"], keep=[float("nan")])
    refused("no column 'text', but a", {"a": ["b"]})
    refused("no column 'b'", {"text": ["b"]}, keep="max:b")
    refused("a table is wanted, not list", ["a"], keep="max:b")
    refused("'first', 'longest'", ["a"], keep="best")
    refused("recipe", ["a"], recipe="none")
    refused("needs MinHash", ["a"], recipe="simhash", similarity=0.5)
    refused("only one of them", ["a"], k=3, similarity=0.5)
    refused("0 to 1", ["a"], similarity=5)
    refused("jaccard:X", ["a"], confirm="cosine:1")
    refused("no valid Unicode", ["\ud800"])
    with pytest.raises(nearprint.InputError, match=r"bad\.jsonl:1"):
        nearprint.dedup_files(tmp_path / "bad.jsonl", tmp_path / "out")
    with pytest.raises(nearprint.InputError, match="there is none"):
        nearprint.dedup_files(tmp_path / "bad.jsonl", tmp_path / "out", input_format="xml")


def test_progress_and_interruption(tmp_path: Path) -> None:
    pages = tmp_path / "pages.jsonl"
    pages.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts_of(3000)))
    seen: list[Any] = []
    nearprint.dedup_files(pages, tmp_path / "out", progress=lambda *reached: seen.append(reached))
    assert seen[-1][0] in ("reading", "merging", "tables")

    def stop(*_: Any) -> None:
        raise KeyError("enough")

    with pytest.raises(KeyError, match="enough"):
        nearprint.dedup_files([pages] * 50, tmp_path / "other", progress=stop)
