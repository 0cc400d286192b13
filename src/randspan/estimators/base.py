"""What regressor and classifier share: fit, streaming, forgetting, merging, attributes.

All that a fitted estimator knows is a frozen `Model`. A method that adds or removes rows puts
another model in its place; one that fails, ``fit`` included, leaves the estimator as it was.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from .. import predictions
from ..checks import check_clip
from ..families import Functions
from ..families.parts.randomness import remembered
from ..frame import Frame
from ..model import Model
from ..portfolio import Candidates, Portfolio
from ..solvers import Solution, Task
from ..solvers.refusals import keeps_no_sums
from ..solvers.validation import Validation
from ..sources import Source, Targets
from ..statistics.base import NO_ROWS
from ..tables import Columns, Table
from ..tuning import frames, racing, width
from .configured import Configured
from .inputs import checked
from .parameters import AUTO, check_weights, is_auto, warn_moved, warn_outside

# Predictions may leave the range of the targets by this share of it.
MARGIN = 0.1


def squared_only(method: str):
    """A method that exists for the squared loss alone (`available_if`)."""

    def check(model: SpanModel) -> bool:
        family = model._known_family
        reason = keeps_no_sums(model.solver, model.loss, family is not None and family.sparse)
        if reason:
            raise AttributeError(f"{method} needs {reason}")
        return True

    return available_if(check)


def all_or_nothing(method: Callable) -> Callable:
    """A method that fails leaves the estimator as it was, its random state included."""

    @wraps(method)
    def call(self, *args, **kwargs):
        before, random_state = dict(vars(self)), remembered(self.random_state)
        try:
            return method(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            random_state()
            raise

    return call


class SpanModel(Configured):
    """f(x) = b + Σ_i w_i φ_i(x), weights w in the span of drawn functions."""

    _model: Any  # a Model, or a Portfolio of several

    # -- what the two kinds of model do differently ------------------------------------------

    @abstractmethod
    def _validate(self, X, y, first: bool, min_rows: int):
        """X and y, checked; ``first`` where a new model starts."""

    def _validated(self, X, y, first: bool, min_rows: int, **more):
        return checked(self, X, y, reset=first, ensure_min_samples=min_rows, **more)

    def _units(self, y) -> NDArray[np.float64] | None:
        """What a row of sample weight one weighs, or None where that is 1."""
        return None

    def _check_presence(self, y, weights) -> None:
        """Refuse targets that weights leave nothing of."""

    @abstractmethod
    def _learn_targets(self, y, classes, streaming: bool = False) -> None:
        """Note what is to be known of y before its first row is encoded."""

    @abstractmethod
    def _extent(self, y, weights) -> NDArray[np.float64]:
        """The smallest and the largest y of every target."""

    @abstractmethod
    def _targets(self, y) -> Targets:
        """Rows of y as columns of numbers, slice by slice."""

    # -- fitting -----------------------------------------------------------------------------

    def _source(self, X, y, sample_weight, first: bool = False) -> Source:
        targets = self._targets(y)  # refuses classes that are not known
        weights, units = check_weights(sample_weight, y), self._units(y)
        if units is not None:
            weights = units if weights is None else weights * units
        columns, frame = None, self.frame if first else self._model.frame
        if isinstance(frame, Frame):
            X = frame.encoded(X, training=True)
        elif isinstance(X, Table):
            columns = Columns.read([(X, targets(slice(None)), weights)])
            X = columns.encode(X, training=True)
        return Source(X, targets, weights, units, columns)

    @all_or_nothing
    def _fit(self, X, y, sample_weight, classes=None):
        self._task()  # refuses parameters before any work is done
        X, y = self._validate(X, y, first=True, min_rows=2)
        self._learn_targets(y, classes)
        source, task = self._source(X, y, sample_weight, first=True), self._task()
        engine = self._engine()
        self._check_presence(y, source.weights)
        extent = self._extent(y, source.weights)
        if is_auto(self.family):
            self._model = self._raced(source, task, extent)
            return self
        frame = self._read_frame(source, task, streaming=False)
        found = width.fit(frame, source, task, extent, engine)
        if task.heldout:
            found = predictions.calibrated(found, source, engine)
        self._model = replace(found, all_known=self.frame is None)
        warn_outside(found.n_outside, source.n_rows)
        return self

    @all_or_nothing
    def _partial_fit(self, X, y, sample_weight, classes=None):
        task, engine, first = self._task(), self._engine(), not hasattr(self, "_model")
        X, y = self._validate(X, y, first=first, min_rows=1)
        if first:
            self._learn_targets(y, classes, streaming=True)
        source = self._source(X, y, sample_weight, first)
        extent = self._extent(y, source.weights)
        if first and is_auto(self.family):
            self._model, before = self._raced(source, task, extent), 0
        elif first:
            frame = self._read_frame(source, task, streaming=True)
            self._model, before = width.start(frame, source, task, extent, engine), 0
        else:
            frames.refuse_other_functions(self._n_components(), self._model.frame)
            before = self._model.n_outside
            warn_moved(self._model.frame, source.X)
            self._model = self._model.added(source, task, extent, engine)
        if self._n_components() is None and not is_auto(self.family):
            self._model = width.within(self._model, task, engine)
        warn_outside(self._model.n_outside - before, source.n_rows)
        return self

    @squared_only("forget")
    @all_or_nothing
    def forget(self, X, y, sample_weight=None):
        """Remove rows: the model is as if it had never seen them.

        Parameters
        ----------
        X, y, sample_weight
            The rows as they were handed to ``fit`` or ``partial_fit``, weights included. Rows the
            model never saw are refused where what would remain is impossible.

        Returns
        -------
        self
        """
        check_is_fitted(self)
        X, y = self._validate(X, y, first=False, min_rows=1)
        frames.refuse_other_functions(self._n_components(), self._model.frame)
        source, task = self._source(X, y, sample_weight), self._task()
        self._model = self._model.removed(source, task, self._engine())
        return self

    @squared_only("merge")
    @all_or_nothing
    def merge(self, other):
        """Take in the rows of another model: as if fitted on both parts.

        Parameters
        ----------
        other : the same kind of model
            With the same frame (hand ``frame=self.frame_`` to it before its fit).

        Returns
        -------
        self
        """
        check_is_fitted(self)
        check_is_fitted(other)
        if type(other) is not type(self):
            raise TypeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        task, engine, open_ended = self._task(), self._engine(), self._n_components() is None
        mine, theirs = self._model, other._model
        if is_auto(self.family):
            self._check_same_targets(other)
            if not mine.same_models(theirs):
                raise ValueError(
                    "The two portfolios hold different models. Those that come from one fit can be "
                    "merged: copy a fitted model, and let both see other rows."
                )
            self._model = mine.merged(theirs, task)
            return self
        if open_ended:
            mine, theirs = width.alike(mine, theirs, task, engine)
        if not mine.frame.same_as(theirs.frame):
            raise ValueError(
                "The two models have different frames, so their functions differ. Fit the second "
                "one with frame=first.frame_ (and no random_state of its own)."
            )
        frames.refuse_other_functions(self._n_components(), mine.frame)
        self._check_same_targets(other)
        merged = mine.merged(theirs, task)
        self._model = width.within(merged, task, engine) if open_ended else merged
        return self

    def _check_same_targets(self, other) -> None:
        if self._n_targets != other._n_targets:
            counts = f"{self._n_targets} and {other._n_targets}"
            raise ValueError(f"The models have {counts} target columns.")

    def _raced(self, source: Source, task: Task, extent) -> Portfolio:
        """Several families, weighed by rows that they have not seen."""
        self._refuse_with_auto()
        given = (self._wanted(self._n_components()), source, task, extent, self._engine())
        return racing.fit(*given, self._for_classes, self.effort)

    def _read_frame(self, source: Source, task: Task, streaming: bool) -> Frame:
        known = self._known_components(task, 0.0, 0 if streaming else source.present)
        exact = known == np.inf
        if exact:
            self._law().refuse_without_kernel()
        wanted, classes = self._wanted(np.inf if exact else self._n_components()), self._for_classes
        frame = frames.given(wanted, source)
        self._plan(task, source, streaming)  # refuses what cannot be done before work begins
        return frames.obtained(wanted, frame, source, task, self._engine(), classes, streaming)

    # -- predictions -------------------------------------------------------------------------

    def _check_X(self, X) -> Source:
        check_is_fitted(self)
        X, _ = checked(self, X, reset=False, learned=False)
        source = Source(self._model.frame.encoded(X))
        warn_moved(self._model.frame, source.X)
        warn_outside(self._model.frame.n_outside(source.X), source.n_rows)
        return source

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
        lower, upper = self._model.extent
        beyond = 0.0 if self._for_classes else MARGIN * (upper - lower)
        return np.clip(scores, lower - beyond, upper + beyond)

    def _leave_one_out(self, X, y, sample_weight) -> NDArray[np.float64]:
        """Scores of the models fitted without one row each."""
        check_is_fitted(self)
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
        if isinstance(self._model, Portfolio):
            return self._model.validation
        return predictions.validation(self.frame_.family, self.solution_)

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
        """s_m² Var(x_m), as a share of the sum over columns m, of learned scales s.

        With scales="rotate" s_m² is the squared length of row m of the learned matrix.
        """
        frame = self.frame_
        importances, d = frame.importances, self.n_features_in_
        if importances is not None:
            return importances if frame.columns is None else frame.columns.summed(importances)
        if isinstance(self.scales, str):
            return np.full(d, 1 / d)
        raise AttributeError("feature_importances_ need scales='auto', 'learn' or 'rotate'.")

    @property
    def n_components_(self):
        return self._single.frame.n_components

    @property
    def n_outside_(self) -> int:
        """How many rows of fits lay outside of the range that the functions were drawn for."""
        check_is_fitted(self)
        return self._model.n_outside
