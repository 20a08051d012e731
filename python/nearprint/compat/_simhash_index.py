"""``Simhash`` and ``SimhashIndex`` of the package simhash 2, with an index in a folder."""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Iterable, Iterator
from numbers import Integral
from types import TracebackType
from typing import Any, Callable, Optional, Union

import numpy as np
import numpy.typing as npt

from .. import _database, _making
from .._arrays import place_of
from .._database import Database, Path
from .._errors import InputError
from .._result import Result
from .._settings import check_count
from .._temporary import folder_of

__all__ = ["Simhash", "SimhashIndex"]

#: Widths of fingerprints of databases.
_WIDTHS = (64, 128, 256)
#: Ids that are added or deleted between two commits.
_CHANGED_BETWEEN_COMMITS = 10_000


def _md5(token: bytes) -> bytes:
    return hashlib.md5(token, usedforsecurity=False).digest()


class Simhash:
    """The simhash of a text or of features, in ``value``.

    ``value`` is a text, of whose letters and digits (``reg``) each four in a row are a feature; an iterable of
    features, or of features with weights; a mapping of features to weights; a number; or another ``Simhash``. ``f`` is
    the number of bits, a multiple of 8. ``hashfunc`` makes bytes, or a number, of the UTF-8 of a feature.

    Raises ``ValueError`` for another ``f``, and for hashes of fewer bits; ``TypeError`` for another ``value``.
    """

    #: A larger weight, or one that is no ``int``, is added by itself, which decides how sums of floats are rounded.
    large_weight_cutoff = 50
    #: Features that are added at once.
    batch_size = 200

    def __init__(
        self,
        value: Any,
        f: int = 64,
        reg: Union[str, re.Pattern[str]] = r"[\w\u4e00-\u9fcc]+",
        hashfunc: Callable[[bytes], Union[bytes, int]] = _md5,
        log: Optional[logging.Logger] = None,
    ) -> None:
        if f % 8:
            raise ValueError("f must be a multiple of 8")
        self.f, self.reg, self.hashfunc = f, reg, hashfunc
        self.log = log or logging.getLogger("simhash")
        self.value = 0
        if isinstance(value, Simhash):
            self.value = value.value
        elif isinstance(value, str):
            self.build_by_text(value)
        elif isinstance(value, Iterable):
            self.build_by_features(value)
        elif isinstance(value, Integral):
            self.value = int(value)
        else:
            raise TypeError(f"Bad parameter with type {type(value)}")

    def __eq__(self, other: object) -> bool:
        return self.value == other.value if isinstance(other, Simhash) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Simhash of {self.f} bits: {self.value:#x}>"

    def _slide(self, content: str, width: int = 4) -> list[str]:
        return [content[start : start + width] for start in range(max(len(content) - width + 1, 1))]

    def _tokenize(self, content: str) -> list[str]:
        return self._slide("".join(re.findall(self.reg, content.lower())))

    def build_by_text(self, content: str) -> None:
        """Sets the value to the simhash of a text."""
        counts: dict[str, int] = {}
        for feature in sorted(self._tokenize(content)):
            counts[feature] = counts.get(feature, 0) + 1
        self.build_by_features(counts)

    def build_by_features(self, features: Any) -> None:
        """Sets the value to the simhash of features: a bit is set if more than half of the weight has it."""
        total, sums, weight = 0, np.zeros(self.f, np.int64), 1
        digests: list[bytes] = []
        weights: list[int] = []
        for feature in features.items() if isinstance(features, dict) else features:
            is_alone = False
            # A feature without a weight has the one of the feature before it.
            if not isinstance(feature, str):
                feature, weight = feature
                is_alone = weight > self.large_weight_cutoff or not isinstance(weight, int)
            total += weight
            digest = self._digest_of(feature)
            if is_alone:
                bits = _bits([digest])[0]
                sums = sums + (bits.astype(np.int64) if isinstance(weight, int) else bits) * weight
                continue
            digests.append(digest)
            weights.append(max(weight, 0))
            if len(digests) >= self.batch_size:
                sums = sums + weights @ _bits(digests)
                digests, weights = [], []
        if digests:
            sums = sums + weights @ _bits(digests)
        self.value = int.from_bytes(np.packbits(sums > total / 2).tobytes(), "big")

    def _digest_of(self, feature: str) -> bytes:
        made = self.hashfunc(feature.encode())
        if isinstance(made, Integral):
            return (int(made) & ((1 << self.f) - 1)).to_bytes(self.f // 8, "big")
        digest = bytes(made)[-self.f // 8 :]
        if len(digest) * 8 < self.f:
            raise ValueError(f"hashfunc: makes {len(digest)} bytes, where f = {self.f} bits are wanted")
        return digest

    def distance(self, another: Simhash) -> int:
        """The number of bits that differ. Raises ``ValueError`` for another ``f``."""
        if self.f != another.f:
            raise ValueError(f"a simhash of {another.f} bits, where {self.f} are wanted")
        return bin((self.value ^ another.value) & ((1 << self.f) - 1)).count("1")


def _bits(digests: list[bytes]) -> npt.NDArray[np.uint8]:
    """The bits of digests of one length, a row for each."""
    return np.unpackbits(np.frombuffer(b"".join(digests), np.uint8)).reshape(len(digests), -1)


class SimhashIndex:
    """An index of simhashes with ids, which finds all within ``k`` bits.

    ``objs`` are pairs of an id and a :class:`Simhash` of ``f`` bits. Ids are texts; others become theirs. The index is
    a database in the folder ``path``, which is made if it does not exist, for an ``f`` of 64, 128 or 256. Without a
    ``path`` it is temporary. What was added is found at once, and durable after :meth:`commit` or :meth:`close`, or
    when 10,000 ids have changed; the end of a ``with`` closes, after an exception, too.

    Raises ``ValueError`` for simhashes of another ``f``, and for a folder with fingerprints of another width.
    """

    def __init__(
        self,
        objs: Iterable[tuple[Any, Simhash]] = (),
        f: int = 64,
        k: int = 2,
        log: Optional[logging.Logger] = None,
        *,
        path: Optional[Path] = None,
    ) -> None:
        self.f, self.k = check_count(f, "f", 8, _WIDTHS[-1]), check_count(k, "k", 0, f)
        if path is not None and f not in _WIDTHS:
            raise InputError(f"f = {f}: an index in a folder has simhashes of 64, 128 or 256 bits")
        self.log = log or logging.getLogger("simhash")
        self._path = None if path is None else place_of(path)
        self._open()
        for obj_id, simhash in objs:
            self.add(obj_id, simhash)

    def _open(self) -> None:
        #: What was added and deleted since the last commit: values and ids.
        self._added: set[tuple[int, str]] = set()
        self._deleted: set[tuple[int, str]] = set()
        #: What was added by its blocks, of which near values have one in common.
        self._blocks: dict[str, set[tuple[int, str]]] = {}
        #: ``None`` before the first commit of a temporary index.
        self._database = None if self._path is None else self._stored(self._path)

    def _stored(self, folder: str) -> Database:
        width = next(width for width in _WIDTHS if width >= self.f)
        if not _making.is_there(folder):
            return _making.create(folder, k=self.k, kind="hamming", width=width, keys=True)
        database = _database.open(folder)
        if database.width != width or not database.keeps_keys or database.kind != "hamming":
            database.close()
            raise InputError(f"{folder}: is no index of simhashes of {self.f} bits with ids")
        return database

    def _value_of(self, simhash: Simhash) -> int:
        if simhash.f != self.f:
            raise ValueError(f"a simhash of {simhash.f} bits, where {self.f} are wanted")
        value: int = simhash.value & ((1 << self.f) - 1)
        return value

    def get_near_dups(self, simhash: Simhash) -> list[str]:
        """The ids of all simhashes within ``k`` bits, each once."""
        value = self._value_of(simhash)
        near = {
            obj_id: None
            for block in self.get_keys(simhash)
            for other, obj_id in self._blocks.get(block, ())
            if bin(value ^ other).count("1") <= self.k
        }
        if self._database is not None:
            near.update(dict.fromkeys(key for _, key in self._remaining(self._database.query(value, self.k))))
        return list(near)

    def add(self, obj_id: Any, simhash: Simhash) -> None:
        """Adds a simhash with an id, which may have several."""
        entry = self._value_of(simhash), str(obj_id)
        self._deleted.discard(entry)
        self._added.add(entry)
        for block in self.get_keys(simhash):
            self._blocks.setdefault(block, set()).add(entry)
        self._commit_if_due()

    def delete(self, obj_id: Any, simhash: Simhash) -> None:
        """Deletes a simhash of an id. One that is not there is not an error."""
        entry = self._value_of(simhash), str(obj_id)
        if entry in self._added:
            self._added.discard(entry)
            for block in self.get_keys(simhash):
                self._blocks[block].discard(entry)
        self._deleted.add(entry)
        self._commit_if_due()

    def _remaining(self, rows: Iterable[dict[str, Any]]) -> Iterator[tuple[int, str]]:
        """The values and ids of stored rows that were not deleted since."""
        entries = ((row["fingerprint"], row["key"]) for row in rows)
        return (entry for entry in entries if entry not in self._deleted)

    def _entries(self) -> set[tuple[int, str]]:
        """All values and ids."""
        blocks: Iterable[Result] = () if self._database is None else self._database.rows()
        return self._added.union(*(self._remaining(block) for block in blocks))

    @property
    def offsets(self) -> list[int]:
        """The first bit of each of ``k + 1`` blocks."""
        return [self.f // (self.k + 1) * block for block in range(self.k + 1)]

    def get_keys(self, simhash: Simhash) -> Iterator[str]:
        """The blocks of a simhash. Two within ``k`` bits have one in common."""
        return self._keys_of(simhash.value)

    def _keys_of(self, value: int) -> Iterator[str]:
        offsets = [*self.offsets, self.f]
        for number, (start, end) in enumerate(zip(offsets, offsets[1:])):
            yield f"{value >> start & ((1 << end - start) - 1):x}:{number:x}"

    def bucket_size(self) -> int:
        """The number of distinct blocks. Reads the whole index."""
        return len({key for value, _ in self._entries() for key in self._keys_of(value)})

    def _commit_if_due(self) -> None:
        if len(self._added) + len(self._deleted) >= _CHANGED_BETWEEN_COMMITS:
            self.commit()

    def commit(self) -> None:
        """Makes all changes durable, and visible to others who open the folder."""
        if self._database is None:
            folder = folder_of(self, "nearprint-simhash-")
            self._database = self._stored(os.path.join(folder, "index.np"))
        if self._deleted:
            self._database.delete(_ids(self._deleted))
        if self._added:
            entries = list(self._added)
            values, keys = [value for value, _ in entries], [key for _, key in entries]
            self._database.add(values, ids=_ids(entries), keys=keys)
        self._database.commit()
        self._added, self._deleted, self._blocks = set(), set(), {}

    def close(self) -> None:
        """Commits, and closes the folder."""
        if self._database is not None:
            if self._added or self._deleted:
                self.commit()
            self._database.close()

    def __enter__(self) -> SimhashIndex:
        return self

    def __exit__(
        self, kind: Optional[type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        if self._path is not None:
            self.commit()
        state = {"f": self.f, "k": self.k, "log": self.log, "_path": self._path}
        return {**state, "entries": set() if self._path is not None else self._entries()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        entries = state.pop("entries")
        self.__dict__.update(state)
        self._open()
        for value, obj_id in entries:
            self.add(obj_id, Simhash(value, self.f))


def _ids(entries: Iterable[tuple[int, str]]) -> npt.NDArray[np.uint64]:
    """The ids of rows: hashes of values and ids, so that each can be deleted by itself."""
    made = [hashlib.blake2b(f"{value:x},{obj_id}".encode(), digest_size=8).digest() for value, obj_id in entries]
    return np.frombuffer(b"".join(made), ">u8").astype(np.uint64)
