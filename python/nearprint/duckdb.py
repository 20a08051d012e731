"""Functions of DuckDB, over Arrow: ``nearprint.duckdb.register(connection)``.

==================================  ==================================================================
``nearprint_fingerprint(text)``     the fingerprint by the recipe: ``UBIGINT`` of 64 bits, otherwise ``BLOB``
``nearprint_distance(a, b)``        the number of bits in which such fingerprints differ, or sketches of MinHash
``nearprint_find(text)``            with a database: the keys of its near rows, ``VARCHAR[]``, as of
                                    :meth:`nearprint.Database.find`
==================================  ==================================================================

``NULL`` stays ``NULL``. Rows of a database need no function: ``rows = database.rows()``, and then ``FROM rows``.
"""

from __future__ import annotations

import contextlib
from typing import Any, Optional

import numpy as np
import pyarrow
from duckdb import DuckDBPyConnection, InvalidInputException

from . import _lists, _nearprint, _texts
from ._database import Database
from ._errors import InputError
from ._result import Result

__all__ = ["register"]


def register(connection: DuckDBPyConnection, database: Optional[Database] = None, recipe: Optional[str] = None) -> None:
    """Registers the functions for a ``recipe``, by default that of the ``database``, or ``minhash``.

    The database has to stay open. Functions of an earlier call are replaced. Raises ``InputError`` for a database
    without a recipe or without keys.
    """
    if database is not None and (database.recipe is None or not database.keeps_keys or recipe is not None):
        raise InputError("database: one with a recipe and with keys is wanted, and no other recipe")
    line, width, bands = _nearprint.recipe_line(recipe or (database and database.recipe) or "minhash")
    kind = "UBIGINT" if width == 64 else "BLOB"

    def fingerprints(texts: Any) -> Any:
        return Result({"fingerprint": _texts.fingerprint(_listed(texts), line)}).to_arrow()["fingerprint"]

    def distances(a: Any, b: Any) -> Any:
        return pyarrow.array(_lists.distance(_listed(a), _listed(b), width=width, bands=bands), pyarrow.uint32())

    def keys(texts: Any) -> Any:
        assert database is not None
        found = database.find(_listed(texts))
        ends = np.searchsorted(found["query"], np.arange(len(texts) + 1))
        return pyarrow.ListArray.from_arrays(ends.astype(np.int32), pyarrow.array(found["key"], pyarrow.string()))

    functions: dict[str, Any] = {
        "fingerprint": (fingerprints, ["VARCHAR"], kind),
        "distance": (distances, [kind, kind], "UINTEGER"),
    }
    if database is not None:
        functions["find"] = (keys, ["VARCHAR"], "VARCHAR[]")
    by_arrow: Any = "arrow"
    for name, (function, takes, returns) in functions.items():
        # Those of an earlier call are replaced.
        with contextlib.suppress(InvalidInputException):
            connection.remove_function(f"nearprint_{name}")
        connection.create_function(f"nearprint_{name}", function, takes, returns, type=by_arrow)


def _listed(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "combine_chunks") else column
