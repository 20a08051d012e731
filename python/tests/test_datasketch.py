"""What programs written for datasketch rely on, and its own tests."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nearprint import _making
from nearprint.compat._lsh import _best_params
from nearprint.compat.datasketch import MinHash, MinHashLSH

#: Its own tests that cannot pass, and why.
UNFIT = {
    "redis": "storage_config is ignored",
    "TestWeightedMinHashLSH": "there are no weighted MinHashes",
    "TestbBitMinHash": "there are no MinHashes of fewer bits",
    "test_byte_tokens": "version 1 has the hash values of scheme='legacy', which are looked at above",
}


def sketch(words: str, **options: Any) -> MinHash:
    made = MinHash(**options)
    made.update_batch(word.encode() for word in words.split())
    return made


def test_hash_values_are_those_of_datasketch() -> None:
    made = MinHash(4, 1, scheme="legacy")
    made.update(b"Hello")
    assert made.hashvalues.tolist() == [734825475, 960773806, 359816889, 342714745]
    theirs = pytest.importorskip("datasketch")
    for scheme in ("affine32", "affine64", "legacy"):
        for seed in (1, 7):
            mine, other = MinHash(64, seed, scheme=scheme), theirs.MinHash(64, seed, scheme=scheme)
            for one in (mine, other):
                one.update(b"one")
                one.update_batch([b"two", b"three"])
            assert np.array_equal(mine.hashvalues, other.hashvalues) and mine.hashvalues.dtype == other.hashvalues.dtype
            assert mine.count() == other.count() and mine.jaccard(mine) == 1.0
    for threshold, num_perm in ((0.9, 128), (0.5, 128), (0.7, 256), (0.5, 16), (0.8, 64)):
        lsh = theirs.MinHashLSH(threshold, num_perm)
        assert _best_params(threshold, num_perm, (0.5, 0.5)) == (lsh.b, lsh.r)


def test_an_index_on_disk(tmp_path: Path) -> None:
    a, b, c = sketch("one two three four"), sketch("one two three four five"), sketch("quite other words in here")
    keys: list[Any] = ["a", 7, ("doc", 3)]
    with MinHashLSH(0.5, path=tmp_path / "index") as lsh:
        assert lsh.is_empty() and lsh.query(a) == []
        for key, minhash in zip(keys, (a, b, c)):
            lsh.insert(key, minhash)
        assert set(lsh.query(a)) == {"a", 7} and 7 in lsh and 8 not in lsh
        with pytest.raises(ValueError, match="exists"):
            lsh.insert("a", b)
    with MinHashLSH(0.5, path=tmp_path / "index") as lsh:
        assert set(lsh.query(b)) == {"a", 7} and lsh.query(c) == [("doc", 3)]
        assert set(lsh.keys) == set(keys) and sum(map(len, lsh.get_counts())) > 0
        lsh.remove("a")
        assert lsh.query(a) == [7] and "a" not in lsh
        lsh.insert(7, c, check_duplication=False)
        assert set(lsh.query(c)) == {7, ("doc", 3)} and lsh.query(b) == [7]
        copy = pickle.loads(pickle.dumps(lsh))
        assert set(copy.query(c)) == {7, ("doc", 3)}
        lsh.commit()
        with pytest.raises(ValueError, match="does not exist"):
            lsh.remove("a")
        assert set(lsh.query(c)) == {7, ("doc", 3)}
    with pytest.raises(ValueError, match="is an index with"):
        MinHashLSH(0.9, path=tmp_path / "index")
    with pytest.warns(UserWarning, match="storage_config: is ignored"):
        MinHashLSH(0.5, storage_config={"type": "redis"})
    with pytest.raises(TypeError, match="prepickle"):
        MinHashLSH(0.5).insert(Path("a"), a)
    lsh = MinHashLSH(0.5, prepickle=True)
    lsh.insert(Path("a"), a)
    assert lsh.query(a) == [Path("a")]
    for prepickle in (False, True):
        lsh = MinHashLSH(0.5, prepickle=prepickle)
        lsh.insert(np.int64(1), a)
        assert 1 in lsh and np.int64(1) in lsh and lsh.query(a) == [1]


def test_regression_an_index_keeps_its_folder_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    with MinHashLSH(path="index") as lsh:
        lsh.insert("a", sketch("one two three"))
        lsh.commit()
        monkeypatch.chdir("there")
        assert pickle.loads(pickle.dumps(lsh)).query(sketch("one two three")) == ["a"]
    assert os.listdir() == []


def test_regression_an_index_remembers_its_scheme(tmp_path: Path) -> None:
    legacy, current = sketch("one two three", scheme="legacy"), sketch("one two three")
    with MinHashLSH(path=tmp_path / "index") as lsh:
        lsh.insert("a", legacy)
    with MinHashLSH(path=tmp_path / "index") as lsh:
        for call in (lsh.query, lambda minhash: lsh.insert("b", minhash), lsh.add_to_query_buffer):
            with pytest.raises(ValueError, match="does not match scheme 'legacy'"):
                call(current)
        other = MinHashLSH()
        other.insert("b", current)
        for index in (lsh, MinHashLSH()):
            index.insert("c", legacy)
            with pytest.raises(ValueError, match="does not match"):
                index.merge(other)
        assert set(lsh.query(legacy)) == {"a", "c"}
        assert set(pickle.loads(pickle.dumps(lsh)).query(legacy)) == {"a", "c"}


def test_regression_an_index_is_made_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed while it made an index left a folder that nobody could open."""

    class Killed(Exception):
        pass

    names = ["makedirs", "fsync", "replace"]
    for number, (module, name) in enumerate([*((os, name) for name in names), (json, "dump"), (_making, "create")] * 2):
        folder = tmp_path / str(number)
        function, before = getattr(module, name), number < 5

        def killed(*given: Any, function: Any = function, before: bool = before, **named: Any) -> None:
            if not before:
                function(*given, **named)
            raise Killed

        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(module, name, killed)
            MinHashLSH(path=folder)
        for _ in range(2):
            with MinHashLSH(path=folder) as lsh:
                lsh.insert("a", sketch("one two"), check_duplication=False)
        assert sorted(os.listdir(folder)) == ["PARAMETERS.json", "bands.np"], name
    order: list[str] = []
    for name in ("fsync", "replace"):
        function = getattr(os, name)

        def recorded(*given: Any, name: str = name, function: Any = function) -> None:
            order.append(name)
            function(*given)

        monkeypatch.setattr(os, name, recorded)
    MinHashLSH(path=tmp_path / "durable").close()
    assert order == (["fsync", "replace", "fsync"] if os.name == "posix" else ["fsync", "replace"])


def test_regression_submodules_are_there_under_the_alias() -> None:
    program = """
import pickle, sys
import nearprint.compat.datasketch
sys.modules["datasketch"] = nearprint.compat.datasketch
from datasketch.hashfunc import sha1_hash32
from datasketch.lsh import MinHashLSH
from datasketch.minhash import MinHash
import datasketch, datasketch.lsh, datasketch.minhash
assert MinHashLSH is datasketch.MinHashLSH and MinHash is datasketch.MinHash is nearprint.compat.datasketch.MinHash
made = MinHash(hashfunc=sha1_hash32)
made.update(b"one")
assert made == MinHash.bulk([[b"one"]])[0] and isinstance(pickle.loads(pickle.dumps(made)), datasketch.MinHash)
lsh = MinHashLSH()
lsh.insert("a", made)
print(lsh.query(made))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "['a']\n"), done.stderr


def test_its_own_tests_pass_but_for_what_is_named(tmp_path: Path) -> None:
    clone = os.environ.get("DATASKETCH")
    if clone is None:
        may_skip = "datasketch" in os.environ.get("NEARPRINT_MAY_SKIP", "").split()
        assert may_skip or not os.environ.get("NEARPRINT_REQUIRE_ALL"), "no test may be skipped here"
        pytest.skip("DATASKETCH is the folder of a clone of datasketch")
    program = f"""
import sys, types
import nearprint.compat.datasketch
# What their files import for tests that are left out.
others = {{"mockredis": [], "datasketch.weighted_minhash": ["WeightedMinHashGenerator"]}}
others["datasketch.b_bit_minhash"] = ["bBitMinHash"]
for name, members in others.items():
    sys.modules[name] = types.ModuleType(name)
    for member in members:
        setattr(sys.modules[name], member, None)
sys.modules["datasketch"] = nearprint.compat.datasketch
sys.path.insert(0, {clone!r})
import pytest
unfit = " and ".join(f"not {{name}}" for name in {list(UNFIT)!r})
files = [{clone!r} + "/test/test_minhash.py", {clone!r} + "/test/test_lsh.py"]
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "-k", unfit, *files]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None and int(passed[1]) >= 24, done.stdout


def test_regression_buffered_queries_found_what_any_of_them_finds() -> None:
    a, b = sketch("one two three four"), sketch("quite other words in here")
    lsh = MinHashLSH(0.5)
    assert lsh.collect_query_buffer() == []
    for key, minhash in (("a", a), ("b", b)):
        lsh.insert(key, minhash)
    lsh.insert("both", a)
    lsh.insert("both", b, check_duplication=False)
    for minhashes, keys in (([a], {"a", "both"}), ([a, b], {"both"}), ([a, sketch("nothing like it")], set())):
        for minhash in minhashes:
            lsh.add_to_query_buffer(minhash)
        found = lsh.collect_query_buffer()
        assert set(found) == keys and len(found) == len(keys)
        assert lsh.collect_query_buffer() == []


@pytest.mark.parametrize("commits", [(), (0,), (1,), (0, 1)])
def test_regression_a_key_that_was_inserted_again_lost_its_first_minhash(commits: Any, tmp_path: Path) -> None:
    a, b, c = (
        sketch(words) for words in ("one two three four", "quite other words in here", "nothing like any of these")
    )
    with MinHashLSH(0.5, path=tmp_path / "index") as lsh, MinHashLSH(0.5) as other:
        lsh.insert("x", a)
        if 0 in commits:
            lsh.commit()
        for index in (lsh, other):
            index.insert("x" if index is lsh else "y", b, check_duplication=False)
        if 1 in commits:
            lsh.commit()
        with pytest.raises(ValueError, match="already exists"):
            lsh.insert("x", c)
        other.insert("x", c)
        with pytest.raises(ValueError, match="overlapping"):
            lsh.merge(other, check_overlap=True)
        lsh.merge(other)
        for index in (lsh, pickle.loads(pickle.dumps(lsh))):
            assert (index.query(a), sorted(index.query(b)), index.query(c)) == (["x"], ["x", "y"], ["x"])
            assert len(index.keys["x"]) == 3 * index.b and len(index.keys["y"]) == index.b
            assert sum(sum(counts.values()) for counts in index.get_counts()) == 4 * index.b
        lsh.remove("x")
        assert (lsh.query(a), lsh.query(b), lsh.query(c), "x" in lsh) == ([], ["y"], [], False)
        lsh.insert("x", c)
        assert (lsh.query(a), lsh.query(c)) == ([], ["x"])
        lsh.commit()
        assert (lsh.query(a), lsh.query(c)) == ([], ["x"])
    with MinHashLSH(0.5, path=tmp_path / "index") as lsh:
        assert (lsh.query(a), lsh.query(b), lsh.query(c)) == ([], ["y"], ["x"])


@pytest.mark.parametrize("key, same", [(1, 1.0), (1, True), (0, False), ((1, ("a", 2)), (1.0, ("a", np.int32(2))))])
def test_regression_equal_keys_were_several(key: Any, same: Any) -> None:
    minhash, lsh = sketch("one two three four"), MinHashLSH()
    lsh.insert(key, minhash)
    assert same in lsh and lsh.query(minhash) == [same]
    with pytest.raises(ValueError, match="already exists"):
        lsh.insert(same, minhash)
    lsh.remove(same)
    assert lsh.is_empty()
