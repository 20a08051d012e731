"""Arrays of fingerprints that carry the recipe that made them.

Fingerprints alone do not define near: 256 bits may be a PDQ hash, with all bits compared, or MinHash, with bands and
a sketch. :func:`nearprint.fingerprint` returns an array that carries its recipe.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, Optional

import numpy as np
import numpy.typing as npt

from . import _nearprint
from ._errors import InputError

#: The line of a recipe, its width and its bands.
_parts = lru_cache(64)(_nearprint.recipe_line)


class Fingerprints(np.ndarray[Any, np.dtype[np.uint64]]):
    """An array of fingerprints with the ``recipe`` that made them, as one line.

    Slices, copies, pickles and what ``numpy.concatenate`` makes of arrays of one recipe keep it; results of arithmetic
    are plain arrays. ``numpy.asarray`` drops the recipe.
    """

    recipe: Optional[str]

    def __array_finalize__(self, made_of: Any) -> None:
        self.recipe = getattr(made_of, "recipe", None)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        plain = np.asarray(array)
        return plain[()] if return_scalar or plain.ndim == 0 else plain

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(function, types, args, kwargs)
        if function is not np.concatenate:
            return result
        recipes = {getattr(part, "recipe", None) for part in args[0]}
        return carrying(result, recipes.pop()) if len(recipes) == 1 else np.asarray(result)

    def __reduce__(self) -> Any:
        return carrying, (np.asarray(self), self.recipe)


def carrying(words: npt.NDArray[np.uint64], recipe: Optional[str]) -> Fingerprints:
    """An array that carries a recipe, without a copy."""
    array = words.view(Fingerprints)
    array.recipe = recipe
    return array


def carried_recipe(fingerprints: Any) -> Optional[str]:
    """The recipe that an array of fingerprints, or one of its rows, carries."""
    if not isinstance(fingerprints, (Fingerprints, np.ma.MaskedArray)):
        return None
    recipe: Optional[str] = getattr(fingerprints, "recipe", None)
    if recipe is None or fingerprints.dtype.itemsize != 8:
        return None
    words = _parts(recipe)[1] // 64
    # A column of words of wide fingerprints is none of them.
    rows = fingerprints.shape[1:] == (() if words == 1 else (words,)) and fingerprints.ndim > 0
    return recipe if rows or (words > 1 and fingerprints.shape == (words,)) else None


def carried_width(fingerprints: Any) -> Optional[int]:
    """The width of fingerprints that carry their recipe."""
    recipe = carried_recipe(fingerprints)
    return None if recipe is None else _nearprint.recipe_line(recipe)[1]


def bands_for(fingerprints: Any, bands: Optional[str]) -> Optional[str]:
    """The bands of fingerprints in memory. Given bands must not contradict the carried ones."""
    recipe = carried_recipe(fingerprints)
    if recipe is None:
        return bands
    made = _parts(recipe)[2]
    if bands not in (None, made):
        raise InputError(f"bands {bands!r}: the fingerprints are made with {_kind(made)}, by the recipe {recipe}")
    return made


def check_carried(fingerprints: Any, recipe: Optional[str], bands: Optional[str], path: str) -> None:
    """Refuses fingerprints that carry another recipe or another kind than the database has."""
    made = carried_recipe(fingerprints)
    if made is None:
        return
    if recipe is not None and _without_near(recipe) != _without_near(made):
        raise InputError(f"{path}: holds fingerprints of the recipe {recipe!r}, and these are made by {made!r}")
    made_bands = _parts(made)[2]
    if made_bands != bands:
        raise InputError(
            f"{path}: has {_kind(bands)}, and these fingerprints {_kind(made_bands)}, by the recipe {made}; "
            "nearprint.create(path, recipe=...) makes a database for them"
        )


def _without_near(line: str) -> str:
    """A recipe as one line, without the least similarity, which changes no fingerprint."""
    return line.partition(" near=")[0]


def settled(fingerprints: Any, recipe: Optional[str], kind: Optional[str], layout: str) -> tuple[Optional[str], str]:
    """The recipe and the layout of a new database of fingerprints, by the recipe that they carry.

    It is stored, unless a ``kind`` or a layout is given. These must not contradict it.
    """
    carried = carried_recipe(fingerprints)
    if carried is None:
        return recipe, layout
    if recipe is not None:
        if _parts(recipe)[0] != carried:
            raise InputError(f"recipe {recipe!r}: the fingerprints are made by another one, {carried}")
        return recipe, layout
    made = _parts(carried)[2]
    own = "auto" if made is None else f"bands:{made}"
    if kind is not None and (kind == "bands") != (made is not None):
        raise InputError(
            f"kind = {kind!r}: the fingerprints are made with {_kind(made)}, by the recipe {carried}; numpy.asarray "
            "takes the recipe away"
        )
    if layout != "auto" and (layout if layout.startswith("bands:") else "auto") != own:
        raise InputError(f"layout {layout!r}: the fingerprints are made with {_kind(made)}, by the recipe {carried}")
    if kind is None and layout == "auto":
        return carried, layout
    return None, own if layout == "auto" else layout


def warn_of_open_kind(width: int, recipe: Optional[str], kind: Optional[str], layout: str) -> None:
    """Warns about a database of 256 bits without a kind or a recipe."""
    if width == 256 and recipe is None and kind is None and layout == "auto":
        warnings.warn(
            "fingerprints of 256 bits: all bits are compared, as for PDQ (kind='hamming'); MinHash needs "
            "kind='bands' or recipe='minhash'",
            UserWarning,
            stacklevel=3,
        )


def _kind(bands: Optional[str]) -> str:
    return "no bands" if bands is None else f"bands {bands}"
