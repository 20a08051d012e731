"""Blocks of datatrove: ``NearDuplicateFilter`` for one task; with ``FingerprintWriter`` and ``unite`` for many."""

from __future__ import annotations

import shutil
from collections import defaultdict
from pathlib import Path
from typing import Any, Optional

from datatrove.pipeline.base import PipelineStep
from datatrove.pipeline.filters.base_filter import BaseFilter
from datatrove.utils.batching import batched

from . import _database, _making
from ._kept import Kept
from ._sources import Texts

__all__ = ["FingerprintWriter", "NearDuplicateFilter", "unite"]


class NearDuplicateFilter(BaseFilter):
    """Drops documents near an earlier one of the task, by settings of ``Kept``; or those that ``united`` has not."""

    name = "nearprint"

    def __init__(self, united: Optional[str] = None, exclusion_writer: Any = None, **settings: Any) -> None:
        super().__init__(exclusion_writer, batch_size=1000)
        self._united, self._settings = united, settings

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
        opened: Any = Kept(**self._settings) if self._united is None else _database.open(self._united)
        with opened as self._decider:
            yield from super().run(data, rank, world_size)

    def filter(self, doc: Any) -> Any:
        return self.filter_batch([doc])[0]

    def filter_batch(self, batch: list[Any]) -> list[Any]:
        has = getattr(self._decider, "ids_of_key", None)
        kept = self._decider([doc.text for doc in batch]) if has is None else [len(has(doc.id)) > 0 for doc in batch]
        return [flag or (False, "near_duplicate") for flag in kept]


class FingerprintWriter(PipelineStep):
    """Passes documents on, whose ids are unique, and writes folders of runs of them for :func:`unite`."""

    name, type = "nearprint", "writer"

    def __init__(self, folder: str, recipe: str = "minhash near=0.7") -> None:
        super().__init__()
        self._folder, self._recipe = Path(folder), recipe

    def run(self, data: Any, rank: int = 0, world_size: int = 1) -> Any:
        self._folder.mkdir(parents=True, exist_ok=True)
        for left in self._folder.glob(f"{rank:05}-*"):
            shutil.rmtree(left)
        for number, batch in enumerate(batched(data, 10_000)):
            path = self._folder / f"{rank:05}-{number:05}.np"
            source = Texts([doc.text for doc in batch], keys=[doc.id for doc in batch])
            _making.build_texts(path, source, recipe=self._recipe, runs=(True, None), threads=1).close()
            yield from batch


def unite(folder: str, database: str, recipe: str = "minhash near=0.7") -> int:
    """Makes a database of what writers have left in a folder, without documents near one with a smaller id.

    Returns the number of those. A call that was interrupted can be repeated.
    """
    if not _making.is_there(database):
        _making.build_texts(database, Texts([]), recipe=recipe).close()
    near, dropped = defaultdict(list), set[str]()
    with _database.open(database) as united:
        united.ingest(sorted(Path(folder).glob("*.np")))
        for row in (row for block in united.pairs(ids=True) for row in block):
            near[max(row["key_a"], row["key_b"])].append(min(row["key_a"], row["key_b"]))
        for key in sorted(near):
            dropped |= set() if dropped.issuperset(near[key]) else {key}
        united.delete_keys(dropped)
    return len(dropped)
