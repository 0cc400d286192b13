"""Squares, Cholesky factors and inverses of triangles, in tiles that threads share out.

For A = LL' in panels of columns, with R_ij = A_ij - Σ_{K < j} L_iK L_jK', L_jj is the factor of
R_jj, and L_ij = R_ij L_jj'⁻¹ below it. The columns J of X = L⁻¹ come from one another,

    X_JJ = L_JJ⁻¹,    X_IJ = -L_II⁻¹ Σ_{J ≤ K < I} L_IK X_KJ,

for every J by itself. LAPACK on several threads does the same, but its threads wait for each other
by spinning: where other processes want the cores too, that takes ten times as long as one thread.
Here whoever waits sleeps, tiles are of one size, and so the bits are the same on any number of
threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, lapack

from ..blas import LIMITS
from ..statistics.products import Pool

# Columns of a panel, and rows of what a thread works on at a time.
PANEL, ROWS = 128, 256
# Triangles of fewer rows are not worth a second thread.
FEW_ROWS = 1000

DOUBLE, SINGLE = np.dtype(np.float64), np.dtype(np.float32)
POTRF = {DOUBLE: lapack.dpotrf, SINGLE: lapack.spotrf}
TRTRI = {DOUBLE: lapack.dtrtri, SINGLE: lapack.strtri}
TRSM = {DOUBLE: blas.dtrsm, SINGLE: blas.strsm}


def factor(system: NDArray, pool: Pool | None = None) -> NDArray | None:
    """L in the lower triangle of ``system``, in place; None where it is not positive definite."""
    with LIMITS.at_most(1):
        return _factor(system, _shared(pool, len(system)))


def _factor(system: NDArray, run: Pool) -> NDArray | None:
    n, dtype = len(system), system.dtype
    for panel in _slices(0, n, PANEL):
        known, corner = slice(0, panel.start), system[panel, panel]

        def update(rows: slice, panel: slice = panel, known: slice = known) -> None:
            system[rows, panel] -= system[rows, known] @ system[panel, known].T

        run(update, [panel, *_slices(panel.stop, n, ROWS)])
        found, failed = POTRF[dtype](corner, lower=1, clean=1)
        if failed:
            return None
        corner[:] = found

        def solve(rows: slice, panel: slice = panel, corner: NDArray = found) -> None:
            part = system[rows, panel]
            part[:] = TRSM[dtype](1.0, corner, part, side=1, lower=1, trans_a=1)

        run(solve, _slices(panel.stop, n, ROWS))
    return system


def square(rows: NDArray, pool: Pool | None = None) -> NDArray:
    """AA'."""
    n = len(rows)
    out = np.empty((n, n), rows.dtype)

    def fill(columns: slice) -> None:
        out[columns.start :, columns] = rows[columns.start :] @ rows[columns].T
        out[columns, columns.stop :] = out[columns.stop :, columns].T

    with LIMITS.at_most(1):
        _shared(pool, n)(fill, _slices(0, n, PANEL))
    return out


def inverse(lower: NDArray, pool: Pool | None = None) -> NDArray:
    """L⁻¹, zero above the diagonal."""
    out = np.zeros_like(lower)

    def keep(columns: slice, X: NDArray) -> None:
        out[columns.start :, columns] = X

    with LIMITS.at_most(1):
        _columns_of_inverse(lower, _shared(pool, len(lower)), keep)
    return out


def squared_columns_of_inverse(lower: NDArray, pool: Pool | None = None) -> NDArray[np.float64]:
    """The squared lengths of the columns of L⁻¹: the diagonal of A⁻¹."""
    out = np.zeros(len(lower))

    def keep(columns: slice, X: NDArray) -> None:
        out[columns] = np.einsum("ij,ij->j", X, X, dtype=np.float64)

    with LIMITS.at_most(1):
        _columns_of_inverse(lower, _shared(pool, len(lower)), keep)
    return out


def _columns_of_inverse(lower: NDArray, run: Pool, keep: Callable[[slice, NDArray], None]) -> None:
    """``keep`` every panel of columns of L⁻¹, from its diagonal down."""
    n, dtype = len(lower), lower.dtype
    panels = _slices(0, n, PANEL)
    corners = {p.start: np.tril(TRTRI[dtype](lower[p, p], lower=1)[0]) for p in panels}

    def solve(columns: slice) -> None:
        X = np.empty((n - columns.start, columns.stop - columns.start), dtype)
        X[: len(X.T)] = corners[columns.start]
        for rows in _slices(columns.stop, n, PANEL):
            known, here = slice(columns.start, rows.start), rows.start - columns.start
            missing = lower[rows, known] @ X[:here]
            X[here : here + len(missing)] = -corners[rows.start] @ missing
        keep(columns, X)

    run(solve, panels)  # the longest columns first


def _shared(pool: Pool | None, n: int) -> Pool:
    return _in_turn if pool is None or n < FEW_ROWS else pool


def _in_turn(function: Callable, items: list) -> None:
    for item in items:
        function(item)


def _slices(start: int, stop: int, step: int) -> list[slice]:
    return [slice(s, min(s + step, stop)) for s in range(start, stop, step)]
