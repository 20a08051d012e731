"""Results: columns of the same length, one NumPy array each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._shown import html_table, html_text, text_table

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Array = npt.NDArray[Any]

#: Columns of fingerprints.
FINGERPRINTS = ("fingerprint", "a", "b")

_ROWS_AT_ONCE = 1 << 12


class Result:
    """A table of results: names of columns to NumPy arrays of the same length.

    ``result["id"]`` is a column, ``dict(result)`` has all of them, ``result.columns`` their names;
    ``result[["id", "key"]]`` is a table of some of them. ``len(result)`` is the number of rows, ``result[0]`` a row as
    a ``dict``, ``result[:100]``, ``result[mask]`` and ``result[indexes]`` are tables of some rows, and iteration
    yields a ``dict`` for each. It is printed as a table. Each method lists its columns; these are their types:

    =================================  ==================================================================
    ``query``, ``cluster``             int64: the index of the query, the number of the cluster (a fingerprint for
                                       ``partition.components``)
    ``id``, ``id_a``, ``id_b``         uint64
    ``fingerprint``, ``a``, ``b``      uint64, shape (n,); (n, 2) for 128 bits, (n, 4) for 256, (n, 5) for 320, the
                                       least significant word first
    ``distance``                       uint32: bits that differ
    ``key``                            object: ``str``, or ``None`` for a row without a key; only if the
                                       database stores keys. A row is repeated for each of its keys.
    ``key_a``, ``key_b``               object: ``str``; of pairs of documents
    ``similarity``                     float64: exact, 0 to 1; of documents whose evidence the database keeps
    =================================  ==================================================================

    In Arrow and pandas, fingerprints of more than 64 bits are bytes, the most significant byte first. A similarity that
    is NaN is null in Arrow.
    """

    __slots__ = ("_columns", "_index")

    def __init__(self, columns: dict[str, Array]) -> None:
        self._columns = columns
        #: The labels of the rows of a frame of pandas.
        self._index: Any = None

    def with_index(self, index: Any) -> Result:
        """The same table, whose frame of pandas has this index."""
        result = Result(self._columns)
        result._index = index
        return result

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @overload
    def __getitem__(self, name: Literal["id", "id_a", "id_b", "fingerprint", "a", "b"]) -> npt.NDArray[np.uint64]: ...
    @overload
    def __getitem__(self, name: Literal["query", "duplicate_of"]) -> npt.NDArray[np.int64]: ...
    @overload
    def __getitem__(self, name: Literal["distance"]) -> npt.NDArray[np.uint32]: ...
    @overload
    def __getitem__(self, name: Literal["key"]) -> npt.NDArray[np.object_]: ...
    @overload
    def __getitem__(self, name: str) -> Array: ...
    @overload
    def __getitem__(self, name: Union[int, np.integer[Any]]) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, name: Union[slice, list[str], list[int], list[bool], Array]) -> Result: ...
    def __getitem__(self, name: Any) -> Any:
        if isinstance(name, str):
            return self._columns[name]
        if isinstance(name, list) and name and isinstance(name[0], str):
            return Result({column: self._columns[column] for column in name}).with_index(self._index)
        if isinstance(name, (int, np.integer)) and not isinstance(name, bool):
            at = range(len(self))[name]
            return self[at : at + 1].to_pylist()[0]
        rows = name if isinstance(name, slice) else _rows(name, len(self))
        chosen = Result({column: array[rows] for column, array in self._columns.items()})
        return chosen if self._index is None else chosen.with_index(self._index[rows])

    def _ipython_key_completions_(self) -> list[str]:
        return list(self._columns)

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """The rows, as in :meth:`to_pylist`."""
        for start in range(0, len(self), _ROWS_AT_ONCE):
            yield from self[start : start + _ROWS_AT_ONCE].to_pylist()

    def __len__(self) -> int:
        return len(next(iter(self._columns.values()), ()))

    def keys(self) -> tuple[str, ...]:
        """The names of the columns, as in a mapping."""
        return self.columns

    def values(self) -> tuple[Array, ...]:
        """The columns."""
        return tuple(self._columns.values())

    def items(self) -> tuple[tuple[str, Array], ...]:
        """Names and columns."""
        return tuple(self._columns.items())

    def head(self, rows: int = 5) -> Result:
        """The first rows."""
        return self[: max(rows, 0)]

    def to_pylist(self) -> list[dict[str, Any]]:
        """A ``dict`` for each row, of Python's own types; fingerprints of all widths are ``int``."""
        columns = [_as_list(array) for array in self._columns.values()]
        return [dict(zip(self._columns, row)) for row in zip(*columns)]

    def hexadecimal(self) -> Result:
        """The same table with fingerprints as texts: all hexadecimal digits, as other functions read them in lists."""
        columns = {name: _digits(array) if _are_prints(name, array) else array for name, array in self.items()}
        return Result(columns).with_index(self._index)

    def _shown(self, rows: int) -> list[list[str]]:
        """The first rows as texts."""
        return [[str(value) for value in row.values()] for row in self.head(rows).hexadecimal().to_pylist()]

    def _repr_html_(self) -> str:
        """The first rows as a table, for notebooks."""
        return html_table(self.columns, self._shown(10), len(self))

    def __repr__(self) -> str:
        return text_table(self.columns, self._shown(10), len(self))

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """The table as an Arrow stream, for any library that reads Arrow data."""
        given = [(name, *_for_arrow(array)) for name, array in self._columns.items()]
        return _nearprint.arrow_table(given)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        """Raises ``TypeError``: a table is no array. ``pandas.DataFrame(result)`` calls this."""
        raise _no_array(self)

    def to_arrow(self) -> pyarrow.Table:
        """A ``pyarrow.Table``.

        Raises ``ImportError`` without pyarrow. Other libraries read ``__arrow_c_stream__``.
        """
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """A ``pandas.DataFrame``. Raises ``ImportError`` without pandas."""
        import pandas

        columns = {name: _one_dimensional(array) for name, array in self._columns.items()}
        return pandas.DataFrame(columns, index=self._index)

    def to_polars(self) -> polars.DataFrame:
        """A ``polars.DataFrame``. Raises ``ImportError`` without polars."""
        import polars

        return polars.DataFrame(self)


class Blocks(Iterator[Result]):
    """An iterator over blocks of results, each a :class:`Result`. Only a few blocks are in memory.

    ``close()`` cancels the search, and so does dropping the iterator, or leaving it as a context
    manager. The last block may be empty. The search continues after the database is closed.
    """

    def __init__(self, stream: _nearprint.Stream) -> None:
        self._stream = stream

    def __iter__(self) -> Blocks:
        return self

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._stream.empty())

    def __repr__(self) -> str:
        return f"<nearprint.Blocks: a stream of tables of {', '.join(self.columns)}; table() reads all>"

    def _repr_html_(self) -> str:
        return html_text(repr(self))

    def __next__(self) -> Result:
        return result_of(next(self._stream))

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def table(self) -> Result:
        """All remaining blocks as one table. Without any, it has the columns and no rows."""
        return joined(list(self) or [result_of(self._stream.empty())])

    def to_arrow(self) -> pyarrow.Table:
        """All remaining blocks as a ``pyarrow.Table``. Raises ``ImportError`` without pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """All remaining blocks as a ``pandas.DataFrame``. Raises ``ImportError`` without pandas."""
        return self.table().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """All remaining blocks as a ``polars.DataFrame``. Raises ``ImportError`` without polars."""
        import polars

        return polars.DataFrame(self)

    def to_pylist(self) -> list[dict[str, Any]]:
        """All remaining rows, as in :meth:`Result.to_pylist`."""
        return [row for block in self for row in block]

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """The remaining blocks as an Arrow stream, block by block, for any library that reads Arrow data."""
        return _nearprint.arrow_stream(self._stream)

    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any:
        """Raises ``TypeError``: tables are no array. ``pandas.DataFrame(blocks)`` calls this."""
        raise _no_array(self)

    def close(self) -> None:
        """Cancels the search."""
        self._stream.close()


def result_of(columns: dict[str, Any]) -> Result:
    """A result from the columns of the native module."""
    return Result(_with_arrays(columns))


def joined(results: list[Result]) -> Result:
    """The rows of one result or more as one table."""
    if len(results) == 1:
        return results[0]
    return Result({name: np.concatenate([result[name] for result in results]) for name in results[0].columns})


def _no_array(table: Any) -> TypeError:
    return TypeError(f"a {type(table).__name__} is no array, nor rows for pandas.DataFrame: to_pandas() makes a frame")


def _with_arrays(columns: dict[str, Any]) -> dict[str, Array]:
    """The same columns, with lists of keys as arrays."""
    return {
        name: np.array(column, dtype=object) if isinstance(column, list) else column for name, column in columns.items()
    }


def _for_arrow(array: Array) -> tuple[Any, int]:
    if array.dtype == object:
        return array.tolist(), 1
    words = array.shape[1] if array.ndim == 2 else 1
    return np.ascontiguousarray(array).reshape(-1), words


def _as_list(array: Array) -> list[Any]:
    values: list[Any] = array.tolist()
    if array.ndim == 1:
        return values
    return [sum(word << 64 * at for at, word in enumerate(words)) for words in values]


def _one_dimensional(array: Array) -> Array:
    if array.ndim == 1:
        return array
    in_order = np.ascontiguousarray(array[:, ::-1].astype(">u8"))
    listed = np.empty(len(array), object)
    listed[:] = [row.tobytes() for row in in_order]
    return listed


def _are_prints(name: str, array: Array) -> bool:
    return name in FINGERPRINTS and array.dtype == np.uint64


def _digits(array: Array) -> Array:
    digits = 16 if array.ndim == 1 else 16 * array.shape[1]
    texts = np.empty(len(array), object)
    texts[:] = [f"{value:0{digits}x}" for value in _as_list(array)]
    return texts


def _rows(chosen: Any, count: int) -> Array:
    """A mask or indexes of rows."""
    rows = np.asarray(chosen)
    if rows.size == 0 and rows.dtype.kind == "f":
        rows = rows.astype(np.int64)
    if rows.ndim != 1 or rows.dtype.kind not in "bui":
        raise TypeError(f"rows: {type(chosen).__name__}, where a number, a slice, a mask or indexes are wanted")
    if rows.dtype.kind == "b" and len(rows) != count:
        raise IndexError(f"a mask of {len(rows)} rows, and a table of {count}")
    return rows
