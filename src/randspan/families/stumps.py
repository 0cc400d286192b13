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
from .shared.randomness import uniforms
from .shared.rows import Rows


class Stumps(Family):
    """φ(x) = sgn(x_i - t), i uniform on the coordinates, t from a distribution F_i; sgn(0) = +1.

    The kernel is 1 - (2/d) Σ_i |F_i(x_i) - F_i(y_i)|.

    Parameters
    ----------
    threshold : {"uniform", "normal", "quantile"}, default="uniform"
        "uniform": t ~ U[a_i, b_i]. "normal": t ~ N(0, 1), meant for standardised columns.
        "quantile": t lies between two neighbouring distinct values of the column, a gap being as
        likely as the rows on both its sides are many; for columns of any scale or shape.
    interval : (a, b) or None, default=None
        The interval of the uniform distribution: two numbers, or two arrays with one number a
        column. None takes the range of every column.

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

    def __init__(self, threshold="uniform", interval=None):
        self.threshold = threshold
        self.interval = interval

    @property
    def nearest_kernel(self) -> str:
        return "laplacian"

    @property
    def sees_scales(self) -> bool:
        return self.threshold == "normal" or self.interval is not None

    def read(self, sample, n_components, seed):
        check_choice("threshold", self.threshold, ("uniform", "normal", "quantile"))
        if self.interval is not None and self.threshold != "uniform":
            raise ValueError(
                f"interval belongs to threshold='uniform'; leave it out with {self.threshold!r}."
            )
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
        columns = np.minimum((u[:, 0] * n_features).astype(np.int64), n_features - 1)
        thresholds = self.resolved.thresholds(u[:, 1], columns)
        return StumpFunctions(self, n_features, n_components, columns, thresholds)

    def closed_form(self, X, Y):
        x = self.resolved.distribution(X.dense.astype(np.float64))
        y = self.resolved.distribution(Y.dense.astype(np.float64))
        total = np.zeros((len(x), len(y)))
        for left, right in zip(x.T, y.T, strict=True):
            total += np.abs(left[:, None] - right)
        return 1 - 2 * total / x.shape[1]


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
