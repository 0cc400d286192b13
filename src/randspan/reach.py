"""How far training rows reach, and which rows lie far outside of them.

The leverage of a row in a linear model of the standardised inputs, x̃'(X̃'X̃ + τI)⁻¹x̃ of centred
rows, grows without limit with the distance from the data, along and across their directions, where
that of bounded functions ends at what they know a priori. It is compared with that of training rows
that are left out, h/(1 - h).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from .frame import Frame
from .sources import Source

Array = NDArray[np.float64]

# Of wider rows nothing is said, nor of fewer than so many and so many for every column: in most
# directions they would hardly differ by chance.
WIDEST, FEWEST_ROWS, ROWS_EACH = 256, 20, 4
# Rows that are looked at, of more a sample by their places.
MOST_ROWS = 10_000
# τ beside the mean variance of a column: directions of less are rounding, or copies of others.
SMALLEST = 1e-3
# Leverages this many times those of any training row: two and a half times as far away.
FAR = 6.25


@dataclass(frozen=True, eq=False)
class Reach:
    """Rows z = Tx̃ - c of leverage ‖z‖², and the largest one of a training row that is left out."""

    frame: Frame
    root: Array
    centre: Array
    largest: float

    @classmethod
    def of(cls, frame: Frame, rows: Source) -> Reach | None:
        """That of training rows; None where there is nothing to compare with."""
        weights, d = rows.each, rows.n_features
        if not 0 < d <= WIDEST or rows.present < FEWEST_ROWS + ROWS_EACH * d:
            return None
        X = frame.rows(rows.held().X, np.float64).dense
        mean = np.average(X, axis=0, weights=weights)
        away = X - mean
        scatter = (away * weights[:, None]).T @ away
        size = float(np.trace(scatter)) / d
        if not 0 < size < np.inf:
            return None
        scatter.flat[:: d + 1] += SMALLEST * size
        root = linalg.inv(linalg.cholesky(scatter, lower=True))
        found = cls(frame, root, root @ mean, np.inf)
        own = weights * found.leverages(rows)
        left = np.maximum(1 - own, 1e-10)
        return cls(frame, root, root @ mean, float((own / weights.clip(1e-300) / left).max()))

    def leverages(self, source: Source) -> Array:
        """The leverage of every row."""
        with np.errstate(all="ignore"):
            away = self.frame.rows(source.held().X, np.float64).dense @ self.root.T - self.centre
            return np.einsum("ij,ij->i", away, away)

    def n_far(self, source: Source) -> tuple[int, int]:
        """How many rows are far outside, and how many were looked at."""
        if source.n_rows > MOST_ROWS:
            source = source.some(np.linspace(0, source.n_rows - 1, MOST_ROWS).astype(np.intp))
        return int((self.leverages(source) > FAR * self.largest).sum()), source.n_rows
