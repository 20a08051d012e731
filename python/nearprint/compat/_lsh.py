"""``MinHashLSH`` of datasketch 2, with an index on disk."""

from __future__ import annotations

import ast
import base64
import hashlib
import json
import os
import pickle
import warnings
from collections.abc import Hashable, Iterator, Mapping
from itertools import cycle
from types import TracebackType
from typing import Any, Callable, Optional

import numpy as np

from .. import _database, _making
from .._arrays import place_of
from .._database import Database, Path
from .._temporary import folder_of

__all__ = ["MinHashLSH"]

#: The file of the parameters of an index.
_PARAMETERS = "PARAMETERS.json"

#: Keys that are inserted or removed between two commits.
_CHANGED_BETWEEN_COMMITS = 10_000


class MinHashLSH:
    """An index of MinHashes: finds those with an equal band.

    Arguments and methods are datasketch's. The index is in the folder ``path``, which is made if it does not exist;
    without a ``path`` it is temporary. The folder remembers the parameters and the scheme of the MinHashes: others
    raise ``ValueError``. ``storage_config`` is ignored with a ``UserWarning``. Inserted keys are found at once, and
    durable after :meth:`commit` or :meth:`close`, or when 10,000 have changed; the end of a ``with`` closes, after an
    exception, too. Keys are texts, numbers, bytes, and tuples of these; ``prepickle=True`` allows others, which are
    unpickled from the folder.
    """

    def __init__(
        self,
        threshold: float = 0.9,
        num_perm: int = 128,
        weights: tuple[float, float] = (0.5, 0.5),
        params: Optional[tuple[int, int]] = None,
        storage_config: Optional[dict[str, Any]] = None,
        prepickle: Optional[bool] = None,
        hashfunc: Optional[Callable[[bytes], bytes]] = None,
        *,
        path: Optional[Path] = None,
    ) -> None:
        if storage_config is not None and storage_config.get("type") != "dict":
            warnings.warn("storage_config: is ignored; path= is the folder of the index", UserWarning, stacklevel=2)
        if not 0 <= threshold <= 1:
            raise ValueError("threshold must be in [0.0, 1.0]")
        if num_perm < 2:
            raise ValueError("Too few permutation functions")
        if any(not 0 <= weight <= 1 for weight in weights) or sum(weights) != 1:
            raise ValueError("Weights must be in [0.0, 1.0], and sum to 1.0")
        self.b, self.r = params or _best_params(threshold, num_perm, weights)
        if self.b * self.r > num_perm:
            raise ValueError(f"{self.b} bands of {self.r}: need more than num_perm = {num_perm} values")
        if self.b < 2:
            raise ValueError("The number of bands are too small (b < 2)")
        self.h, self.prepickle, self.hashfunc = num_perm, bool(prepickle), hashfunc
        self.hashranges = [(band * self.r, (band + 1) * self.r) for band in range(self.b)]
        #: The scheme of the MinHashes, once there was one.
        self._scheme: Optional[str] = None
        self._buffer: list[Any] = []
        self._path = None if path is None else place_of(path)
        self._open()

    def _open(self) -> None:
        #: The scheme that the folder remembers.
        self._stored_scheme: Optional[str] = None
        #: Bands of keys that were inserted since the last commit, and what was removed before that. A key that was
        #: inserted again has the bands of all its MinHashes: those of the second one follow those of the first.
        self._inserted: dict[str, list[bytes]] = {}
        self._prints: dict[int, list[str]] = {}
        self._removed: set[str] = set()
        #: ``None`` before the first commit of a temporary index.
        self._database = None if self._path is None else self._stored(self._path)

    def _stored(self, folder: str) -> Database:
        """The database of the index in a folder, which is made if it is not there."""
        os.makedirs(folder, exist_ok=True)
        place, own = os.path.join(folder, _PARAMETERS), {"num_perm": self.h, "bands": self.b, "rows": self.r}
        if os.path.exists(place):
            with open(place) as file:
                found = json.load(file)
            scheme = found.pop("scheme")
            if found != own:
                raise ValueError(f"{folder}: is an index with {found}, not {own}")
            self._check_scheme(scheme)
            self._scheme, self._stored_scheme = self._scheme or scheme, scheme
        else:
            self._store_parameters(folder)
        bands = os.path.join(folder, "bands.np")
        if _making.is_there(bands):
            return _database.open(bands)
        return _making.create(bands, k=0, keys=True, texts=True)

    def _store_parameters(self, folder: str) -> None:
        """Writes the parameters of the index, all or nothing, and durable."""
        place = os.path.join(folder, _PARAMETERS)
        with open(f"{place}.new", "w") as file:
            json.dump({"num_perm": self.h, "bands": self.b, "rows": self.r, "scheme": self._scheme}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(f"{place}.new", place)
        if os.name == "posix":
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
        self._stored_scheme = self._scheme

    def _check_scheme(self, scheme: Optional[str]) -> None:
        """Refuses MinHashes of another scheme than the index has."""
        if None not in (scheme, self._scheme) and scheme != self._scheme:
            raise ValueError(f"MinHash scheme {scheme!r} does not match scheme {self._scheme!r} of this index")

    # Bands.

    def _bands(self, minhash: Any) -> list[bytes]:
        if len(minhash) != self.h:
            raise ValueError(f"Expecting minhash with length {self.h}, got {len(minhash)}")
        self._check_scheme(getattr(minhash, "scheme", None))
        bands = [minhash.hashvalues[start:end].byteswap().tobytes() for start, end in self.hashranges]
        return bands if self.hashfunc is None else [self.hashfunc(band) for band in bands]

    def _found(self, bands: list[bytes]) -> list[str]:
        """The keys with an equal band, each once."""
        prints = self._prints_of(bands)
        stored: Any = [] if self._database is None else self._database.query_batch(prints, 0)["key"]
        keys = dict.fromkeys(key for key in stored if key not in self._removed)
        for one in prints.tolist():
            keys.update(dict.fromkeys(self._prints.get(one, ())))
        return list(keys)

    # Changes.

    def insert(self, key: Hashable, minhash: Any, check_duplication: bool = True) -> None:
        """Inserts a key with its MinHash. Raises ``ValueError`` for a key that is there.

        If that is not checked, such a key has both MinHashes: each of them finds it.
        """
        bands = self._bands(minhash)
        self._scheme = self._scheme or getattr(minhash, "scheme", None)
        self._insert(self._text_of(key), bands, check_duplication)

    def _insert(self, text: str, bands: list[bytes], check_duplication: bool) -> None:
        if check_duplication and self._has(text):
            raise ValueError("The given key already exists")
        self._inserted.setdefault(text, []).extend(bands)
        for one in self._prints_of(bands).tolist():
            self._prints.setdefault(one, []).append(text)
        self._commit_if_due()

    def remove(self, key: Hashable) -> None:
        """Removes a key. Raises ``ValueError`` for one that is not there."""
        text = self._text_of(key)
        if not self._has(text):
            raise ValueError("The given key does not exist")
        self._remove(text)
        self._commit_if_due()

    def _remove(self, text: str) -> None:
        for one in self._prints_of(self._inserted.pop(text, [])).tolist():
            self._prints[one].remove(text)
        if self._is_stored(text):
            self._removed.add(text)

    def merge(self, other: MinHashLSH, check_overlap: bool = False) -> None:
        """Inserts all keys of another index with the same parameters. Keys of both have the MinHashes of both.

        With ``check_overlap``, raises ``ValueError`` for a key of both.
        """
        if type(self) is not type(other) or (self.h, self.b, self.r) != (other.h, other.b, other.r):
            raise ValueError("Cannot merge MinHashLSH with different initialization parameters.")
        self._check_scheme(other._scheme)
        self._scheme = self._scheme or other._scheme
        theirs = dict(other._items())
        if check_overlap and any(self._has(text) for text in theirs):
            raise ValueError("The keys are overlapping, duplicate key exists.")
        for text, bands in theirs.items():
            self._insert(text, bands, False)

    def _commit_if_due(self) -> None:
        if len(self._inserted) + len(self._removed) >= _CHANGED_BETWEEN_COMMITS:
            self.commit()

    def commit(self) -> None:
        """Makes all changes durable."""
        if self._database is None:
            folder = folder_of(self, "nearprint-lsh-")
            self._database = self._stored(folder)
        if self._path is not None and self._scheme != self._stored_scheme:
            # Before the rows, so that none is of another scheme than the stored one.
            self._store_parameters(self._path)
        for text in self._removed:
            self._database.delete(self._database.ids_of_key(text))
        if self._inserted:
            prints = np.concatenate([self._prints_of(bands) for bands in self._inserted.values()])
            keys = [text for text, bands in self._inserted.items() for _ in bands]
            self._database.add(prints, keys=keys, texts=[band for bands in self._inserted.values() for band in bands])
        self._database.commit()
        self._inserted, self._prints, self._removed = {}, {}, set()

    def close(self) -> None:
        """Commits, and closes the folder."""
        if self._database is not None:
            if self._inserted or self._removed:
                self.commit()
            self._database.close()

    def __enter__(self) -> MinHashLSH:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    # Look-ups.

    def query(self, minhash: Any) -> list[Any]:
        """The keys of MinHashes with an equal band, each once."""
        return [self._key_of(text) for text in self._found(self._bands(minhash))]

    def add_to_query_buffer(self, minhash: Any) -> None:
        """Remembers a MinHash for :meth:`collect_query_buffer`."""
        self._buffer.append(self._bands(minhash))

    def collect_query_buffer(self) -> list[Any]:
        """The keys that all of the remembered MinHashes find, each once."""
        found = [self._found(bands) for bands in self._buffer]
        self._buffer = []
        others = [set(keys) for keys in found[1:]]
        return [self._key_of(text) for text in (found[0] if found else []) if all(text in keys for keys in others)]

    def __contains__(self, key: Hashable) -> bool:
        return self._has(self._text_of(key))

    def _has(self, text: str) -> bool:
        return text in self._inserted or self._is_stored(text)

    def _is_stored(self, text: str) -> bool:
        """Whether a key was there at the last commit, and was not removed since."""
        if self._database is None or text in self._removed:
            return False
        return len(self._database.ids_of_key(text)) > 0

    def is_empty(self) -> bool:
        """Whether there is no key."""
        return not self._inserted and next(self._items(), None) is None

    def get_counts(self) -> list[dict[bytes, int]]:
        """The number of keys of each band, for each table."""
        return [{band: len(table[band]) for band in table} for table in self.hashtables]

    @property
    def keys(self) -> Mapping[Any, list[bytes]]:
        """All keys with their bands: of a key of several MinHashes, one list after the other. Reads the whole index."""
        return {self._key_of(text): bands for text, bands in self._items()}

    @property
    def hashtables(self) -> list[dict[bytes, set[Any]]]:
        """The keys of each band, for each table. Reads the whole index."""
        tables: list[dict[bytes, set[Any]]] = [{} for _ in range(self.b)]
        for text, bands in self._items():
            for table, band in zip(cycle(tables), bands):
                table.setdefault(band, set()).add(self._key_of(text))
        return tables

    def _items(self) -> Iterator[tuple[str, list[bytes]]]:
        """All keys with their bands."""
        bands: dict[str, dict[int, bytes]] = {}
        blocks = [] if self._database is None else self._database.rows()
        for row in (row for block in blocks for row in block if row["key"] not in self._removed):
            assert self._database is not None
            stored = self._database.hashes_of(row["fingerprint"], row["id"])
            bands.setdefault(row["key"], {})[row["fingerprint"]] = stored[row["key"]]
        for text, found in bands.items():
            yield text, self._in_order(found) + self._inserted.get(text, [])
        yield from ((text, found) for text, found in self._inserted.items() if text not in bands)

    def _in_order(self, found: dict[int, bytes]) -> list[bytes]:
        """The bands of a key by their tables, which their fingerprints depend on."""
        tables = [[band for one, band in found.items() if _print_of(table, band) == one] for table in range(self.b)]
        # MinHashes of a key that have a band in common have stored it once.
        return [bands[min(at, len(bands) - 1)] for at in range(max(map(len, tables))) for bands in tables]

    def _prints_of(self, bands: list[bytes]) -> Any:
        return np.array([_print_of(at % self.b, band) for at, band in enumerate(bands)], np.uint64)

    # Many at once, which is the same as one after the other.

    def insertion_session(self, buffer_size: int = 50_000) -> _Session:
        """A context manager whose ``insert`` inserts, and whose end commits."""
        return _Session(self)

    def deletion_session(self, buffer_size: int = 50_000) -> _Session:
        """A context manager whose ``remove`` removes, and whose end commits."""
        return _Session(self)

    # Keys.

    def _text_of(self, key: Hashable) -> str:
        key = _as_in_dict(key)
        if isinstance(key, str) and not key.startswith("\0") and not self.prepickle:
            return key
        if self.prepickle:
            return "\0" + base64.b85encode(pickle.dumps(key)).decode()
        try:
            if ast.literal_eval(repr(key)) == key:
                return "\0" + repr(key)
        except (ValueError, SyntaxError):
            pass
        raise TypeError(f"key: {type(key).__name__}, which prepickle=True allows")

    def _key_of(self, text: str) -> Any:
        if not text.startswith("\0"):
            return text
        return pickle.loads(base64.b85decode(text[1:])) if self.prepickle else ast.literal_eval(text[1:])

    def __getstate__(self) -> dict[str, Any]:
        if self._path is not None:
            self.commit()
        state = {name: value for name, value in self.__dict__.items() if name not in ("_database", "_prints")}
        return {**state, "_inserted": {} if self._path is not None else dict(self._items())}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()
        for text, bands in state["_inserted"].items():
            self._insert(text, bands, False)


class _Session:
    """Inserts or removes, and commits at the end."""

    def __init__(self, index: MinHashLSH) -> None:
        self._index = index
        self.insert, self.remove = index.insert, index.remove

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._index.commit()


def _as_in_dict(key: Any) -> Any:
    """An equal key, the same for all that are equal: as in a dict, 1, 1.0 and True are one key."""
    if type(key) is tuple:
        return tuple(map(_as_in_dict, key))
    if isinstance(key, np.generic):
        key = key.item()
    is_whole = isinstance(key, bool) or (isinstance(key, float) and key.is_integer())
    return int(key) if is_whole else key


def _print_of(table: int, band: bytes) -> int:
    """The fingerprint of a band of a table."""
    return int.from_bytes(hashlib.blake2b(table.to_bytes(4, "big") + band, digest_size=8).digest(), "big")


def _best_params(threshold: float, num_perm: int, weights: tuple[float, float]) -> tuple[int, int]:
    """The number of bands and of rows with the least weighted area of false positives and false negatives."""
    # The integrands are polynomials of at most this degree, so that the quadrature is exact.
    nodes, areas = np.polynomial.legendre.leggauss(num_perm // 2 + 1)
    best: tuple[float, tuple[int, int]] = (float("inf"), (0, 0))
    below, above = (nodes + 1) / 2 * threshold, threshold + (nodes + 1) / 2 * (1 - threshold)
    for bands in range(1, num_perm + 1):
        for rows in range(1, num_perm // bands + 1):
            positives = areas @ (1 - (1 - below**rows) ** bands) * threshold / 2
            negatives = areas @ (1 - above**rows) ** bands * (1 - threshold) / 2
            error = float(positives * weights[0] + negatives * weights[1])
            best = min(best, (error, (bands, rows)))
    return best[1]
