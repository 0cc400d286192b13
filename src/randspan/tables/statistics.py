"""Target statistics: for every level the mean of its targets, shrunk to the mean of all.

    e(level) = (S + m·ȳ)/(W + m),

S and W the sum and the weight of targets of the level's rows, of other folds than a training row's
own. m = σ²/τ² is the ratio of the variances within and between levels (one-way analysis of
variance), which makes e the best linear guess where effects of levels are random. Where variances
between levels are no more than chance, m is infinite and e says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Standard errors that the variance between levels must be beyond zero.
BEYOND_CHANCE = 2.0


def beyond_chance(errors: float, n_targets: int) -> float:
    """So many standard errors, where the largest of several targets is looked at (Bonferroni)."""
    return -NormalDist().inv_cdf(NormalDist().cdf(-errors) / n_targets)


@dataclass(frozen=True, eq=False)
class TargetStatistics:
    """e(level), for every target.

    Attributes
    ----------
    weights : ndarray of shape (n_levels, n_folds)
    sums : ndarray of shape (n_levels, n_folds, n_targets)
        Of targets beyond ``mean``.
    mean, strength : ndarray of shape (n_targets,)
        ȳ and m.
    """

    weights: Array
    sums: Array
    mean: Array
    strength: Array

    @classmethod
    def of(
        cls,
        weights: Array,
        sums: Array,
        squares: Array,
        origin: Array,
        beyond: float = BEYOND_CHANCE,
    ) -> TargetStatistics:
        """From sums of targets beyond ``origin`` and of their squares."""
        total = weights.sum()
        away = sums.sum(axis=(0, 1)) / max(total, 1e-300)
        squares = squares - total * away**2
        sums = sums - weights[:, :, None] * away
        strength = _strength(weights.sum(axis=1), sums.sum(axis=1), squares, beyond)
        return cls(weights, sums, origin + away, strength)

    def __call__(self, places: NDArray[np.intp], folds: NDArray[np.intp] | None) -> Array:
        """e of rows in some places (one beyond the last is not known), without their folds."""
        nothing = np.zeros((1, *self.weights.shape[1:]))
        weights = np.concatenate([self.weights, nothing])
        sums = np.concatenate([self.sums, np.zeros((1, *self.sums.shape[1:]))])
        W, S = weights.sum(axis=1)[places], sums.sum(axis=1)[places]
        least = 1e-9 * W  # what rounding may leave of nothing
        if folds is not None:
            W, S = W - weights[places, folds], S - sums[places, folds]
        told = np.isfinite(self.strength)
        m = np.where(told, self.strength, 1.0)
        some = least < W
        away = S / (np.where(some, W, 1.0)[:, None] + m)
        return self.mean + np.where(some[:, None] & told, away, 0.0)


def _strength(W: Array, S: Array, squares: Array, beyond: float) -> Array:
    """σ²/τ² of every target, infinite where levels do not differ."""
    there = W > 0
    W, S = W[there], S[there]
    n, levels = float(W.sum()), len(W)
    if levels < 2 or n <= levels:  # no level twice: nothing tells noise from effects
        return np.full(len(squares), np.inf)
    between = (S**2 / W[:, None]).sum(axis=0)
    within = np.maximum(squares - between, 0.0) / (n - levels)
    typical = (n - (W**2).sum() / n) / (levels - 1)
    effect = between / (levels - 1) - within
    chance = within * np.sqrt(2 / (levels - 1) + 2 / (n - levels))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(effect > beyond * chance, within * typical / effect, np.inf)
