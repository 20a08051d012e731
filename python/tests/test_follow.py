"""A folder that follows a database."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import nearprint


def test_a_folder_follows_commits_flushes_and_merges(tmp_path: Path) -> None:
    seen: list[str] = []
    with nearprint.create(tmp_path / "seen.np", keys=True, memtable_rows=50) as database:
        with database.follow(tmp_path / "second.np", progress=lambda stage, done, total: seen.append(stage)) as second:
            copy = nearprint.open(tmp_path / "second.np")
            assert len(copy) == 0
            assert second.update() == nearprint.Update(0, False)
            for start in range(0, 300, 20):
                rows = range(start, start + 20)
                database.add(rows, ids=rows, keys=[f"key {at}" for at in rows])
                database.commit()
                update = second.update()
                assert update.changed and update.bytes > 0
                copy.refresh()
                assert len(copy) == start + 20
                assert copy.ids_of_key(f"key {start + 7}", everywhere=True).tolist() == [start + 7]
            database.delete([3])
            database.compact()
            assert second.update().changed
            copy.refresh()
            assert copy.query(3, 0)["id"].tolist() == []
            with pytest.raises(nearprint.LockedError):
                database.follow(tmp_path / "second.np")
        second.close()
        with pytest.raises(nearprint.Error, match="closed"):
            second.update()
        # It goes on where it was.
        database.add([7777], ids=[9], keys=["last"])
        database.commit()
        with database.follow(tmp_path / "second.np"):
            copy.refresh()
            assert copy.query(7777, 0)["id"].tolist() == [9]
    with pytest.raises(nearprint.Error, match="follows"):
        nearprint.open(tmp_path / "second.np").add([1])
    os.remove(tmp_path / "second.np" / "FOLLOWER")
    with nearprint.open(tmp_path / "second.np") as own:
        own.add([1], keys=["own"])


def test_what_does_not_follow_is_not_touched(tmp_path: Path) -> None:
    with nearprint.build(tmp_path / "a.np", [1, 2, 3]) as database, nearprint.build(tmp_path / "b.np", [4]):
        (tmp_path / "full").mkdir()
        (tmp_path / "full" / "mine.txt").write_text("mine")
        for place in ("b.np", "full"):
            before = sorted(tmp_path.joinpath(place).iterdir())
            with pytest.raises(nearprint.ExistsError):
                database.follow(tmp_path / place)
            assert sorted(tmp_path.joinpath(place).iterdir()) == before
