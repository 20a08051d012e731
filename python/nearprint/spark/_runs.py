"""Runs of a database that are built by the tasks of Spark, on shared disks or in object storage."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Optional

import numpy as np
import pyarrow as pa
from pyspark import SparkFiles, TaskContext
from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, LongType, StringType

from .. import _database, _making, _nearprint
from .._arrays import check_width, path_of, words_of
from .._database import Path
from .._errors import ExistsError, InputError, NotFoundError
from .._progress import Progress
from .._reports import IngestReport
from .._settings import check_count, k_of_layout, line_and_width, settings_of, wide_width
from ._columns import named, type_of

#: The list of the runs that are finished. It is written last.
LIST = "RUNS.json"
_PART = re.compile(r"part-[0-9]{5,10}(-[0-9a-f]{32})?")
_FILE = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*")
_INTEGERS = ("bigint", "int", "smallint", "tinyint")
#: The types of columns, by what they are of a row.
_TYPES = {"id": _INTEGERS, "key": ("string", *_INTEGERS), "text": ("string", "binary")}
#: Unfinished runs of tasks.
_UNFINISHED = "unfinished"

StorageOptions = Optional[dict[str, Any]]


def _selected(df: DataFrame, chosen: dict[str, str]) -> DataFrame:
    """The columns with these names, by what they are of a row. Keys are texts, and texts are bytes."""
    columns = []
    for role, name in chosen.items():
        type, column = df.schema[name].dataType, named(name)
        # A text of any collation.
        kind = "string" if isinstance(type, StringType) else type.simpleString()
        if kind not in _TYPES.get(role, (kind,)):
            raise InputError(f"{name}: {kind}, where {'ids are integers' if role == 'id' else 'texts are wanted'}")
        as_stored = {"key": StringType(), "text": BinaryType()}.get(role)
        columns.append((column if as_stored is None else column.cast(as_stored)).alias(role))
    return df.select(*columns)


def build_runs(
    df: DataFrame,
    folder: str,
    *,
    id: Optional[str] = "id",
    key: Optional[str] = None,
    text: Optional[str] = None,
    fingerprint: str = "fingerprint",
    k: Optional[int] = None,
    similarity: Optional[float] = None,
    bands: Optional[str] = None,
    width: Optional[int] = None,
    recipe: Optional[str] = None,
    partitions: Optional[int] = None,
    memory: int = 1 << 28,
    storage_options: StorageOptions = None,
) -> str:
    """Builds one run for each partition, and returns the folder of them all, for :func:`ingest`.

    ``folder`` is on a disk that all machines share, or an address of fsspec, such as ``s3://bucket/runs``,
    with ``storage_options`` for it; the result is a new folder in it. ``id`` is a column of integers with the bits of
    ids, or ``None`` if ids are made from keys; ``key`` and ``text`` are columns of texts, and integers are keys by
    their digits. Rows without a fingerprint are left out. ``k``, ``similarity``, ``bands`` and ``recipe`` are settings
    of the database, as for :func:`nearprint.build`.

    Rows are placed by their fingerprints, so that a task that is repeated has the same rows and its run the same
    identity. A task sorts within ``memory`` bytes, and makes its run visible by one step at its end; of several
    attempts one counts, and the others remove theirs. The list of runs is written last. If the job fails, nothing is
    left behind.

    Raises ``InputError`` for invalid arguments and columns, and for rows without an id or key.
    """
    if id is None and key is None:
        raise InputError("id or key: one of them is needed; ids that tasks number would collide")
    line, of_recipe = line_and_width(recipe, width)
    if recipe is not None and bands is None:
        bands = _nearprint.recipe_line(recipe)[2]
    kind = type_of(df, fingerprint)
    if not isinstance(kind, (LongType, BinaryType)):
        raise InputError(f"{fingerprint}: {kind.simpleString()}, where fingerprints are bigint or binary")
    bits = 64 if isinstance(kind, LongType) else check_width(of_recipe or wide_width(bands))
    if of_recipe not in (None, bits):
        raise InputError(f"width {of_recipe}: {fingerprint} is {kind.simpleString()}")
    layout = "auto" if bands is None else f"bands:{bands}"
    best_k, keys, texts = k_of_layout(k, similarity, layout, bits), key is not None, text is not None
    schema = {"k": best_k, "width": bits, "layout": layout, "recipe": line, "keys": keys, "texts": texts}
    names = {"fingerprint": fingerprint, "id": id, "key": key, "text": text}
    chosen = {role: name for role, name in names.items() if name is not None}
    missing = [name for name in chosen.values() if name not in df.columns]
    if missing:
        raise InputError(f"there is no column {missing[0]!r}, but {', '.join(df.columns)}")
    rows = _selected(df, chosen).where(sf.col("fingerprint").isNotNull())
    by = [sf.col("fingerprint")]
    placed = (
        rows.repartition(*by) if partitions is None else rows.repartition(check_count(partitions, "partitions", 1), *by)
    )
    settings = settings_of(best_k, bits, layout, line, keys, texts, threads=1, memory=memory)
    with _Store.at(folder, storage_options).new_folder() as store:
        task = _Task(store, bits, settings)
        parts = [row.part for row in placed.mapInArrow(task.run, "part string").collect()]
        store.keep_only(parts)
        store.write_list({"parts": sorted(parts), "schema": schema})
        return store.folder


def ingest(
    path: Path, folder: str, *, storage_options: StorageOptions = None, progress: Progress = None
) -> IngestReport:
    """Ingests the runs of :func:`build_runs` into the database at ``path``, all or none of them.

    Creates the database if there is none. Runs that were ingested before are skipped, also if they were built again
    from the same rows and partitions. From object storage, the runs are downloaded to a temporary folder first.

    Raises ``NotFoundError`` for a folder whose job has not finished, ``InputError`` for a list of runs that no job has
    written, and for runs of other settings than the database has; ``CorruptionError`` for damaged runs.
    """
    store = _Store.at(folder, storage_options)
    parts, schema = _checked(store.read_list(), folder)
    with contextlib.suppress(ExistsError):
        _making.create(path, **schema).close()
    with store.local(parts) as folders, _database.open(path, progress=progress) as database:
        return database.ingest(folders)


class _Store(NamedTuple):
    """A folder on a disk, or in object storage."""

    folder: str
    options: dict[str, Any]

    @classmethod
    def at(cls, folder: str, options: StorageOptions) -> _Store:
        is_local = "://" not in folder
        return cls(os.path.abspath(path_of(folder)) if is_local else folder.rstrip("/"), dict(options or {}))

    @property
    def is_remote(self) -> bool:
        return "://" in self.folder

    def files(self) -> tuple[Any, str]:
        """The file system of object storage, and the folder there."""
        import fsspec

        found: tuple[Any, str] = fsspec.core.url_to_fs(self.folder, **self.options)
        return found

    @contextlib.contextmanager
    def new_folder(self) -> Iterator[_Store]:
        """A folder of one job in this one, which is removed if the job fails."""
        store = self._replace(folder=f"{self.folder}/runs-{uuid.uuid4().hex}")
        if not store.is_remote:
            os.makedirs(f"{store.folder}/{_UNFINISHED}")
        try:
            yield store
        except BaseException:
            store.remove("")
            raise

    def remove(self, name: str) -> None:
        """Removes a folder in this one with everything in it. Tasks that are being killed may still write."""
        if self.is_remote:
            files, folder = self.files()
            for found in files.find(f"{folder}/{name}".rstrip("/")):
                files.rm_file(found)
            return
        for _ in range(100):
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
            if not os.path.lexists(os.path.join(self.folder, name)):
                return

    def keep_only(self, parts: list[str]) -> None:
        """Removes what other attempts of tasks have left."""
        if not self.is_remote:
            self.remove(_UNFINISHED)
            return
        files, folder = self.files()
        for found in files.find(folder):
            if found[len(folder) :].lstrip("/").split("/")[0] not in parts:
                files.rm_file(found)

    def write_list(self, content: dict[str, Any]) -> None:
        if self.is_remote:
            files, folder = self.files()
            files.pipe_file(f"{folder}/{LIST}", json.dumps(content).encode())
            return
        place = os.path.join(self.folder, LIST)
        with open(f"{place}.new", "w") as file:
            json.dump(content, file)
            file.flush()
            os.fsync(file.fileno())
        os.rename(f"{place}.new", place)
        _sync(self.folder)

    def read_list(self) -> Any:
        try:
            if self.is_remote:
                files, folder = self.files()
                return json.loads(files.cat_file(f"{folder}/{LIST}"))
            with open(os.path.join(self.folder, LIST), "rb") as file:
                return json.load(file)
        except FileNotFoundError:
            raise NotFoundError(f"{self.folder}: has no {LIST}, which a job writes when it has finished") from None
        except ValueError as error:
            raise InputError(f"{self.folder}/{LIST}: {error}") from None

    @contextlib.contextmanager
    def local(self, parts: list[str]) -> Iterator[list[str]]:
        """The folders of runs, which are downloaded if they are not on a disk."""
        if not self.is_remote:
            yield [os.path.join(self.folder, part) for part in parts]
            return
        files, folder = self.files()
        with tempfile.TemporaryDirectory(prefix="nearprint-runs-") as home:
            for part in parts:
                os.mkdir(os.path.join(home, part))
                for found in files.find(f"{folder}/{part}"):
                    name = found.rsplit("/", 1)[1]
                    if found != f"{folder}/{part}/{name}" or not _FILE.fullmatch(name):
                        raise InputError(f"{self.folder}/{part}: {name!r} is no file of a run")
                    files.get_file(found, os.path.join(home, part, name))
            yield [os.path.join(home, part) for part in parts]


class _Task(NamedTuple):
    """What a task does: builds a run of the rows of its partition."""

    store: _Store
    width: int
    settings: dict[str, Any]

    def run(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        part = f"part-{context.partitionId() if context else 0:05}"
        attempt = f"{part}-{uuid.uuid4().hex}"
        received = (batch for batch in batches if batch.num_rows)
        first = next(received, None)
        if first is None:
            return
        if self.store.is_remote:
            with tempfile.TemporaryDirectory(dir=SparkFiles.getRootDirectory()) as home:
                built = os.path.join(home, attempt)
                self._build(built, first, received)
                self._upload(built, attempt)
            part = attempt
        else:
            built = os.path.join(self.store.folder, _UNFINISHED, attempt)
            try:
                self._build(built, first, received)
                self._publish(built, part)
            finally:
                shutil.rmtree(built, ignore_errors=True)
        yield pa.RecordBatch.from_arrays([pa.array([part])], ["part"])

    def _build(self, built: str, first: pa.RecordBatch, others: Iterator[pa.RecordBatch]) -> None:
        builder = _nearprint.Builder.begin(built, self.width, self.settings, (True, None), None)
        try:
            builder.push(self._rows(first))
            for batch in others:
                builder.push(self._rows(batch))
            builder.finish()
        finally:
            builder.abandon()

    def _rows(self, batch: pa.RecordBatch) -> dict[str, Any]:
        columns = {name: batch.column(index) for index, name in enumerate(batch.schema.names)}
        for role in ("id", "key"):
            if role in columns and columns[role].null_count:
                raise InputError(f"{role}: {columns[role].null_count} rows have none")
        prints = columns["fingerprint"]
        rows: dict[str, Any] = dict.fromkeys(("ids", "keys", "texts"))
        if self.width == 64:
            rows["words"] = np.ascontiguousarray(prints.to_numpy(), np.int64).view(np.uint64)
        else:
            rows["words"] = words_of(prints, self.width)[0]
        if "id" in columns:
            rows["ids"] = columns["id"].to_numpy().astype(np.int64).view(np.uint64)
        if "key" in columns:
            rows["keys"] = columns["key"].to_pylist()
        if "text" in columns:
            rows["texts"] = [text or b"" for text in columns["text"].to_pylist()]
        return rows

    def _publish(self, built: str, part: str) -> None:
        """Makes the run visible, unless another attempt has done so."""
        place = os.path.join(self.store.folder, part)
        try:
            os.rename(built, place)
        except OSError:
            if not os.path.isdir(place):
                raise
        _sync(self.store.folder)

    def _upload(self, built: str, attempt: str) -> None:
        files, folder = self.store.files()
        # A run without its manifest is none.
        for name in sorted(os.listdir(built), key=lambda name: (name == "MANIFEST", name)):
            files.put_file(os.path.join(built, name), f"{folder}/{attempt}/{name}")


def _checked(content: Any, folder: str) -> tuple[list[str], dict[str, Any]]:
    """The names of runs, and the settings of their database: they come from outside."""
    parts = content.get("parts") if isinstance(content, dict) else None
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(parts, list) or not isinstance(schema, dict):
        raise InputError(f"{folder}/{LIST}: is no list of runs")
    for part in parts:
        if not isinstance(part, str) or not _PART.fullmatch(part):
            raise InputError(f"{folder}/{LIST}: {part!r} is no run")
    if schema.keys() != {"k", "width", "layout", "recipe", "keys", "texts"}:
        raise InputError(f"{folder}/{LIST}: has no settings of a database")
    return parts, schema


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
