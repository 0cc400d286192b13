"""Classification in the span of random functions."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ..families.rows import canonical
from .base import SpanModel


class SpanClassifier(ClassifierMixin, SpanModel):
    """argmax_c f_c(x), each f_c = b_c + Σ_i w_ci φ_i fitted to +1 for class c and -1 for the rest.

    Two classes share one f, whose sign decides. The ridge and everything else is as in
    `SpanRegressor`: Σ_r ω_r (y_rc - f_c(x_r))² + alpha·k·‖w_c‖², one alpha for all classes.

    Parameters
    ----------
    family, n_components, loss, alpha, fit_intercept, standardize, scales, frame, solver, dtype, \
random_state, n_jobs, verbose
        As for `SpanRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    coef_ : ndarray of shape (1, k) for two classes, else (n_classes, k)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    alpha_, gcv_error_, n_components_, functions_, frame_, solution_, n_features_in_, \
feature_names_in_
        As for `SpanRegressor`; the error is that of the ±1 columns.

    Examples
    --------
    >>> import randspan as rs
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = rs.SpanClassifier(rs.Stumps(), n_components=300, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def fit(self, X, y, sample_weight=None):
        """Fit all rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,)
            Class labels of any kind.
        sample_weight : array of shape (n_samples,), optional

        Returns
        -------
        self
        """
        return self._fit(X, y, sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Add rows; the frame is read from the first block, or given as ``frame``.

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`.
        classes : array of shape (n_classes,), optional
            All classes that will ever come; needed in the first call if its rows do not show
            them all.

        Returns
        -------
        self
        """
        started = hasattr(self, "_state")
        if (
            started
            and classes is not None
            and not np.array_equal(np.unique(classes), self.classes_)
        ):
            raise ValueError(
                f"classes={classes!r} differ from those of the first call, {self.classes_!r}."
            )
        return self._partial_fit(X, y, sample_weight, classes)

    def decision_function(self, X):
        """f_c(x): shape (n_samples,) for two classes (positive: the second), else one column each.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        scores = self._scores(self._check_X(X))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The class with the largest f_c(x).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self._decide(self._scores(self._check_X(X)))

    def leave_one_out(self, X, y, sample_weight=None):
        """For each training row the class that the model fitted without it predicts, exactly.

        Parameters
        ----------
        X, y, sample_weight
            The rows the model was fitted on (or some of them).
        """
        return self._decide(self._leave_one_out(X, y, sample_weight))

    @property
    def coef_(self):
        return self._solution.coef.T

    @property
    def intercept_(self):
        return self._solution.intercept

    def _decide(self, scores):
        if scores.shape[1] == 1:
            return self.classes_[(scores[:, 0] > 0).astype(np.intp)]
        return self.classes_[scores.argmax(axis=1)]

    def _validate(self, X, y, first, min_rows):
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=first,
            ensure_min_samples=min_rows,
        )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        return canonical(X), y

    def _learn_targets(self, y, classes):
        found = np.unique(y)
        self.classes_ = found if classes is None else np.unique(classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_[0]!r}); a classifier needs at least two "
                "classes (to stream, name them all in the first call: classes=[...])."
            )
        self._n_targets = 1 if len(self.classes_) == 2 else len(self.classes_)

    def _targets(self, y):
        unknown = np.setdiff1d(y, self.classes_)
        if len(unknown):
            raise ValueError(
                f"y holds classes the model was not started with: {unknown[:5].tolist()}. Name all "
                "classes in the first call of partial_fit (classes=[...]), or fit anew."
            )
        if len(self.classes_) == 2:
            return lambda rows: np.where(y[rows, None] == self.classes_[1], 1.0, -1.0)
        return lambda rows: np.where(y[rows, None] == self.classes_, 1.0, -1.0)

    def _check_same_targets(self, other):
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"The models know different classes: {self.classes_!r} and {other.classes_!r}."
            )
