"""Randomly pivoted Cholesky: rows whose kernel columns approximate the whole kernel matrix.

Chen, Epperly, Tropp and Webber (2023): every pivot is drawn with probability proportional to the
diagonal of what the earlier ones have left of the matrix. In blocks, with proposals that are
rejected as often as a drawing one by one would have passed them over (Epperly, Tropp and Webber
2024): the law is the same, the work is matrix products.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 128
# What is left of the diagonal's sum where all that remains is rounding.
NOTHING = 1e-12


def pivots(
    columns: Callable[[NDArray[np.intp]], Array],
    diagonal: Array,
    count: int,
    rng: np.random.Generator,
) -> NDArray[np.intp]:
    """Up to ``count`` pivots of a kernel matrix, in the order in which they were drawn.

    ``columns(rows)`` are its columns at some rows. There are fewer pivots where they already
    explain all of the matrix.
    """
    n, left = len(diagonal), np.maximum(diagonal, 0.0)
    total = float(left.sum())
    factor = np.zeros((n, min(count, n)))
    chosen: list[int] = []
    while len(chosen) < factor.shape[1] and left.sum() > NOTHING * total:
        proposed = rng.choice(n, size=BLOCK, p=left / left.sum())
        done = factor[:, : len(chosen)]
        block = columns(proposed)
        block -= done @ done[proposed].T
        taken, corner = _accepted(block[proposed], left[proposed], rng)
        taken = taken[: factor.shape[1] - len(chosen)]
        corner = corner[: len(taken), : len(taken)]
        new = slice(len(chosen), len(chosen) + len(taken))
        factor[:, new] = np.linalg.solve(corner, block[:, taken].T).T
        left = np.maximum(left - (factor[:, new] ** 2).sum(axis=1), 0.0)
        left[proposed[taken]] = 0.0
        chosen += proposed[taken].tolist()
    return np.array(chosen, dtype=np.intp)


def _accepted(
    matrix: Array, bounds: Array, rng: np.random.Generator
) -> tuple[NDArray[np.intp], Array]:
    """Proposals that a drawing one by one would have made, and their Cholesky factor."""
    rows, left = [], matrix.copy()
    lines = []
    for i, bound in enumerate(bounds):
        pivot = left[i, i]
        # Against half of the bound at least NOTHING: a copy of an earlier pivot is rounding.
        if pivot <= NOTHING * bound or rng.uniform() * bound >= pivot:
            continue
        line = left[i] / np.sqrt(pivot)
        left -= np.outer(line, line)
        rows.append(i)
        lines.append(line)
    corner = np.array(lines)[:, rows].T if rows else np.empty((0, 0))
    return np.array(rows, dtype=np.intp), np.tril(corner)
