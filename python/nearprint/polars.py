"""Namespaces of polars: ``frame.nearprint.dedup("text")``, ``polars.col("text").nearprint.fingerprint()``."""

from __future__ import annotations

from typing import Any, Generic, Optional, TypeVar, Union

import polars
from polars import DataFrame, Expr, LazyFrame, Series

from . import _corpus, _dedup, _lists, _nearprint, _texts
from ._result import Result

__all__: list[str] = []

Frame = TypeVar("Frame", DataFrame, LazyFrame)


@polars.api.register_lazyframe_namespace("nearprint")
@polars.api.register_dataframe_namespace("nearprint")
class _OfFrames(Generic[Frame]):
    def __init__(self, frame: Frame) -> None:
        self._frame: Frame = frame

    def dedup(self, text: str = "text", **options: Any) -> Frame:
        """The rows that :func:`nearprint.dedup` keeps."""
        kept: Frame = _dedup.dedup(self._frame, text=text, table="kept", **options)
        return kept

    def annotate(self, text: str = "text", **options: Any) -> Frame:
        """All rows, with the columns of :func:`nearprint.dedup`."""
        annotated: Frame = _dedup.dedup(self._frame, text=text, table="annotated", **options)
        return annotated

    def pairs(self, text: str = "text", **options: Any) -> DataFrame:
        """The pairs of near rows, as of :func:`nearprint.pairs`."""
        return _corpus.pairs(self._frame, text=text, **options).to_polars()

    def clusters(self, text: str = "text", **options: Any) -> DataFrame:
        """The clusters of near rows, as of :func:`nearprint.clusters`."""
        return _corpus.clusters(self._frame, text=text, **options).to_polars()


@polars.api.register_expr_namespace("nearprint")
class _OfExpressions:
    def __init__(self, expression: Expr) -> None:
        self._expression = expression

    def fingerprint(self, recipe: str = "minhash") -> Expr:
        """The fingerprints of texts, null for a missing one: ``UInt64``, or ``Binary`` if they have more bits."""
        line, width, _ = _nearprint.recipe_line(recipe)
        kind = polars.UInt64 if width == 64 else polars.Binary
        return self._expression.map_batches(lambda texts: _fingerprints(texts, line), kind, is_elementwise=True)

    def distance(self, other: Union[Expr, str], recipe: Optional[str] = None) -> Expr:
        """The number of bits in which fingerprints differ from those of another expression or column.

        With a recipe of MinHash, their sketches are compared.
        """
        bands = None if recipe is None else _nearprint.recipe_line(recipe)[2]
        ends = [self._expression, other if isinstance(other, Expr) else polars.col(other)]
        return polars.map_batches(ends, lambda both: _distances(both[0], both[1], bands), polars.UInt32)


def _fingerprints(texts: Series, recipe: str) -> Series:
    made = Result({"fingerprint": _texts.fingerprint(texts.drop_nulls(), recipe)}).to_polars()["fingerprint"]
    return _at(made, texts.is_not_null()).alias(texts.name)


def _distances(a: Series, b: Series, bands: Optional[str]) -> Series:
    count = 0 if a.is_empty() or b.is_empty() else max(len(a), len(b))
    a, b = (one.extend_constant(one[0], count - 1) if len(one) == 1 < count else one.head(count) for one in (a, b))
    there = a.is_not_null() & b.is_not_null()
    found = _lists.distance(a.filter(there), b.filter(there), bands=bands)
    return _at(Series(found, dtype=polars.UInt32), there).alias(a.name)


def _at(values: Series, there: Series) -> Series:
    """Values in the places of a mask, and nulls in all others."""
    places = there.cum_sum().cast(polars.Int64) - 1
    return values.gather(polars.select(polars.when(there).then(places)).to_series())
