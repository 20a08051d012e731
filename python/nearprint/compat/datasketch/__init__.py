"""``MinHash`` and ``MinHashLSH`` of datasketch 2, with an index in a folder.

Programs for datasketch run unchanged after::

    import sys
    import nearprint.compat.datasketch
    sys.modules["datasketch"] = nearprint.compat.datasketch

``datasketch.lsh``, ``datasketch.minhash`` and ``datasketch.hashfunc`` can be imported then, too. An index is durable
with ``MinHashLSH(..., path="index")``.
"""

from .._lsh import MinHashLSH
from .._minhash import MinHash

__all__ = ["MinHash", "MinHashLSH"]
