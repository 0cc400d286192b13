"""What regressor and classifier share: fit, streaming, forgetting, merging, attributes.

All that a fitted estimator knows is a frozen `Model`. A method that adds or removes rows puts
another model in its place; one that fails, ``fit`` included, leaves the estimator as it was.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import wraps

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import losses, predictions
from ..families import Functions
from ..families.base import OUTSIDE
from ..families.randomness import remembered, seed_from
from ..families.rows import canonical
from ..frame import Frame, as_family, check_learned
from ..model import Model, start
from ..planning import SOLVERS
from ..solvers import Solution, Task
from ..solvers.method import OPERATOR
from ..solvers.refusals import named
from ..sources import Source, Targets
from ..tuning import frames, width
from .configured import Configured
from .parameters import check_clip, check_weights


def squared_only(method: str):
    """A method that exists for the squared loss alone (`available_if`)."""

    def check(model: SpanModel) -> bool:
        asked = model.solver if isinstance(model.solver, str) else ""
        in_passes = asked in SOLVERS[1:] and named(asked).takes == OPERATOR
        family = model._known_family
        if in_passes and not (family is not None and family.sparse):
            raise AttributeError(
                f"{method} needs statistics of fixed size; solver={model.solver!r} passes over all "
                "rows several times and keeps none: use fit, or solver='auto'."
            )
        loss = losses.NAMED.get(model.loss) if isinstance(model.loss, str) else model.loss
        if not getattr(loss, "squared", True):  # what is no loss is refused later
            raise AttributeError(
                f"{method} needs the squared loss, whose sums add up over rows; "
                f"loss={model.loss!r} has no such sums: use fit."
            )
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

    #: whether targets are classes
    _for_classes = False

    # -- what the two kinds of model do differently ------------------------------------------

    @abstractmethod
    def _validate(self, X, y, first: bool, min_rows: int):
        """X and y, checked; ``first`` where a new model starts."""

    def _units(self, y) -> NDArray[np.float64] | None:
        """What a row of sample weight one weighs, or None where that is 1."""
        return None

    def _check_presence(self, y, weights) -> None:
        """Refuse targets that weights leave nothing of."""

    @abstractmethod
    def _learn_targets(self, y, classes, streaming: bool = False) -> None:
        """Note what is to be known of y before its first row is encoded."""

    @abstractmethod
    def _largest(self, y, weights) -> NDArray[np.float64]:
        """The largest |y| of every target."""

    @abstractmethod
    def _targets(self, y) -> Targets:
        """Rows of y as columns of numbers, slice by slice."""

    # -- fitting -----------------------------------------------------------------------------

    def _source(self, X, y, sample_weight) -> Source:
        targets = self._targets(y)  # refuses classes that are not known
        weights, units = check_weights(sample_weight, X), self._units(y)
        if units is not None:
            weights = units if weights is None else weights * units
        return Source(X, targets, weights, units)

    @all_or_nothing
    def _fit(self, X, y, sample_weight, classes=None):
        self._task()  # refuses parameters before any work is done
        X, y = self._validate(X, y, first=True, min_rows=2)
        self._learn_targets(y, classes)
        source, task, engine = self._source(X, y, sample_weight), self._task(), self._engine()
        self._check_presence(y, source.weights)
        frame = self._read_frame(source, task, streaming=False)
        found = width.fit(frame, source, task, self._largest(y, source.weights), engine)
        if task.heldout:
            found = predictions.calibrated(found, source, engine)
        self._model = replace(found, all_known=self.frame is None)
        self._warn_outside(found.n_outside, source.n_rows)
        return self

    @all_or_nothing
    def _partial_fit(self, X, y, sample_weight, classes=None):
        task, engine, first = self._task(), self._engine(), not hasattr(self, "_model")
        X, y = self._validate(X, y, first=first, min_rows=1)
        if first:
            self._learn_targets(y, classes, streaming=True)
        source = self._source(X, y, sample_weight)
        largest = self._largest(y, source.weights)
        if first:
            frame = self._read_frame(source, task, streaming=True)
            if frame.n_components is None:
                frame = width.fit(frame, source, task, largest, engine).frame
            self._model = start(frame, source, task, engine)
        before = self._model.n_outside
        self._model = self._model.added(source, task, largest, engine)
        self._warn_outside(self._model.n_outside - before, source.n_rows)
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
        if not self.frame_.same_as(other.frame_):
            raise ValueError(
                "The two models have different frames, so their functions differ and their "
                "statistics do not add up. Fit the second one with frame=first.frame_ (and no "
                "random_state of its own)."
            )
        self._check_same_targets(other)
        self._model = self._model.merged(other._model, self._task())
        return self

    def _check_same_targets(self, other) -> None:
        mine, theirs = self._n_targets, other._n_targets
        if mine != theirs:
            raise ValueError(f"The models have {mine} and {theirs} target columns.")

    def _read_frame(self, source: Source, task: Task, streaming: bool) -> Frame:
        """The frame of these rows, or the one that was given, with functions that have learned."""
        k, engine = self._n_components(), self._engine()
        if self.frame is not None:
            frame = self._given_frame(source.n_features, k)
            check_learned(frame, source.n_targets)
        self._plan(task, source, streaming)  # refuses what cannot be done before work begins
        if self.frame is None:
            family, seed = as_family(self.family), seed_from(self.random_state)
            wanted = frames.Wanted(family, k, bool(self.standardize), self.scales, seed)
            frame = frames.read(wanted, source, task, engine)
        if not frame.family.grows or frame.n_components == np.inf:
            return frame
        progress = engine.progress(int(frame.n_components), "functions learn")
        return frame.taught(source, self._for_classes, engine.threads, progress)

    def _given_frame(self, n_features: int, n_components) -> Frame:
        frame = self.frame
        if not isinstance(frame, Frame):
            raise TypeError(f"frame must be another model's frame_ or None, got {frame!r}.")
        if frame.n_features != n_features:
            raise ValueError(
                f"The frame was read from {frame.n_features} columns, X has {n_features}."
            )
        if self.scales is not None:
            raise ValueError(
                "A frame has its scales already: leave scales=None, or read another frame."
            )
        family = as_family(self.family)
        kinds, held = ([type(part) for part in f.parts_of_union()] for f in (family, frame.family))
        if kinds != held and self.family != self._default("family"):
            raise ValueError(
                f"The frame holds {frame.family!r}, the model asks for {family!r}: leave family "
                "out, or read another frame."
            )
        if n_components is not None:
            frame = frame.with_components(n_components)
        frame = replace(frame, ridge=None)  # found for the targets of that model
        # Without a random_state of its own a model repeats the frame's draw.
        return frame if self.random_state is None else frame.with_seed(seed_from(self.random_state))

    # -- predictions -------------------------------------------------------------------------

    def _check_X(self, X) -> Source:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        source = Source(canonical(X))
        self._warn_outside(self._model.frame.n_outside(source.X), source.n_rows)
        return source

    @staticmethod
    def _warn_outside(found: int, n_rows: int) -> None:
        if found:
            warnings.warn(OUTSIDE.format(found, n_rows), stacklevel=4)

    @property
    def _solved(self) -> Model:
        """The model, its weights solved for if rows came or went since the last time."""
        check_is_fitted(self)
        return self._model.solved(self._engine())

    def _scores(self, source: Source) -> NDArray[np.float64]:
        """f(x) for every row and target."""
        return predictions.scores(self._solved, source, self._engine())

    def _clipped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions within ±clip, or within the largest |y| seen."""
        check_clip(self.clip)
        if self.clip is None:
            return scores
        limit = self._model.largest if isinstance(self.clip, str) else float(self.clip)
        return np.clip(scores, -limit, limit)

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
    def functions_(self) -> Functions:
        check_is_fitted(self)
        return self._model.functions

    @property
    def solution_(self) -> Solution:
        return self._solved.found

    @property
    def alpha_(self) -> float:
        return self.solution_.alpha

    @property
    def gcv_error_(self) -> float:
        try:
            return predictions.least_squares(self._solved, "gcv_error_").gcv_error
        except ValueError as reason:
            raise AttributeError(str(reason)) from None

    @property
    def oob_error_(self) -> float:
        """Mean squared error on rows that functions have not seen, averaged over targets."""
        solution = self.solution_
        if solution.oob_error is None:
            raise AttributeError(
                "oob_error_ is known where functions that learned from targets are weighed by rows "
                f"they have not seen (solver 'out_of_bag'); this model has {solution.solver!r}."
            )
        return solution.oob_error

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """s_m² Var(x_m), as a share of the sum over columns m, of learned scales s.

        With scales="rotate" s_m² is the squared length of row m of the learned matrix.
        """
        importances = self.frame_.importances
        if importances is None:
            raise AttributeError(
                "feature_importances_ are known where scales were learned: scales='learn' or "
                "'rotate'."
            )
        return importances

    @property
    def n_components_(self):
        return self.frame_.n_components

    @property
    def n_outside_(self) -> int:
        """How many rows of fits lay outside of the range that the functions were drawn for."""
        check_is_fitted(self)
        return self._model.n_outside
