"""Matching pursuit over drawn functions: greedy choices from a pool, in place of fitting them all.

A step needs the products of the residual with all functions, and these follow from Z'Z and Z'y: the
rows are read once, whatever the number of steps. Of cells, which are many and mostly zero, Z is
kept in place of Z'Z, a column of which is computed when its function is chosen.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import solve_triangular
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import engines
from ..checks import check_dtype, check_flag, check_jobs, check_n_components
from ..estimators import SpanTransformer
from ..features import Features
from ..sources import of_arrays
from ..statistics import Moments

Array = NDArray[np.float64]

# A function whose part outside of the chosen ones is this share of it is one of theirs.
DEPENDENT = 1e-10


@dataclass
class _Pool:
    """Σω(z - z̄)(z - z̄)' by columns, Σω(z - z̄)(y - ȳ)' and the means, of all functions."""

    column: Callable[[int], Array]
    squares: Array
    cross: Array
    mean: Array
    target_mean: Array
    target_squares: float


class MatchingPursuit(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """f(x) = b + Σ_{i in S} w_i φ_i(x), the functions S chosen one by one from a pool of k.

    A step chooses i = argmax |⟨r, φ_i⟩|/‖φ_i‖ for the residual r = y - f on the training rows, and
    takes off its projection: w_i += ⟨r, φ_i⟩/‖φ_i‖² (greedy), or solves for all weights of S again
    (orthogonal). Functions and targets are centred; of several targets the sum of squares decides.

    Parameters
    ----------
    family : Family or str, default="stumps"
    n_components : int, default=1000
        k, the size of the pool as the family counts it.
    n_steps : int, default=100
        At most; fewer where nothing is left over.
    orthogonal : bool, default=False
    standardize : bool or "robust", default=True
    dtype : {"float32", "float64"}, default="float32"
        Of the functions' values.
    random_state : int, RandomState, Generator or None, default=None
    n_jobs : int or None, default=None
        All as for `SpanRegressor`.

    Attributes
    ----------
    weights_ : ndarray of shape (n_columns,) or (n_targets, n_columns)
        w of the plain functions of the pool, mostly zero.
    intercept_ : float or ndarray of shape (n_targets,)
    chosen_ : ndarray of shape (n_steps,)
        The function of every step; a greedy pursuit may choose one again.
    errors_ : ndarray of shape (n_steps + 1,)
        The mean squared error on the training rows before the first step and after every one.
    functions_ : Functions
    n_features_in_, feature_names_in_

    References
    ----------
    S. Mallat and Z. Zhang, "Matching pursuits with time-frequency dictionaries", IEEE Transactions
    on Signal Processing (1993); Y. Pati, R. Rezaiifar and P. Krishnaprasad, "Orthogonal matching
    pursuit", Asilomar (1993).

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> y = np.sign(X[:, 0]) + np.sign(X[:, 1] - 0.5)
    >>> model = rs.baselines.MatchingPursuit(n_steps=50, orthogonal=True, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        family="stumps",
        n_components=1000,
        *,
        n_steps=100,
        orthogonal=False,
        standardize=True,
        dtype="float32",
        random_state=None,
        n_jobs=None,
    ):
        self.family = family
        self.n_components = n_components
        self.n_steps = n_steps
        self.orthogonal = orthogonal
        self.standardize = standardize
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Draw the pool, and choose from it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_n_components(self.n_steps, "n_steps")
        orthogonal = check_flag("orthogonal", self.orthogonal)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("All sample weights are zero: at least one row needs a positive one.")
        drawn = SpanTransformer(
            self.family, self.n_components, standardize=self.standardize, dtype=self.dtype,
            random_state=self.random_state, n_jobs=self.n_jobs,
        ).fit(X, y, weights)  # fmt: skip
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        pool = self._pool(drawn, X, Y, weights)
        found = _Pursuit(pool, orthogonal)
        for _ in range(self.n_steps):
            if not found.step():
                break
        W = found.weights
        b = pool.target_mean - pool.mean @ W
        single = y.ndim == 1
        self.weights_ = W[:, 0] if single else W.T
        self.intercept_ = float(b[0]) if single else b
        self.chosen_ = np.array(found.chosen, dtype=np.intp)
        self.errors_ = np.array(found.errors) / weights.sum() / Y.shape[1]
        self.functions_ = drawn.functions_
        return self

    def _pool(self, drawn: SpanTransformer, X: Any, Y: Array, weights: Array) -> _Pool:
        features = self._features(drawn.functions_, drawn.frame_.encoded(X), Y, weights)
        if not drawn.functions_.cell_parts:
            held = Moments.read(features, self._engine())
            squares = np.diagonal(held.scatter)
            total = float(held.target_scatter.sum())
            given = (squares, held.cross, held.mean, held.target_mean, total)
            return _Pool(lambda i: held.scatter[:, i], *given)
        Z = sparse.csc_array(self._engine().map(features, lambda Z, rows: Z), dtype=np.float64)
        total = weights.sum()
        mean, target_mean = Z.T @ weights / total, weights @ Y / total
        away = weights[:, None] * (Y - target_mean)

        def column(i: int) -> Array:
            return Z.T @ (weights * Z[:, [i]].toarray()[:, 0]) - total * mean[i] * mean

        squares = Z.multiply(Z).T @ weights - total * mean**2
        return _Pool(
            column, squares, Z.T @ away, mean, target_mean, float((away * (Y - target_mean)).sum())
        )

    def predict(self, X):
        """f(x) of every row.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        frame = self.functions_.frame
        features = self._features(self.functions_, frame.encoded(X))
        W = self.weights_.T
        return self._engine().map(features, lambda Z, rows: Z @ W) + self.intercept_

    def _features(self, functions, X, Y=None, weights=None) -> Features:
        source = of_arrays(X, np.zeros((X.shape[0], 0)) if Y is None else Y, weights)
        return Features(functions.frame, functions, source, check_dtype(self.dtype))

    def _engine(self) -> engines.Engine:
        return engines.of(n_jobs=check_jobs(self.n_jobs))


@dataclass
class _Pursuit:
    """Weights, and the products ⟨r, φ_i⟩ of the residual, step by step."""

    pool: _Pool
    orthogonal: bool
    chosen: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.leaning = self.pool.cross.copy()
        self.weights = np.zeros_like(self.leaning)
        self.errors = [self.pool.target_squares]
        #: of the chosen functions: columns of Z'Z, and a Cholesky factor of their products
        self.columns: list[Array] = []
        self.lower = np.empty((0, 0))
        varies = self.pool.squares > DEPENDENT * self.pool.squares.max(initial=0.0)
        self.open = np.flatnonzero(varies)

    def step(self) -> bool:
        """Whether a function was chosen that lowers the error."""
        if not len(self.open):
            return False
        gains = (self.leaning[self.open] ** 2).sum(axis=1) / self.pool.squares[self.open]
        i = int(self.open[np.argmax(gains)])
        if not gains.max() > DEPENDENT * self.errors[0]:
            return False
        return self._again(i) if self.orthogonal else self._greedily(i, float(gains.max()))

    def _greedily(self, i: int, gain: float) -> bool:
        change = self.leaning[i] / self.pool.squares[i]
        self.weights[i] += change
        self.leaning -= np.outer(self.pool.column(i), change)
        self.chosen.append(i)
        self.errors.append(max(self.errors[-1] - gain, 0.0))
        return True

    def _again(self, i: int) -> bool:
        """All weights of the chosen functions and of i anew; i is never chosen again."""
        self.open = self.open[self.open != i]
        column, pool = self.pool.column(i), self.pool
        row = solve_triangular(self.lower, column[self.chosen], lower=True) if self.chosen else []
        row = np.asarray(row, dtype=np.float64)
        rest = column[i] - row @ row
        if not rest > DEPENDENT * column[i]:
            return self.step()
        m = len(self.chosen)
        lower = np.zeros((m + 1, m + 1))
        lower[:m, :m], lower[m, :m], lower[m, m] = self.lower, row, np.sqrt(rest)
        self.lower = lower
        self.chosen.append(i)
        self.columns.append(column)
        half = solve_triangular(lower, pool.cross[self.chosen], lower=True)
        self.weights[self.chosen] = solve_triangular(lower, half, lower=True, trans="T")
        self.leaning = pool.cross - np.stack(self.columns, axis=1) @ self.weights[self.chosen]
        self.errors.append(max(pool.target_squares - float((half**2).sum()), 0.0))
        return True
