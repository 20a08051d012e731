"""Settings of databases for the native module."""

from __future__ import annotations

import operator
from typing import Any, Optional

from . import _nearprint
from ._arrays import check_k, check_threads
from ._errors import InputError


def check_count(count: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    """Refuses a value that is not an int, or out of range."""
    try:
        count = operator.index(count)
    except TypeError:
        raise TypeError(f"{what}: an int is wanted, not {type(count).__name__}") from None
    if not least <= count <= most:
        raise InputError(f"{what} = {count}: {f'at least {least}' if count < least else f'at most {most}'} is wanted")
    return int(count)


def line_and_width(recipe: Optional[str], width: Optional[int]) -> tuple[Optional[str], Optional[int]]:
    """The recipe as one line, and the width, which the recipe determines if there is one."""
    if recipe is None:
        return None, width
    line, of_recipe = _nearprint.recipe_line(recipe)
    if width not in (None, of_recipe):
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
) -> dict[str, Any]:
    """The settings for the native module."""
    if not isinstance(layout, str):
        raise TypeError(f"layout: a str is wanted, not {type(layout).__name__}")
    return {
        "k": check_k(k, width),
        "layout": layout,
        "recipe": recipe,
        "keys": bool(texts) if keys or texts else None,
        "threads": None if threads is None else check_threads(threads),
        "memory": None if memory is None else check_count(memory, "memory"),
        "memtable_rows": None if memtable_rows is None else check_count(memtable_rows, "memtable_rows", 1),
        "background_merges": bool(background_merges),
        "first_id": check_count(first_id, "first_id", 0, 2**64 - 1),
    }
