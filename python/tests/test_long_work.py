"""Threads, signals and progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import nearprint

PREPARE = """
    import numpy as np
    import nearprint

    path = {path!r}
    def numbers(count):
        return np.random.default_rng(7).integers(0, 2**64, count, np.uint64)
    def say(stage, done, total):
        print("ready", flush=True)
    def near():
        # Numbers so close that their pairs would take hours.
        return np.random.default_rng(7).integers(0, 2**30, 3_000_000, np.uint64) << np.uint64(20)
"""

LONG = {
    "build": "nearprint.build(path + '/corpus.np', numbers(30_000_000), progress=say)",
    "pairs": "d = nearprint.build(path + '/a.np', near()); print('ready', flush=True); d.pairs(20).table()",
    "clusters": "d = nearprint.build(path + '/a.np', near()); print('ready', flush=True); d.clusters(20).table()",
    "query_batch": "d = nearprint.build(path + '/a.np', near()); print('ready', flush=True); d.query_batch(near(), 20)",
    "find_all": "near = near(); print('ready', flush=True); nearprint.find_all(near, 20)",
    "dedup_collection": """
from nearprint.mongodb import dedup_collection
class Source:
    def find(self, *_):
        text = "a b c " * 9999
        return ({"_id": index, "text": text} for index in range(99999))
print("ready", flush=True)
dedup_collection(Source(), None, "text", batch_size=9999)
""",
    "fingerprint": "texts = ['a b c ' * 9999] * 99999; print('ready', flush=True); nearprint.fingerprint(texts)",
}


@pytest.mark.parametrize("work", LONG)
def test_ctrl_c_ends_long_work(work: str, tmp_path: Path) -> None:
    program = textwrap.dedent(PREPARE).format(path=str(tmp_path)) + LONG[work]
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, errors = child.communicate(timeout=30)
    assert errors.rstrip().endswith("KeyboardInterrupt"), errors
    assert child.returncode == -signal.SIGINT
    assert time.monotonic() - began < 15
    if work == "build":
        assert list(tmp_path.iterdir()) == []


def test_others_run_meanwhile(path: Path) -> None:
    """While a thread asks for long, another one counts."""
    array = np.arange(1 << 17, dtype=np.uint64)
    with nearprint.build(path, array) as database:
        done = threading.Event()

        def ask() -> None:
            database.query_batch(array[:1000], 4)
            done.set()

        thread = threading.Thread(target=ask)
        thread.start()
        turns = 0
        while not done.is_set():
            turns += 1
            time.sleep(0.001)
        thread.join()
        assert turns > 3


def test_many_threads_read_and_one_writes(path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 2**64, 5000, np.uint64)
    failures: list[BaseException] = []
    with nearprint.build(path, array, memtable_rows=500) as database:

        def read() -> None:
            try:
                for _ in range(20):
                    found = database.query_batch(array, 0)
                    assert np.array_equal(found["fingerprint"], array)
                    database.query(array[0], 3)
                    len(database.pairs(2).table())
            except BaseException as error:
                failures.append(error)

        def write() -> None:
            try:
                for start in range(20):
                    database.add(np.arange(100, dtype=np.uint64) + np.uint64(start * 100))
                    database.commit()
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=read) for _ in range(4)] + [threading.Thread(target=write)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(database) == 7000


def test_regression_a_count_is_of_its_own_snapshot(path: Path) -> None:
    """A commit while another thread counts left the old number behind for all later calls."""
    array = np.random.default_rng(1).integers(0, 2**64, 1_000_000, np.uint64)
    with nearprint.build(path, array) as database:
        for _ in range(5):
            # Rows are counted one by one where there are several runs.
            database.add(array[:10])
            database.commit()
            counter = threading.Thread(target=len, args=(database,))
            counter.start()
            time.sleep(0.005)
            database.add(array[:1000])
            database.commit()
            database.query(array[0], 0)
            counter.join()
            with nearprint.open(path) as again:
                assert len(database) == len(again)


def test_progress_is_told(path: Path, tmp_path: Path) -> None:
    array = np.random.default_rng(1).integers(0, 2**64, 200_000, np.uint64)
    stages: set[str] = set()

    def listen(stage: str, done: int, total: Any) -> None:
        assert isinstance(done, int) and (total is None or done <= total)
        stages.add(stage)

    with nearprint.build(path, array, progress=listen) as database:
        assert stages
        for work, stage in (
            (lambda: database.verify(), "verifying"),
            (lambda: database.backup(tmp_path / "copy"), "copying"),
            (lambda: database.pairs(3).table(), "joining"),
        ):
            stages.clear()
            work()
            assert stage in stages
        stages.clear()
        database.verify(progress=False)
        assert not stages


def test_a_listener_may_end_the_work(path: Path) -> None:
    def refuse(stage: str, done: int, total: Any) -> None:
        raise RuntimeError("enough")

    array = np.random.default_rng(1).integers(0, 2**64, 3_000_000, np.uint64)
    with pytest.raises(RuntimeError, match="enough"):
        nearprint.build(path, array, progress=refuse)
    assert not path.exists()


def test_regression_a_listener_was_told_more_after_it_had_ended_a_build_of_texts(path: Path) -> None:
    """Batches end before they are told about, so that the last report of one raises, too."""
    told: list[str] = []

    def refuse(stage: str, done: int, total: Any) -> None:
        told.append(stage)
        raise RuntimeError("enough")

    # The only report of short work would be the one after its end, which cannot end it.
    texts = [f"one two three four {number}" for number in range(300_000)]
    for work in (
        lambda: nearprint.build(path, texts, progress=refuse),
        lambda: nearprint.pairs(texts, progress=refuse),
    ):
        told.clear()
        with pytest.raises(RuntimeError, match="enough"):
            work()
        assert len(told) == 1 and not path.exists()


@pytest.mark.parametrize("work", ["query_batch", "nearest", "cross"])
def test_regression_questions_end_when_they_are_told(work: str, path: Path, tmp_path: Path) -> None:
    """Each would take minutes, and hands nothing on for long."""
    array = np.random.default_rng(7).integers(0, 2**64, 400_000, np.uint64)
    told: list[tuple[str, int, Any]] = []

    def refuse(stage: str, done: int, total: Any) -> None:
        told.append((stage, done, total))
        raise RuntimeError("enough")

    with nearprint.build(path, array) as database, nearprint.build(tmp_path / "other", array) as other:
        began = time.monotonic()
        with pytest.raises(RuntimeError, match="enough"):
            if work == "query_batch":
                database.query_batch(array, 12, progress=refuse)
            elif work == "nearest":
                database.nearest(array, 1000, progress=refuse)
            else:
                database.cross(other, 12, progress=refuse).table()
        assert time.monotonic() - began < 5
        assert told[0][0] == ("joining" if work == "cross" else "answering")
        wait_until_idle()


def wait_until_idle() -> None:
    for _ in range(40):
        before = time.process_time()
        time.sleep(0.25)
        if time.process_time() - before < 0.05:
            return
    pytest.fail("the work goes on")


def test_progress_reaches_its_total(path: Path, tmp_path: Path) -> None:
    array = np.random.default_rng(7).integers(0, 2**64, 300_000, np.uint64)
    with nearprint.build(path, array) as database, nearprint.build(tmp_path / "other", array) as other:
        told: list[tuple[int, Any]] = []

        def listen(stage: str, done: int, total: Any) -> None:
            told.append((done, total))

        works: list[Callable[[], object]] = [
            lambda: database.cross(other, 2, progress=listen).table(),
            lambda: database.query_batch(array, 2, progress=listen),
            lambda: database.nearest(array[:2000], 1, 3, progress=listen),
        ]
        for work in works:
            told.clear()
            work()
            assert told[-1][0] == told[-1][1]
            assert told == sorted(told)


def test_regression_an_interrupted_call_ends_alone(path: Path) -> None:
    """The one that waits for a writer at work is ended, and not the one that works."""
    program = textwrap.dedent("""
        import os, signal, threading, time
        import numpy as np
        import nearprint

        array = np.random.default_rng(7).integers(0, 2**64, 1_500_000, np.uint64)
        database = nearprint.build({path!r}, array)
        database.add(array + np.uint64(1))
        began, failures = threading.Event(), []

        def compact():
            try:
                database.compact(progress=lambda *report: began.set())
            except BaseException as error:
                failures.append(error)

        thread = threading.Thread(target=compact)
        thread.start()
        began.wait()
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        try:
            database.delete([1])
            print("deleted")
        except KeyboardInterrupt:
            print("interrupted", thread.is_alive())
        thread.join()
        print(failures)
        database.close()
        print(len(nearprint.open({path!r})))
    """).format(path=str(path))
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert child.stdout == "interrupted True\n[]\n3000000\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_regression_a_fork_does_not_write(path: Path) -> None:
    program = textwrap.dedent("""
        import os, sys
        import nearprint

        database = nearprint.create({path!r}, memtable_rows=5)
        database.add([1], ids=[1])
        database.commit()
        database.add([2], ids=[2])
        pairs = database.pairs(3)
        for way in ("leave", "write", "close", "iterate", "exit"):
            if (child := os.fork()) == 0:
                try:
                    assert len(database.query(1, 0)) == 1
                    if way == "write":
                        database.add([3], ids=[3])
                    elif way == "close":
                        database.close()
                    elif way == "iterate":
                        next(pairs)
                except nearprint.Error as error:
                    print(way, "before a fork" in str(error), flush=True)
                if way == "leave":
                    sys.exit(0)
                del database
                os._exit(0)
            os.waitpid(child, 0)
            try:
                nearprint.open({path!r}).delete(1)
            except nearprint.LockedError:
                pass
            else:
                print("the lock is gone")
        database.add(range(200, 220), ids=range(200, 220))
        database.close()
        with nearprint.open({path!r}) as database:
            print(len(database), database.verify().sound)
    """).format(path=str(path))
    child = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert child.stderr == ""
    assert child.stdout == "write True\nclose True\niterate True\n22 True\n"


def test_regression_what_is_done_is_not_undone_by_its_last_report(path: Path) -> None:
    def refuse(stage: str, done: int, total: Any) -> None:
        raise RuntimeError("too late")

    told: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append
    try:
        # Where the machine is slow, a report comes before the last one, and is raised.
        for attempt in range(100):
            try:
                database = nearprint.build(path.with_suffix(f".{attempt}"), [1, 2], progress=refuse)
                break
            except RuntimeError:
                continue
        with database:
            assert len(database) == 2
    finally:
        sys.unraisablehook = hook
    assert {str(report.exc_value) for report in told} == {"too late"}


def test_regression_what_was_cancelled_at_its_end_was_done(tmp_path: Path) -> None:
    told: list[Any] = []
    hook, sys.unraisablehook = sys.unraisablehook, told.append

    def refuse(stage: str, done: int, total: Any) -> None:
        if done == total:
            raise RuntimeError("too late")

    texts = [f"{number} and some words of text number {number * 7}" for number in range(1500)]
    try:
        for attempt in range(40):
            path = tmp_path / f"{attempt}.np"
            try:
                nearprint.build(path, texts, progress=refuse).close()
            except RuntimeError:
                assert not path.exists()
            else:
                assert path.exists()
    finally:
        sys.unraisablehook = hook


def test_regression_a_listener_does_not_end_an_iterator(path: Path) -> None:
    def end(stage: str, done: int, total: Any) -> None:
        raise StopIteration

    array = np.arange(300_000, dtype=np.uint64) << np.uint64(20)
    with pytest.raises(RuntimeError, match="StopIteration"):
        nearprint.find_all(array, 6, progress=end)
    with nearprint.build(path, array) as database, pytest.raises(RuntimeError, match="StopIteration"):
        database.pairs(6, progress=end).table()


def test_what_is_not_closed_is_told(path: Path) -> None:
    database = nearprint.create(path)
    database.add([1])
    with pytest.warns(ResourceWarning, match="was not closed"):
        del database
    database = nearprint.open(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del database


def test_nothing_is_written_through_a_database_that_was_closed_meanwhile(path: Path) -> None:
    database = nearprint.create(path, keys=True)

    def keys() -> Iterator[str]:
        database.close()
        yield "a"

    with pytest.raises(nearprint.Error, match="closed"):
        database.add([1], keys=keys())


def test_regression_a_refused_write_refreshes_nothing(path: Path) -> None:
    with nearprint.create(path) as database, nearprint.open(path) as reader:
        database.add([1])
        database.commit()
        with pytest.raises(nearprint.LockedError):
            reader.flush()
        assert len(reader) == 0
        reader.refresh()
        assert len(reader) == 1


@pytest.mark.parametrize("search", [nearprint.find_all, nearprint.find_clusters])
def test_regression_a_list_is_not_searched_on_after_an_interruption(search: Callable[..., object]) -> None:
    def refuse(stage: str, done: int, total: Any) -> None:
        assert stage == "joining"
        raise RuntimeError("enough")

    # Numbers so close that their pairs would take hours.
    array = np.random.default_rng(7).integers(0, 2**30, 3_000_000, np.uint64) << np.uint64(20)
    with pytest.raises(RuntimeError, match="enough"):
        search(array, 20, progress=refuse)
    wait_until_idle()


def test_fingerprints_of_columns_tell_how_far_they_are() -> None:
    texts = [f"text number {number}" for number in range(20_000)]
    told: list[tuple[str, int, Any]] = []
    for column in (texts, pyarrow.chunked_array([texts[:5], texts[5:]])):
        told.clear()
        nearprint.fingerprint(column, progress=lambda *report: told.append(report))
        assert told[-1] == ("fingerprinting", 20_000, 20_000)
        assert len(told) > 2


def test_a_bar_is_shown(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with nearprint.build(path, np.arange(100_000, dtype=np.uint64)) as database:
        database.verify(progress=True)
    assert "verifying" in capsys.readouterr().err
