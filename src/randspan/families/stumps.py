"""Random decision stumps (Rahimi and Recht 2008): the sign of one coordinate minus a threshold."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ..checks import check_choice
from .base import Family
from .functions import Functions
from .shared.cube import check_interval
from .shared.randomness import sampled, uniforms
from .shared.rows import Rows


class Stumps(Family):
    """φ(x) = sgn(x_i - t), i a coordinate with probability p_i, t ~ F_i; sgn(0) = +1.

    The kernel is 1 - 2 Σ_i p_i |F_i(x_i) - F_i(y_i)|, p_i = 1/d unless they are given.

    Parameters
    ----------
    threshold : {"uniform", "normal", "quantile"} or callable, default="uniform"
        "uniform": t ~ U[a_i, b_i]. "normal": t ~ N(0, 1), meant for standardised columns.
        "quantile": t lies between two neighbouring distinct values of the column, a gap being as
        likely as the rows on both its sides are many; for columns of any scale or shape. A sampler
        is called as ``threshold(d, rng)`` for every function, and returns a threshold for each of
        the d columns, of which that of the drawn one is taken.
    interval : (a, b) or None, default=None
        The interval of the uniform distribution: two numbers, or two arrays with one number a
        column. None takes the range of every column.
    probabilities : array of shape (n_features,), callable or None, default=None
        p_i; they are divided by their sum. None is 1/d. A sampler is called as
        ``probabilities(1, rng)`` for every function, and returns the index of a column.

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> functions = rs.Stumps(interval=(0, 1)).draw(np.array([[0.0], [1.0]]), 3, random_state=0)
    >>> functions(np.array([[-1.0], [2.0]]))
    array([[-1., -1., -1.],
           [ 1.,  1.,  1.]])
    """

    bounded = property(lambda self: 1.0)
    differentiable = property(lambda self: False)

    def __init__(self, threshold="uniform", interval=None, probabilities=None):
        self.threshold = threshold
        self.interval = interval
        self.probabilities = probabilities

    @property
    def nearest_kernel(self) -> str:
        return "laplacian"

    @property
    def sees_scales(self) -> bool:
        own_unit = callable(self.threshold) or self.threshold == "normal"
        return own_unit or self.interval is not None

    def read(self, sample, n_components, seed):
        if not callable(self.threshold):
            known = ("uniform", "normal", "quantile")
            check_choice("threshold", self.threshold, known, " or a callable sampler")
        if not callable(self.probabilities):
            self._shares(sample.shape[1])
        if self.interval is not None and self.threshold != "uniform":
            raise ValueError(
                f"interval belongs to threshold='uniform'; leave it out with {self.threshold!r}."
            )
        if callable(self.threshold):
            return SampledThresholds()
        if self.threshold == "normal":
            return NormalThresholds()
        if self.threshold == "quantile":
            return QuantileThresholds.of(*sample.head(8192))
        if self.interval is None:
            return UniformThresholds(sample.lower, sample.upper)
        return UniformThresholds(*check_interval(self.interval, sample.shape[1]))

    def numbers(self, n_features):
        return 2

    def sample(self, n_features, n_components, seed):
        u = uniforms(seed, "stumps", n_components, 2)
        columns = self._columns(u[:, 0], n_features, seed)
        if callable(self.threshold):
            drawn = sampled(self.threshold, seed, "thresholds", n_components, n_features)
            thresholds = drawn[np.arange(n_components), columns]
        else:
            thresholds = self.resolved.thresholds(u[:, 1], columns)
        return StumpFunctions(self, n_features, n_components, columns, thresholds)

    def _shares(self, n_features: int) -> NDArray[np.float64] | None:
        """p_i, checked; None where all are equal."""
        if self.probabilities is None:
            return None
        try:
            p = np.asarray(self.probabilities, dtype=np.float64)
        except (TypeError, ValueError):
            p = np.array(np.nan)
        if p.shape != (n_features,) or not ((p >= 0).all() and 0 < p.sum() < np.inf):
            raise ValueError(
                f"probabilities must be {n_features} numbers >= 0, one a column and not all 0, a "
                f"callable sampler or None; got {self.probabilities!r}."
            )
        return p / p.sum()

    def _columns(self, u: NDArray, n_features: int, seed: int) -> NDArray[np.int64]:
        """A column for every function, from uniforms u."""
        if callable(self.probabilities):
            drawn = sampled(self.probabilities, seed, "columns", len(u), 1)[:, 0]
            columns = drawn.astype(np.int64)
            wrong = (columns != drawn) | (columns < 0) | (columns >= n_features)
            if wrong.any():
                raise ValueError(
                    f"The sampler of probabilities must return the index of a column, 0 to "
                    f"{n_features - 1}; it returned {drawn[wrong][0]:g}."
                )
            return columns
        shares = self._shares(n_features)
        if shares is None:
            return np.minimum((u * n_features).astype(np.int64), n_features - 1)
        reached = np.cumsum(shares)
        # Rounding must not lead beyond the last column that has a share.
        return np.minimum(np.searchsorted(reached, u, side="right"), np.flatnonzero(shares)[-1])

    def closed_form(self, X, Y):
        if callable(self.threshold) or callable(self.probabilities):
            raise self.no_closed_form("thresholds or columns come from a sampler of yours")
        shares = self._shares(X.shape[1])
        x = self.resolved.distribution(X.dense.astype(np.float64))
        y = self.resolved.distribution(Y.dense.astype(np.float64))
        total = np.zeros((len(x), len(y)))
        if shares is None:
            for left, right in zip(x.T, y.T, strict=True):
                total += np.abs(left[:, None] - right)
            return 1 - 2 * total / x.shape[1]
        for left, right, share in zip(x.T, y.T, shares, strict=True):
            total += share * np.abs(left[:, None] - right)
        return 1 - 2 * total


@dataclass(frozen=True, eq=False)
class StumpFunctions(Functions):
    """sgn(x[columns] - thresholds)."""

    columns: NDArray[np.int64]
    thresholds: NDArray[np.float64]

    def evaluate(self, rows: Rows) -> NDArray:
        return rows.signs(self.columns, self.thresholds)


class Thresholds(ABC):
    """A distribution of thresholds, column by column: what `Stumps` reads from rows."""

    @abstractmethod
    def thresholds(self, u: NDArray, columns: NDArray) -> NDArray:
        """Thresholds for ``columns`` from uniforms u."""

    @abstractmethod
    def distribution(self, X: NDArray) -> NDArray:
        """F_i(x_i) = P(t <= x_i) for the entries of X."""


@dataclass(frozen=True)
class NormalThresholds(Thresholds):
    """t ~ N(0, 1) in every column."""

    def thresholds(self, u, columns):
        return special.ndtri(u)

    def distribution(self, X):
        return special.ndtr(X)


@dataclass(frozen=True)
class SampledThresholds(Thresholds):
    """Whatever the family's sampler returns."""

    def thresholds(self, u, columns):
        raise NotImplementedError("A sampler draws the thresholds.")

    def distribution(self, X):
        raise NotImplementedError("Nothing is known of the distribution of a sampler.")


@dataclass(frozen=True, eq=False)
class UniformThresholds(Thresholds):
    """t ~ U[lower, upper]; a column without width has its one value as threshold."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def thresholds(self, u, columns):
        lower = self.lower[columns]
        return lower + u * (self.upper[columns] - lower)

    def distribution(self, X):
        width = self.upper - self.lower
        inside = np.clip((X - self.lower) / np.where(width > 0, width, 1), 0, 1)
        return np.where(width > 0, inside, self.lower <= X)


@dataclass(frozen=True, eq=False)
class QuantileThresholds(Thresholds):
    """t in the gaps between neighbouring distinct values, column by column."""

    gaps: list[NDArray[np.float64]]
    reached: list[NDArray[np.float64]]

    @classmethod
    def of(cls, rows: NDArray, weights: NDArray) -> QuantileThresholds:
        gaps, reached = [], []
        for column in rows.T:
            values, inverse = np.unique(column, return_inverse=True)
            mass = np.bincount(inverse, weights)
            if len(values) == 1:
                gaps.append(values)
                reached.append(np.ones(1))
                continue
            gaps.append(values[:-1] + np.diff(values) / 2)
            share = np.cumsum(mass[:-1] + mass[1:])
            reached.append(share / share[-1])
        return cls(gaps, reached)

    def thresholds(self, u, columns):
        thresholds = np.empty(len(u))
        # Sorted by columns, so that each looks at its own functions only.
        order = np.argsort(columns, kind="stable")
        for here in np.split(order, np.flatnonzero(np.diff(columns[order])) + 1):
            column = columns[here[0]]
            thresholds[here] = self.gaps[column][np.searchsorted(self.reached[column], u[here])]
        return thresholds

    def distribution(self, X):
        F = np.empty(X.shape)
        for m, (gaps, reached) in enumerate(zip(self.gaps, self.reached, strict=True)):
            F[:, m] = np.append(0.0, reached)[np.searchsorted(gaps, X[:, m], side="right")]
        return F
