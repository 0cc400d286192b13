"""Second moments of out-of-bag errors of predictors.

e_j = y - h_j is known where hypothesis j has not learned from the row. Moments of two hypotheses
are taken over the rows that are out of bag for both. They are kept as errors rather than as
predictions: what all predictions of a row have in common would otherwise vary from pair to pair
with the rows that the pair happens to have, by more than the hypotheses differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..families import Functions
from ..families.shared.out_of_bag import FOLDS, fold_of
from ..features import Features
from ..keys import with_targets
from ..sources import Block
from .base import Array, Engine, Statistics

# Rows removed must leave sums of squares that are not negative; rounding is forgiven up to here.
FORGIVEN = 1e-9
# Errors are differences of numbers as large as y: beside their squares, this share is rounding.
CANCELLED = 1e-11
# No weight is left below this share of what there was.
NOTHING = 1e-12
# Rows whose moments are taken at once.
PIECE = 8192


@dataclass(frozen=True, eq=False)
class OutOfBagMoments(Statistics):
    """Σω v v' of v = (e_1, …, e_k, y - origin, 1), and Σω of the rows that count, fold by fold.

    ``sums`` has the shape (folds, targets, k + 2, k + 2), ``counts`` (folds, k + 2, k + 2).
    ``peaks`` are the largest sums of squares there ever were, of every target, and the largest Σω:
    what was forgotten leaves its rounding errors behind. None in files that know none.
    """

    name: ClassVar[str] = "out_of_bag"

    rows: int
    weight: float
    origin: Array
    sums: Array
    counts: Array
    peaks: Array | None = None

    @classmethod
    def zero(cls, origin: Array, k: int, n_folds: int = FOLDS) -> OutOfBagMoments:
        """The moments of no rows, of k hypotheses."""
        size = k + 2
        sums = np.zeros((n_folds, len(origin), size, size))
        return cls(0, 0.0, origin, sums, np.zeros((n_folds, size, size)))

    @classmethod
    def none(cls, functions: Functions, n_targets: int) -> OutOfBagMoments:
        return cls.zero(functions.origin, functions.n_components)

    @classmethod
    def read(cls, features: Features, engine: Engine) -> OutOfBagMoments:
        every, functions = features.source, features.functions
        k, out_of_bag = functions.n_components, functions.out_of_bag
        assert out_of_bag is not None
        known = with_targets(every.keys, every.targets())
        _, first, which = np.unique(known, return_index=True, return_inverse=True)
        source = every
        if len(first) < len(which):  # equal rows are one of all their weight, where the first stood
            order = np.argsort(first)
            each = np.bincount(which, every.each)[order].astype(np.float64)
            source = replace(every.some(first[order]), weights=each)
        names = out_of_bag.names(source.keys, source.targets())

        def add(total: OutOfBagMoments, Z: NDArray, block: Block) -> OutOfBagMoments:
            mine = names[block.rows]
            at, indices, shares = out_of_bag.copies(mine)
            predictions, folds = Z.reshape(len(Z), k, -1), fold_of(mine)
            Y, weights = block.Y, source.each[block.rows]
            for start in range(0, len(at), PIECE):  # one row may stand for very many
                some = at[start : start + PIECE]
                total = total.with_block(
                    predictions[some],
                    Y[some],
                    weights[some] * shares[start : start + PIECE],
                    out_of_bag.seen(indices[start : start + PIECE], k),
                    folds[some],
                )
            return total

        zero = cls.zero(functions.origin, k)
        distinct = replace(features, source=source)
        found = engine.reduce(distinct, lambda: cls.zero(functions.origin, k), add, zero.nbytes)
        return replace(found, rows=every.present)

    def with_block(
        self,
        predictions: NDArray,
        targets: Array,
        weights: Array,
        seen: NDArray[np.bool_],
        folds: NDArray[np.int64],
    ) -> OutOfBagMoments:
        """A block of predictions of shape (rows, hypotheses, targets) added to our own arrays."""
        n, k, c = predictions.shape
        mask = np.column_stack([~seen, np.ones((n, 2), dtype=bool)])
        weight = self.weight
        for fold in range(len(self.counts)):
            rows = np.flatnonzero((folds == fold) & (weights > 0))
            known = mask[rows] * np.sqrt(weights[rows])[:, None]
            self.counts[fold] += known.T @ known
            weight += float(weights[rows].sum())
            for t in range(c):
                values = np.empty((len(rows), k + 2))
                y = targets[rows, t]
                np.subtract(y[:, None], predictions[rows, :, t], out=values[:, :k])
                values[:, k], values[:, k + 1] = y - self.origin[t], 1.0
                values *= known
                self.sums[fold, t] += values.T @ values
        return replace(self, weight=weight)

    def plus(self, other: Statistics) -> OutOfBagMoments:
        return self._combined(other, +1)

    def minus(self, other: Statistics) -> OutOfBagMoments:
        """These less ``other``, refused where it cannot have been part of them."""
        left = self._combined(other, -1)
        *squares, weight = -FORGIVEN * left.largest
        remaining = np.diagonal(left.sums, axis1=2, axis2=3).min(axis=(0, 2))
        weights = np.diagonal(left.counts, axis1=1, axis2=2)
        if left.rows < 0 or (weights < weight).any() or (remaining < squares).any():
            raise ValueError(
                "These rows cannot have been in the model: without them a sum of squares would be "
                "negative. Hand in the rows, targets and weights it was fitted on."
            )
        if left.weight > NOTHING * self.weight:
            return left
        return OutOfBagMoments.zero(self.origin, self.n_functions, len(self.counts))

    @property
    def largest(self) -> Array:
        """`peaks`, where these sums are no larger."""
        squares = np.diagonal(self.sums, axis1=2, axis2=3).max(axis=(0, 2))
        found = np.append(squares + CANCELLED * self.weight * self.origin**2, self.weight)
        return found if self.peaks is None else np.maximum(found, self.peaks)

    def _combined(self, other: Statistics, sign: int) -> OutOfBagMoments:
        if not isinstance(other, OutOfBagMoments):
            raise self.cannot_add(other)
        return replace(
            self,
            rows=self.rows + sign * other.rows,
            weight=self.weight + sign * other.weight,
            sums=self.sums + sign * other.sums,
            counts=self.counts + sign * other.counts,
            peaks=np.maximum(self.largest, other.largest),
        )

    @property
    def target_variance(self) -> float | None:
        # The last two of every vector are y - origin and 1, of all rows.
        squares = self.sums.sum(axis=0)[:, -2:, -2:]
        weight = squares[:, 1, 1]
        if not (weight > 0).all():
            return None
        return float((squares[:, 0, 0] / weight - (squares[:, 0, 1] / weight) ** 2).mean())

    @property
    def nbytes(self) -> int:
        return self.sums.nbytes + self.counts.nbytes

    @property
    def size(self) -> int:
        return self.n_functions

    @property
    def n_functions(self) -> int:
        return self.sums.shape[2] - 2

    @property
    def n_targets(self) -> int:
        return self.sums.shape[1]
