"""A job on a server, killed in a call of its target: ``killed_job.py URI DATABASE before|behind CALLS``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from pymongo import MongoClient

from nearprint.mongodb import dedup_collection


class Killing:
    """A collection of pymongo that kills the process before or behind one of the insertions."""

    def __init__(self, target: Any, when: str, calls: int) -> None:
        self._target = target
        self._when = when
        self._calls = calls
        self.full_name = target.full_name

    def find(self, *arguments: Any) -> Any:
        """The documents of the collection."""
        return self._target.find(*arguments)

    def insert_many(self, documents: list[dict[str, Any]], ordered: bool) -> None:
        """Inserts the documents, if the process lives so long."""
        self._calls -= 1
        if self._calls == 0 and self._when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        self._target.insert_many(documents, ordered=ordered)
        if self._calls == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def main(uri: str, database: str, when: str, calls: int) -> None:
    """A job of many small batches."""
    crawl: Any = MongoClient(uri).crawl
    target = Killing(crawl.kept, when, calls)
    recipe = "simhash clean=cut:收录：,nfc,lower"
    dedup_collection(crawl.pages, target, "content", database=database, recipe=recipe, batch_size=16)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
