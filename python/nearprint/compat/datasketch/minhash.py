"""``datasketch.minhash``. Imports are absolute, because it is loaded under that name, too."""

from nearprint.compat._minhash import MinHash

__all__ = ["MinHash"]
