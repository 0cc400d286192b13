"""Exact leave-one-out errors: what they are, and how ridges are judged by them.

Without row i, and without its copies, a ridge fit misses its target by e_i/(1 - g_i·h_i): e_i is
the residual of the fit to all rows, g_i the weight that is left out, and
h_i = 1/Σω + z̃_i'(Z̃'Z̃ + μI)⁻¹z̃_i (without 1/Σω where there is no intercept).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from .validation import Validation

Array = NDArray[np.float64]

# A model that leaves less than this of a row's residual free passes through it.
TOUCHES = 1e-8
# Errors are compared to this share of the variance of targets: below it they are rounding.
ROUNDING = 1e-12


def _no_features(function: Callable[[NDArray, slice], Array]) -> Array:
    raise NotImplementedError("These rows have no features.")


@dataclass(frozen=True, eq=False)
class Judges:
    """Training rows that ridges are judged by.

    Attributes
    ----------
    targets : ndarray of shape (n_judges, n_targets)
    gone : ndarray of shape (n_judges,)
        The weight that is left out with a row: its own, and that of its copies.
    shares : ndarray of shape (n_judges,)
        What a row counts for in the mean of all rows; they sum to 1.
    doubts : ndarray of shape (n_judges,)
        What it counts for together with its copies, which say nothing new.
    map : callable
        ``map(function)`` is ``function(Z, rows)`` of blocks of their features, joined.
    """

    targets: Array
    gone: Array
    shares: Array
    doubts: Array
    map: Callable[[Callable[[NDArray, slice], Array]], Array] = _no_features

    @classmethod
    def of(
        cls, targets: Array, gone: Array, shares: Array, each: Array, map: Callable = _no_features
    ) -> Self:
        """Rows of weight ``each``, counted as ``shares`` in proportion."""
        total = float(shares.sum())
        return cls(targets, gone, shares / total, shares * gone / each / total, map)

    def squares(self, away: Array, leverages: Array, rows: slice) -> Array:
        """Squared errors of rows left out, from squared residuals and leverages, in columns."""
        return left_out_squares(away, 1 - self.gone[rows, None] * leverages)

    def errors(self, squares: Array) -> Array:
        """The mean of all rows, for every column of squared errors."""
        spread = self.shares @ (self.targets - self.shares @ self.targets) ** 2
        return self.shares @ squares + ROUNDING * float(spread.mean())

    def validation(self, squares: Array) -> Validation:
        """The mean of squared errors, and how far off it may be."""
        error = float(self.shares @ squares)
        if not np.isfinite(error) or len(squares) < 2:
            return Validation("leave_one_out", error, np.inf)
        doubt = np.sqrt((self.shares * self.doubts) @ (squares - error) ** 2)
        return Validation("leave_one_out", error, float(doubt))


def left_out_squares(away: Array, left: Array) -> Array:
    """e²/(1 - gh)², infinite where a model passes through a row."""
    free = left > TOUCHES
    return np.where(free, away / np.where(free, left, 1.0) ** 2, np.inf)


def best(errors: Array) -> int:
    """The last of those that differ by rounding or little more: the simplest model."""
    lowest = errors.min()
    if not np.isfinite(lowest):
        return len(errors) - 1
    return int(np.flatnonzero(errors <= 1.001 * lowest)[-1])


def walk(
    error: Callable[[int], float], at: int, lowest: int, highest: int, gain: float = 0.0
) -> int:
    """The place of a minimum, from ``at`` downhill; uphill costs two looks.

    Steps go on as long as each lowers the error by more than the share ``gain``.
    """
    step = 1 if at < highest and error(at + 1) <= error(at) else -1
    while lowest <= at + step <= highest and error(at + step) < (1 - gain) * error(at):
        at += step
    return at
