"""Classification in the span of random functions."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .. import losses
from ..calibration import least_squares_probabilities
from ..checks import check_choice
from ..classes import Classes
from ..losses import Logistic, Softmax
from .base import SpanModel, squared_only
from .inputs import unpacked
from .parameters import FOURIER


class SpanClassifier(ClassifierMixin, SpanModel):
    """argmax_c f_c(x), each f_c = b_c + Σ_i w_ci φ_i fitted to y = +1 for class c, -1 for the rest.

    Two classes share one f, whose sign decides. What is minimised is
    Σ_r ω_r loss(f_c(x_r), y_rc) + alpha·k·‖w_c‖², |w_ci| ≤ bound/k, with one alpha for all classes;
    the logistic loss of several classes is the softmax of all f_c.

    Parameters
    ----------
    family, n_components, alpha, bound, clip, fit_intercept, standardize, scales, effort, \
categories, columns, frame, solver, memory_limit, dtype, random_state, n_jobs, verbose, penalty
        As for `SpanRegressor`. With a loss other than the squared one, alpha is that of
        scikit-learn's LinearSVC and LogisticRegression at C = 1/(2·alpha) on features/√k.
    loss : {"squared", "hinge", "squared_hinge", "logistic", "exponential"}, default="squared"
        The squared loss streams, forgets and merges; the others need all rows at once.
    class_weight : dict, "balanced" or None, default=None
        Multiplies the weights of rows by a number for their class; "balanced" by n/(n_classes·n_c),
        which needs all rows at once.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    weights_ : ndarray of shape (1, k) for two classes, else (n_classes, k)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
        What the weights of each class were multiplied by.
    alpha_, validation_, gcv_error_, oob_error_, feature_importances_, scale_shares_, \
n_components_, n_outside_, functions_, frame_, solution_, n_features_in_, feature_names_in_
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

    _for_classes = True
    _fixed = (*SpanModel._fixed, "class_weight")

    def __init__(
        self,
        family=FOURIER,
        n_components="auto",
        *,
        loss="squared",
        alpha="auto",
        bound=None,
        clip=None,
        class_weight=None,
        fit_intercept=True,
        standardize=True,
        scales="auto",
        effort="balanced",
        categories=None,
        columns=None,
        frame=None,
        solver="auto",
        memory_limit=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
        verbose=False,
        penalty="l2",
    ):
        super().__init__(
            family,
            n_components,
            loss=loss,
            alpha=alpha,
            bound=bound,
            clip=clip,
            fit_intercept=fit_intercept,
            standardize=standardize,
            scales=scales,
            effort=effort,
            categories=categories,
            columns=columns,
            frame=frame,
            solver=solver,
            memory_limit=memory_limit,
            dtype=dtype,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
            penalty=penalty,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags

    def fit(self, X, y=None, sample_weight=None):
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

    @squared_only
    def partial_fit(self, X, y=None, classes=None, sample_weight=None):
        """Add rows; the frame is read from the first ones, or given as ``frame``.

        It is read from the first block, and anew whenever there are four times as many rows, until
        there are 10,000 of them: see `SpanRegressor.partial_fit`.

        What functions were drawn by, and rows weighed by, cannot change any more (family, scales,
        dtype, class_weight, ...); other parameters (alpha, bound, fit_intercept, ...) count from
        the next change of rows on.

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
        if classes is not None and hasattr(self, "_model"):
            self._known_classes.refuse_others(classes)
        return self._partial_fit(X, y, sample_weight, classes)

    def decision_function(self, X):
        """f_c(x): shape (n_samples,) for two classes (positive: the second), else one column each.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self._as_decisions(self._scores(self._check_X(X)))

    def predict(self, X):
        """The class with the largest f_c(x).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        scores = self._scores(self._check_X(X))
        return self._known_classes.decided(scores)

    def predict_proba(self, X):
        """P(class | x), one column for every class.

        The logistic loss has probabilities of its own. For the others they are proportional to
        exp(a·f_c + b·f_c³); `fit` finds a and b from leave-one-out scores of up to 2,000 rows for
        the squared loss (in a box from its own), else from held-out folds. After `partial_fit`,
        `forget` or `merge`, and for fewer than ten rows, they are proportional to (1 + f_c)/2
        within [0, 1]. Where classes or rows are weighted, so are the probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self._as_probabilities(self._scores(self._check_X(X)))

    def _loss(self, n_targets=None):
        loss = super()._loss()
        several = len(getattr(self, "classes_", ())) > 2 if n_targets is None else n_targets > 2
        if isinstance(loss, (Logistic, Softmax)):
            return Softmax() if several else Logistic()
        return loss

    def score(self, X, y=None, sample_weight=None):
        """The share of rows whose class is predicted.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features), or rs.blocks
        y : array of shape (n_samples,)
            Left out where X are blocks (X, y).
        sample_weight : array of shape (n_samples,), optional
        """
        check_is_fitted(self)
        return super().score(*unpacked(self, X, y, sample_weight))

    @squared_only
    def leave_one_out(self, X, y=None, sample_weight=None, method="predict"):
        """For each training row what the model fitted without it predicts, exactly.

        For functions that learned from targets, their out-of-bag predictions.

        Parameters
        ----------
        X, y, sample_weight
            The rows the model was fitted on (or some of them).
        method : {"predict", "decision_function", "predict_proba"}, default="predict"
            What is returned: classes, f_c(x), or probabilities (from the scores of the model
            without the row, by the calibration of the whole one).
        """
        check_choice("method", method, ("predict", "decision_function", "predict_proba"))
        scores = self._leave_one_out(X, y, sample_weight)
        if method == "predict":
            return self._known_classes.decided(scores)
        known = method == "predict_proba"
        return self._as_probabilities(scores) if known else self._as_decisions(scores)

    def _as_decisions(self, scores):
        scores = self._clipped(scores)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _as_probabilities(self, scores):
        own = self._model.task.loss.probabilities(scores)
        if own is not None:
            return np.column_stack([1 - own, own]) if own.shape[1] == 1 else own
        return (self._model.calibration or least_squares_probabilities)(scores)

    @property
    def weights_(self):
        return self.solution_.coef.T

    @property
    def intercept_(self):
        return self.solution_.intercept

    @property
    def _needs_heldout(self):
        return self._loss().probabilities(np.zeros((1, 1))) is None

    def _units(self, y):
        return None if (self.class_weight_ == 1).all() else self._known_classes.weights_of(y)

    def _check_presence(self, y, weights):
        # Without an example of a second class most losses have no minimum.
        if weights is not None and len(np.unique(y[weights > 0])) < 2:
            raise ValueError("All weight is in one class: a classifier needs rows of two at least.")

    def _validate(self, X, y, first, min_rows):
        X, y = self._validated(X, y, first, min_rows)
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        losses.check_targets(self._loss(), np.array([-1.0, 1.0]))
        return X, y

    def _learn_targets(self, y, classes, streaming=False):
        found = Classes.of(y, classes, self.class_weight, streaming)
        self.classes_, self.class_weight_ = found.labels, found.weights
        self._n_targets = found.n_targets

    @property
    def _known_classes(self) -> Classes:
        return Classes(self.classes_, self.class_weight_)

    def _extent(self, y, weights):
        return np.array([[-1.0], [1.0]]) + np.zeros(self._n_targets)

    def _targets(self, y):
        return self._known_classes.columns(y)

    def _check_same_targets(self, other):
        if not np.array_equal(self.classes_, other.classes_):
            raise ValueError(
                f"The models know different classes: {self.classes_!r} and {other.classes_!r}."
            )
        if not np.array_equal(self.class_weight_, other.class_weight_):
            raise ValueError(
                f"The models weigh classes by {self.class_weight_} and {other.class_weight_}: fit "
                "both with the same class_weight, as a dictionary."
            )
