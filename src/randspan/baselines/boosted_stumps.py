"""AdaBoost over stumps, its columns sorted once.

Rahimi and Recht's claim is about methods, and so their rival should not lose by its
implementation: a round here is one pass over columns that are in order already, n·d additions and
comparisons, where a tree that knows nothing of the round before sorts them again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from .. import engines
from ..checks import check_choice, check_jobs, check_n_components, check_number
from .splits import best_split

Array = NDArray[np.float64]

CRITERIA = ("gini", "error")
# A share of the weight is not 0 for rounding's sake, as in scikit-learn.
LEAST = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class _Columns:
    """Columns in ascending order, and which rows their values belong to."""

    values: NDArray[np.float32]
    order: NDArray[np.int32]

    @classmethod
    def of(cls, X: NDArray[np.float32], pool) -> _Columns:
        n, d = X.shape
        values, order = np.empty((d, n), np.float32), np.empty((d, n), np.int32)

        def sort(m: int) -> None:
            order[m] = np.argsort(X[:, m], kind="stable")
            values[m] = X[order[m], m]

        pool(sort, list(range(d)))
        return cls(values, order)


class BoostedStumps(ClassifierMixin, BaseEstimator):
    """f_c(x) = Σ_t v_t 1[h_t(x) = c]: AdaBoost over stumps h_t(x) = l_t if x_{i_t} ≤ θ_t, else r_t.

    Several classes as in SAMME. Round t takes the best stump for the weights ω of the rows, of all
    columns and thresholds, with the weighted error ε_t; it votes with v_t = η(log((1 - ε_t)/ε_t) +
    log(K - 1)), and ω grows by exp(v_t) for the rows that it has wrong. The same as scikit-learn's
    ``AdaBoostClassifier`` of trees of depth 1, round by round, in a fraction of its time.

    Parameters
    ----------
    n_estimators : int, default=100
        Rounds at most; fewer where a stump is right about every row, or no stump is better than
        chance.
    criterion : {"gini", "error"}, default="gini"
        What the best stump minimises: Gini's impurity, as scikit-learn's trees do, or the weighted
        error, as Freund and Schapire's weak learner does.
    learning_rate : float, default=1.0
        η.
    n_jobs : int or None, default=None
        Threads, as in scikit-learn; None for all cores.

    Attributes
    ----------
    columns_, thresholds_ : ndarray of shape (n_rounds,)
        i_t and θ_t.
    leaves_ : ndarray of shape (n_rounds, 2)
        l_t and r_t, indices into ``classes_``.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_rounds,)
        v_t and ε_t.
    classes_, n_features_in_, feature_names_in_

    References
    ----------
    J. Zhu, H. Zou, S. Rosset and T. Hastie, "Multi-class AdaBoost", Statistics and its Interface
    (2009).

    Examples
    --------
    >>> import numpy as np, randspan as rs
    >>> X = np.random.default_rng(0).normal(size=(500, 4))
    >>> model = rs.baselines.BoostedStumps(50).fit(X, X[:, 0] + X[:, 1] > 0)
    >>> bool(model.score(X, X[:, 0] + X[:, 1] > 0) > 0.95)
    True
    """

    def __init__(self, n_estimators=100, *, criterion="gini", learning_rate=1.0, n_jobs=None):
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.learning_rate = learning_rate
        self.n_jobs = n_jobs

    def fit(self, X, y, sample_weight=None):
        """Choose a stump a round.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
            Compared in float32, as in scikit-learn's trees.
        y : array of shape (n_samples,)
            Classes, two or more.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        check_n_components(self.n_estimators, "n_estimators")
        check_choice("criterion", self.criterion, CRITERIA)
        rate = check_number("learning_rate", self.learning_rate, at_least=0)
        X, y = validate_data(self, X, y, dtype=np.float32)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise ValueError(
                f"y holds one class only, {classes[0]!r}: hand in rows of two classes at least."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        if not weights.sum() > 0:
            raise ValueError("All sample weights are zero: at least one row needs a positive one.")
        # Rows of weight zero are not there, and no threshold lies between them.
        X, labels, weights = (part[weights > 0] for part in (X, labels, weights))
        weights = weights / weights.sum()
        K, rounds = len(classes), []
        with engines.of(n_jobs=check_jobs(self.n_jobs)).pool() as pool:
            columns = _Columns.of(X, pool)
            for left in range(self.n_estimators, 0, -1):
                np.maximum(weights, LEAST, out=weights)
                m, cut, leaves = self._best(columns, labels, weights, K, pool)
                wrong = leaves[(X[:, m] > cut).astype(np.intp)] != labels
                error = float(np.average(wrong, weights=weights))
                if error >= 1 - 1 / K:  # no better than chance
                    break
                vote = rate * (np.log((1 - error) / error) + np.log(K - 1)) if error > 0 else 1.0
                rounds.append((m, cut, leaves, vote, max(error, 0.0)))
                if error <= 0 or left == 1:
                    break
                weights *= np.exp(vote * wrong)
                weights /= weights.sum()
        if not rounds:
            raise ValueError(
                "No stump is better than chance at these classes: no column tells them apart by "
                "one threshold."
            )
        found = zip(*rounds, strict=True)
        columns_, thresholds, leaves_, votes, errors = (np.array(part) for part in found)
        self.classes_, self.columns_, self.thresholds_ = classes, columns_, thresholds
        self.leaves_, self.estimator_weights_, self.estimator_errors_ = leaves_, votes, errors
        return self

    def _best(self, columns: _Columns, labels, weights, K: int, pool):
        """The column, the threshold and the two classes of the best stump."""
        totals, by_error = np.bincount(labels, weights, K), self.criterion == "error"

        def best(m: int) -> tuple[float, float]:
            return best_split(
                columns.values[m], columns.order[m], labels, weights, totals, by_error
            )

        found = pool(best, list(range(len(columns.values))))
        m = int(np.argmax([gain for gain, _ in found]))
        cut, values = found[m][1], columns.values[m]
        below = columns.order[m][: np.searchsorted(values, cut, side="right")]
        if np.isinf(found[m][0]):  # every column is constant
            cut, below = np.inf, columns.order[m]
        left = np.bincount(labels[below], weights[below], K)
        right = totals - left if len(below) < len(labels) else left
        return m, cut, np.array([np.argmax(left), np.argmax(right)])

    def decision_function(self, X):
        """Σ_t v_t 1[h_t(x) = c]/Σ_t v_t of every class; of two classes the second minus the first.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        votes, total = deque(self._rounds(X), maxlen=1)[0]
        return self._shares(votes, total)

    def staged_decision_function(self, X) -> Iterator[Array]:
        """`decision_function` after every round.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        for votes, total in self._rounds(X):
            yield self._shares(votes, total)

    def predict(self, X):
        """The class with the most votes.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        return self._named(self.decision_function(X))

    def staged_predict(self, X) -> Iterator[NDArray]:
        """`predict` after every round.

        Parameters
        ----------
        X : array of shape (n_samples, n_features)
        """
        for scores in self.staged_decision_function(X):
            yield self._named(scores)

    def _named(self, scores: Array) -> NDArray:
        best = scores > 0 if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[np.asarray(best, dtype=np.intp)]

    def _shares(self, votes: Array, total: float) -> Array:
        shares = votes / total if total else votes.copy()
        return shares[:, 1] - shares[:, 0] if len(self.classes_) == 2 else shares

    def _rounds(self, X) -> Iterator[tuple[Array, float]]:
        """The votes for every class so far, changed in place, and their sum, after every round."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float32, reset=False)
        votes, total, rows = np.zeros((len(X), len(self.classes_))), 0.0, np.arange(len(X))
        given = (self.columns_, self.thresholds_, self.leaves_, self.estimator_weights_)
        for m, cut, leaves, vote in zip(*given, strict=True):
            votes[rows, leaves[(X[:, m] > cut).astype(np.intp)]] += vote
            total += vote
            yield votes, total
