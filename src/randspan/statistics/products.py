"""Inner products of the training rows: what kernel machines are solved from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families import Functions
from ..families.parts.rows import Rows
from .copies import Kinds

Array = NDArray[np.float64]
#: a map over threads
Pool = Callable[[Callable, list], Any]

# Rows of a block of the matrix.
STEP = 128


@dataclass(frozen=True, eq=False)
class Products:
    """k(x_i, x_j) of training rows, or z_i'z_j of their features Z; equal rows are put together.

    Attributes
    ----------
    kinds : Kinds
        Which rows are equal.
    targets : ndarray of shape (n_kinds, n_targets)
    each, gone : ndarrays
        Of every row its weight, and the weight that is left out with it (`copies`).
    functions, rows : Functions and Rows, or None
        Columns that are kernels of training rows, and the different rows.
    features : sparse array or None
        Z of the different rows, where the model has a weight for every column of it.
    """

    kinds: Kinds
    targets: Array
    each: Array
    gone: Array
    functions: Functions | None = None
    rows: Rows | None = None
    features: sparse.csr_array | None = None

    def matrix(self, pool: Pool | None = None) -> Array:
        """All inner products; lines are computed by the threads of ``pool``."""
        if self.features is not None:
            return (self.features @ self.features.T).toarray()
        rows, functions = self.rows, self.functions
        assert rows is not None
        assert functions is not None
        count = len(rows)
        out = np.empty((count, count))

        def fill(start: int) -> None:
            lines = slice(start, min(start + STEP, count))
            before = slice(0, lines.stop)
            out[lines, before] = functions.family.closed_form(rows[lines], rows[before])
            out[before, lines] = out[lines, before].T

        starts = list(range(0, count, STEP))[::-1]  # the longest lines first
        (pool or _in_turn)(fill, starts)
        return out

    def beside(self, Z: Array, squares: Array | None) -> tuple[Array, Array]:
        """Inner products of other rows with these, and with themselves."""
        if self.features is None:
            assert squares is not None
            return Z[:, self.kinds.first], squares
        Z = Z.astype(np.float64)
        own = np.asarray((Z * Z).sum(axis=1)).ravel()
        return (Z @ self.features.T).toarray(), own

    def spread(self, coef: Array) -> Array:
        """Weights of all rows, from those of the different ones: equal rows share by weight."""
        places, weights = self.kinds.places, self.kinds.weights
        shares = np.where(places >= 0, self.each / weights[places], 0.0)
        return shares[:, None] * coef[places]


def _in_turn(function: Callable, items: list) -> None:
    for item in items:
        function(item)
