"""Threads, signals and progress."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
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


@pytest.mark.parametrize("search", [nearprint.find_all, nearprint.find_clusters])
def test_regression_a_list_is_not_searched_on_after_an_interruption(search: Callable[..., object]) -> None:
    def refuse(stage: str, done: int, total: Any) -> None:
        assert stage == "joining"
        raise RuntimeError("enough")

    # Numbers so close that their pairs would take hours.
    array = np.random.default_rng(7).integers(0, 2**30, 3_000_000, np.uint64) << np.uint64(20)
    with pytest.raises(RuntimeError, match="enough"):
        search(array, 20, progress=refuse)
    for _ in range(40):
        before = time.process_time()
        time.sleep(0.25)
        if time.process_time() - before < 0.05:
            return
    pytest.fail("the search goes on")


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
