"""Check-and-insert, and rows that expire."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

import nearprint


def test_rows_are_inserted_only_where_nothing_is_near(tmp_path: Path) -> None:
    random = np.random.default_rng(7)
    centres = random.integers(0, 2**64, 40, np.uint64)
    prints = random.choice(centres, 600) ^ (np.uint64(1) << random.integers(0, 64, 600).astype(np.uint64))
    with nearprint.create(tmp_path / "seen.np", keys=True) as database:
        kept: list[int] = []
        for start in range(0, 600, 50):
            batch = prints[start : start + 50]
            keys = [f"u{start + at}" for at in range(len(batch))]
            found = database.insert_if_new(batch, 2, keys=keys)
            near = {int(query): row for query, row in zip(found.met["query"], found.met)}
            for at, value in enumerate(batch):
                distances = [bin(int(prints[other] ^ value)).count("1") for other in kept]
                is_new = all(distance > 2 for distance in distances)
                assert bool(found.inserted[at]) is is_new
                if is_new:
                    kept.append(start + at)
                else:
                    assert near[at]["distance"] == min(distances)
                    met = int(near[at]["key"][1:])
                    assert met in kept
                    assert found.ids[at] == near[at]["id"]
            database.commit()
        assert len(database) == len(kept)


def test_one_fingerprint_and_empty_batches(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "seen.np") as database:
        first = database.insert_if_new(0b1000, 3, ids=[7])
        assert first.inserted.tolist() == [True]
        assert first.ids.tolist() == [7]
        again = database.insert_if_new(0b1011, 3)
        assert again.inserted.tolist() == [False]
        assert again.met["distance"].tolist() == [2]
        nothing = database.insert_if_new(np.empty(0, np.uint64))
        assert (len(nothing.inserted), len(nothing.met)) == (0, 0)


def test_regression_columns_of_a_table_are_inserted_if_new(tmp_path: Path) -> None:
    """The ids and keys of a table were dropped, and could not be named."""
    with nearprint.create(tmp_path / "seen.np", keys=True) as database:
        table = {"print": [1, 2**40], "number": [7, 9], "name": ["a", "b"]}
        found = database.insert_if_new(table, 1, fingerprint="print", id="number", key="name")
        assert found.ids.tolist() == [7, 9]
        database.commit()
        assert database.ids_of_key("b", everywhere=True).tolist() == [9]
        with pytest.raises(nearprint.InputError, match="no column 'nothing'"):
            database.insert_if_new(table, 1, fingerprint="print", key="nothing")


def test_rows_expire_for_a_handle_that_only_reads(tmp_path: Path) -> None:
    path = tmp_path / "moment.np"
    with nearprint.create(path, expire_after=timedelta(milliseconds=300), partition=0.1) as database:
        database.add([1, 2])
    # A row is found for at most this long.
    reader = nearprint.open(path)
    time.sleep(0.3)
    assert len(reader.query(1, 0)) == 0
    assert reader.stats()["expire_after"] == pytest.approx(0.3)
    with pytest.raises(nearprint.InputError, match="1 to 1,024 partitions"):
        nearprint.create(tmp_path / "bad.np", expire_after=1, partition=2)
    with nearprint.create(tmp_path / "month.np", expire_after=timedelta(days=30)) as month:
        month.add([1])
        month.commit()
        assert len(month.query(1, 0)) == 1


def test_a_text_in_place_of_a_fingerprint_gets_a_hint(tmp_path: Path) -> None:
    for recipe, why in (
        (None, "; nearprint.fingerprint makes those of texts"),
        ("simhash", r"add_texts\(\) takes texts, "),
    ):
        with nearprint.create(tmp_path / f"{recipe}.np", recipe=recipe) as database:
            for call in (database.insert_if_new, database.add):
                for given in ("some text", ["some text"]):
                    with pytest.raises(nearprint.InputError, match=why):
                        call(given)
