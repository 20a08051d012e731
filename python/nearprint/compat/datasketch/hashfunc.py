"""``datasketch.hashfunc``. Imports are absolute, because it is loaded under that name, too."""

from nearprint.compat._minhash import sha1_hash32, sha1_hash64

__all__ = ["sha1_hash32", "sha1_hash64"]
