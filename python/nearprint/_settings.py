"""Options of databases, as the native module takes them."""

from __future__ import annotations

import operator
from typing import Any, Optional

from . import _nearprint
from ._arrays import check_k
from ._errors import InputError
from ._progress import Progress


def check_count(count: Any, what: str) -> int:
    """Refuses what is no number of rows."""
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"{what}: an int is wanted, not {type(count).__name__}") from None
    if count < 0:
        raise InputError(f"{what} = {count}: negative")
    return int(count)


def line_and_width(recipe: Optional[str], width: int) -> tuple[Optional[str], int]:
    """The recipe's line, and its width where the one that was said is the default."""
    if recipe is None:
        return None, width
    line, of_recipe = _nearprint.recipe_line(recipe)
    if width not in (64, of_recipe):
        raise InputError(
            f"width {width}: the recipe makes fingerprints of {of_recipe} bits, unless it says width={width}"
        )
    return line, of_recipe


def settings_of(
    k: int = 3,
    width: int = 64,
    layout: str = "auto",
    recipe: Optional[str] = None,
    keys: bool = False,
    texts: bool = False,
    *,
    threads: Optional[int] = None,
    memory: Optional[int] = None,
    memtable_rows: Optional[int] = None,
    background_merges: bool = True,
    first_id: int = 0,
    progress: Progress = None,
) -> dict[str, Any]:
    """Options as the native module takes them; ``progress`` is the database's own matter."""
    return {
        "k": check_k(k, width),
        "layout": layout,
        "recipe": recipe,
        "keys": texts if keys or texts else None,
        "threads": None if threads is None else check_count(threads, "threads"),
        "memory": None if memory is None else check_count(memory, "memory"),
        "memtable_rows": None if memtable_rows is None else check_count(memtable_rows, "memtable_rows"),
        "background_merges": background_merges,
        "first_id": check_count(first_id, "first_id"),
    }
