"""Inner products of the training rows: what kernel machines are solved from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..families import Functions
from ..families.shared.kernel_columns import wide_parts
from ..families.shared.rows import Rows
from .together import Together

Array = NDArray[np.float64]
#: a map over threads
Pool = Callable[[Callable, list], Any]

# Rows of a block of the matrix.
STEP = 128


@dataclass(frozen=True, eq=False)
class Products:
    """k(x_i, x_j) of training rows, or z_i'z_j of their features Z, equal inputs put together.

    Attributes
    ----------
    inputs : Together
        The distinct inputs, whose rows are put together.
    together : Together
        What is left out together: these, or in few places every row alone.
    each : ndarray
        The weight of every row.
    distinct : int
        How many rows differ in inputs or targets.
    functions, rows : Functions and Rows, or None
        Columns that are kernels of training rows, and the different rows.
    features : sparse array or None
        Z of the different rows, where the model has a weight for every column of it.
    groups : int
        Grids or trees whose cells are the last of these columns: a row is in one cell of each, be
        it one that holds no training row and has no column.
    dense : int
        The columns before these.
    """

    inputs: Together
    together: Together
    each: Array
    distinct: int
    functions: Functions | None = None
    rows: Rows | None = None
    features: sparse.csr_array | None = None
    groups: int = 0
    dense: int = 0

    def matrix(self, pool: Pool | None = None) -> Array:
        """All inner products; lines are computed by the threads of ``pool``."""
        if self.features is not None:
            return (self.features @ self.features.T).toarray()
        rows, functions = self.rows, self.functions
        assert rows is not None
        assert functions is not None
        count = len(rows)
        out = np.empty((count, count))

        # Wide rows are dense few at a time: the more lines, the fewer times.
        wide = wide_parts(rows.shape[1], count)
        step = STEP if len(wide) <= 1 else max(STEP, min(wide[0].stop, 8 * STEP))

        def fill(start: int) -> None:
            lines = slice(start, min(start + step, count))
            own = rows[lines]
            for before in wide_parts(rows.shape[1], lines.stop):
                with np.errstate(
                    all="ignore"
                ):  # what is not finite is noticed by who solves for it
                    out[lines, before] = functions.family.closed_form(own, rows[before])
                out[before, lines] = out[lines, before].T

        starts = list(range(0, count, step))[::-1]  # the longest lines first
        (pool or _in_turn)(fill, starts)
        return out

    def beside(self, Z: Array, squares: Array | None) -> tuple[Array, Array]:
        """Inner products of other rows with these, and with themselves."""
        if self.features is None:
            assert squares is not None
            return Z[:, self.inputs.first], squares
        Z = Z.astype(np.float64)
        own = self.groups + np.asarray((Z * Z)[:, : self.dense].sum(axis=1)).ravel()
        return (Z @ self.features.T).toarray(), own

    def spread(self, coef: Array) -> Array:
        """Weights of all rows, from those of distinct inputs: equal ones share by weight."""
        places, weights = self.inputs.places, self.inputs.weights
        shares = np.where(places >= 0, self.each / weights[places], 0.0)
        return shares[:, None] * coef[places]


def _in_turn(function: Callable, items: list) -> None:
    for item in items:
        function(item)
