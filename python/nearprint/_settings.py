"""Settings of databases for the native module."""

from __future__ import annotations

import math
import operator
from datetime import timedelta
from typing import Any, Callable, Optional, Union

from . import _nearprint
from ._arrays import check_k, check_threads
from ._carried import bands_for, carried_recipe
from ._errors import InputError

#: A time, or seconds.
Duration = Union[timedelta, float]
#: Is called with the fields of each event.
Listener = Optional[Callable[[dict[str, Any]], object]]

DEFAULT_K = 3
DEFAULT_SIMILARITY = 0.7
KINDS = ("hamming", "bands")


def check_count(count: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Refuses a value that is not an int, or out of range."""
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"{what}: an int is wanted, not {type(count).__name__}") from None
    if not least <= count <= most:
        raise InputError(f"{what} = {count}: {f'at least {least}' if count < least else f'at most {most}'} is wanted")
    return int(count)


def check_seconds(seconds: Any, what: str) -> float:
    """Refuses a value that is no number, or no time to wait."""
    try:
        number = float(seconds)
    except ValueError:
        raise InputError(f"{what} = {seconds!r}: a number of seconds is wanted") from None
    except TypeError:
        raise TypeError(f"{what}: a number of seconds is wanted, not {type(seconds).__name__}") from None
    if not number >= 0.0:
        raise InputError(f"{what} = {number}: at least 0 is wanted")
    return number


def seconds_of(duration: Optional[Duration], what: str) -> Optional[float]:
    """A time in seconds."""
    if duration is None:
        return None
    seconds = check_seconds(duration.total_seconds() if isinstance(duration, timedelta) else duration, what)
    if not seconds:
        raise InputError(f"{what} = {duration}: more than 0 is wanted")
    return seconds


def line_and_width(recipe: Optional[str], width: Optional[int]) -> tuple[Optional[str], Optional[int]]:
    """The recipe as one line, and the width, which the recipe determines if there is one."""
    if recipe is None:
        return None, width
    line, of_recipe, _ = _nearprint.recipe_line(recipe)
    if width not in (None, of_recipe):
        raise InputError(
            f"width {width}: the recipe makes fingerprints of {of_recipe} bits, unless it says width={width}"
        )
    return line, of_recipe


def wide_width(bands: Optional[str]) -> int:
    """The width of fingerprints that are bytes, unless another one is given: with bands, the one that they need."""
    return 256 if bands is None else _nearprint.recipe_line(f"hash=minhash:{bands},1")[1]


def kind_of(kind: Optional[str], layout: str, recipe: Optional[str]) -> tuple[str, Optional[int]]:
    """The layout of a new database, and its width if the kind determines it."""
    if kind not in (None, *KINDS):
        raise InputError(f"kind = {kind!r}: 'hamming' or 'bands' is wanted")
    if not isinstance(layout, str):
        raise TypeError(f"layout: a str is wanted, not {type(layout).__name__}")
    _, width, bands = _nearprint.recipe_line("minhash" if recipe is None and kind == "bands" else recipe or "simhash")
    of_layout = layout[len("bands:") :] if layout.startswith("bands:") else None
    if of_layout is not None or layout != "auto":
        if recipe is not None and bands != of_layout:
            raise InputError(f"layout {layout!r}: the recipe makes {f'bands:{bands}' if bands else 'no bands'}")
        bands, width = of_layout, wide_width(of_layout)
    if kind is not None and (bands is not None) != (kind == "bands"):
        raise InputError(f"kind = {kind!r}: the layout or the recipe has another kind")
    return (layout, None) if bands is None else (f"bands:{bands}", width)


def distance_of(k: Optional[int], similarity: Optional[float], bands: Optional[str], width: int) -> Optional[int]:
    """The distance of near fingerprints, if one of the two arguments sets it."""
    if similarity is None:
        most = width if bands is None else _nearprint.sketch_of(bands, width, 0.0)[0]
        return None if k is None else check_k(k, most)
    if k is not None:
        raise InputError("k and similarity: only one of them can be given")
    if bands is None:
        raise InputError(
            "similarity: needs MinHash fingerprints, which carry their recipe or have bands=; others have k"
        )
    return _nearprint.sketch_of(bands, width, check_similarity(similarity))[1]


def near_of(
    fingerprints: Any, width: int, k: Optional[int], similarity: Optional[float], bands: Optional[str]
) -> tuple[int, Optional[str]]:
    """The distance of near fingerprints in memory, and their bands. By default texts are near from 0.7 on."""
    bands = bands_for(fingerprints, bands)
    if k is None and similarity is None:
        recipe = carried_recipe(fingerprints)
        if recipe in PICTURE_RECIPES:
            k = _nearprint.default_k(recipe)
        elif bands is None:
            raise InputError("k, or similarity for MinHash fingerprints, is needed")
        else:
            similarity = DEFAULT_SIMILARITY
    distance = distance_of(k, similarity, bands, width)
    assert distance is not None
    return distance, bands


def check_similarity(similarity: Any) -> float:
    """Refuses a value that is no similarity."""
    if not hasattr(similarity, "__float__"):
        raise TypeError(f"similarity: a number is wanted, not {type(similarity).__name__}")
    number = float(similarity)
    if not 0 <= number <= 1:
        raise InputError(f"similarity = {similarity}: 0 to 1 is wanted")
    return number


#: The least similarity of texts: a share of the features in common, or ``"contained:S"`` or ``"edit:S"``.
Similarity = Union[float, str]


def check_least(similarity: Any) -> Similarity:
    """Refuses a value that is no least similarity of texts. The native module parses a text."""
    return similarity if isinstance(similarity, str) else check_similarity(similarity)


def with_near(recipe: str, similarity: float) -> str:
    """The recipe with a least similarity. Six digits count, and others are cut, so that a fraction such as 2/3 has it.

    What is a bit less than six digits, such as 0.1 + 0.7, stands for them.
    """
    if _nearprint.recipe_line(recipe)[2] is None:
        raise InputError("similarity: needs MinHash fingerprints; others have k")
    millionths = math.floor(check_similarity(similarity) * 1e6 + 1e-6)
    return f"{recipe} near={millionths / 1e6:.6f}"


#: The recipes of pictures.
PICTURE_RECIPES = ("pdq", "dhash", "phash")


def k_of_layout(
    k: Optional[int], similarity: Optional[float], layout: str, width: int, recipe: Optional[str] = None
) -> int:
    """The distance that a new database is tuned for."""
    bands = layout[len("bands:") :] if layout.startswith("bands:") else None
    if k is None and similarity is None and bands is not None:
        similarity = DEFAULT_SIMILARITY
    chosen = distance_of(k, similarity, bands, width)
    if chosen is None and recipe in PICTURE_RECIPES:
        return _nearprint.default_k(recipe)
    return DEFAULT_K if chosen is None else chosen


def storage_of(keys: bool, texts: bool, hashes: bool, features: bool = False) -> str:
    """What a database stores with rows, as ``stats()["keys"]`` shows it."""
    chosen = [name for name, is_stored in (("texts", texts), ("hashes", hashes), ("features", features)) if is_stored]
    if len(chosen) > 1:
        raise InputError(f"{', '.join(chosen)}: keys have one of them")
    if chosen:
        return f"keys and {chosen[0]}"
    return "keys" if keys else "none"


def settings_of(
    k: int = DEFAULT_K,
    width: int = 64,
    layout: str = "auto",
    recipe: Optional[str] = None,
    keys: bool = False,
    texts: bool = False,
    hashes: bool = False,
    features: bool = False,
    *,
    expire_after: Optional[Duration] = None,
    partition: Optional[Duration] = None,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    merges: bool = True,
    merge_rate: Optional[int] = None,
    keep_log: int = 0,
    on_event: Listener = None,
    wait: float = 0.0,
    first_id: int = 0,
) -> dict[str, Any]:
    """The settings for the native module."""
    if not isinstance(layout, str):
        raise TypeError(f"layout: a str is wanted, not {type(layout).__name__}")
    if on_event is not None and not callable(on_event):
        raise TypeError("on_event: a callable is wanted")
    return {
        "k": check_count(k, "k", 0, width),
        "layout": layout,
        "recipe": recipe,
        "keys": storage_of(keys, texts, hashes, features),
        "expire_after": seconds_of(expire_after, "expire_after"),
        "partition": seconds_of(partition, "partition"),
        "threads": None if threads is None else check_threads(threads),
        "memory": None if memory is None else check_count(memory, "memory"),
        "memtable_rows": None if memtable_rows is None else check_count(memtable_rows, "memtable_rows", 1),
        "background_merges": bool(background_merges),
        "merges": bool(merges),
        "merge_rate": 0 if merge_rate is None else check_count(merge_rate, "merge_rate", 1, 2**64 - 1),
        "keep_log": check_count(keep_log, "keep_log", 0, 2**64 - 1),
        "on_event": on_event,
        "wait": check_seconds(wait, "wait"),
        "first_id": check_count(first_id, "first_id", 0, 2**64 - 1),
    }
