"""A change of variables w = Cu after which the problem is round, from a sketch of all rows.

B = SΩ^½Z̃ has as few rows as we like and B'B ≈ Z̃'ΩZ̃, so that CC' = (B'B + νI)⁻¹ makes
C'(Z̃'ΩZ̃ + νI)C nearly the identity. The sketch takes every row in: a subsample would miss the
rare rows in which a function differs from zero, and with them some directions altogether.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from ..statistics.products import Pool
from . import tiles
from .solution import Array


class Preconditioner(ABC):
    """C with CC' = (B'B + νI)⁻¹."""

    @abstractmethod
    def apply(self, U: Array) -> Array:
        """CU."""

    @abstractmethod
    def transposed(self, G: Array) -> Array:
        """C'G."""


@dataclass(frozen=True)
class Tall(Preconditioner):
    """C = L⁻ᵀ for LL' = B'B + νI: at least as many sketched rows as functions."""

    lower: Array

    def apply(self, U):
        return linalg.solve_triangular(self.lower, U, lower=True, trans=1, check_finite=False)

    def transposed(self, G):
        return linalg.solve_triangular(self.lower, G, lower=True, check_finite=False)


@dataclass(frozen=True)
class Wide(Preconditioner):
    """C = (I - B'L⁻ᵀ(L + √νI)⁻¹B)/√ν for LL' = BB' + νI: fewer sketched rows than functions.

    With Y = L⁻ᵀ(L + √νI)⁻¹ and K = BB', Y + Y' - YKY' = (K + νI)⁻¹, so that CC' is Woodbury's
    formula; no eigenvectors are needed for this root of it.
    """

    sketch: NDArray
    lower: Array
    shifted: Array
    nu: float

    def apply(self, U):
        half = linalg.solve_triangular(self.shifted, self._down(U), lower=True, check_finite=False)
        half = linalg.solve_triangular(self.lower, half, lower=True, trans=1, check_finite=False)
        return (U - self._up(half)) / np.sqrt(self.nu)

    def transposed(self, G):
        half = linalg.solve_triangular(self.lower, self._down(G), lower=True, check_finite=False)
        half = linalg.solve_triangular(self.shifted, half, lower=True, trans=1, check_finite=False)
        return (G - self._up(half)) / np.sqrt(self.nu)

    def _down(self, V: Array) -> Array:
        return _times(self.sketch, V)

    def _up(self, V: Array) -> Array:
        return _times(self.sketch.T, V)


def _times(A: NDArray, V: Array) -> Array:
    """AV in the precision of A, whose range V may leave: gradients of huge targets do."""
    largest = np.abs(V).max(initial=0.0)
    unit = 2.0 ** (np.frexp(largest)[1] - 1) if 0 < largest < np.inf else 1.0
    return (A @ (V / unit).astype(A.dtype)).astype(np.float64) * unit


class Sketch:
    """B, and the square that is factored for every ν: B'B or BB', whichever is smaller."""

    def __init__(self, sketch: NDArray, pool: Pool | None = None):
        self.tall = sketch.shape[0] >= sketch.shape[1]
        self.trace = float(np.einsum("ij,ij->", sketch, sketch, dtype=np.float64))
        self.square = tiles.square(sketch.T if self.tall else sketch, pool).astype(np.float64)
        self.pool = pool
        self.sketch = None if self.tall else sketch
        # Rounding errors of the square may make it indefinite by about this much.
        self.rounding = 4 * float(np.finfo(sketch.dtype).eps) * self.trace

    def preconditioner(self, nu: float) -> Preconditioner:
        """C for ν, or for the smallest ν that rounding errors permit."""
        nu = max(nu, self.rounding / len(self.square), np.finfo(float).tiny)
        while True:
            system = self.square.copy(order="F")
            system.flat[:: len(system) + 1] += nu
            lower = tiles.factor(system, self.pool)
            if lower is not None:
                break
            nu *= 10
        if self.sketch is None:
            return Tall(lower)
        shifted = lower.copy(order="F")
        shifted.flat[:: len(shifted) + 1] += np.sqrt(nu)
        return Wide(self.sketch, lower, shifted, nu)


def sketch_rows(n: int, k: int) -> int:
    """How many rows a sketch should have.

    Four times as many as functions make the problem so round that each iteration halves the error
    (or better, with a ridge). The square of the sketch then costs 4k³, to be compared with passes
    of 4nk: where that is more than some hundred passes, fewer rows than functions must do, and
    serve the directions in which the features vary most. With few rows the sketch is the rows.
    """
    rows = 4 * k
    if n <= rows:
        rows = n
    while rows * min(rows, k) ** 2 > max(200 * n * k, 10**10) and rows > 64:
        rows //= 2
    return rows
