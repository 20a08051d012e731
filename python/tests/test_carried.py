"""Arrays of fingerprints carry the recipe that made them."""

from __future__ import annotations

import copy
import doctest
import pickle
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint
from nearprint import partition

WORDS = [f"word{number}" for number in range(40)]
CHANGED = [*WORDS[:36], "four", "words", "are", "others"]
TEXTS = [" ".join(WORDS), " ".join(CHANGED), "something else altogether, of eight or nine words"]


def test_regression_the_example_of_the_module_finds_what_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = (nearprint.__doc__ or "").split("::\n", 1)[1].splitlines()
    code = "\n".join(line[4:] for line in lines if line.startswith("    ") or not line.strip())
    expected = re.findall(r"# (\[.*\])$", code, re.MULTILINE)
    assert len(expected) == 2
    exec(compile(code, "nearprint.__doc__", "exec"), {})
    assert capsys.readouterr().out.splitlines() == expected
    assert doctest.testmod(nearprint).failed == 0


def test_regression_slices_keep_the_recipe_and_arithmetic_does_not() -> None:
    for recipe in ("minhash", "simhash"):
        prints = nearprint.fingerprint(TEXTS, recipe)
        line = nearprint.recipe_line(recipe)
        for same in (prints, prints[:2], prints[[0, 2]], prints.copy(), copy.copy(prints), copy.deepcopy(prints)):
            assert isinstance(same, nearprint.Fingerprints) and same.recipe == line
        again = pickle.loads(pickle.dumps(prints))
        assert again.recipe == line and np.array_equal(again, prints)
        for plain in (prints ^ np.uint64(1), prints == prints, np.asarray(prints), prints.tolist()):
            assert not isinstance(plain, nearprint.Fingerprints)
        masked: Any = nearprint.fingerprint([*TEXTS, None], recipe, missing="mask")
        assert masked[:3].recipe == line


def test_regression_concatenated_fingerprints_lost_their_recipe() -> None:
    for recipe, other in (("minhash", "minhash shingle=2"), ("simhash", "simhash shingle=2")):
        prints, others = nearprint.fingerprint(TEXTS, recipe), nearprint.fingerprint(TEXTS, other)
        joined = np.concatenate([prints, prints])
        assert isinstance(joined, nearprint.Fingerprints) and joined.recipe == prints.recipe
        assert nearprint.distance(joined[:3], joined[3:]).tolist() == [0, 0, 0]
        for same in (np.append(prints, prints, 0), np.concatenate((prints[:1], prints), axis=0)):
            assert isinstance(same, nearprint.Fingerprints) and same.recipe == prints.recipe
        for mixed in (others, np.asarray(prints)):
            assert getattr(np.concatenate([prints, mixed]), "recipe", None) is None
            assert getattr(np.concatenate([mixed, prints]), "recipe", None) is None


def test_regression_minhash_is_not_compared_by_all_bits(tmp_path: Path) -> None:
    prints = nearprint.fingerprint(TEXTS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with nearprint.build(tmp_path / "carried.np", prints, ids=[1, 2, 3]) as database:
            assert (database.kind, database.recipe) == ("bands", nearprint.recipe_line("minhash"))
            assert database.query(prints[0])["id"].tolist() == [1, 2]
            assert database.query_batch(prints[:2])["query"].tolist() == [0, 0, 1, 1]
            assert database.find(TEXTS[1])["id"].tolist() == [2, 1]
            database.add(nearprint.fingerprint(["yet another text of six words"]), ids=[4])
        pdq = np.asarray(prints)
        with nearprint.build(tmp_path / "hamming.np", pdq, kind="hamming") as database:
            assert (database.kind, database.recipe) == ("hamming", None)
            assert len(database.query(pdq[0], k=3)) == 1
            for call in (database.add, database.query_batch, database.nearest):
                with pytest.raises(nearprint.InputError, match="has no bands, and these fingerprints bands 10x16"):
                    call(prints)
            with pytest.raises(nearprint.InputError, match="has no bands"):
                database.query(prints[0])
            with pytest.raises(nearprint.InputError, match=r"no recipe.*nearprint.create"):
                database.find(TEXTS[0])
            with pytest.raises(nearprint.InputError, match="bands"):
                database.set_recipe("minhash")
    with pytest.warns(UserWarning, match="kind='hamming'"):
        nearprint.build(tmp_path / "open.np", pdq).close()
    wide = nearprint.fingerprint(TEXTS, "minhash hash=minhash:6x16,2")
    with nearprint.build(tmp_path / "wide.np", wide, kind="bands") as database:
        assert (database.recipe, database.stats()["layout"], len(database.query(wide[0]))) == (None, "bands:6x16", 2)
    k = 28
    assert len(nearprint.find_all(prints, k)) == 1 and len(nearprint.find_clusters(prints, k)) == 2
    assert len(nearprint.find_all(np.asarray(prints), 3)) == 0
    keyed = partition.block_keys(prints, k)
    assert len(keyed) == 30
    assert len(partition.join_blocks(keyed["group"], keyed["fingerprint"], k, bands="10x16")) == 1
    # A similarity takes the place of a distance, 0.7 if there is neither.
    nears: list[dict[str, Any]] = [{"similarity": 0.5}, {}]
    for near in nears:
        keyed = partition.block_keys(prints, **near)
        pairs = partition.join_blocks(keyed["group"], keyed["fingerprint"], **near, bands="10x16")
        assert list(pairs["distance"]) == list(nearprint.find_all(prints, **near)["distance"])
        assert len(pairs) == 1
        groups, rows = keyed["group"], keyed["fingerprint"]
        between = partition.join_between(groups, rows, groups, rows, **near, bands="10x16")
        assert sorted(between["distance"]) == sorted([0, 0, 0, *pairs["distance"], *pairs["distance"]])
        decided = partition.Kept(**near, width=256, bands="10x16").decide(prints)
        assert list(decided["duplicate_of"] >= 0).count(True) == 1
    with pytest.raises(nearprint.InputError, match="similarity"):
        partition.block_keys([1, 2], similarity=0.5)
    with pytest.raises(nearprint.InputError, match="k, or similarity"):
        partition.Kept()


def test_regression_contradictions_of_the_recipe_are_refused(tmp_path: Path) -> None:
    prints, simhashes = nearprint.fingerprint(TEXTS), nearprint.fingerprint(TEXTS, "simhash")

    def refused(why: str, call: Any, *arguments: Any, **options: Any) -> None:
        with pytest.raises(nearprint.InputError, match=why):
            call(*arguments, **options)

    path = tmp_path / "none.np"
    refused("kind = 'hamming'", nearprint.build, path, prints, kind="hamming")
    refused("kind = 'bands'", nearprint.build, path, simhashes, kind="bands")
    refused("layout", nearprint.build, path, prints, layout="rotations:4")
    refused("made by another one", nearprint.build, path, prints, recipe="minhash shingle=2")
    refused("bands '6x16'", nearprint.find_all, prints, 3, bands="6x16")
    refused("no bands", nearprint.find_clusters, simhashes, 3, bands="2x16")
    refused("have bands", partition.Kept(3, width=256).decide, prints)
    assert not path.exists()
    with nearprint.build(path, simhashes) as database:
        assert database.recipe == nearprint.recipe_line("simhash")
        refused("another|made by", database.add, nearprint.fingerprint(TEXTS, "simhash shingle=2"))
        other = nearprint.fingerprint(TEXTS, "simhash shingle=2")
        # As columns of a table, too.
        ids = list(range(len(TEXTS)))
        for call in (database.add, database.upsert, database.insert_if_new):
            refused("another|made by", call, {"fingerprint": other, "id": ids})
    with nearprint.build(tmp_path / "table.np", {"fingerprint": prints, "id": ids}) as database:
        assert database.recipe == nearprint.recipe_line("minhash")
    # A column of words is no fingerprint.
    with nearprint.build(tmp_path / "words.np", prints[:, 0]) as database:
        assert (database.width, database.recipe) == (64, None)


@pytest.mark.parametrize("kind", ["empty", "numbers"])
def test_regression_a_database_without_a_recipe_takes_no_texts(kind: str, tmp_path: Path) -> None:
    path, pages = tmp_path / "seen.np", tmp_path / "pages.jsonl"
    pages.write_text('{"text": "one two three four"}\n')
    if kind == "empty":
        nearprint.create(path, keys=True, texts=True).close()
    else:
        nearprint.build(path, np.asarray(nearprint.fingerprint(TEXTS)), keys=TEXTS, kind="hamming").close()
    for options in ({}, {"similarity": "contained:0.5"}, {"dry_run": True}):
        for run in (nearprint.dedup_files, nearprint.trim_files):
            with pytest.raises(nearprint.InputError, match="has no recipe"):
                run(pages, tmp_path / "out", database=path, **options)
    with nearprint.open(path) as database:
        assert database.recipe is None
    made = tmp_path / "made.np"
    nearprint.create(made, recipe="minhash", keys=True).close()
    assert nearprint.dedup_files(pages, tmp_path / "out", database=made).kept == 1


def test_regression_distances_of_minhash_are_those_of_sketches(tmp_path: Path) -> None:
    prints = nearprint.fingerprint(TEXTS)
    with nearprint.build(tmp_path / "texts.np", prints) as database:
        found = database.query_batch(prints[:1], similarity=0.0)
    near = dict(zip(found["id"].tolist(), found["distance"].tolist()))
    assert 0 < near[1] < nearprint.distance(np.asarray(prints[:1]), np.asarray(prints[1:2]))[0]
    assert nearprint.distance(prints[:1], prints[1:2]).tolist() == [near[1]]
    assert nearprint.distance(prints[0], prints[1], width=256) == near[1]
    assert nearprint.distance(np.asarray(prints), prints).tolist() == [0, 0, 0]
    assert nearprint.distance(np.asarray(prints[:1]), np.asarray(prints[1:2]), bands="10x16").tolist() == [near[1]]
    matrix = nearprint.distance_matrix(prints)
    assert matrix[0, 1] == matrix[1, 0] == near[1]
    simhashes = nearprint.fingerprint(TEXTS, "simhash width=256")
    for one, other in ((prints, simhashes), (simhashes, prints)):
        with pytest.raises(nearprint.InputError, match="bands"):
            nearprint.distance(one, other)
