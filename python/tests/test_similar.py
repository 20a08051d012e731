"""Documents of databases that keep evidence: their similarities are exact."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow
import pytest

import nearprint

Evidence = Literal["features", "texts", "hashes", "keys"]


def words(first: int, count: int) -> str:
    return " ".join(f"word{number}" for number in range(first, first + count))


def similarity(a: str, b: str) -> float:
    """The share of the shingles of three words in common."""
    sets = [{tuple(text.split()[at : at + 3]) for at in range(len(text.split()) - 2)} for text in (a, b)]
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1])


def stored(path: Path, texts: dict[str, str], store: Evidence = "features", limit: float = 1.0) -> Path:
    """A database of texts, by a limit that keeps all that differ."""
    pages, database = path / "pages.jsonl", path / f"{store}.np"
    pages.write_text("".join(json.dumps({"url": key, "text": text}) + "\n" for key, text in texts.items()))
    nearprint.dedup_files(
        pages,
        path / "out.jsonl",
        database=database,
        key="url",
        recipe="minhash hash=minhash:10x16,1",
        similarity=limit,
        store=store,
    )
    return database


def pairs_of(found: nearprint.Result) -> dict[frozenset[str], float]:
    return {frozenset((row["key_a"], row["key_b"])): row["similarity"] for row in found}


def test_pairs_clusters_and_texts_are_compared_exactly(tmp_path: Path) -> None:
    random.seed(7)
    texts = {str(number): words(random.randrange(12) * 10, random.randrange(60, 120)) for number in range(60)}
    texts = {key: text for text, key in {text: key for key, text in texts.items()}.items()}
    expected = {
        frozenset((a, b)): similarity(texts[a], texts[b])
        for a, b in itertools.combinations(texts, 2)
        if similarity(texts[a], texts[b]) >= 0.9
    }
    assert len(expected) > 20
    kinds: list[Evidence] = ["features", "texts"]
    for evidence in kinds:
        with nearprint.open(stored(tmp_path, texts, evidence)) as database:
            found = database.pairs(ids=True, similarity=0.9).table()
            # At this limit, all pairs have an equal band.
            assert pairs_of(found) == pytest.approx(expected)
            assert found["similarity"].dtype == np.float64
            prints = database.pairs(similarity=0.9).table()
            assert prints.columns == ("a", "b", "distance", "similarity")
            assert len(prints) == len({(row["a"], row["b"]) for row in found if row["a"] != row["b"]})
            clusters = database.clusters(similarity=0.9).table()
            assert clusters.columns == ("cluster", "id", "fingerprint", "key", "similarity")
            firsts = dict(zip(clusters["cluster"][::-1].tolist(), clusters["key"][::-1]))
            for row in clusters:
                assert row["similarity"] == pytest.approx(similarity(texts[firsts[row["cluster"]]], texts[row["key"]]))
            assert set(clusters["key"]) == {key for pair in expected for key in pair}
            queries = [*texts.values()]
            for given in (queries, pyarrow.array(queries), iter(queries)):
                near = database.find(given, similarity=0.9)
                keys = [(list(texts)[row["query"]], row["key"]) for row in near]
                assert {frozenset(pair) for pair in keys if pair[0] != pair[1]} == set(expected)
                assert len(keys) == len(texts) + 2 * len(expected)
            first = database.find(queries[0], limit=1)
            assert first.columns == ("id", "fingerprint", "distance", "key", "similarity")
            assert (first["key"][0], first["similarity"][0]) == (next(iter(texts)), 1)
            missing: list[Any] = [None, ""]
            assert len(database.find(missing, similarity=0.5)) == 0
            # With a distance, fingerprints are compared.
            assert database.pairs(20).table().columns == ("a", "b", "distance")
            assert database.find(queries[0], 0).columns == ("id", "fingerprint", "distance", "key")


def test_databases_are_compared_exactly(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    one = stored(tmp_path, {"a": words(0, 100), "b": words(500, 100)})
    other = stored(tmp_path / "other", {"c": words(10, 100)})
    with nearprint.open(one) as first, nearprint.open(other) as second:
        found = first.cross(second, ids=True, similarity=0.7).table()
        assert found.columns == ("a", "b", "distance", "id_a", "id_b", "key_a", "key_b", "similarity")
        assert [tuple(row.values())[-3:] for row in found] == [("a", "c", pytest.approx(88 / 108))]
        table: Any = pyarrow.table(first.cross(second, similarity=0.7))
        assert table.column_names == ["a", "b", "distance", "similarity"]
        assert table["similarity"].to_pylist() == [pytest.approx(88 / 108)]
        assert len(first.cross(second, similarity=0.9).table()) == 0


def test_arguments_are_checked(tmp_path: Path) -> None:
    with nearprint.open(stored(tmp_path, {"a": words(0, 100)})) as database:
        with pytest.raises(nearprint.InputError, match=r"similarity = 1\.5: 0 to 1 is wanted"):
            database.pairs(similarity=1.5)
        wrong: Any = "0.5"
        with pytest.raises(TypeError, match="similarity: a number is wanted, not str"):
            database.clusters(similarity=wrong)
        with pytest.raises(nearprint.InputError, match="k and similarity"):
            database.find("text", k=3, similarity=0.5)
    with nearprint.open(stored(tmp_path, {"a": words(0, 100)}, "hashes")) as database:
        assert database.pairs(similarity=0.7).table().columns == ("a", "b", "distance")


def test_a_database_with_features_compares_exactly(tmp_path: Path) -> None:
    texts = ["one two three four five six", "one two three four five six seven", "something else"]
    with nearprint.create(tmp_path / "made.np", recipe="minhash", features=True) as database:
        database.add_texts(texts, keys=["a", "b", "c"])
        database.commit()
        assert database.stats()["keys"] == "keys and features"
        assert database.find(texts[0], similarity=0.7)["similarity"].tolist() == [1.0, 0.8]
    found = nearprint.dedup(["one two three four five six eight"], database=tmp_path / "made.np", similarity=0.8)
    assert found["similarity"].tolist() == [0.8]
    with pytest.raises(nearprint.InputError, match="texts, features: keys have one of them"):
        nearprint.create(tmp_path / "other.np", recipe="minhash", features=True, texts=True)


def test_regression_evidence_is_no_text(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "a.np", ["one two three four five"], keys=["k"]) as database:
        (row,) = database.find("one two three four five")
        assert not database.keeps_texts
        assert database.texts_of(row["fingerprint"], row["id"]) == {"k": ""}


def test_a_row_of_fingerprints_knows_its_width() -> None:
    prints = nearprint.fingerprint(["one two three four five six", "one two three four five six seven"])
    assert nearprint.distance(prints[0], prints[1]) == nearprint.distance(prints[:1], prints[1:])[0]


def test_regression_lifetimes_are_checked(tmp_path: Path) -> None:
    for lifetime in (0, "30d", float("nan"), -1):
        with pytest.raises(nearprint.InputError, match="expire_after = "):
            nearprint.create(tmp_path / "a.np", expire_after=lifetime)  # type: ignore[arg-type]


@pytest.mark.parametrize("store", ["features", "texts"])
def test_regression_a_database_was_created_without_the_limit_of_its_texts(store: str, tmp_path: Path) -> None:
    texts = [words(0, 6), words(0, 7)]  # 0.8
    path = tmp_path / "made.np"
    with nearprint.create(
        path, recipe="minhash", similarity=0.9, features=store == "features", texts=store == "texts", keys=True
    ) as made:
        made.add_texts(texts)
        made.commit()
        given = "minhash near=0.9" if store == "features" else "minhash hash=minhash:10x16,2 near=0.9"
        assert made.recipe == nearprint.recipe_line(given)
        assert len(made.pairs(ids=True).table()) == 0 and len(made.find(texts[:1])) == 1
        assert len(made.pairs(ids=True, similarity=0.8).table()) == 1
    assert nearprint.against(["word0 " + texts[0]], path)["kept"].tolist() == [True]
    with nearprint.create(tmp_path / "other.np", recipe="minhash", similarity=0.9, texts=True, keys=True) as other:
        other.add(nearprint.fingerprint(texts), keys=["a", "b"], texts=texts)
        other.commit()
        assert len(other.find(texts[:1])) == 1


def test_regression_similarities_of_many_digits_were_refused(tmp_path: Path) -> None:
    shorter, longer = words(0, 8), words(0, 11)  # 6 of 9 shingles
    assert similarity(shorter, longer) == 2 / 3
    texts = [shorter, longer]
    limits = {2 / 3: 1, 0.1 + 0.7: 0, 0.666666: 1, 0.666667: 0, 0.0: 1, 1: 0}
    for limit, count in limits.items():
        assert len(nearprint.pairs(texts, limit)) == len(nearprint.clusters(texts, limit)) / 2 == count
        assert nearprint.dedup(texts, similarity=limit)["kept"].tolist() == [True, not count]
        with nearprint.build(tmp_path / f"{limit}.np", texts, similarity=limit) as database:
            assert len(database.pairs().table()) == count
    eight_tenths = [words(0, 6), words(0, 7)]
    assert len(nearprint.pairs(eight_tenths, 0.1 + 0.7)) == len(nearprint.pairs(eight_tenths, 0.8)) == 1


def test_regression_texts_without_words_were_near_each_other(tmp_path: Path) -> None:
    texts = ["", "", "!", "...", "...", "a b c d", "a b c d"]
    for recipe, k in (("simhash", 3), ("minhash", 12), ("exact", 0)):
        assert nearprint.pairs(texts, recipe=recipe, k=k)[["a", "b"]].to_pylist() == [{"a": 5, "b": 6}]
        assert nearprint.clusters(texts, recipe=recipe, k=k)["index"].tolist() == [5, 6]
        with nearprint.build(tmp_path / f"{recipe}.np", texts, recipe=recipe) as database:
            assert database.pairs(k, ids=True).table()["id_a"].tolist() == [5]
            assert len(database) == 7 and len(database.find(["", "..."])) == 0


def test_regression_a_table_of_texts_is_no_table_of_fingerprints(tmp_path: Path) -> None:
    texts = {"text": ["one two three four"], "key": ["a"]}
    with nearprint.build(tmp_path / "texts.np", texts) as database:
        assert len(database.add_texts({"text": ["other words than these"], "key": ["b"]})) == 1
        for refused in (database.add, database.upsert, database.query_batch):
            with pytest.raises(nearprint.InputError, match="'text' and none 'fingerprint': add_texts adds"):
                refused(texts)
