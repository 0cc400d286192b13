"""Second moments of predictors that each have not seen some of the rows.

e_j = y - h_j is known where hypothesis j has not learned from the row. Moments of two hypotheses
are taken over the rows that neither has seen. They are kept as errors rather than as predictions:
what all predictions of a row have in common would otherwise vary from pair to pair with the rows
that the pair happens to have, by more than the hypotheses differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Rows removed must leave sums of squares that are not negative; rounding is forgiven up to here.
FORGIVEN = 1e-9


@dataclass
class PairMoments:
    """Σω v v' of v = (e_1, …, e_k, y - origin, 1), and Σω of the rows that count, fold by fold.

    ``sums`` has the shape (folds, targets, k + 2, k + 2), ``counts`` (folds, k + 2, k + 2).
    """

    weight: float
    sums: Array
    counts: Array

    @classmethod
    def zero(cls, n_folds: int, n_targets: int, k: int) -> PairMoments:
        size = k + 2
        sums = np.zeros((n_folds, n_targets, size, size))
        return cls(0.0, sums, np.zeros((n_folds, size, size)))

    def add(
        self,
        predictions: NDArray,
        targets: Array,
        origin: Array,
        weights: Array,
        seen: NDArray[np.bool_],
        folds: NDArray[np.int64],
    ) -> None:
        """Take in a block of predictions of shape (rows, hypotheses, targets)."""
        n, k, c = predictions.shape
        mask = np.column_stack([~seen, np.ones((n, 2), dtype=bool)])
        for fold in range(len(self.counts)):
            rows = np.flatnonzero((folds == fold) & (weights > 0))
            known = mask[rows] * np.sqrt(weights[rows])[:, None]
            self.counts[fold] += known.T @ known
            self.weight += float(weights[rows].sum())
            for t in range(c):
                values = np.empty((len(rows), k + 2))
                y = targets[rows, t]
                np.subtract(y[:, None], predictions[rows, :, t], out=values[:, :k])
                values[:, k], values[:, k + 1] = y - origin[t], 1.0
                values *= known
                self.sums[fold, t] += values.T @ values

    def __iadd__(self, other: PairMoments) -> PairMoments:
        return self._combine(other, +1)

    def __add__(self, other: PairMoments) -> PairMoments:
        return self.copy()._combine(other, +1)

    def __sub__(self, other: PairMoments) -> PairMoments:
        return self.copy()._combine(other, -1)

    def without(self, old: PairMoments) -> PairMoments:
        """These less ``old``, refused where ``old`` cannot have been part of them."""
        left = self - old
        squares = np.diagonal(self.sums, axis1=2, axis2=3)
        remaining = np.diagonal(left.sums, axis1=2, axis2=3)
        weights = np.diagonal(left.counts, axis1=1, axis2=2)
        possible = (remaining >= -FORGIVEN * squares).all()
        if (weights < -FORGIVEN * self.weight).any() or not possible:
            raise ValueError(
                "These rows cannot have been in the model: without them a sum of squares would be "
                "negative. Hand in the rows, targets and weights it was fitted on."
            )
        return left

    def copy(self) -> PairMoments:
        return PairMoments(self.weight, self.sums.copy(), self.counts.copy())

    def _combine(self, other: PairMoments, sign: int) -> PairMoments:
        self.weight += sign * other.weight
        self.sums += sign * other.sums
        self.counts += sign * other.counts
        return self

    @property
    def n_functions(self) -> int:
        return self.sums.shape[2] - 2

    @property
    def n_targets(self) -> int:
        return self.sums.shape[1]
