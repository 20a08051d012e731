"""The functions of nearprint over Spark DataFrames, with the results of one machine.

Fingerprints of 64 bits are ``bigint`` columns with the bits of the number; those with more bits are ``binary``, the
most significant byte first. Rows without a fingerprint, such as texts without a token, are near nothing. The number
of partitions, failing tasks and speculation change no result.

Needs pyspark 4, pyarrow and pandas, ``pip install "nearprint[spark]"``, and Java 17 or 21.
"""

from ._components import clusters
from ._dedup import DedupReport, dedup
from ._join import pairs, pairs_between
from ._look_up import query
from ._runs import build_runs, ingest
from ._texts import fingerprint

__all__ = ["DedupReport", "build_runs", "clusters", "dedup", "fingerprint", "ingest", "pairs", "pairs_between", "query"]
