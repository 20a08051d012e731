"""The client of simhash-db, against brute force."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nearprint
from nearprint.compat.simhash_db import BackendUnsupported, Client

from .conftest import distance, near_duplicates


def client_at(folder: Path, num_blocks: int = 6, num_bits: int = 3, **options: Any) -> Client:
    return Client("nearprint", "testing", num_blocks, num_bits, path=folder, **options)


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with client_at(tmp_path / "made" / "with it") as opened:
        yield opened


def by_force(numbers: list[int], query: int, k: int) -> list[int]:
    """All numbers within k bits, by distance."""
    near = {number for number in numbers if distance(number, query) <= k}
    return sorted(near, key=lambda number: (distance(number, query), number))


@pytest.mark.parametrize("num_bits", [0, 1, 3, 9])
def test_finds_what_comparing_finds(tmp_path: Path, num_bits: int) -> None:
    numbers = near_duplicates(64, 400)
    queries = numbers[:50] + near_duplicates(64, 50, seed=3)
    with client_at(tmp_path, 10, num_bits) as client:
        client.insert(numbers[:150])
        client.insert(number for number in numbers[150:399])
        client.insert(numbers[399])
        expected = [by_force(numbers, query, num_bits) for query in queries]
        assert client.find_all(queries) == expected
        assert client.find_one(queries) == [near[0] if near else None for near in expected]
        for query, near in zip(queries[::9], expected[::9]):
            assert client.find_all(query) == near
            assert client.find_one(query) == (near[0] if near else None)


def test_a_value_gives_a_value_and_a_list_a_list(client: Client) -> None:
    client.insert(0xF0)
    assert client.find_one(0xF0) == 0xF0
    assert client.find_one([0xF0]) == [0xF0]
    assert client.find_one(0x0F) is None
    assert client.find_one((0x0F, 0xF1)) == [None, 0xF0]
    assert client.find_all(0x0F) == []
    assert client.find_all({0x0F}) == [[]]
    assert client.find_all([]) == []
    assert client.find_one([]) == []
    client.insert([])
    client.insert([0xF1, 0xF3, 0xF7, 0xFF])
    assert client.find_all(0xF0) == [0xF0, 0xF1, 0xF3, 0xF7]


def test_arrays_of_numpy_and_its_numbers(client: Client) -> None:
    client.insert(np.array([2**63, 5], dtype=np.uint64))
    client.insert(np.uint64(6))
    assert client.find_one(np.uint64(2**63 + 1)) == 2**63
    zero_dimensional: Any = np.array(2**63, dtype=np.uint64)
    assert client.find_one(zero_dimensional) == 2**63
    column: Any = pytest.importorskip("pyarrow").array([7], "uint64")
    assert client.find_all(column) == [[5, 6]]
    assert client.find_all(np.array([7], dtype=np.int64)) == [[5, 6]]
    assert all(type(value) is int for value in client.find_all(5))


def test_exact_matches(tmp_path: Path) -> None:
    with client_at(tmp_path, 1, 0) as client:
        client.insert([1, 2, 4, 8])
        assert client.find_all([1, 3]) == [[1], []]


def test_one_row_for_each_value(tmp_path: Path) -> None:
    with client_at(tmp_path) as client:
        client.insert([7, 7, 7])
        client.insert(7)
        assert client.find_all(7) == [7]
    with nearprint.open(tmp_path / "testing.np") as database:
        assert len(database) == 1
        assert database.query(7, 0)["id"].tolist() == [7]


def test_reopened_with_another_distance(tmp_path: Path) -> None:
    with client_at(tmp_path) as client:
        client.insert([1, 2**64 - 1])
    with client_at(tmp_path, 11, 10, threads=1) as client:
        assert client.find_all(0b111111) == [1]
        client.insert(0)
        assert client.find_all(0b111111) == [1, 0]
    with client_at(tmp_path, 2, 1) as client:
        assert client.find_one([0, 2**64 - 2, 0b111]) == [0, 2**64 - 1, None]


def test_other_clients_see_what_is_inserted(tmp_path: Path) -> None:
    with client_at(tmp_path) as writer, client_at(tmp_path) as reader:
        assert reader.find_one(1) is None
        writer.insert(1)
        assert reader.find_one(1) == 1
        writer.insert(1 << 40)
        assert reader.find_one(1 << 40) == 1 << 40
        with pytest.raises(nearprint.LockedError):
            reader.insert(3)
        writer.close()
        reader.insert(3)
        assert reader.find_all(1) == [1, 3, 1 << 40]


def test_deleted_is_gone(tmp_path: Path) -> None:
    with client_at(tmp_path) as client:
        client.delete()
        client.insert(1)
        Client("nearprint", "neighbour", 6, 3, path=tmp_path).insert(1)
        client.delete()
        assert client.find_one(1) is None
        assert client.find_all([1]) == [[]]
        assert [entry.name for entry in tmp_path.iterdir()] == ["neighbour.np"]
        client.insert(2)
        assert client.find_all(1) == [2]
        client.delete()


def test_nothing_is_deleted_under_a_writer(tmp_path: Path) -> None:
    with client_at(tmp_path) as writer, client_at(tmp_path) as other:
        writer.insert(1)
        with pytest.raises(nearprint.LockedError):
            other.delete()
        assert other.find_one(1) == 1


def test_many_threads(client: Client) -> None:
    source = random.Random(5)
    parts = [[source.getrandbits(64) for _ in range(30)] for _ in range(4)]
    missing: list[int] = []

    def work(numbers: list[int]) -> None:
        for number in numbers:
            client.insert(number)
            if client.find_one(number) != number:
                missing.append(number)

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not missing
    everything = [number for part in parts for number in part]
    assert client.find_one(everything) == everything


def test_closed(tmp_path: Path) -> None:
    client = client_at(tmp_path)
    assert repr(client) == f"<simhash_db.Client {client.path!r}: 3 bits>"
    client.insert(1)
    client.close()
    client.close()
    for call in (lambda: client.insert(1), lambda: client.find_one(1), lambda: client.find_all([1]), client.delete):
        with pytest.raises(nearprint.Error, match="the client is closed"):
            call()


@pytest.mark.parametrize("backend", ["redis", "mongo", "hbase", "cassandra", "riak", "judy", ""])
def test_other_backends_are_told_which_there_is(backend: str) -> None:
    with pytest.raises(ValueError, match=f"backend '{backend}': there is one, 'nearprint'"):
        Client(backend, "testing", 6, 3, ["server"], host="localhost")
    with pytest.raises(BackendUnsupported):
        Client(backend, "testing", 6, 3)


@pytest.mark.parametrize(
    ("num_blocks", "num_bits", "message"),
    [
        (3, 3, "num_blocks = 3: more than num_bits = 3 are wanted"),
        (65, 3, "num_blocks = 65: hashes have 64 bits"),
        (4, -1, "num_bits = -1: negative"),
    ],
)
def test_blocks_and_bits(tmp_path: Path, num_blocks: int, num_bits: int, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        client_at(tmp_path, num_blocks, num_bits)


@pytest.mark.parametrize("name", ["", "a/b", "..", ".hidden", "/root", "nul\0"])
def test_names(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="the name of a file is wanted"):
        Client("nearprint", name, 6, 3, path=tmp_path)


def test_arguments(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="name: a str is wanted, not int"):
        Client("nearprint", 7, 6, 3, path=tmp_path)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="path: the folder for the databases is wanted"):
        Client("nearprint", "testing", 6, 3)
    with pytest.raises(TypeError, match="1 arguments behind num_bits"):
        Client("nearprint", "testing", 6, 3, ["localhost"], path=tmp_path)
    with pytest.raises(TypeError, match="weeks"):
        client_at(tmp_path, weeks=3)
    with pytest.raises(TypeError):
        client_at(tmp_path, num_blocks=6.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", ["12", b"12", 1.5, None, [1, "2"], [1.5], object()])
def test_what_is_no_hash(client: Client, wrong: Any) -> None:
    for call in (client.insert, client.find_one, client.find_all):
        with pytest.raises(TypeError, match="is no hash: an int is wanted"):
            call(wrong)


@pytest.mark.parametrize("wrong", [-1, 2**64, [1, 2**64], [-5], np.array([-1])])
def test_what_has_not_64_bits(client: Client, wrong: Any) -> None:
    client.insert(0xFFFF)
    for call in (client.insert, client.find_one, client.find_all):
        with pytest.raises(ValueError):
            call(wrong)
    assert client.find_all([1, 0xFFFF]) == [[], [0xFFFF]]


def test_another_width(tmp_path: Path) -> None:
    nearprint.create(tmp_path / "testing.np", width=128).close()
    with pytest.raises(nearprint.InputError, match="fingerprints of 128 bits, where hashes have 64"):
        client_at(tmp_path)


def test_regression_values_are_fingerprints_whatever_their_ids(tmp_path: Path) -> None:
    with nearprint.create(tmp_path / "testing.np", keys=True) as database:
        database.add([5, 5, 4], keys=["a", "b", "c"])
    with client_at(tmp_path) as client:
        assert client.find_all(5) == [5, 4]
        assert client.find_one(5) == 5


def test_regression_a_client_sees_that_its_database_was_deleted(tmp_path: Path) -> None:
    with client_at(tmp_path) as one, client_at(tmp_path) as other:
        one.insert([1])
        assert other.find_one(1) == 1
        one.delete()
        assert other.find_one(1) is None
        one.insert([1000])
        assert other.find_one([1, 1000]) == [None, 1000]
        one.delete()
        other.insert(7)
        assert one.find_one(7) == 7


def test_regression_a_client_keeps_its_folder_when_the_working_folder_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for folder in (".", "~/data"):
        monkeypatch.chdir(tmp_path)
        with Client("nearprint", "s", 6, 3, path=folder) as client:
            client.insert([5])
            monkeypatch.chdir(tmp_path / "there")
            assert client.find_one(5) == 5
            client.insert([6])
            assert client.find_all(6) == [6, 5]
    assert sorted(os.listdir(tmp_path)) == ["data", "s.np", "there"] and os.listdir("../data") == ["s.np"]
    assert os.listdir() == []


def test_options_are_those_of_open(tmp_path: Path) -> None:
    for option in ("keys", "width", "k", "weeks"):
        with pytest.raises(TypeError, match=f"{option}: no such option"):
            client_at(tmp_path, **{option: 1})
    (tmp_path / "testing.np").mkdir()
    with client_at(tmp_path) as client:
        assert client.find_one(1) is None
        client.insert(np.array([1, 2], np.uint8))
        assert client.find_all(3) == [1, 2]
