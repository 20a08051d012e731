"""``MinHash`` and ``MinHashLSH`` of datasketch 2, with an index in a folder.

Programs for datasketch run unchanged after::

    import sys
    import nearprint.compat.datasketch
    sys.modules["datasketch"] = nearprint.compat.datasketch

An index is durable with ``MinHashLSH(..., path="index")``.
"""

from .lsh import MinHashLSH
from .minhash import MinHash

__all__ = ["MinHash", "MinHashLSH"]
