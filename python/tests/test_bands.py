"""Databases of bands, against brute force."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import nearprint

from .conftest import distance, numbers_of

BANDS, BITS, WIDTH = 10, 16, 256
SKETCH = WIDTH - BANDS * BITS


def texts(count: int) -> list[str]:
    """Texts; many are others with a few words changed."""
    numbers = random.Random(4)
    made: list[list[str]] = []
    for _ in range(count):
        near = bool(made) and numbers.random() < 0.6
        words = list(numbers.choice(made)) if near else [f"w{numbers.randrange(4000)}" for _ in range(80)]
        for _ in range(numbers.randrange(8)):
            words[numbers.randrange(len(words))] = f"w{numbers.randrange(4000)}"
        made.append(words)
    return [" ".join(words) for words in made]


def distance_of_sketches(a: int, b: int) -> int:
    """The distance of the 96 bits behind the first band."""
    mask = ((1 << SKETCH) - 1) << (BANDS - 1) * BITS
    return distance(a & mask, b & mask)


def shares_band(a: int, b: int) -> bool:
    """Whether one of the ten bands is equal: the first 16 bits, or 16 of the last 144."""
    same = [a >> WIDTH - BITS == b >> WIDTH - BITS]
    same += [(a ^ b) >> at & 0xFFFF == 0 for at in range(0, (BANDS - 1) * BITS, BITS)]
    return any(same) and a != 0 and b != 0


def test_answers_equal_brute_force(path: Path) -> None:
    prints = nearprint.fingerprint(texts(400))
    numbers = numbers_of(prints)
    with nearprint.build(path, prints, kind="bands") as database:
        assert (database.kind, database.width, database.k, database.recipe) == ("bands", 256, 12, None)
        for k in (0, 15, 21, 96):
            near = [
                (a, b, distance_of_sketches(a, b))
                for a in sorted(set(numbers))
                for b in sorted(set(numbers))
                if a < b and shares_band(a, b) and distance_of_sketches(a, b) <= k
            ]
            assert k == 0 or len(near) > 50
            for pairs in (database.pairs(k).table(), nearprint.find_all(prints, k, bands="10x16")):
                columns = zip(numbers_of(pairs["a"]), numbers_of(pairs["b"]), pairs["distance"].tolist())
                assert sorted(columns) == near
            found = database.query(prints[7], k)
            expected = sorted(
                (distance_of_sketches(numbers[7], number), number, index)
                for index, number in enumerate(numbers)
                if shares_band(numbers[7], number) and distance_of_sketches(numbers[7], number) <= k
            )
            assert [row[2] for row in expected] == found["id"].tolist()


def test_similarity_sets_the_distance(path: Path) -> None:
    prints = nearprint.fingerprint(texts(100))
    with nearprint.build(path, prints, kind="bands", similarity=0.8) as database:
        assert database.k == 8
        assert np.array_equal(database.similarity([0, 24, 96]), [1.0, 0.5, 0.0])
        assert database.similarity(12) == 0.75
        found = [
            database.nearest(prints[1], 100, **within).to_pylist() for within in ({"similarity": 0.8}, {"max_k": 8})
        ]
        assert found[0] == found[1] and 0 < len(found[0]) < 100
        assert database.explain(similarity=0.8).k == 8
        with pytest.raises(nearprint.InputError, match="only one of them"):
            database.nearest(prints[1], 1, 8, similarity=0.8)
        strict = database.pairs(similarity=0.9).table()
        assert strict["distance"].max() <= 4
        assert len(strict) < len(database.pairs(similarity=0.5).table()) == len(database.pairs(21).table())
        with pytest.raises(nearprint.InputError, match="only one"):
            database.query(prints[0], 3, similarity=0.5)
        with pytest.raises(nearprint.InputError, match="0 to 1"):
            database.query(prints[0], similarity=1.5)
        with pytest.raises(nearprint.InputError, match="96"):
            database.query(prints[0], 97)


def test_kinds_layouts_and_recipes_agree(path: Path, tmp_path: Path) -> None:
    with nearprint.create(path, recipe="minhash hash=minhash:4x16,2 width=128") as database:
        assert (database.kind, database.width, database.stats()["layout"]) == ("bands", 128, "bands:4x16")
    with nearprint.create(tmp_path / "a", layout="bands:6x24") as database:
        assert (database.kind, database.width, database.k) == ("bands", 256, 15)
    with nearprint.create(tmp_path / "b") as database:
        assert (database.kind, database.width, database.k) == ("hamming", 64, 3)
        with pytest.raises(nearprint.InputError, match="MinHash"):
            database.query(1, similarity=0.5)
        with pytest.raises(nearprint.InputError, match="no bands"):
            database.similarity(3)
    for arguments in (
        {"kind": "hamming", "recipe": "minhash"},
        {"kind": "bands", "recipe": "simhash"},
        {"kind": "bands", "layout": "rotations:4"},
        {"layout": "bands:6x24", "recipe": "minhash"},
        {"layout": "rotations:4", "recipe": "minhash"},
        {"kind": "bands", "width": 64},
        {"kind": "other"},
        {"similarity": 0.5},
        {"kind": "bands", "similarity": 2.0},
    ):
        with pytest.raises(nearprint.InputError):
            nearprint.create(tmp_path / "refused", **arguments)
    assert not (tmp_path / "refused").exists()
