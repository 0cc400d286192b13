"""Classification in the span of random functions."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d, validate_data

from ..families.randomness import raw_bits
from ..families.rows import canonical
from ..losses import Logistic, Softmax
from ..solvers import LeastSquares
from .base import SpanModel, squared_only
from .calibration import Calibration, least_squares_probabilities
from .parameters import check_weights

# Rows whose leave-one-out scores probabilities are fitted to.
CALIBRATION_ROWS = 2000
FEWEST_ROWS = 10


class SpanClassifier(ClassifierMixin, SpanModel):
    """argmax_c f_c(x), each f_c = b_c + Σ_i w_ci φ_i fitted to y = +1 for class c, -1 for the rest.

    Two classes share one f, whose sign decides. What is minimised is
    Σ_r ω_r loss(f_c(x_r), y_rc) + alpha·k·‖w_c‖², |w_ci| ≤ bound/k, with one alpha for all classes;
    the logistic loss of several classes is the softmax of all f_c.

    Parameters
    ----------
    family, n_components, alpha, bound, clip, fit_intercept, standardize, scales, frame, solver, \
memory, dtype, random_state, n_jobs, verbose
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
    coef_ : ndarray of shape (1, k) for two classes, else (n_classes, k)
    intercept_ : ndarray of shape (1,) or (n_classes,)
    class_weight_ : ndarray of shape (n_classes,)
        What the weights of each class were multiplied by.
    alpha_, gcv_error_, oob_error_, feature_importances_, n_components_, n_outside_, functions_, \
frame_, solution_, n_features_in_, feature_names_in_
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

    def __init__(
        self,
        family="fourier",
        n_components="auto",
        *,
        loss="squared",
        alpha="auto",
        bound=None,
        clip=None,
        class_weight=None,
        fit_intercept=True,
        standardize=True,
        scales=None,
        frame=None,
        solver="auto",
        memory=None,
        dtype="float32",
        random_state=None,
        n_jobs=None,
        verbose=False,
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
            frame=frame,
            solver=solver,
            memory=memory,
            dtype=dtype,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.class_weight = class_weight

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self._poor_score
        return tags

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
        self._fit(X, y, sample_weight)
        self._calibrate(X, y, sample_weight)
        return self

    @squared_only("partial_fit")
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
        scores = self._clipped(self._scores(self._check_X(X)))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """The class with the largest f_c(x).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        return self._decide(self._scores(self._check_X(X)))

    def predict_proba(self, X):
        """P(class | x), one column for every class.

        The logistic loss has probabilities of its own. For the other losses they are proportional
        to exp(a·f_c + b·f_c³); `fit` finds a and b from scores of rows that had no part in them:
        exact leave-one-out scores of up to 2,000 rows for the squared loss (in a box, where there
        is no formula for them, scores of the fit itself), held-out folds for the other losses and
        for `Bins` with many rows. After
        `partial_fit`, `forget` or `merge`, and for fewer than ten rows, probabilities are
        proportional to (1 + f_c)/2 within [0, 1], which is what the squared loss estimates. Where
        classes or rows are weighted, so are the probabilities.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
        """
        scores = self._scores(self._check_X(X))
        own = self._state.loss.probabilities(scores)
        if own is not None:
            return np.column_stack([1 - own, own]) if own.shape[1] == 1 else own
        return (self._state.calibration or least_squares_probabilities)(scores)

    def _loss(self):
        loss = super()._loss()
        several = len(getattr(self, "classes_", ())) > 2
        if isinstance(loss, (Logistic, Softmax)):
            return Softmax() if several else Logistic()
        return loss

    @squared_only("leave_one_out")
    def leave_one_out(self, X, y, sample_weight=None):
        """For each training row the class that the model fitted without it predicts, exactly.

        For functions that learned from targets, what the others, that have not seen it, predict.

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

    @property
    def _needs_heldout(self):
        return self._loss().probabilities(np.zeros((1, 1))) is None

    def _calibrate(self, X, y, sample_weight):
        """Fit the numbers of `predict_proba` to scores of rows that had no part in them."""
        if not self._needs_heldout:
            return
        X, y = self._validate(X, y, first=False, min_rows=1)
        weights = check_weights(sample_weight, X)
        each = self._weights_of_classes(y) * (1 if weights is None else weights)
        state = self._state
        if state.frame.family.uses_target and state.functions.bags is None:
            return  # no row is left to judge by
        dense = not state.functions.coded_parts
        if state.heldout is None or (state.functions.bags is not None and dense):
            bits = raw_bits(state.frame.seed, "calibration", len(y))
            rows = np.sort(np.argsort(bits)[:CALIBRATION_ROWS])
            unit = np.ones(len(rows)) if weights is None else np.minimum(weights[rows], 1)
            state.heldout = rows, self._left_out_scores(X, y, rows, unit, state.solution)
        (rows, scores), state.heldout = state.heldout, None
        known = (each[rows] > 0) & np.isfinite(scores).all(axis=1)
        rows, scores = rows[known], scores[known]
        each = each[rows]
        # Weights may be counts, or sum to anything: a row counts as one at least.
        count = max(float(each.sum()), float(len(rows)))
        if count >= FEWEST_ROWS:
            targets = self._targets(y)(slice(0, len(y)))[rows]
            state.calibration = Calibration.of(scores, targets, each * count / each.sum())

    def _left_out_scores(self, X, y, rows, unit, solution):
        """Leave-one-out scores of some rows, nan where a model passes through a row.

        At most one unit of weight is left out, so that a row of weight two is two rows. Functions
        that learned from targets are asked about rows they have not seen.
        """
        bags = self._state.functions.bags
        if bags is not None:
            return self._scores(X[rows], bags.numbers(X[rows], self._targets(y[rows])(slice(None))))
        scores = self._scores(X[rows])
        if not isinstance(solution, LeastSquares):  # in a box there is no formula
            return scores
        Y = self._targets(y)(slice(0, len(y)))[rows]
        each = unit * self._weights_of_classes(y[rows])
        left = 1 - each * self._leverages(X[rows], solution)
        left = np.where(left < 1e-6, np.nan, left)
        return Y - (Y - scores) / left[:, None]

    def _row_weights(self, sample_weight, X, y):
        weights = check_weights(sample_weight, X)
        if self.class_weight is None:
            return weights
        each = self._weights_of_classes(y)
        return each if weights is None else weights * each

    def _check_presence(self, y, weights):
        # Without an example of a second class most losses have no minimum.
        if weights is not None and len(np.unique(y[weights > 0])) < 2:
            raise ValueError(
                "All weight is in one class: a classifier needs rows of at least two classes with "
                "a positive weight."
            )

    def _weights_of_classes(self, y):
        return self.class_weight_[np.searchsorted(self.classes_, y)]

    def _judges(self, loss):
        return loss.for_classes

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

    def _learn_targets(self, y, classes, streaming=False):
        found = np.unique(y)
        self.classes_ = found if classes is None else np.unique(classes)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y holds one class only ({self.classes_[0]!r}); a classifier needs at least two "
                "classes (to stream, name them all in the first call: classes=[...])."
            )
        self._n_targets = 1 if len(self.classes_) == 2 else len(self.classes_)
        self.class_weight_ = self._find_class_weight(y, streaming)

    def _find_class_weight(self, y, streaming):
        if isinstance(self.class_weight, str) and streaming:
            raise ValueError(
                "class_weight='balanced' needs to see all rows before the first one is weighted: "
                "use fit, or hand in a dictionary."
            )
        return compute_class_weight(self.class_weight, classes=self.classes_, y=y)

    def _largest(self, y, weights):
        return np.ones(self._n_targets)

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
