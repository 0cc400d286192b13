"""Greedy methods over stumps: AdaBoost with exact search, and matching pursuit.

AdaBoost sorts columns once; a round is one pass over all columns in sorted order, with running sums
of weights. It is what an implementation for stumps alone would do, so that a comparison of methods
is not one of implementations. Matching pursuit chooses from stumps that were drawn at random.
"""

from __future__ import annotations

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

import randspan as rs


@njit(cache=True, parallel=True)
def _best_of_columns(X, order, signed, best, cuts):
    """For every column the largest |Σ_j ω_j y_j sgn(x_j - t)| over thresholds t, and the t."""
    n, d = X.shape
    for m in prange(d):
        total = 0.0
        for i in range(n):
            total += signed[i]
        # All rows are above a threshold below the smallest value.
        largest, cut, above = abs(total), -np.inf, total
        for place in range(n - 1):
            i = order[m, place]
            above -= 2 * signed[i]
            here, after = X[i, m], X[order[m, place + 1], m]
            if here < after and abs(above) > largest:
                largest, cut = abs(above), (here + after) / 2
        best[m], cuts[m] = largest, cut


class ExactAdaBoost:
    """Discrete AdaBoost for labels ±1."""

    def __init__(self, rounds: int):
        self.rounds = rounds

    def fit(self, X: NDArray, y: NDArray) -> ExactAdaBoost:
        X, y = np.ascontiguousarray(X, dtype=np.float64), np.where(np.asarray(y) > 0, 1.0, -1.0)
        n, d = X.shape
        order = np.ascontiguousarray(np.argsort(X, axis=0, kind="stable").T)
        weights = np.full(n, 1 / n)
        best, cuts = np.empty(d), np.empty(d)
        columns, thresholds, votes = [], [], []
        for _ in range(self.rounds):
            _best_of_columns(X, order, weights * y, best, cuts)
            m = int(np.argmax(best))
            said = np.where(X[:, m] >= cuts[m], 1.0, -1.0)
            edge = float(weights @ (y * said))
            sign, edge = (1.0, edge) if edge >= 0 else (-1.0, -edge)
            edge = min(edge, 1 - 1e-10)
            if edge <= 1e-12:
                break
            vote = 0.5 * np.log((1 + edge) / (1 - edge))
            columns.append(m)
            thresholds.append(cuts[m])
            votes.append(sign * vote)
            weights *= np.exp(-sign * vote * y * said)
            weights /= weights.sum()
        self.columns = np.array(columns, dtype=np.int64)
        self.thresholds, self.votes = np.array(thresholds), np.array(votes)
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        scores = np.zeros(len(X))
        for m, cut, vote in zip(self.columns, self.thresholds, self.votes, strict=True):
            scores += np.where(X[:, m] >= cut, vote, -vote)
        return np.where(scores >= 0, 1.0, -1.0)


class MatchingPursuit:
    """k steps over a pool of drawn stumps, each by the one that the residual leans on most."""

    def __init__(self, steps: int, pool: int = 1000, random_state: int = 0):
        self.steps, self.pool, self.random_state = steps, pool, random_state

    def fit(self, X: NDArray, y: NDArray) -> MatchingPursuit:
        self.functions = rs.Stumps("normal").draw(X, self.pool, self.random_state)
        Z = self.functions(X.astype(np.float32))
        residual = np.where(np.asarray(y) > 0, 1.0, -1.0).astype(np.float32)
        self.weights = np.zeros(self.pool)
        for _ in range(self.steps):
            leaning = Z.T @ residual / len(Z)
            i = int(np.argmax(np.abs(leaning)))
            self.weights[i] += leaning[i]
            residual -= leaning[i] * Z[:, i]
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        used = np.flatnonzero(self.weights)
        scores = self.functions(X.astype(np.float32))[:, used] @ self.weights[used]
        return np.where(scores >= 0, 1.0, -1.0)
