"""An embedded database of fingerprints, which finds everything within k bits of a query.

Results are exact. A database is a folder of files and opens in a millisecond::

    import nearprint

    fox = "the quick brown fox jumps over the lazy dog"
    texts = [fox, "something else altogether", fox + " again"]
    prints = nearprint.fingerprint(texts)
    with nearprint.build("corpus.np", prints, ids=[10, 11, 12]) as database:
        found = database.query(prints[0], similarity=0.5)
        print(found["id"].tolist())  # [10, 12]
        print(database.find("The quick brown fox jumps over the lazy dog!")["id"].tolist())  # [10, 12]

The array of fingerprints carries its recipe, MinHash, so that the database compares them by their bands: texts are near
from a ``similarity`` on. Numbers of other origin, such as hashes of images, are near within ``k`` bits.
"""

from . import images
from ._carried import Fingerprints
from ._corpus import against, clusters, pairs
from ._database import Database, open
from ._dedup import dedup
from ._dedup_files import dedup_files, trim_files
from ._errors import CorruptionError, Error, ExistsError, ForkError, InputError, LockedError, NotFoundError
from ._follower import Follower, Update
from ._kept import Kept
from ._lists import distance, distance_matrix, find_all, find_clusters
from ._making import build, create, repair
from ._nearprint import __version__, width_of
from ._reports import (
    Damage,
    Deduplication,
    Explanation,
    Finding,
    IfNew,
    IngestReport,
    LeftOut,
    RepairReport,
    Trimming,
    UnitCounts,
    Verification,
)
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
    "Fingerprints",
    "Follower",
    "ForkError",
    "IfNew",
    "IngestReport",
    "InputError",
    "Kept",
    "LeftOut",
    "LockedError",
    "NotFoundError",
    "RepairReport",
    "Result",
    "Trimming",
    "UnitCounts",
    "Update",
    "Verification",
    "__version__",
    "against",
    "build",
    "clusters",
    "create",
    "dedup",
    "dedup_files",
    "distance",
    "distance_matrix",
    "find_all",
    "find_clusters",
    "fingerprint",
    "images",
    "open",
    "pairs",
    "recipe_line",
    "repair",
    "shingle",
    "simhash",
    "trim_files",
    "width_of",
]
