"""A transformer of scikit-learn that removes near-duplicate texts."""

from __future__ import annotations

from typing import Any, Optional

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from ._dedup import dedup
from ._settings import Similarity

__all__ = ["NearDuplicateRemover"]


class NearDuplicateRemover(BaseEstimator):
    """Leaves out the texts that are near an earlier one, as :func:`nearprint.dedup` does.

    Texts are a list, an array, or the column ``text`` of a table; missing ones stay. :meth:`transform` has no memory:
    it looks at the texts of its call. A step of a pipeline cannot shorten ``y``; :meth:`fit_resample` shortens both, as
    the samplers of imbalanced-learn do, whose pipelines leave out no row when they predict.

    After a call, ``kept_`` has a flag for each text, and ``duplicate_of_`` the index of the kept text, or -1.
    """

    def __init__(
        self,
        similarity: Optional[Similarity] = None,
        *,
        text: str = "text",
        recipe: Optional[str] = None,
        k: Optional[int] = None,
        keep: Any = None,
        min_words: int = 0,
    ) -> None:
        self.similarity, self.text, self.recipe, self.k = similarity, text, recipe, k
        self.keep, self.min_words = keep, min_words

    def fit(self, X: Any, y: Any = None) -> NearDuplicateRemover:  # noqa: N803
        """Decides the texts."""
        found = dedup(X, missing="keep", **self.get_params())
        self.kept_, self.duplicate_of_ = found["kept"], found["duplicate_of"]
        return self

    def transform(self, X: Any) -> Any:  # noqa: N803
        """The texts, or rows, that are not near an earlier one."""
        return self.fit_resample(X)

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """The same as :meth:`transform`."""
        return self.transform(X)

    def fit_resample(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        """The texts, or rows, that are not near an earlier one; with ``y``, a pair with what belongs to them."""
        places = np.flatnonzero(self.fit(X).kept_)
        if y is not None and _num_samples(y) != len(self.kept_):
            raise ValueError(f"{len(self.kept_)} texts, and {_num_samples(y)} values of y")
        rows = _safe_indexing(X, places)
        return rows if y is None else (rows, _safe_indexing(y, places))
