"""Results: columns of the same length, one NumPy array each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from . import _nearprint

Array = npt.NDArray[Any]


class Result:
    """A table of results: names of columns to NumPy arrays of the same length.

    ``result["id"]`` is a column, ``dict(result)`` has all of them, ``result.columns`` their names;
    ``len(result)`` is the number of rows, and ``result[:100]`` a table of the first ones. Each method
    lists its columns; these are their types:

    =================================  ==================================================================
    ``query``, ``cluster``             int64: the index of the query, the number of the cluster
    ``id``, ``id_a``, ``id_b``         uint64
    ``fingerprint``, ``a``, ``b``      uint64, shape (n,); (n, 2) for 128 bits, (n, 4) for 256, the least
                                       significant word first
    ``distance``                       uint32: bits that differ
    ``key``                            object: ``str``, or ``None`` for a row without a key; only if the
                                       database stores keys. A row is repeated for each of its keys.
    =================================  ==================================================================

    In Arrow and pandas, fingerprints of more than 64 bits are bytes, the most significant byte first.
    """

    __slots__ = ("_columns",)

    def __init__(self, columns: dict[str, Array]) -> None:
        self._columns = columns

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self._columns)

    @overload
    def __getitem__(self, name: str) -> Array: ...
    @overload
    def __getitem__(self, name: slice) -> Result: ...
    def __getitem__(self, name: Union[str, slice]) -> Union[Array, Result]:
        if isinstance(name, slice):
            return Result({column: array[name] for column, array in self._columns.items()})
        return self._columns[name]

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

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

    def __repr__(self) -> str:
        columns = ", ".join(self._columns)
        return f"<Result: {len(self)} rows of {columns}>"

    def __arrow_c_stream__(self, requested_schema: Optional[object] = None) -> object:
        """The table as an Arrow stream, for any library that reads Arrow data."""
        given = [(name, *_for_arrow(array)) for name, array in self._columns.items()]
        return _nearprint.arrow_table(given).__arrow_c_stream__(requested_schema)

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table``.

        Raises ``ImportError`` without pyarrow. Other libraries read ``__arrow_c_stream__``.
        """
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame``. Raises ``ImportError`` without pandas."""
        import pandas

        return pandas.DataFrame({name: _for_pandas(array) for name, array in self._columns.items()})

    def to_polars(self) -> Any:
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
        #: All columns, without rows; known from the first block on.
        self._empty = Result({})

    def __iter__(self) -> Blocks:
        return self

    def __next__(self) -> Result:
        block = Result(_with_arrays(next(self._stream)))
        self._empty = Result({name: array[:0] for name, array in block.items()})
        return block

    def __enter__(self) -> Blocks:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def table(self) -> Result:
        """All remaining blocks as one table."""
        blocks = list(self)
        if len(blocks) < 2:
            return blocks[0] if blocks else self._empty
        return Result({name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]})

    def close(self) -> None:
        """Cancels the search."""
        self._stream.close()


def result_of(columns: dict[str, Any]) -> Result:
    """A result from the columns of the native module."""
    return Result(_with_arrays(columns))


def _with_arrays(columns: dict[str, Any]) -> dict[str, Array]:
    """The same columns, with the list of keys as an array."""
    if isinstance(columns.get("key"), list):
        columns["key"] = np.array(columns["key"], dtype=object)
    return columns


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


def _for_pandas(array: Array) -> Any:
    if array.ndim == 1:
        return array
    in_order = np.ascontiguousarray(array[:, ::-1].astype(">u8"))
    return [row.tobytes() for row in in_order]
