"""Exact leave-one-out errors: what they are, and how ridges are judged by them.

Without row i, and the rows of equal inputs that are left out with it (`statistics.together`), a
ridge fit misses the mean m of their targets by e/(1 - g·h): e is the residual m - f of the fit to
all rows, g the weight that is left out, and h = 1/Σω + z̃'(Z̃'Z̃ + μI)⁻¹z̃ (without 1/Σω where there
is no intercept). The rows themselves are missed by their distance from m more. Where predictions
are clipped, so are those of rows that are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from ..statistics.together import Together
from .validation import Validation

Array = NDArray[np.float64]

# A model that leaves less than this of a row's residual free passes through it.
TOUCHES = 1e-8
# Errors are compared to this share of the variance of targets: below it they are rounding.
ROUNDING = 1e-12
PASSES = Validation(
    None,
    reason="the model passes through some rows whatever their targets, and so nothing is known of "
    "it without them: use a larger alpha, fewer functions or more rows",
)


def _no_features(function: Callable[[NDArray, slice], Array]) -> Array:
    raise NotImplementedError("These rows have no features.")


@dataclass(frozen=True, eq=False)
class Judges:
    """Sets of training rows that ridges are judged by, each left out as a whole.

    Attributes
    ----------
    targets : ndarray of shape (n_judges, n_targets)
        The mean target of every set.
    gone : ndarray of shape (n_judges,)
        The weight that is left out.
    shares : ndarray of shape (n_judges,)
        What a set counts for in the mean of all rows; they sum to 1.
    within : ndarray of shape (n_judges,)
        The mean square by which its rows miss its mean target.
    limits : ndarray of shape (2, n_targets) or None
        What predictions are clipped to.
    sampled : bool
        Whether some sets stand for all.
    map : callable
        ``map(function)`` is ``function(Z, rows)`` of blocks of their features, joined.
    """

    targets: Array
    gone: Array
    shares: Array
    within: Array
    limits: Array | None = None
    sampled: bool = False
    map: Callable[[Callable[[NDArray, slice], Array]], Array] = _no_features

    @classmethod
    def of(cls, together: Together, limits: Array | None = None) -> Self:
        """All sets, counted by their weight."""
        weights = together.weights
        shares = weights / weights.sum()
        return cls(together.targets, weights, shares, together.within, limits)

    def some(self, sets: NDArray[np.intp], counted: Array, map: Callable | None = None) -> Self:
        """Some of the sets, counted as ``counted`` in proportion."""
        known = (self.targets[sets], self.gone[sets], counted / counted.sum(), self.within[sets])
        return type(self)(*known, self.limits, True, map or self.map)

    def squares(self, residuals: Iterable[Array], leverages: Array, rows: slice) -> Array:
        """Squared errors of sets left out, the mean of targets, from leverages in columns.

        ``residuals`` are those of one target after the other, in as many columns.
        """
        return self.squares_left(residuals, 1 - self.gone[rows, None] * leverages, rows)

    def squares_left(self, residuals: Iterable[Array], left: Array, rows: slice) -> Array:
        """The same from 1 - gh, where that is known to more digits."""
        free, total = left > TOUCHES, np.zeros(left.shape)
        left = np.where(free, left, 1.0)
        for target, away in enumerate(residuals):
            total += self.missed(away / left, rows, target) ** 2
        squares = np.where(free, total / self.targets.shape[1], np.inf)
        return squares + self.within[rows, None]

    def missed(self, away: Array, rows: slice | NDArray[np.intp], target: int) -> Array:
        """By how much predictions that are ``away`` miss a target once they are clipped."""
        if self.limits is None:
            return away
        lower, upper = self.limits[:, target]
        mine = self.targets[rows, target].reshape(-1, *[1] * (away.ndim - 1))
        return mine - np.clip(mine - away, lower, upper)

    def errors(self, squares: Array) -> Array:
        """The mean of all rows, for every column of squared errors."""
        spread = self.shares @ (self.targets - self.shares @ self.targets) ** 2
        size = float(spread.mean() + self.shares @ self.within)
        return self.shares @ squares + ROUNDING * size

    def validation(self, squares: Array) -> Validation:
        """The mean of squared errors, and how far off it may be."""
        error = float(self.shares @ squares)
        if not np.isfinite(error):
            return PASSES
        if len(squares) < 2:
            return Validation("leave_one_out", error, np.inf)
        variance = self.shares**2 @ (squares - error) ** 2
        return Validation("leave_one_out", error, float(np.sqrt(variance)))


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
