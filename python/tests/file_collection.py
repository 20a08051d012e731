"""A collection in a file, for jobs that are killed: run as a program, it is such a job."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Optional

from nearprint.mongodb import dedup_collection


class DuplicateIds(Exception):
    """What pymongo's ``BulkWriteError`` says."""

    def __init__(self, ids: list[Any]) -> None:
        super().__init__(ids)
        self.details = {"writeErrors": [{"code": 11000} for _ in ids]}


class FileCollection:
    """A collection of documents with increasing numbers as ``_id``, one line of JSON each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        #: After how many calls, before and behind the writing, the process is killed.
        self.killed_before: Optional[int] = None
        self.killed_behind: Optional[int] = None

    def find(self, condition: dict[str, Any], _fields: dict[str, Any]) -> list[dict[str, Any]]:
        """The documents behind an ``_id``, or those with certain ones."""
        behind = condition["$nor"][0]["_id"]["$lte"] if "$nor" in condition else -1
        among = condition["_id"]["$in"] if "_id" in condition else None
        return [found for found in self.all() if found["_id"] > behind and (among is None or found["_id"] in among)]

    def insert_many(self, documents: list[dict[str, Any]], ordered: bool = True) -> None:
        """Inserts those that are not there, as MongoDB does without an order."""
        assert not ordered
        self._count_down("killed_before")
        standing = {document["_id"] for document in self.all()}
        with self.path.open("a") as file:
            for document in documents:
                if document["_id"] not in standing:
                    file.write(json.dumps(document) + "\n")
        self._count_down("killed_behind")
        doubled = [document["_id"] for document in documents if document["_id"] in standing]
        if doubled:
            raise DuplicateIds(doubled)

    def all(self) -> list[dict[str, Any]]:
        """Every document."""
        return [json.loads(line) for line in self.path.read_text().splitlines()] if self.path.exists() else []

    def _count_down(self, what: str) -> None:
        calls = getattr(self, what)
        if calls == 0:
            os._exit(9)
        setattr(self, what, None if calls is None else calls - 1)


def main(folder: Path, when: str, calls: int) -> None:
    """A job that is killed when its target has been called so often."""
    target = FileCollection(folder / "target")
    setattr(target, when, calls)
    dedup_collection(FileCollection(folder / "source"), target, "page", database=folder / "seen.np", batch_size=20)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
