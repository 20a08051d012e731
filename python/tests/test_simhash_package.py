"""What programs written for the package ``simhash`` rely on, beside the functions of simhash-py."""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint
from nearprint.compat import _simhash_index
from nearprint.compat.simhash import Simhash, SimhashIndex

TEXTS = {
    "1": "How are you? I Am fine. blar blar blar blar blar Thanks.",
    "2": "How are you i am fine. blar blar blar blar blar than",
    "3": "This is simhash test.",
    "4": "How are you i am fine. blar blar blar blar blar thank1",
}
QUESTION = Simhash("How are you i am fine.ablar ablar xyz blar blar blar blar blar blar blar thank")


def expected_value(weights: dict[str, Any], bits: int = 64) -> int:
    """The simhash by its definition."""
    digests = {word: int.from_bytes(hashlib.md5(word.encode()).digest()[-bits // 8 :], "big") for word in weights}
    half = sum(weights.values()) / 2
    return sum(
        1 << bit for bit in range(bits) if sum(weights[word] for word in weights if digests[word] >> bit & 1) > half
    )


def test_values_are_those_of_the_package() -> None:
    assert Simhash(["aaa", "bbb"]).value == 57087923692560392
    many = [str(number) for number in range(int(Simhash.batch_size * 2.5))]
    assert Simhash(many).value == 7984652473404407437
    heavy = [(word, Simhash.large_weight_cutoff * number) for number, word in enumerate(many)]
    assert Simhash(heavy).value == Simhash(dict(heavy)).value == 3372825719632739723
    for number in (0, 4390059585430954713, 9223372036854775808):
        assert Simhash(number).value == Simhash(np.uint64(number)).value == Simhash(Simhash(number)).value == number
    assert Simhash([]).value == 0


@pytest.mark.parametrize("bits", [8, 32, 64, 96, 128])
def test_values_are_those_of_the_definition(bits: int) -> None:
    source = random.Random(bits)
    for count in (1, 3, 199, 200, 201, 450):
        words = [str(number) for number in range(count)]
        for weights in ([1] * count, [source.randrange(90) for _ in words], [source.randrange(9) / 8 for _ in words]):
            weighted = dict(zip(words, weights))
            assert Simhash(weighted, f=bits).value == expected_value(weighted, bits)
        assert Simhash(words, f=bits).value == expected_value(dict.fromkeys(words, 1), bits)
    # A feature without a weight has the one of the feature before it.
    assert Simhash([("a", 3), "b", ("c", 1), "d"]).value == Simhash({"a": 3, "b": 3, "c": 1, "d": 1}).value


def test_texts() -> None:
    assert Simhash("你好　世界！　　呼噜。").distance(Simhash("你好，世界　呼噜")) == 0
    assert Simhash("Ab, cDe!").value == Simhash(["abcd", "bcde"]).value and Simhash("ab").value == Simhash(["ab"]).value
    assert Simhash("a-b", reg="[a-z-]+").value == Simhash(["a-b"]).value
    short = [Simhash(text).value for text in ("aa", "aaa", "aaaa", "aaaab", "aaaaabb", "aaaaabbb")]
    assert len(set(short)) == 6
    again, other = Simhash("My name is John"), Simhash("My name actually is Jane")
    assert again == Simhash("My name is John") != other and again != again.value
    by_number = Simhash("My name is John", hashfunc=lambda token: int(hashlib.md5(token).hexdigest(), 16))
    by_sha = Simhash("My name is John", hashfunc=lambda token: hashlib.sha256(token).digest())
    assert by_number == again != by_sha
    assert Simhash("a b", f=256, hashfunc=lambda token: hashlib.sha256(token).digest()).value >> 192
    assert again.distance(other) == bin(again.value ^ other.value).count("1") > 0
    assert pickle.loads(pickle.dumps(again)) == again


def test_simhash_refuses() -> None:
    with pytest.raises(ValueError, match="multiple of 8"):
        Simhash("a", f=60)
    with pytest.raises(ValueError, match="makes 16 bytes"):
        Simhash("a b", f=256)
    with pytest.raises(ValueError, match="of 128 bits, where 64"):
        Simhash("a").distance(Simhash("a", f=128))
    for unfit in (1.5, None):
        with pytest.raises(TypeError, match="Bad parameter"):
            Simhash(unfit)


@pytest.mark.parametrize("place", [None, "index.np"])
def test_an_index(tmp_path: Path, place: Any) -> None:
    path = None if place is None else tmp_path / place
    index = SimhashIndex([(key, Simhash(text)) for key, text in TEXTS.items()], k=10, path=path)
    for committed in (False, True):
        assert sorted(index.get_near_dups(QUESTION)) == ["1", "2", "4"]
        for _ in range(2):
            index.delete("1", Simhash(TEXTS["1"]))
            assert sorted(index.get_near_dups(QUESTION)) == ["2", "4"]
        for _ in range(2):
            index.add(1, Simhash(TEXTS["1"]))
            assert sorted(index.get_near_dups(QUESTION)) == ["1", "2", "4"]
        if not committed:
            index.commit()
    assert sorted(pickle.loads(pickle.dumps(index)).get_near_dups(QUESTION)) == ["1", "2", "4"]
    index.close()
    if path is not None:
        with SimhashIndex([], k=3, path=path) as again:
            assert again.get_near_dups(Simhash(TEXTS["2"])) == ["2"] and again.offsets == [0, 16, 32, 48]


@pytest.mark.parametrize("bits", [8, 32, 64, 96, 128, 256])
def test_an_index_finds_what_force_finds(tmp_path: Path, bits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_simhash_index, "_CHANGED_BETWEEN_COMMITS", 23)
    source = random.Random(bits)
    roots = [source.getrandbits(bits) for _ in range(6)]
    for k in (0, 2, 5):
        for path in (None, tmp_path / f"{k}.np") if bits in (64, 128, 256) else (None,):
            index, entries = SimhashIndex(f=bits, k=k, path=path), set[tuple[str, int]]()
            for step in range(150):
                value = source.choice(roots)
                for _ in range(source.randrange(k + 3)):
                    value ^= 1 << source.randrange(bits)
                entry = source.choice([(str(step % 7), value), *sorted(entries)])
                if source.random() < 0.6:
                    index.add(entry[0], Simhash(entry[1], bits))
                    entries.add(entry)
                else:
                    index.delete(entry[0], Simhash(entry[1], bits))
                    entries.discard(entry)
                near = {key for key, other in entries if bin(value ^ other).count("1") <= k}
                assert sorted(index.get_near_dups(Simhash(value, bits))) == sorted(near)
            blocks = {key for _, value in entries for key in index.get_keys(Simhash(value, bits))}
            assert index.bucket_size() == len(blocks)
            index.close()


def test_an_index_refuses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for call in (SimhashIndex().add, SimhashIndex().delete):
        with pytest.raises(ValueError, match="of 32 bits, where 64"):
            call("a", Simhash("a", f=32))
    with pytest.raises(ValueError, match="of 32 bits, where 64"):
        SimhashIndex().get_near_dups(Simhash("a", f=32))
    with pytest.raises(nearprint.InputError, match="64, 128 or 256 bits"):
        SimhashIndex(f=32, path=tmp_path / "index.np")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    with SimhashIndex([("a", Simhash("a"))], path="index.np") as index:
        index.commit()
        monkeypatch.chdir("there")
        index.add("b", Simhash("a"))
    assert os.listdir() == []
    for others in (tmp_path / "wide.np", tmp_path / "index.np"):
        if not others.exists():
            nearprint.create(others, width=64).close()
            with pytest.raises(nearprint.InputError, match="is no index of simhashes"):
                SimhashIndex(path=others)
        with pytest.raises(nearprint.InputError, match="is no index of simhashes"):
            SimhashIndex(f=128, path=others)


def test_one_module_serves_both_packages() -> None:
    program = """
import sys
import nearprint.compat.simhash
sys.modules["simhash"] = nearprint.compat.simhash

import simhash
from simhash import Simhash, SimhashIndex, compute, find_all, unsigned_hash

hashes = [Simhash("some words of a text"), Simhash("some words of a text!"), Simhash("others")]
index = SimhashIndex([(str(at), value) for at, value in enumerate(hashes)], k=3)
assert compute([hashes[0].value]) == hashes[0].value
assert find_all([hashes[0].value, hashes[0].value ^ 1], 4, 3)
assert unsigned_hash("a") != Simhash(["a"]).value, "each has its own half of the MD5"
print(sorted(index.get_near_dups(hashes[0])), index.bucket_size())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "['0', '1'] 8\n"), done.stderr
