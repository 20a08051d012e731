"""``MinHash`` of datasketch 2: the same hash values by the same names."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Callable, NamedTuple, Optional

import numpy as np
import numpy.typing as npt

__all__ = ["MinHash"]

Values = npt.NDArray[Any]
#: The modulus of the scheme ``legacy``.
_PRIME = np.uint64((1 << 61) - 1)


class _Scheme(NamedTuple):
    """How hashes are permuted: their bits, the type of hash values, and the largest one."""

    bits: int
    dtype: Any
    largest: int


_SCHEMES = {
    "affine32": _Scheme(32, np.uint32, 2**32 - 1),
    "affine64": _Scheme(64, np.uint64, 2**64 - 1),
    "legacy": _Scheme(32, np.uint64, 2**32 - 1),
}
#: The shifts and multipliers of the finalizer of MurmurHash3.
_FINALIZERS = {
    32: (16, 0x85EBCA6B, 13, 0xC2B2AE35, 16),
    64: (33, 0xFF51AFD7ED558CCD, 33, 0xC4CEB9FE1A85EC53, 33),
}


def sha1_hash32(data: bytes) -> int:
    """The first 4 bytes of the SHA-1 of ``data``, the least significant first."""
    return int.from_bytes(hashlib.sha1(data).digest()[:4], "little")


def sha1_hash64(data: bytes) -> int:
    """The first 8 bytes of the SHA-1 of ``data``, the least significant first."""
    return int.from_bytes(hashlib.sha1(data).digest()[:8], "little")


class MinHash:
    """The least hashes of a set, one for each of ``num_perm`` permutations.

    Arguments and methods are datasketch's. There is no GPU: ``gpu_mode="always"`` raises ``RuntimeError`` in
    :meth:`update_batch`.
    """

    def __init__(
        self,
        num_perm: int = 128,
        seed: int = 1,
        gpu_mode: str = "disable",
        hashfunc: Optional[Callable[[Any], int]] = None,
        hashobj: Optional[object] = None,
        hashvalues: Any = None,
        permutations: Any = None,
        scheme: Optional[str] = None,
    ) -> None:
        if scheme is None and (hashvalues is not None or permutations is not None):
            raise ValueError("scheme: is needed with hashvalues or permutations; 'legacy' for datasketch 1")
        self.scheme = scheme or "affine32"
        if self.scheme not in _SCHEMES:
            raise ValueError(f"scheme = {scheme!r}: one of {', '.join(_SCHEMES)} is wanted")
        num_perm = num_perm if hashvalues is None else len(hashvalues)
        if not 1 <= num_perm <= 1 << 32:
            raise ValueError(f"num_perm = {num_perm}: 1 to 2**32 is wanted")
        if hashobj is not None:
            warnings.warn("hashobj is deprecated, use hashfunc instead.", DeprecationWarning, stacklevel=2)
        self.seed, self.num_perm, self._gpu_mode = seed, num_perm, gpu_mode
        self.hashfunc = hashfunc or (sha1_hash64 if self.scheme == "affine64" else sha1_hash32)
        if not callable(self.hashfunc):
            raise ValueError("hashfunc: a callable is wanted")
        self.hashvalues = self._largest() if hashvalues is None else self._in_range(hashvalues, "hashvalues")
        self.permutations = self._drawn() if permutations is None else self._in_range(permutations, "permutations")
        if self.scheme != "legacy" and not (self.permutations[0] & 1).all():
            raise ValueError("permutations: the factors have to be odd")
        if len(self) != len(self.permutations[0]):
            raise ValueError("hashvalues and permutations have different lengths")

    def _largest(self) -> Values:
        scheme = _SCHEMES[self.scheme]
        return np.full(self.num_perm, scheme.largest, scheme.dtype)

    def _drawn(self) -> Values:
        """The factors and the terms of the permutations."""
        draw, (bits, dtype, _) = np.random.RandomState(self.seed), _SCHEMES[self.scheme]
        if self.scheme == "legacy":
            pairs = [
                (draw.randint(1, _PRIME, dtype=np.uint64), draw.randint(0, _PRIME, dtype=np.uint64))
                for _ in range(self.num_perm)
            ]
            return np.array(pairs, np.uint64).T
        factors = draw.randint(0, 1 << (bits - 1), self.num_perm, dtype=dtype) * dtype(2) + dtype(1)
        return np.array([factors, draw.randint(0, 1 << bits, self.num_perm, dtype=dtype)])

    def _in_range(self, values: Any, what: str) -> Values:
        array, (_, dtype, largest) = np.asarray(values), _SCHEMES[self.scheme]
        # Permutations of the scheme `legacy` are larger than its hash values.
        most = int(_PRIME) if self.scheme == "legacy" and what == "permutations" else largest
        if array.size and not 0 <= int(array.min()) <= int(array.max()) <= most:
            raise ValueError(f"{what}: out of range for the scheme {self.scheme!r}")
        return array.astype(dtype)

    def _permuted(self, hashes: list[int]) -> Values:
        """The hashes after each permutation: a row for each hash."""
        (a, b), (bits, dtype, largest) = self.permutations, _SCHEMES[self.scheme]
        if min(hashes) < 0 or max(hashes) > largest:
            raise ValueError(f"hashfunc returned a value out of range for the scheme {self.scheme!r}")
        column = np.array(hashes, dtype).reshape(-1, 1)
        if self.scheme == "legacy":
            return np.asarray((column * a + b) % _PRIME & np.uint64(largest))
        shift, factor, second_shift, second_factor, last_shift = (dtype(number) for number in _FINALIZERS[bits])
        column = (column ^ column >> shift) * factor
        column = (column ^ column >> second_shift) * second_factor
        return np.asarray((column ^ column >> last_shift) * a + b)

    def update(self, b: Any) -> None:
        """Adds a value to the set."""
        self.update_batch([b])

    def update_batch(self, b: Iterable[Any]) -> None:
        """Adds values to the set."""
        hashes = [self.hashfunc(value) for value in b]
        if hashes and self._gpu_mode == "always":
            raise RuntimeError("gpu_mode = 'always': there is no GPU")
        if hashes:
            self.hashvalues = np.minimum(self.hashvalues, self._permuted(hashes).min(axis=0))

    def _check_same(self, other: Any, what: str) -> None:
        mine = self.scheme, self.seed, len(self)
        if (getattr(other, "scheme", None), other.seed, len(other)) != mine:
            raise ValueError(f"cannot {what} MinHash of different schemes, seeds or numbers of permutations")

    def jaccard(self, other: MinHash) -> float:
        """The share of equal hash values, which estimates the Jaccard similarity."""
        self._check_same(other, "compare")
        return float(np.count_nonzero(self.hashvalues == other.hashvalues)) / len(self)

    def count(self) -> float:
        """An estimate of the number of distinct values."""
        return float(len(self) / np.sum(self.hashvalues / float(_SCHEMES[self.scheme].largest)) - 1)

    def merge(self, other: MinHash) -> None:
        """Adds the set of another one to this set."""
        self._check_same(other, "merge")
        self.hashvalues = np.minimum(other.hashvalues, self.hashvalues)

    def digest(self) -> Values:
        """A copy of the hash values."""
        return self.hashvalues.copy()

    def is_empty(self) -> bool:
        """Whether nothing was added."""
        return bool((self.hashvalues == _SCHEMES[self.scheme].largest).all())

    def clear(self) -> None:
        """Removes all values."""
        self.hashvalues = self._largest()

    def copy(self) -> MinHash:
        """A copy."""
        return type(self)._made(self, self.digest())

    @classmethod
    def _made(cls, like: MinHash, hashvalues: Values) -> MinHash:
        """One with other hash values."""
        made = cls.__new__(cls)
        made.__dict__.update(like.__dict__, hashvalues=hashvalues)
        return made

    @classmethod
    def union(cls, *mhs: MinHash) -> MinHash:
        """The one of the union of several sets."""
        if len(mhs) < 2:
            raise ValueError("Cannot union less than 2 MinHash")
        for other in mhs[1:]:
            mhs[0]._check_same(other, "unite")
        return cls._made(mhs[0], np.minimum.reduce([one.hashvalues for one in mhs]))

    @classmethod
    def bulk(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> list[MinHash]:
        """One for each of several sets."""
        return list(cls.generator(b, **minhash_kwargs))

    @classmethod
    def generator(cls, b: Iterable[Iterable[Any]], **minhash_kwargs: Any) -> Iterator[MinHash]:
        """One for each of several sets, one after the other."""
        empty = cls(**minhash_kwargs)
        for values in b:
            made = empty.copy()
            made.update_batch(values)
            yield made

    def __len__(self) -> int:
        return len(self.hashvalues)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, type(self))
            and (self.scheme, self.seed) == (other.scheme, other.seed)
            and np.array_equal(self.hashvalues, other.hashvalues)
        )

    __hash__ = None  # type: ignore[assignment]
