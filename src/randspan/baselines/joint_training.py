"""Functions of which all parameters are trained: what random draws are spared.

Equation 2 of Rahimi and Recht's *Weighted sums of random kitchen sinks*, which is not convex: it
is descended on from a random draw, by the gradient of all rows.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..checks import check_choice, check_dtype, check_n_components, check_number
from ..families.shared.activations import activated
from ..families.shared.randomness import generator, seed_from

Array = NDArray[np.float64]

# Rows of a block: their values stay in the cache between the products.
STEP = 4096
#: σ'(u), given u and σ(u)
SLOPES = {
    "sigmoid": lambda u, s: s * (1 - s),
    "tanh": lambda u, s: 1 - s * s,
    "relu": lambda u, s: (u > 0).astype(s.dtype),
    "cos": lambda u, s: -np.sin(u),
    "gaussian": lambda u, s: -u * s,
}


class JointTraining(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """min over w, b, θ, c of  (1/Σω)Σ_j ω_j ‖y_j - f(x_j)‖² + alpha·(‖w‖² + ‖θ‖² + ‖c‖²).

    f(x) = b + Σ_i w_i σ(θ_i'x + c_i): k units whose inner parameters are trained together with
    their weights, by nonlinear conjugate gradients (or L-BFGS) from θ ~ N(0, I/d), c = 0, w = 0.

    Parameters
    ----------
    n_components : int, default=100
        k.
    activation : {"sigmoid", "tanh", "relu", "cos", "gaussian"}, default="sigmoid"
        σ.
    alpha : float, default=1e-4
    max_iter : int, default=60
    method : {"cg", "l-bfgs"}, default="cg"
    standardize : bool, default=True
        Whether columns are centred and divided by their deviations.
    dtype : {"float32", "float64"}, default="float32"
        Of the products; sums over rows are in float64.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    inner_ : ndarray of shape (n_features + 1, k)
        θ, and c in the last row.
    weights_ : ndarray of shape (k,) or (n_targets, k)
    intercept_ : float or ndarray of shape (n_targets,)
    objective_ : float
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = np.tanh(X[:, 0] - X[:, 1])
    >>> model = rs.baselines.JointTraining(10, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        n_components=100,
        *,
        activation="sigmoid",
        alpha=1e-4,
        max_iter=60,
        method="cg",
        standardize=True,
        dtype="float32",
        random_state=None,
    ):
        self.n_components = n_components
        self.activation = activation
        self.alpha = alpha
        self.max_iter = max_iter
        self.method = method
        self.standardize = standardize
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        """Draw θ, and descend.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_targets)
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_n_components(self.n_components)
        check_n_components(self.max_iter, "max_iter")
        check_choice("activation", self.activation, SLOPES)
        check_choice("method", self.method, METHODS)
        check_number("alpha", self.alpha, at_least=0)
        X, y = validate_data(
            self, X, y, multi_output=True, y_numeric=True, dtype=np.float64, ensure_min_samples=2
        )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("All sample weights are zero: at least one row needs a positive one.")
        share = weights / weights.sum()
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self._centre, self._scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
        if self.standardize:
            self._centre = share @ X
            scale = np.sqrt(share @ (X - self._centre) ** 2)
            self._scale = np.where(scale > 0, scale, 1.0)
        # Targets in units of their deviation: the steps of a descent know no units.
        middle, spread = share @ Y, np.sqrt(share @ (Y - share @ Y) ** 2)
        unit = float(np.sqrt((spread**2).mean())) or 1.0
        rows, k, c = self._rows(X), int(self.n_components), Y.shape[1]
        rng = generator(seed_from(self.random_state), "joint training", 0)
        inner = np.zeros((rows.shape[1], k))
        inner[:-1] = rng.normal(size=(rows.shape[1] - 1, k)) / np.sqrt(rows.shape[1] - 1)
        begin = np.concatenate([inner.ravel(), np.zeros((k + 1) * c)])
        given = (rows, (Y - middle) / unit, share, float(self.alpha), self.activation)
        found = minimize(
            objective, begin, args=given, jac=True, method=METHODS[self.method],
            options={"maxiter": self.max_iter},
        )  # fmt: skip
        self.inner_, W, b = parts(found.x, rows.shape[1], c)
        W, b = W * unit, b * unit + middle
        single = y.ndim == 1
        self.weights_ = W[:, 0] if single else W.T
        self.intercept_ = float(b[0]) if single else b
        self.objective_, self.n_iter_ = float(found.fun) * unit**2, int(found.nit)
        return self

    def predict(self, X):
        """f(x) of every row.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        rows, inner, W = self._rows(X), self.inner_.astype(check_dtype(self.dtype)), self.weights_.T
        blocks = [rows[start : start + STEP] for start in range(0, len(rows), STEP)]
        return np.concatenate([activated(self.activation, Z @ inner) @ W for Z in blocks]) + (
            self.intercept_
        )

    def _rows(self, X: Array) -> NDArray:
        """Standardised rows, and the constant that c belongs to."""
        rows = np.column_stack([(X - self._centre) / self._scale, np.ones(len(X))])
        return rows.astype(check_dtype(self.dtype))


METHODS = {"cg": "CG", "l-bfgs": "L-BFGS-B"}


def parts(point: Array, columns: int, n_targets: int) -> tuple[Array, Array, Array]:
    """θ and c, one column a unit; w of shape (k, n_targets); b."""
    k = (len(point) - n_targets) // (columns + n_targets)
    inner, rest = point[: columns * k].reshape(columns, k), point[columns * k :]
    return inner, rest[:-n_targets].reshape(k, n_targets), rest[-n_targets:]


def objective(
    point: Array, rows: NDArray, targets: Array, share: Array, alpha: float, activation: str
) -> tuple[float, Array]:
    """Σ_j share_j ‖y_j - f(x_j)‖² + alpha·(‖w‖² + ‖θ‖² + ‖c‖²), and its gradient.

    ``rows`` have a constant last column, for c.
    """
    inner, W, b = parts(point, rows.shape[1], targets.shape[1])
    free = np.append(np.ones(len(point) - len(b)), np.zeros(len(b)))
    narrow, out = inner.astype(rows.dtype), W.astype(rows.dtype)
    value, slopes = alpha * float(free @ point**2), 2 * alpha * free * point
    to_inner, to_W, to_b = parts(slopes, rows.shape[1], targets.shape[1])
    for start in range(0, len(rows), STEP):
        some = slice(start, start + STEP)
        u = rows[some] @ narrow
        s = activated(activation, u.copy())
        away = s @ out + b - targets[some]
        value += float(share[some] @ (away**2).sum(axis=1))
        slope = 2 * share[some, None] * away
        back = (slope.astype(rows.dtype) @ out.T) * SLOPES[activation](u, s)
        to_inner += rows[some].T @ back
        to_W += s.T @ slope
        to_b += slope.sum(axis=0)
    return value, slopes
