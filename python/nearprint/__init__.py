"""An embedded database of fingerprints, which finds everything within k bits of a query.

Results are exact. A database is a folder of files and opens in a millisecond::

    import nearprint

    prints = nearprint.fingerprint(["the quick brown fox jumps over the dog", "something else altogether"])
    with nearprint.build("corpus.np", prints, ids=[10, 11]) as database:
        found = database.query(prints[0], k=3)
        print(found["id"], found["distance"])
"""

from ._database import Database, open
from ._dedup import dedup, dedup_files
from ._errors import CorruptionError, Error, ExistsError, ForkError, InputError, LockedError, NotFoundError
from ._lists import distance, distance_matrix, find_all, find_clusters
from ._making import build, create, repair
from ._nearprint import __version__, width_of
from ._reports import Damage, Deduplication, Explanation, Finding, Ingested, Salvage, UnitCounts, Verification
from ._result import Blocks, Result
from ._texts import fingerprint, recipe_line, shingle, simhash

__all__ = [
    "Blocks",
    "CorruptionError",
    "Damage",
    "Database",
    "Deduplication",
    "Error",
    "ExistsError",
    "Explanation",
    "Finding",
    "ForkError",
    "Ingested",
    "InputError",
    "LockedError",
    "NotFoundError",
    "Result",
    "Salvage",
    "UnitCounts",
    "Verification",
    "__version__",
    "build",
    "create",
    "dedup",
    "dedup_files",
    "distance",
    "distance_matrix",
    "find_all",
    "find_clusters",
    "fingerprint",
    "open",
    "recipe_line",
    "repair",
    "shingle",
    "simhash",
    "width_of",
]
