"""Children of a fork, which have copies of everything that their parent had open."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

PROGRAM = """
    import multiprocessing, os, sys
    import numpy as np
    import nearprint
    from nearprint import _nearprint, partition
    from nearprint._kept import settings_of as kept_settings
    from nearprint._settings import settings_of

    path, temporary = sys.argv[1:]
    database = nearprint.create(path, memtable_rows=5)
    for start in range(0, 60, 6):
        database.add([number << 32 for number in range(start, start + 6)])
        database.commit()
    kept = partition.Kept(3)
    kept.decide([1, 1 << 40])
    settings = kept_settings(recipe="simhash", k=3)
    deciders = [_nearprint.Deduplicator.open(where, settings) for where in (None, path + ".seen")]
    for decider in deciders:
        decider.decide(["a"], ["one text of some words"])
    builder = _nearprint.Builder.begin(path + ".built", 64, settings_of(), (False, None), None)
    builder.push({"words": np.arange(4, dtype=np.uint64), "ids": None, "keys": None, "texts": None})
    folders = sorted(os.listdir(temporary))
    assert len(folders) == 2

    def refuses(call):
        try:
            call()
        except nearprint.ForkError as error:
            assert "before a fork" in str(error)
        else:
            raise AssertionError("a child used what its parent has")

    def use():
        assert len(database.query(0, 0)) == 1
        refuses(lambda: database.add([1]))
        refuses(lambda: database.delete([0]))
        refuses(database.commit)
        refuses(lambda: kept.decide([2]))
        for decider in deciders:
            refuses(lambda: decider.decide(["b"], ["another text of some words"]))
            refuses(lambda: decider.checkpoint(b"progress"))
        refuses(builder.finish)
        with nearprint.create(f"{path}-{os.getpid()}") as own:
            own.add([1])
        own = partition.Kept(3)
        assert own.decide([1])["duplicate_of"].tolist() == [-1]

    def check(child):
        if child:
            assert os.waitpid(child, 0)[1] == 0
        assert sorted(os.listdir(temporary)) == folders
        assert os.path.isdir(path + ".built.building")
        for locked in (path, path + ".seen"):
            try:
                nearprint.open(locked).delete(1)
            except nearprint.LockedError:
                pass
            else:
                raise AssertionError("the lock is gone")
        database.add([(100 + len(database)) << 32])
        database.commit()

    def exits():
        if (child := os.fork()) == 0:
            use()
            sys.exit(0)
        check(child)

    def exits_at_once():
        global database, kept, deciders, builder
        if (child := os.fork()) == 0:
            use()
            database = kept = deciders = builder = None
            os._exit(0)
        check(child)

    def runs_a_process():
        process = multiprocessing.get_context("fork").Process(target=use)
        process.start()
        process.join()
        assert process.exitcode == 0
        check(None)

    def maps():
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map(abs, [-1, 2]) == [1, 2]
        check(None)

    for way in (exits, exits_at_once, runs_a_process, maps):
        way()
    if (child := os.fork()) == 0:
        use()
    else:
        check(child)
        builder.finish()
        assert len(nearprint.open(path + ".built")) == 4
        database.close()
        with nearprint.open(path) as database:
            assert database.verify().sound
            print(len(database))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_regression_children_leave_locks_and_folders_to_their_parent(tmp_path: Path) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(PROGRAM), str(tmp_path / "corpus.np"), str(temporary)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    assert (child.stdout, child.stderr) == ("65\n", "")
    assert not list(temporary.iterdir())


CLOSING = """
    import os, sys
    import nearprint
    from nearprint.compat.datasketch import MinHash, MinHashLSH
    from nearprint.compat.simhash import Simhash, SimhashIndex
    from nearprint.compat.simhash_db import Client

    folder = sys.argv[1]

    def in_child(call):
        if (child := os.fork()) == 0:
            try:
                call()
            except nearprint.ForkError:
                os._exit(3)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    def leave(handle):
        with handle:
            pass

    words = MinHash()
    words.update(b"one")
    places = [f"{folder}/{name}" for name in ("rows.np", "lsh", "index.np")]
    nearprint.build(places[0], [1, 2, 3], ids=[1, 2, 3]).close()
    with MinHashLSH(path=places[1]) as lsh, SimhashIndex([("a", Simhash("a"))], path=places[2]):
        lsh.insert("a", words)
    with Client("nearprint", "client", 6, 3, path=folder) as client:
        client.insert([1])
    database, client = nearprint.open(places[0]), Client("nearprint", "client", 6, 3, path=folder)
    for handle in (database, client, MinHashLSH(path=places[1]), SimhashIndex(path=places[2])):
        for call in (handle.close, lambda: leave(handle)):
            assert in_child(call) == 0, handle
    database.add([4], ids=[4])
    assert in_child(database.close) == in_child(lambda: leave(database)) == 3, "a change waits"
    database.commit()
    for call in (database.close, lambda: leave(database)):
        assert in_child(call) == 0, "nothing waits"
    database.add([5], ids=[5])
    database.close()
    assert len(nearprint.open(places[0])) == 5
"""


ENDING = """
    import os, sys
    import nearprint
    from nearprint.compat.datasketch import MinHash, MinHashLSH
    kept, index, print_ = nearprint.Kept(), MinHashLSH(), MinHash()
    kept(["one two three four five"])
    print_.update(b"one")
    index.insert("a", print_)
    index.commit()
    child = os.fork()
    if child == 0:
        sys.exit(0)
    os.waitpid(child, 0)
    assert os.path.exists(kept._folder)
    assert kept(["one two three four five", "six seven eight nine ten"]) == [False, True]
    index.insert("b", print_)
    index.commit()
    assert sorted(index.query(print_)) == ["a", "b"]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_regression_the_end_of_a_child_removed_temporary_folders() -> None:
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(ENDING)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_regression_a_child_closes_what_it_has_inherited(tmp_path: Path) -> None:
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(CLOSING), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


READING = """
    import os, signal, sys, threading
    import nearprint
    from nearprint import _nearprint
    from nearprint._kept import settings_of
    from nearprint._settings import settings_of as options_of

    path = sys.argv[1]
    database = nearprint.build(path, range(20_000), k=3)
    decider = _nearprint.Deduplicator.open(None, settings_of(recipe="simhash", k=3))
    builder = _nearprint.Builder.begin(path + ".built", 64, options_of(), (False, None), None)
    texts, over = [f"text {number} of some words" for number in range(50)], threading.Event()

    def refresh():
        while not over.is_set():
            database.refresh()

    def decide():
        while not over.is_set():
            decider.decide(texts, texts)

    def in_child():
        assert len(database.query(5, 0)) == 1 and database.k == 3 and len(database) == 20_000
        database.refresh()
        assert len(database.query_batch([5, 6], 0)) == 2
        if (child := os.fork()) == 0:
            assert len(database.query(5, 0)) == 1
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        decider.abandon()
        builder.abandon()

    threads = [threading.Thread(target=work) for work in (refresh, refresh, decide)]
    for thread in threads:
        thread.start()
    hung = 0
    for _ in range(150):
        if (child := os.fork()) == 0:
            # What waits for a thread of the parent ends by this signal.
            signal.alarm(30)
            in_child()
            os._exit(0)
        hung += os.waitpid(child, 0)[1] != 0
        if hung:
            break
    over.set()
    for thread in threads:
        thread.join()
    builder.finish()
    assert not hung
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_regression_a_child_waited_for_a_thread_of_its_parent(tmp_path: Path) -> None:
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(READING), str(tmp_path / "rows.np")]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr


DELETING = """
    import os, signal, sys
    import nearprint

    def in_child(call):
        if (child := os.fork()) == 0:
            # What waits for ever ends by this signal.
            signal.alarm(30)
            try:
                call()
            except nearprint.ForkError:
                os._exit(3)
            os._exit(0)
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    folder = sys.argv[1]
    rows = {"fingerprint": range(6), "key": list("abcdef")}
    nearprint.build(f"{folder}/rows.np", rows, k=3).close()
    database = nearprint.open(f"{folder}/rows.np")
    ids = [int(database.ids_of_key(key)[0]) for key in "abc"]

    changes = {
        "add": lambda: database.add([9], keys=["new"]),
        "delete": lambda: database.delete(ids[0]),
        "delete_ids": lambda: database.delete_ids(ids[1], ids[1]),
        "delete_keys": lambda: database.delete_keys("d"),
        "delete_key_prefix": lambda: database.delete_key_prefix("e"),
    }
    for name, change in changes.items():
        assert in_child(database.close) == 0, f"nothing waits before {name}"
        change()
        assert in_child(database.close) == 3, name
        if name == "add":
            database.set_recipe("simhash")
            assert in_child(database.close) == 3, "a recipe commits no rows"
            database.ingest([])
            assert in_child(database.close) == 3, "nothing was ingested"
        database.commit()
    database.set_recipe("simhash")
    assert in_child(database.close) == 0, "a recipe is durable"
    refused = {
        **changes,
        "commit": database.commit,
        "flush": database.flush,
        "compact": database.compact,
        "set_recipe": lambda: database.set_recipe("simhash"),
        "upsert": lambda: database.upsert([9], keys=["x"]),
        "insert_if_new": lambda: database.insert_if_new([2**40], keys=["y"]),
        "ingest": lambda: database.ingest([]),
        "checkpoint": lambda: setattr(database, "checkpoint", b"x"),
    }
    for name, call in refused.items():
        assert in_child(call) == 3, name
    database.close()
    other = nearprint.open(f"{folder}/rows.np")
    assert in_child(other.close) == 0, "there is no writer"
    holder = nearprint.open(f"{folder}/rows.np")
    holder.delete(1)
    try:
        other.delete(1)
    except nearprint.LockedError:
        pass
    assert in_child(other.close) == 0, "nothing was changed"
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_regression_a_child_closed_while_deletions_of_its_parent_waited(tmp_path: Path) -> None:
    program = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(DELETING), str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
