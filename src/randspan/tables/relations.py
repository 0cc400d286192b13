"""What known numbers of a row say of those that are missing.

Numbers are taken for normal, x ~ N(μ, Σ): with P = Σ⁻¹ the best guess for what is missing is

    x_m = μ_m - P_mm⁻¹ P_mo (x_o - μ_o).

μ and Σ are fitted by expectation and maximisation (Dempster, Laird and Rubin 1977) to a sample of
different rows, with the weight of all rows that are like them, that does not depend on their order.
A guess stays within the range that its column had.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..blas import LIMITS

Array = NDArray[np.float64]

# Rows of the sample, columns beyond which means are taken, and rounds of the fit.
ROWS, MOST_COLUMNS, ROUNDS = 2_000, 200, 20
# A share of every variance that is noise of its own: columns may repeat each other.
NOISE = 1e-2
# Entries of matrices that are solved with together.
AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class Relations:
    """μ, deviations, P of standardised columns, and the range of each column."""

    mean: Array
    deviation: Array
    precision: Array
    lower: Array
    upper: Array

    @classmethod
    def of(cls, rows: Array, weights: Array) -> Relations | None:
        """From rows with holes; None where no two columns, or no holes, are there."""
        missing = np.isnan(rows)
        if rows.shape[1] < 2 or rows.shape[1] > MOST_COLUMNS or not missing.any():
            return None
        share = weights[:, None] / weights.sum()
        there = np.where(missing, 0.0, share)
        there = there / np.maximum(there.sum(axis=0), 1e-300)
        mean = np.where(missing, 0.0, there * rows).sum(axis=0)
        spread = np.sqrt(np.where(missing, 0.0, there * (rows - mean) ** 2).sum(axis=0))
        deviation = np.where(spread > 0, spread, 1.0)
        Z = (rows - mean) / deviation
        with LIMITS.at_most(1):  # products and inverses have other last digits on more threads
            centre, precision = _fitted(Z, share)
        known = np.where(missing, np.nan, rows)
        empty = missing.all(axis=0)
        lower, upper = (
            np.where(empty, mean, f(np.where(missing, fill, known), axis=0))
            for f, fill in ((np.min, np.inf), (np.max, -np.inf))
        )
        return cls(mean + deviation * centre, deviation, precision, lower, upper)

    def __call__(self, rows: Array) -> Array:
        """Rows without holes."""
        missing = np.isnan(rows)
        if not missing.any():
            return rows
        with LIMITS.at_most(1):
            guessed, _ = _guessed((rows - self.mean) / self.deviation, self.precision)
        found = np.clip(self.mean + self.deviation * guessed, self.lower, self.upper)
        return np.where(missing, found, rows)


def _fitted(Z: Array, share: Array) -> tuple[Array, Array]:
    """Mean and precision of rows with holes."""
    centre, covariance = np.zeros(Z.shape[1]), np.eye(Z.shape[1])
    for _ in range(ROUNDS):
        guessed, open_ = _guessed(Z - centre, _inverse(covariance), share)
        step = (share * guessed).sum(axis=0)
        centre = centre + step
        guessed -= step
        covariance = (share * guessed).T @ guessed + open_
    return centre, _inverse(covariance)


def _inverse(covariance: Array) -> Array:
    return np.linalg.inv(covariance + NOISE * np.eye(len(covariance))).astype(np.float64)


def _guessed(Z: Array, precision: Array, share: Array | None = None) -> tuple[Array, Array]:
    """Rows about zero with their holes filled; the sum of P_mm⁻¹ over shares, if there are any."""
    found = np.where(np.isnan(Z), 0.0, Z)
    pull = found @ precision
    open_ = np.zeros_like(precision)
    for rows, holes in _alike(np.isnan(Z)):
        P = precision[holes[:, :, None], holes[:, None, :]]
        at = (rows[:, None], holes)
        found[at] = -np.linalg.solve(P, pull[at][:, :, None])[:, :, 0]
        if share is not None:
            uncertain = share[rows, :, None] * np.linalg.inv(P)
            np.add.at(open_, (holes[:, :, None], holes[:, None, :]), uncertain)
    return found, open_


def _alike(missing: NDArray[np.bool_]) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Rows with the same number of holes, and the columns of these."""
    counts = missing.sum(axis=1)
    for count in np.unique(counts[counts > 0]):
        rows = np.flatnonzero(counts == count)
        holes = np.nonzero(missing[rows])[1].reshape(len(rows), count)
        step = max(1, AT_ONCE // int(count) ** 2)
        for begin in range(0, len(rows), step):
            yield rows[begin : begin + step], holes[begin : begin + step]
