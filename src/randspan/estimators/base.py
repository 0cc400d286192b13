"""What regressor and classifier share: fit, streaming, forgetting, merging, attributes.

All that a fitted estimator knows is a frozen `Model`. A method that adds or removes rows puts
another model in its place; one that fails, ``fit`` included, leaves the estimator as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from types import MethodType

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from .. import importances, predictions
from ..checks import check_alphas, check_clip
from ..families import Functions
from ..families.shared.randomness import remembered
from ..frame import Frame
from ..model import Model
from ..portfolio import Candidates, Portfolio
from ..solvers import Solution, lasso
from ..solvers.refusals import keeps_no_sums
from ..solvers.validation import Validation
from ..sources import ArraySource, Source
from ..statistics import Moments
from ..statistics.base import NO_ROWS
from ..tuning import near_copies
from . import started
from .configured import MARGIN
from .inputs import checked
from .parameters import AUTO, is_auto, refuse_nothing, warn_far, warn_moved, warn_outside
from .streams import Streams


class squared_only:
    """A method of the squared loss alone: of others there is no such attribute, and this says why.

    (scikit-learn's `available_if` says only that there is none.)
    """

    def __init__(self, method: Callable):
        self.method = method
        self.__doc__ = method.__doc__

    def __get__(self, model: SpanModel | None, owner: type | None = None) -> Callable:
        if model is not None:
            self._refuse(model)
            return MethodType(self.method, model)

        @wraps(self.method)
        def unbound(model, *args, **kwargs):
            self._refuse(model)
            return self.method(model, *args, **kwargs)

        return unbound

    def _refuse(self, model: SpanModel) -> None:
        family = model._known_family
        reason = keeps_no_sums(model.solver, model.loss, family is not None and family.sparse)
        if reason:
            raise AttributeError(f"{self.method.__name__} needs {reason}")


def all_or_nothing(method: Callable) -> Callable:
    """A method that fails leaves the estimator as it was, its random state included."""

    @wraps(method)
    def call(self, *args, **kwargs):
        before, random_state = dict(vars(self)), remembered(self.random_state)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            now = vars(self)
            for name in now.keys() - before.keys():
                del now[name]
            now.update(before)  # in place: other threads may be predicting
            random_state()
            raise

    return call


class SpanModel(Streams):
    """f(x) = b + Σ_i w_i φ_i(x), weights w in the span of drawn functions."""

    # -- fitting -----------------------------------------------------------------------------

    @all_or_nothing
    def _fit(self, X, y, sample_weight, classes=None):
        self._task()  # refuses parameters before any work is done
        X, y = self._validate(X, y, first=True, min_rows=2)
        self._learn_targets(y, classes)
        source, task = self._source(X, y, sample_weight, first=True), self._task()
        engine = self._engine()
        refuse_nothing(source)
        self._check_presence(y, source.weights)
        extent = self._extent(y, source.weights)
        self._model, self._gathered = self._fitted(source, task, extent, engine), None
        self._started = started.parameters(self)
        if is_auto(self.family):
            near_copies.warn(self._model.frame, source)
            return self
        source = source.without_absent()
        warn_outside(self._model.n_outside, source.n_rows)
        if task.searches:
            near_copies.warn(self._model.frame, source)
        return self

    @all_or_nothing
    def _partial_fit(self, X, y, sample_weight, classes=None):
        return self._take(X, y, sample_weight, classes)

    @squared_only
    @all_or_nothing
    def forget(self, X, y=None, sample_weight=None, *, regrow=False):
        """Remove rows: given the frame, the model is as if it had never seen them.

        What is forgotten are the rows themselves and all that was summed over them: weights,
        ``alpha_``, errors. What was read from them before the functions were drawn (``frame_``:
        centres, scales, bandwidth, statistics of categories) stays, as do `Trees` and
        `Hypotheses` that learned from them; so does the range that predictions are clipped to,
        beyond 10,000 rows. ``regrow=True`` reads and grows all of that anew.

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were handed to ``fit`` or ``partial_fit``, weights included. Rows the
            model never saw are refused where what would remain is impossible.
        regrow : bool, default=False
            Read the frame, and grow functions that learn from rows, anew from the rows that are
            left, with the same seed: the model is the one that never saw the forgotten rows, as
            deletion by law asks for. It needs the rows that are left, and is refused where a model
            has not kept them: fits keep up to 10,000 rows of numbers where alpha is found by
            leaving them out, streams all rows until these are 10,000, and exact kernel machines
            all of them.

        Returns
        -------
        self
        """
        return self._give_up(X, y, sample_weight, regrow)

    @all_or_nothing
    def solve(self):
        """Find the weights now, where rows came or went: predictions find them otherwise.

        `partial_fit`, `forget` and `merge` leave the weights open, as several of them may follow
        each other; the first prediction, or attribute, then waits until they are found (once,
        whichever of several threads asks first). Copies, pickles and files made after this hold
        the weights.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        model = self._model
        solved = model.solved(self._engine())
        if self._model is model:  # or rows came while it was solved for
            self._model = solved
        return self

    @squared_only
    @all_or_nothing
    def merge(self, other):
        """Take in the rows of another model: as if fitted on both parts.

        Parameters
        ----------
        other : the same kind of model
            With the same frame (hand ``frame=self.frame_`` to it before its fit), or a stream that
            still has all its rows: these are then read with the other frame, or both with one.

        Returns
        -------
        self
        """
        return self._join(other)

    @squared_only
    def l1_path(self, alphas=None):
        """Weights of penalty="l1" for many alphas, from the sums of a fit: no further pass.

        Parameters
        ----------
        alphas : array, optional
            From large to small, as each begins where the one before it ended. None takes up to 80,
            from the one that leaves no weight to 1e-4 of it, and ends where the error has risen.

        Returns
        -------
        alphas : ndarray of shape (n_alphas,)
        weights : ndarray of shape (n_alphas, n_targets, k)
        errors : ndarray of shape (n_alphas,)
            Mean squared errors on new rows by generalised cross-validation.
        """
        held = self._single.statistics
        if self._single.empty:
            raise ValueError(NO_ROWS)
        if not isinstance(held, Moments):
            raise ValueError(
                "l1_path needs moments, which this model does not hold: fit it with penalty='l1'."
            )
        if alphas is not None:
            alphas = check_alphas(alphas)
        task = self._single.task
        sums = held.centred(task.intercept, self._single.plan.dtype)
        steps = lasso.path(sums, alphas, held.counted, task.intercept)
        found = (
            [step.alpha for step in steps],
            [step.coef.T for step in steps],
            [step.error for step in steps],
        )
        lasso.warn_if_short(steps)
        alphas, weights, errors = map(np.array, found)
        return alphas, weights, errors

    # -- predictions -------------------------------------------------------------------------

    def _check_X(self, X) -> Source:
        check_is_fitted(self)
        X, _ = checked(self, X, reset=False, learned=False)
        source = self._as_numbers(X)
        warn_moved(self._model.frame, source)
        outside = self._model.frame.n_outside(source)
        warn_outside(outside, source.n_rows)
        if not outside:  # one warning says it
            warn_far(*predictions.n_far(self._model, source))
        return source

    def _as_numbers(self, X) -> Source:
        """Rows that were checked, in columns of the frame."""
        if isinstance(X, Source):
            if self._model.frame.columns is None:
                return X
            X = X.held().X
        return ArraySource(self._model.frame.encoded(X))

    @property
    def _solved(self) -> Model:
        """The model, its weights solved for if rows came or went since the last time."""
        check_is_fitted(self)
        return self._model.solved(self._engine())

    def _scores(self, source: Source) -> NDArray[np.float64]:
        """f(x) for every row and target."""
        return predictions.scores(self._solved, source, self._engine())

    def _clipped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions within ±clip, or within the range of y that was seen, and a margin."""
        check_clip(self.clip)
        if self.clip is None or (self.clip is AUTO and self._model.extrapolates):
            return scores
        if not isinstance(self.clip, str):
            return np.clip(scores, -float(self.clip), float(self.clip))
        margin = 0.0 if self._for_classes else MARGIN
        return np.clip(scores, *self._model.task.loss.limits(*self._model.extent, margin))

    def _leave_one_out(self, X, y, sample_weight) -> NDArray[np.float64]:
        """Scores of the models fitted without one row each."""
        check_is_fitted(self)
        self._refuse_changes()
        X, y = self._validate(X, y, first=False, min_rows=1)
        source = self._source(X, y, sample_weight)
        return predictions.left_out(self._solved, source, self._engine())

    # -- what was learned --------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    @property
    def frame_(self) -> Frame:
        check_is_fitted(self)
        return self._model.frame

    @property
    def portfolio_(self) -> Candidates:
        """The families that were tried: errors on rows they had not used, and weights."""
        check_is_fitted(self)
        if not isinstance(self._model, Portfolio):
            raise AttributeError("portfolio_ is for family='auto': this model has one family.")
        return self._model.candidates

    def _repr_html_inner(self):
        """In a notebook, the candidates below the parameters."""
        shown = super()._repr_html_inner()
        fitted = isinstance(getattr(self, "_model", None), Portfolio)
        return shown + self.portfolio_._repr_html_() if fitted else shown

    @property
    def _single(self) -> Model:
        """The model, where it is one."""
        check_is_fitted(self)
        if isinstance(self._model, Portfolio):
            raise AttributeError(
                "family='auto' combines several models, and this attribute is that of one: "
                "portfolio_ lists them. Choose one family to look inside."
            )
        return self._model

    @property
    def functions_(self) -> Functions:
        return self._single.functions.framed(self._single.frame)

    @property
    def solution_(self) -> Solution:
        if self._single.empty:
            raise AttributeError(NO_ROWS)
        return self._single.solved(self._engine()).found

    @property
    def validation_(self) -> Validation:
        """The error on new rows: kind, error and standard error of the estimate of this fit."""
        check_is_fitted(self)
        variance = None
        if isinstance(self._model, Portfolio):
            found, variance = self._model.validation, self._model.validation.variance
        else:
            if self._single.empty:
                raise AttributeError(NO_ROWS)
            found = predictions.validation(self._solved, self._engine())
            held = self._model.statistics
            if held is not None and self._model.task.loss.squared:
                variance = held.target_variance
        return replace(found, variance=None if self._for_classes else variance)

    @property
    def alpha_(self) -> float:
        return self.solution_.alpha

    @property
    def gcv_error_(self) -> float:
        try:
            return predictions.least_squares(self._model, self.solution_, "gcv_error_").gcv_error
        except ValueError as reason:
            raise AttributeError(str(reason)) from None

    @property
    def oob_error_(self) -> float:
        """Mean squared error of out-of-bag predictions, averaged over targets."""
        solution = self.solution_
        if solution.oob_error is None:
            raise AttributeError(
                "oob_error_ is known where functions that learned from targets are weighed by "
                f"out-of-bag predictions (solver 'out_of_bag'); this one has {solution.solver!r}."
            )
        return solution.oob_error

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """T_j = ½ E (f(x) - f(x with column j of another row))², as a share of all T.

        The expectation is over some of the training rows, found when it is asked for.
        """
        check_is_fitted(self)
        if self._model.empty:
            raise AttributeError(NO_ROWS)
        try:
            return importances.importances(self._solved, self._engine())
        except ValueError as reason:
            raise AttributeError(str(reason)) from None

    @property
    def scale_shares_(self) -> NDArray[np.float64]:
        """s_m² Var(x_m), as a share of the sum over columns m, of learned scales s.

        With scales="rotate" s_m² is the squared length of row m of the learned matrix.
        """
        frame = self.frame_
        shares, d = frame.importances, self.n_features_in_
        if shares is not None:
            return shares if frame.columns is None else frame.columns.summed(shares)
        if isinstance(self.scales, str):
            return np.full(d, 1 / d)
        raise AttributeError(
            f"scale_shares_ are those of learned scales, and scales={self.scales!r}: use "
            "scales='auto', 'learn' or 'rotate'."
        )

    @property
    def n_components_(self):
        return self._single.frame.n_components

    @property
    def n_outside_(self) -> int:
        """How many rows of fits lay outside of the range that the functions were drawn for."""
        check_is_fitted(self)
        return self._model.n_outside
