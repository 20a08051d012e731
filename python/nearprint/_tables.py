"""Tables of other libraries: their columns in batches, and tables of the same type with other rows or columns."""

from __future__ import annotations

import os
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, Optional, Union

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._errors import InputError
from ._result import Result
from ._temporary import folder_of

Batches = Iterator[Mapping[str, Any]]
Flags = npt.NDArray[np.bool_]

#: The label of a column, of several levels in pandas.
Label = Union[str, tuple[Any, ...]]

#: Rows that are read at once.
ROWS_AT_ONCE = 10_000


class Table:
    """Arrow data with named columns, such as a stream, which is read once."""

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def index(self) -> Any:
        """The labels of the rows, for pandas."""
        return None

    @property
    def names(self) -> Optional[list[str]]:
        """The names of the columns, if they are known before rows are read."""
        value = self.value
        if hasattr(value, "schema") and hasattr(value.schema, "names"):
            return list(value.schema.names)
        for attribute in ("column_names", "columns", "keys"):
            names = getattr(value, attribute, None)
            names = names() if callable(names) else names
            if names is not None:
                return [str(name) for name in names]
        return None

    def hold(self) -> None:
        """Keeps the rows of a query, so that :meth:`select` has those that :meth:`batches` yields, in their order."""

    def read(self, names: list[str]) -> Batches:
        """The columns with these names, batch by batch. The table has each of them once, and names may repeat."""
        self._checked(names)
        return self.batches(list(dict.fromkeys(names)))

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        """The columns, or those with these names, batch by batch. Other columns may be there too."""
        return iter(_nearprint.Batches.of(self.value))

    def _checked(self, names: list[str]) -> list[str]:
        there = self.names
        return names if there is None else checked(names, there)

    def select(self, chosen: Flags) -> Any:
        """The chosen rows, as a table of the same type."""
        raise InputError(f"a {type(self.value).__name__} is read once: without table=, the result has all decisions")

    def with_columns(self, columns: Result) -> Any:
        """The table with more columns, as one of the same type."""
        return self.select(np.empty(0, bool))


def name_of(label: Any) -> str:
    """The name of a column, whose label may be of several levels: the only one that is not empty, or all of them."""
    levels = [level for level in label if level != ""] if isinstance(label, tuple) else [label]
    return str(levels[0] if len(levels) == 1 else label)


class _Columns(Table):
    """A mapping of columns."""

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        lengths = {str(name): _length_of(column) for name, column in self.value.items()}
        if len({length for length in lengths.values() if length is not None}) > 1:
            listed = ", ".join(f"{name!r} has {length}" for name, length in lengths.items() if length is not None)
            raise InputError(f"the columns of a table have one length: {listed}")
        return iter([self.value])

    def select(self, chosen: Flags) -> Any:
        return {name: _chosen(column, chosen) for name, column in self.value.items()}

    def with_columns(self, columns: Result) -> Any:
        return {**self.value, **dict(columns.items())}


class _Pandas(Table):
    @property
    def index(self) -> Any:
        return self.value.index

    @property
    def names(self) -> list[str]:
        return [name_of(label) for label in self.value.columns]

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        return iter([{name_of(label): self.value[label] for label in self.value.columns}])

    def select(self, chosen: Flags) -> Any:
        return self.value[chosen]

    def with_columns(self, columns: Result) -> Any:
        made, levels = self.value.copy(deep=False), self.value.columns.nlevels
        for name, column in columns.items():
            made[name if levels == 1 else (name, *[""] * (levels - 1))] = column
        return made


class _Polars(Table):
    @property
    def names(self) -> list[str]:
        return list(self.value.columns)

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        return iter(_batches_of_polars(self.value if names is None else self.value.select(names)))

    def select(self, chosen: Flags) -> Any:
        import polars

        return self.value.filter(polars.Series(chosen))

    def with_columns(self, columns: Result) -> Any:
        return self.value.with_columns(columns.to_polars())


class _PolarsLazy(Table):
    """A query, whose result is read batch by batch. What is held of it is in a file."""

    @property
    def names(self) -> list[str]:
        return list(self.value.collect_schema().names())

    def hold(self) -> None:
        from polars.io.plugins import register_io_source

        self.value = register_io_source(_Spooled(self.value), schema=self.value.collect_schema())

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        query = self.value if names is None else self.value.select(self._checked(names))
        for frame in _collected(query):
            yield from _batches_of_polars(frame)

    def select(self, chosen: Flags) -> Any:
        import polars

        name = "nearprint.kept"
        return self.with_columns(Result({name: chosen})).filter(polars.col(name)).drop(name)

    def with_columns(self, columns: Result) -> Any:
        import polars

        return polars.concat([self.value, columns.to_polars().lazy()], how="horizontal")


class _Spooled:
    """The rows of a query of polars in a temporary file, which stays as long as a query reads it."""

    def __init__(self, query: Any) -> None:
        self._file = os.path.join(folder_of(self, "nearprint-rows-"), "rows.arrow")
        query.sink_ipc(self._file, compression="zstd")

    def __call__(
        self, columns: Optional[list[str]], predicate: Any, n_rows: Optional[int], batch_size: Optional[int]
    ) -> Iterator[Any]:
        """Frames with some of the columns and of the rows, as polars asks for them."""
        import polars

        rows = polars.scan_ipc(self._file)
        rows = rows if columns is None else rows.select(columns)
        rows = rows if n_rows is None else rows.head(n_rows)
        rows = rows if predicate is None else rows.filter(predicate)
        yield from _collected(rows)


def _collected(query: Any) -> Iterable[Any]:
    """The frames of a query; polars before 1.34 has one frame of it."""
    made: Iterable[Any] = query.collect_batches() if hasattr(query, "collect_batches") else [query.collect()]
    return made


def _batches_of_polars(frame: Any) -> _nearprint.Batches:
    import polars

    # Its columns of nulls have a buffer, which columns of nulls have not in Arrow. Arrow has no integers of 128 bits.
    kinds = [polars.Null, *(getattr(polars, name) for name in ("Int128", "UInt128") if hasattr(polars, name))]
    return _nearprint.Batches.of(frame.with_columns(polars.col(kinds).cast(polars.String)))


def _plain(kind: Any) -> Any:
    """The type of Arrow with the same values that its functions can take from: those of views they cannot."""
    import pyarrow

    views = {"string_view": pyarrow.large_string(), "binary_view": pyarrow.large_binary()}
    return views.get(str(kind), kind)


class _Arrow(Table):
    """A table or a batch of pyarrow."""

    def select(self, chosen: Flags) -> Any:
        import pyarrow

        own = self.value.schema
        plain = pyarrow.schema([field.with_type(_plain(field.type)) for field in own], own.metadata)
        if plain.equals(own):
            return self.value.filter(pyarrow.array(chosen))
        return self.value.cast(plain).filter(pyarrow.array(chosen)).cast(own)

    def with_columns(self, columns: Result) -> Any:
        table = self.value
        for name, column in zip(columns.columns, columns.to_arrow().itercolumns()):
            table = table.append_column(name, column if hasattr(table, "itercolumns") else column.combine_chunks())
        return table


class _ArrowBatches(_Arrow):
    """A list of batches of pyarrow."""

    def __init__(self, value: Any) -> None:
        import pyarrow

        super().__init__(pyarrow.Table.from_batches(value))

    def select(self, chosen: Flags) -> Any:
        return super().select(chosen).to_batches()

    def with_columns(self, columns: Result) -> Any:
        return super().with_columns(columns).to_batches()


class _ArrowIterator(Table):
    """An iterator of batches of pyarrow, whose first one is read already."""

    def __init__(self, first: Any, others: Iterator[Any]) -> None:
        super().__init__(others)
        self._first = first

    @property
    def names(self) -> list[str]:
        return list(self._first.schema.names)

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        for batch in chain([self._first], self.value):
            yield from _nearprint.Batches.of(batch)


class _ArrowScanner(Table):
    """A scan of a dataset of pyarrow, which is read as a stream."""

    @property
    def names(self) -> list[str]:
        return list(self.value.projected_schema.names)

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        return iter(_nearprint.Batches.of(self.value.to_reader()))


class _ArrowDataset(Table):
    """A dataset of pyarrow, which is read batch by batch."""

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        for batch in self.value.to_batches(columns=names and self._checked(names)):
            yield from _nearprint.Batches.of(batch)

    def select(self, chosen: Flags) -> Any:
        return self._dataset(_Arrow(self.value.to_table()).select(chosen))

    def with_columns(self, columns: Result) -> Any:
        return self._dataset(_Arrow(self.value.to_table()).with_columns(columns))

    def _dataset(self, table: Any) -> Any:
        import pyarrow.dataset

        return pyarrow.dataset.dataset(table)


class DuckDb(Table):
    """A relation. Each time that its query is run, rows may have another order."""

    _held: Any = None
    #: Where the result is made, by default the connection of the module.
    connection: Any = None

    @property
    def names(self) -> list[str]:
        return list(self.value.columns)

    def hold(self) -> None:
        import pyarrow

        self._held = pyarrow.table(self.value)

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        return iter(_nearprint.Batches.of(self.value if self._held is None else self._held))

    def select(self, chosen: Flags) -> Any:
        return self._relation(_Arrow(self._held).select(chosen))

    def with_columns(self, columns: Result) -> Any:
        return self._relation(_Arrow(self._held).with_columns(columns))

    def _relation(self, table: Any) -> Any:
        import duckdb

        return (self.connection or duckdb).from_arrow(table)


class _HuggingFace(Table):
    """A ``Dataset``."""

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        for table in self._tables(names):
            yield from _nearprint.Batches.of(table)

    def _tables(self, names: Optional[list[str]]) -> Iterable[Any]:
        chosen = self.value
        if names is not None:
            chosen = chosen.select_columns(self._checked(names))
        tables: Iterable[Any] = chosen.with_format("arrow").iter(ROWS_AT_ONCE)
        return tables

    def select(self, chosen: Flags) -> Any:
        return self.value.select(np.flatnonzero(chosen))

    def with_columns(self, columns: Result) -> Any:
        table = self.value
        for name, column in zip(columns.columns, columns.to_arrow().itercolumns()):
            table = table.add_column(name, column.combine_chunks())
        return table


class _HuggingFaceStream(_HuggingFace):
    """An ``IterableDataset``: it is read twice, and refused where its rows do not come in the same order again."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._seen = _Seen()

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        self._seen = _Seen(names)
        for table in self._tables(names):
            self._seen.extend(table)
            yield from _nearprint.Batches.of(table)

    def select(self, chosen: Flags) -> Any:
        return self.value.filter(_IsChosen(self._seen, chosen), with_indices=True)

    def with_columns(self, columns: Result) -> Any:
        return self.value.map(_Added(self._seen, columns), with_indices=True)


class _Seen:
    """A hash of each text of a stream, by which another reading is known to have the same order."""

    def __init__(self, names: Optional[list[str]] = None) -> None:
        # Texts are the first column that is asked for.
        self._name, self._hashes = names[0] if names else "text", array("I")

    def extend(self, table: Any) -> None:
        self._hashes.extend(_hash_of(text) for text in table[self._name].to_pylist())

    def check(self, row: Any, index: int) -> None:
        """Refuses a row that another one had the place of."""
        if index >= len(self._hashes) or self._hashes[index] != _hash_of(row[self._name]):
            raise InputError(
                f"row {index}: the stream has another order than before; without table=, the result has the decisions"
            )


def _hash_of(text: Any) -> int:
    return zlib.crc32(str(text).encode("utf-8", "surrogatepass"))


class _IsChosen:
    def __init__(self, seen: _Seen, chosen: Flags) -> None:
        self._seen, self._chosen = seen, chosen

    def __call__(self, row: Any, index: int) -> bool:
        self._seen.check(row, index)
        return bool(self._chosen[index])


class _Added:
    def __init__(self, seen: _Seen, columns: Result) -> None:
        self._seen, self._columns = seen, dict(columns.items())

    def __call__(self, row: Any, index: int) -> dict[str, Any]:
        self._seen.check(row, index)
        check_new(self._columns, row)
        values = ((name, column[index : index + 1].tolist()[0]) for name, column in self._columns.items())
        # NaN is the similarity of a kept row.
        return {name: value if value == value else None for name, value in values}


class _HuggingFaceSplits(Table):
    """A ``DatasetDict`` or an ``IterableDatasetDict``: its splits one after the other."""

    def __init__(self, value: Any) -> None:
        super().__init__(value)
        self._splits = {
            name: _HuggingFace(split) if hasattr(split, "select") else _HuggingFaceStream(split)
            for name, split in value.items()
        }
        #: The first row of each split, and the number of all, as they were read.
        self._ends: list[int] = []

    @property
    def names(self) -> Optional[list[str]]:
        """The names that any split has."""
        known = [split.names for split in self._splits.values()]
        return None if None in known else list(dict.fromkeys(name for names in known for name in names or ()))

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        count = 0
        self._ends = [0]
        for split in self._splits.values():
            for batch in split.batches(names):
                count += len(next(iter(batch.values()), ()))
                yield batch
            self._ends.append(count)

    def select(self, chosen: Flags) -> Any:
        return self._each(lambda split, rows: split.select(chosen[rows]))

    def with_columns(self, columns: Result) -> Any:
        return self._each(lambda split, rows: split.with_columns(columns[rows]))

    def _each(self, make: Make) -> Any:
        rows = (slice(*ends) for ends in zip(self._ends, self._ends[1:]))
        return type(self.value)({name: make(split, next(rows)) for name, split in self._splits.items()})


class _Ray(Table):
    """A dataset of Ray. It is computed once, in its own order: otherwise, blocks come as they are ready.

    Its blocks are then read as they are. Ray would take a choice of columns for work, after which blocks come in any
    order again.
    """

    def __init__(self, value: Any) -> None:
        options = value.context.execution_options
        before, options.preserve_order = options.preserve_order, True
        try:
            super().__init__(value.materialize())
        finally:
            options.preserve_order = before

    def batches(self, names: Optional[list[str]] = None) -> Batches:
        for table in self._tables(names):
            yield from _nearprint.Batches.of(table)

    def select(self, chosen: Flags) -> Any:
        return self._dataset(lambda table, rows: table.select(chosen[rows]))

    def with_columns(self, columns: Result) -> Any:
        return self._dataset(lambda table, rows: table.with_columns(columns[rows]))

    def _tables(self, names: Optional[list[str]] = None) -> Iterable[Any]:
        chosen = None if names is None else self._checked(names)
        tables: Iterable[Any] = self.value.iter_batches(batch_size=ROWS_AT_ONCE, batch_format="pyarrow")
        return tables if chosen is None else (table.select(chosen) for table in tables)

    def _dataset(self, make: Make) -> Any:
        import ray.data

        made, count = [], 0
        for table in self._tables():
            made.append(make(_Arrow(table), slice(count, count + len(table))))
            count += len(table)
        return ray.data.from_arrow(made)


#: Makes a part of a table of some of its rows.
Make = Callable[[Table, slice], Any]

#: The classes of tables, by the package and the name of their types.
_KINDS: dict[tuple[str, str], type[Table]] = {
    ("pandas", "DataFrame"): _Pandas,
    ("polars", "DataFrame"): _Polars,
    ("polars", "LazyFrame"): _PolarsLazy,
    ("pyarrow", "Table"): _Arrow,
    ("pyarrow", "RecordBatch"): _Arrow,
    ("pyarrow", "Dataset"): _ArrowDataset,
    ("pyarrow", "Scanner"): _ArrowScanner,
    ("duckdb", "DuckDBPyRelation"): DuckDb,
    ("_duckdb", "DuckDBPyRelation"): DuckDb,
    ("datasets", "DatasetDict"): _HuggingFaceSplits,
    ("datasets", "IterableDatasetDict"): _HuggingFaceSplits,
    ("datasets", "Dataset"): _HuggingFace,
    ("datasets", "IterableDataset"): _HuggingFaceStream,
    ("ray", "Dataset"): _Ray,
}


def checked(names: list[str], there: Iterable[Any]) -> list[str]:
    """Names of columns that a table has."""
    listed = [str(name) for name in there]
    for name in names:
        if name not in listed:
            raise InputError(f"the table has no column {name!r}, but {', '.join(listed) or 'none'}")
        if listed.count(name) > 1:
            raise InputError(f"the table has {listed.count(name)} columns {name!r}, and one is wanted")
    return names


def check_new(new: Iterable[str], there: Iterable[str]) -> None:
    """Refuses names of new columns that a table has already."""
    for name in new:
        if name in there:
            raise InputError(f"{name}: is a column already, and the name of a new one")


def table_of(value: Any) -> Optional[Table]:
    """A table of any library, a mapping of columns, or Arrow data with named columns; ``None`` for anything else."""
    if isinstance(value, Table):
        return value
    found = _kind_of(value)
    if found is not None:
        return found(value)
    if isinstance(value, Mapping):
        return _Columns(value)
    if isinstance(value, (list, tuple)):
        return _ArrowBatches(list(value)) if _are_batches(value) else None
    kind = type(value)
    has_names = any(hasattr(kind, name) for name in ("columns", "column_names", "read_next_batch", "table"))
    is_arrow = hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")
    return Table(value) if has_names and is_arrow else None


def read_once(value: Any) -> Any:
    """An iterator as a list, or one of batches of pyarrow as a table; anything else as it is."""
    if not hasattr(value, "__next__") or hasattr(value, "__arrow_c_stream__"):
        return value
    first = list(islice(value, 1))
    return _ArrowIterator(first[0], value) if _are_batches(first) else [*first, *value]


def _are_batches(values: Sequence[Any]) -> bool:
    return bool(values) and _kind_of(values[0]) is _Arrow and type(values[0]).__name__ == "RecordBatch"


def _kind_of(value: Any) -> Optional[type[Table]]:
    found = (_KINDS.get((kind.__module__.partition(".")[0], kind.__name__)) for kind in type(value).__mro__)
    return next((kind for kind in found if kind is not None), None)


def _length_of(column: Any) -> Optional[int]:
    try:
        return len(column)
    except TypeError:
        return None


def _chosen(column: Any, chosen: Flags) -> Any:
    """The chosen values of a column."""
    if isinstance(column, (list, tuple)):
        return type(column)(value for value, is_chosen in zip(column, chosen) if is_chosen)
    library = type(column).__module__.partition(".")[0]
    if library == "pyarrow":
        return column.cast(_plain(column.type)).filter(chosen.tolist()).cast(column.type)
    return column.filter(chosen.tolist()) if library == "polars" else column[chosen]
