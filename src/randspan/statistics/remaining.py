"""Whether rows can have been among those of moments, as far as sums of rows tell.

Without rows that were there, what is left is a scatter S = Σω(z - z̄)(z - z̄)' of other rows, which
has no negative eigenvalues. What rounding leaves of column i is a share of the largest Σωz_i² that
it ever had, however little it varies by now: a column that is constant by now has rounding errors
in place of a variance.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import linalg

from .base import Array

if TYPE_CHECKING:
    from .moments import Moments

# Rounding is forgiven up to this share of the largest squares, and ten times its estimate.
FORGIVEN, TIMES = 1e-6, 10.0
# Up to here a factorisation is nothing beside the rows that are removed.
FEW_FUNCTIONS = 500
# Squares below this have lost digits.
TINY = 1e-250


def possible(before: Moments, gone: Moments, left: Moments) -> bool:
    """Whether ``left``, of ``before`` without ``gone``, can be sums of rows."""
    largest = before.largest_squares
    forgiven = FORGIVEN * largest + np.where(largest > TINY, 0.0, TINY)
    forgiven[: before.n_functions] += TIMES * (before.error + gone.error)
    if left.weight <= 0:  # all weight is gone, so these must have been all rows
        away = np.append(before.mean - gone.mean, before.target_mean - gone.target_mean)
        others = np.abs(_variances(before) - _variances(gone)) + before.weight * away**2
        return bool((others <= forgiven).all())
    return bool((_variances(left) >= -forgiven).all() and _no_negative(left, largest, forgiven))


def _variances(moments: Moments) -> Array:
    return np.append(np.diagonal(moments.scatter), moments.target_scatter)


def _no_negative(left: Moments, largest: Array, forgiven: Array) -> bool:
    """Whether no combination of functions and a target has a negative variance."""
    k, c = left.cross.shape
    if k > FEW_FUNCTIONS:
        return True
    units = np.sqrt(np.where(largest > TINY, largest, 1.0))
    for t in range(c):
        some = np.append(np.arange(k), k + t)
        matrix = np.empty((k + 1, k + 1))
        matrix[:k, :k] = left.scatter
        matrix[k, :k] = matrix[:k, k] = left.cross[:, t]
        matrix[k, k] = left.target_scatter[t]
        # Errors of k products with one column may all point the same way.
        matrix.flat[:: k + 2] += k * forgiven[some]
        matrix /= np.outer(units[some], units[some])
        try:
            linalg.cholesky(matrix, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
    return True
