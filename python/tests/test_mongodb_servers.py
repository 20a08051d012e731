"""Collections on servers that speak MongoDB's wire protocol over a socket, with jobs and servers that are killed."""

from __future__ import annotations

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

import nearprint
from nearprint.mongodb import Counts, dedup_collection

from .test_mongodb import HTML, first_ones, pages

pymongo: Any = pytest.importorskip("pymongo")

MARKER = "收录："
CUTTING = f"simhash clean=cut:{MARKER},nfc,lower"
#: The module of each server, and its program: a line of Python, and its options.
SERVERS = {
    "secantus": ("from secantus.cli import main; main()", ["--storage-path", "{home}", "--sync-on-commit"]),
    "nx_27017": (
        "from nx_27017.nx_27017 import main; main()",
        ["--data-dir", "{home}", "--log-file", "{home}.log", "--pid-file", "{home}.pid"],
    ),
}


class Server:
    """A server in a process of its own, on this machine alone."""

    def __init__(self, module: str, home: Path) -> None:
        program, options = SERVERS[module]
        home.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        options = [option.format(home=home) for option in options]
        self._command = [sys.executable, "-c", program, "--host", "127.0.0.1", "--port", str(self._port), *options]
        self._log = home.with_suffix(".out")
        self.uri = f"mongodb://127.0.0.1:{self._port}/?serverSelectionTimeoutMS=2000"
        self.start()

    def start(self) -> None:
        """Starts the server, and waits until it answers."""
        with self._log.open("a") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._log.parent)
        end = time.monotonic() + 60
        while True:
            try:
                with pymongo.MongoClient(self.uri) as client:
                    client.admin.command("ping")
                return
            except pymongo.errors.PyMongoError:
                if self._process.poll() is not None or time.monotonic() > end:
                    self.kill()
                    raise AssertionError(f"the server does not answer: {self._log.read_text()[-2000:]}") from None
                time.sleep(0.05)

    def kill(self) -> None:
        """Kills the server, which has no time to save anything."""
        self._process.kill()
        self._process.wait()


@pytest.fixture(params=list(SERVERS))
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} is not installed")
    started = Server(request.param, tmp_path / "server")
    yield started
    started.kill()


@pytest.fixture
def crawl(server: Server) -> Iterator[Any]:
    with pymongo.MongoClient(server.uri) as client:
        yield client.crawl


def marked_pages(count: int) -> list[str]:
    """Pages with an ending of their own behind a marker, which markup divides in every third one."""
    texts = pages(count)
    markers = [MARKER, "收<b>录：</b>", "<i>收</i>录："]
    return [f"{text} {markers[index % 3]} footer {index} {index * index}" for index, text in enumerate(texts)]


def filled(crawl: Any, count: int) -> list[Any]:
    """Fills a collection, and returns its ``_id`` in order."""
    crawl.pages.insert_many([{"content": text, "number": index} for index, text in enumerate(marked_pages(count))])
    return [document["_id"] for document in crawl.pages.find({}, {"_id": 1}).sort("_id", 1)]


def expected(ids: list[Any]) -> list[tuple[Any, str]]:
    """The ``_id`` and the fingerprint of the documents to be kept."""
    texts = pages(len(ids))
    prints = nearprint.fingerprint(texts, HTML).tolist()
    return [(ids[index], str(prints[index])) for index in first_ones(texts)]


def found(target: Any) -> list[tuple[Any, str]]:
    return [(document["_id"], document["simhash"]) for document in target.find({}).sort("_id", 1)]


def run_killed(server: Server, database: Path, when: str, calls: int) -> None:
    """Runs a job that is killed in one of its insertions."""
    command = [sys.executable, str(Path(__file__).with_name("killed_job.py")), server.uri, str(database), when]
    # The same nearprint as here, wherever that is.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killed = subprocess.run([*command, str(calls)], env=environment, check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL


def test_a_collection_on_a_server(crawl: Any, path: Path) -> None:
    ids = filled(crawl, 300)
    kept = expected(ids)
    progress: list[Any] = []
    counts = dedup_collection(
        crawl.pages,
        crawl.kept,
        "content",
        database=path,
        recipe=CUTTING,
        batch_size=64,
        progress=lambda *what: progress.append(what),
    )
    assert 100 < len(kept) < 250
    assert counts == Counts(read=300, kept=len(kept), duplicates=300 - len(kept))
    assert found(crawl.kept) == kept
    assert progress[-1] == ("deduplicating", 300, 300)
    first = crawl.kept.find_one({"_id": ids[0]})
    assert first["source_id"] == ids[0]
    assert first["text"].rstrip() == pages(1)[0].removeprefix("<p class='0'>").removesuffix("</p>")


@pytest.mark.parametrize("when", ["before", "behind"])
def test_jobs_killed_in_the_middle_resume(server: Server, crawl: Any, path: Path, when: str) -> None:
    ids = filled(crawl, 240)
    kept = expected(ids)
    for calls in (1, 3, 4):
        run_killed(server, path, when, calls)
    assert 0 < crawl.kept.count_documents({}) < len(kept)
    counts = dedup_collection(crawl.pages, crawl.kept, "content", database=path, recipe=CUTTING)
    assert found(crawl.kept) == kept
    assert counts == Counts(read=240, kept=len(kept), duplicates=240 - len(kept))
    again = dedup_collection(crawl.pages, crawl.kept, "content", database=path, recipe=CUTTING)
    assert again == Counts(read=240, duplicates=240 - len(kept), known=len(kept))


def test_a_server_killed_in_the_middle_is_resumed_with(server: Server, crawl: Any, path: Path) -> None:
    ids = filled(crawl, 240)

    def kill(_stage: str, done: int, _total: Optional[int]) -> None:
        if done >= 96:
            server.kill()

    with pytest.raises(pymongo.errors.PyMongoError):
        dedup_collection(
            crawl.pages, crawl.kept, "content", database=path, recipe=CUTTING, batch_size=16, progress=kill
        )
    server.start()
    counts = dedup_collection(crawl.pages, crawl.kept, "content", database=path, recipe=CUTTING, batch_size=16)
    kept = expected(ids)
    assert found(crawl.kept) == kept
    assert counts == Counts(read=240, kept=len(kept), duplicates=240 - len(kept))


def test_documents_of_others_in_the_target_are_left_alone(crawl: Any, path: Path) -> None:
    ids = filled(crawl, 20)
    crawl.kept.insert_one({"_id": ids[0], "simhash": "another"})
    with pytest.raises(nearprint.Error, match="the target has another document with the _id"):
        dedup_collection(crawl.pages, crawl.kept, "content", database=path, recipe=CUTTING)
    assert crawl.kept.find_one({"_id": ids[0]}) == {"_id": ids[0], "simhash": "another"}
