"""RKS's comparison: sigmoids of which all parameters are trained, from random ones.

f(x) = Σ_i w_i σ(θ_i'x + b_i) + c, squared loss, by nonlinear conjugate gradients.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

RIDGE = 1e-4


class TrainedSigmoids:
    """k sigmoids, weights and all inner parameters together."""

    def __init__(self, k: int, steps: int = 60, random_state: int = 0):
        self.k, self.steps, self.random_state = k, steps, random_state

    def fit(self, X: NDArray, y: NDArray) -> TrainedSigmoids:
        X = np.column_stack([X, np.ones(len(X))]).astype(np.float32)
        y = np.where(np.asarray(y) > 0, 1.0, -1.0).astype(np.float32)
        rng = np.random.default_rng(self.random_state)
        inner = rng.normal(size=(X.shape[1], self.k)) / np.sqrt(X.shape[1] - 1)
        point = np.concatenate([inner.ravel(), np.zeros(self.k + 1)])
        n = len(X)

        def value(point: NDArray) -> tuple[float, NDArray]:
            theta, w, c = self._parts(point, X.shape[1])
            H = expit(X @ theta)
            away = H @ w + c - y
            slope = 2 * away / n
            back = np.outer(slope, w) * H * (1 - H)
            gradient = np.concatenate([(X.T @ back).ravel(), H.T @ slope, [slope.sum()]])
            loss = float(away @ away) / n + RIDGE * float(point @ point)
            return loss, gradient.astype(np.float64) + 2 * RIDGE * point

        found = minimize(value, point, jac=True, method="CG", options={"maxiter": self.steps})
        self.point, self.columns = found.x, X.shape[1]
        return self

    def _parts(self, point: NDArray, columns: int) -> tuple[NDArray, NDArray, np.float32]:
        size = columns * self.k
        theta = point[:size].reshape(columns, self.k).astype(np.float32)
        return theta, point[size:-1].astype(np.float32), np.float32(point[-1])

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        X = np.column_stack([X, np.ones(len(X))]).astype(np.float32)
        theta, w, c = self._parts(self.point, self.columns)
        return np.where(expit(X @ theta) @ w + c >= 0, 1.0, -1.0)
