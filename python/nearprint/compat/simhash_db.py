"""The ``Client`` of simhash-db, on a nearprint database instead of a server.

Programs for simhash-db change the backend, and add the folder of the files::

    from nearprint.compat.simhash_db import Client

    with Client("nearprint", "pages", num_blocks=6, num_bits=3, path="/var/lib/simhashes") as client:
        client.insert([12345, 54321])
        client.find_one(12345 ^ 1)           # 12345
        client.find_all([12345, 99])         # [[12345], []]
"""

from __future__ import annotations

import operator
import os
import shutil
import threading
import uuid
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Optional, Union, overload

import numpy as np
import numpy.typing as npt

from .. import _database, _making
from .._arrays import place_of
from .._database import Database, Path
from .._errors import Error, InputError
from .._making import is_there
from .._settings import settings_of

__all__ = ["BackendUnsupported", "Client"]

#: The number of bits of a hash, and the largest number of blocks.
_BITS = 64

#: One hash.
Hash = Union[int, "np.integer[Any]"]
#: Several hashes: an iterable, an array of uint64, or any other argument of ``Database.add``.
Hashes = Union[Iterable[Hash], npt.NDArray[np.uint64]]


class BackendUnsupported(ValueError):
    """The backend does not exist."""


class Client:
    """A set of 64-bit hashes on disk, with queries for hashes within ``num_bits`` bits.

    The database is the folder ``name + ".np"`` in ``path``. The first ``insert`` creates it; an
    existing database is opened. Inserted hashes are durable, and visible to all other clients, when
    ``insert`` returns. Each hash is stored once, with itself as the id.

    Several threads may use a client; their calls wait for each other. A list is answered on all
    cores. Only one process may insert: the first ``insert`` takes the lock, ``close`` releases it.

    ``num_blocks`` is checked as in simhash-py, and does not affect the search: results are exact for
    any ``num_bits``. A database may be opened with another ``num_bits`` than it was created with.
    """

    def __init__(
        self,
        backend: str,
        name: str,
        num_blocks: int,
        num_bits: int,
        *args: Any,
        path: Optional[Path] = None,
        threads: Optional[int] = None,
        memory: Optional[int] = None,
        memtable_rows: Optional[int] = None,
        background_merges: bool = True,
        wait: float = 0.0,
        **others: Any,
    ) -> None:
        """Opens the database, if there is one.

        The options after ``path`` are the same as for :func:`nearprint.open`.

        Raises ``BackendUnsupported``, a ``ValueError``, for a backend other than ``"nearprint"``;
        ``ValueError`` unless there are more blocks than bits, for more than 64 blocks, and for a name
        that is not a file name; ``TypeError`` without ``path`` and for arguments of other backends;
        ``Error`` as :func:`nearprint.open`.
        """
        if backend != "nearprint":
            raise BackendUnsupported(f"backend {backend!r}: there is one, 'nearprint'")
        if path is None:
            raise TypeError("path: the folder for the databases is wanted")
        if args:
            raise TypeError(f"{len(args)} arguments behind num_bits, where path= and options have names")
        if others:
            raise TypeError(f"{', '.join(others)}: no such option")
        _check_name(name)
        self.name = name
        self.num_blocks, self.num_bits = _check_blocks(num_blocks, num_bits)
        self._path = os.path.join(place_of(path), f"{name}.np")
        self._options: dict[str, Any] = {
            "threads": threads,
            "memory": memory,
            "memtable_rows": memtable_rows,
            "background_merges": background_merges,
            "wait": wait,
        }
        self._lock = threading.RLock()
        self._database: Optional[Database] = None
        #: The device and inode of the database's folder.
        self._identity: Optional[tuple[int, int]] = None
        self._closed = False
        settings_of(**self._options)
        self._standing()

    @property
    def path(self) -> str:
        """The folder of the database, as an absolute path."""
        return self._path

    def insert(self, hash_or_hashes: Union[Hash, Hashes]) -> None:
        """Inserts one hash or several, and makes them durable with one write to disk.

        Raises ``InputError``, a ``ValueError``, for numbers below 0 or of more than 64 bits,
        ``TypeError`` for items that are not numbers, ``LockedError`` while another client inserts.
        Then nothing is inserted.
        """
        hashes, _ = _listed(hash_or_hashes)
        with self._lock:
            database = self._standing() or self._made()
            database.add(hashes, ids=hashes)
            database.commit()

    @overload
    def find_one(self, hash_or_hashes: Hash) -> Optional[int]: ...
    @overload
    def find_one(self, hash_or_hashes: Hashes) -> list[Optional[int]]: ...

    def find_one(self, hash_or_hashes: Union[Hash, Hashes]) -> Union[Optional[int], list[Optional[int]]]:
        """The nearest hash within ``num_bits`` bits, the smallest of several, or ``None``.

        Returns a list of these for several hashes. Raises as :meth:`insert`, without ``LockedError``:
        queries do not need the lock.
        """
        hashes, is_one = _listed(hash_or_hashes)
        nearest = [found[0] if found else None for found in self._found(hashes)]
        return nearest[0] if is_one else nearest

    @overload
    def find_all(self, hash_or_hashes: Hash) -> list[int]: ...
    @overload
    def find_all(self, hash_or_hashes: Hashes) -> list[list[int]]: ...

    def find_all(self, hash_or_hashes: Union[Hash, Hashes]) -> Union[list[int], list[list[int]]]:
        """All hashes within ``num_bits`` bits, by distance, then number.

        Returns a list of such lists for several hashes. Raises as :meth:`find_one`.
        """
        hashes, is_one = _listed(hash_or_hashes)
        found = self._found(hashes)
        return found[0] if is_one else found

    def delete(self) -> None:
        """Deletes the database from the disk. ``insert`` creates a new one.

        Other clients find no hashes from then on. Raises ``LockedError`` while one of them inserts.
        """
        with self._lock:
            database = self._standing()
            if database is None:
                return
            database.delete([])
            database.commit()
            self._database = None
            database.close()
            doomed = f"{self._path}.{uuid.uuid4().hex}"
            # If the removal is interrupted, the rest must not look like a database.
            os.rename(self._path, doomed)
            shutil.rmtree(doomed)

    def close(self) -> None:
        """Closes the database; a second call does nothing. All other methods then raise ``Error``."""
        with self._lock:
            self._closed = True
            database, self._database = self._database, None
            if database is not None:
                database.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<simhash_db.Client {self._path!r}: {self.num_bits} bits>"

    def _standing(self) -> Optional[Database]:
        """The database, if there is one."""
        if self._closed:
            raise Error(f"{self._path}: the client is closed")
        if self._database is not None and _identity_of(self._path) != self._identity:
            # Another client has deleted it, and perhaps created a new one.
            self._database.close()
            self._database = None
        if self._database is None and is_there(self._path):
            self._identity = _identity_of(self._path)
            database = _database.open(self._path, **self._options)
            if database.width != _BITS:
                database.close()
                raise InputError(f"{self._path}: fingerprints of {database.width} bits, where hashes have {_BITS}")
            self._database = database
        return self._database

    def _made(self) -> Database:
        os.makedirs(os.path.dirname(self._path) or ".", exist_ok=True)
        self._database = _making.create(self._path, k=self.num_bits, **self._options)
        self._identity = _identity_of(self._path)
        return self._database

    def _found(self, hashes: Any) -> list[list[int]]:
        """The hashes within ``num_bits`` bits of each hash."""
        found: list[list[int]] = [[] for _ in range(len(hashes))]
        with self._lock:
            database = self._standing()
            if database is None:
                return found
            database.refresh()
            result = database.query_batch(hashes, self.num_bits)
        for query, value in zip(result["query"].tolist(), result["fingerprint"].tolist()):
            # A database that a client did not create may have several rows of one hash.
            if found[query][-1:] != [value]:
                found[query].append(value)
        return found


def _identity_of(path: str) -> Optional[tuple[int, int]]:
    """The device and inode of a folder, which distinguish it from a later one at the same path."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _listed(hash_or_hashes: Any) -> tuple[Any, bool]:
    """Hashes with a length, and whether the argument was a single hash."""
    if isinstance(hash_or_hashes, (str, bytes)):
        raise TypeError(f"{type(hash_or_hashes).__name__} is no hash: an int is wanted, or an iterable of them")
    if isinstance(hash_or_hashes, np.ndarray) and hash_or_hashes.dtype == np.uint8:
        hash_or_hashes = hash_or_hashes.astype(np.uint64)
    if _is_column(hash_or_hashes):
        return hash_or_hashes, False
    try:
        return [operator.index(hash_or_hashes)], True
    except TypeError:
        pass
    if not isinstance(hash_or_hashes, Iterable):
        raise TypeError(f"{type(hash_or_hashes).__name__} is no hash: an int is wanted, or an iterable of them")
    return [_number(value) for value in hash_or_hashes], False


def _is_column(values: Any) -> bool:
    """Whether the hashes need not become a list: an array, a series, an Arrow array."""
    if isinstance(values, np.ndarray):
        return values.ndim > 0
    is_arrow = hasattr(values, "__arrow_c_array__") or hasattr(values, "__arrow_c_stream__")
    return is_arrow and hasattr(values, "__len__")


def _number(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{type(value).__name__} is no hash: an int is wanted") from None


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"name: a str is wanted, not {type(name).__name__}")
    if not name or "\0" in name or os.path.basename(name) != name or name.startswith("."):
        raise InputError(f"name {name!r}: the name of a file is wanted, without folders and not with a dot in front")


def _check_blocks(num_blocks: int, num_bits: int) -> tuple[int, int]:
    num_blocks, num_bits = operator.index(num_blocks), operator.index(num_bits)
    if num_bits < 0:
        raise InputError(f"num_bits = {num_bits}: negative")
    if num_blocks > _BITS:
        raise InputError(f"num_blocks = {num_blocks}: hashes have {_BITS} bits")
    if num_blocks <= num_bits:
        raise InputError(f"num_blocks = {num_blocks}: more than num_bits = {num_bits} are wanted")
    return num_blocks, num_bits
