"""``datasketch.lsh``. Imports are absolute, because it is loaded under that name, too."""

from nearprint.compat._lsh import MinHashLSH

__all__ = ["MinHashLSH"]
