"""What regressor and classifier share: frame, fit, streaming, forgetting, merging.

The only state of a fitted model is a `fitting.State`. Statistics are cheap to add to and dear to
solve for, so ``partial_fit``, ``forget`` and ``merge`` only add, and the weights are solved for
when somebody asks for them.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import losses
from ..coded import CodedRows
from ..engines import cpu
from ..families import Functions
from ..families.randomness import seed_from
from ..families.rows import canonical
from ..frame import Frame, as_family
from ..losses import Loss, Squared
from ..moments import Factor, Moments
from ..solvers import METHODS, LeastSquares, Solution
from ..solvers.out_of_bag import OutOfBag
from . import bagging, coding, fitting
from .configured import Configured
from .fitting import Settings, State, Targets
from .kernel_machine import KernelColumns
from .parameters import check_clip, check_weights
from .reading import grown, read_frame


def squared_only(method: str):
    """A method that exists for the squared loss alone (`available_if`)."""

    def check(model: SpanModel) -> bool:
        other = isinstance(model.loss, Loss) or model.loss in losses.NAMED
        squared = isinstance(model.loss, Squared) or model.loss == Squared.name
        known = METHODS.get(model.solver) if isinstance(model.solver, str) else None
        coded = model.family == "bins" or getattr(model.family, "sparse", False)
        if known is not None and not (known.statistics or coded):
            raise AttributeError(
                f"{method} needs statistics of fixed size; solver={model.solver!r} passes over all "
                "rows several times and keeps none: use fit, or solver='auto'."
            )
        if squared or not other:  # what is no loss is refused later
            return True
        raise AttributeError(
            f"{method} needs the squared loss, whose sums add up over rows; loss={model.loss!r} "
            "has no such sums: use fit."
        )

    return available_if(check)


class SpanModel(Configured):
    """f(x) = b + Σ_i w_i φ_i(x), weights w in the span of drawn functions."""

    #: whether targets are classes
    _for_classes = False

    # -- what the two kinds of model do differently ------------------------------------------

    @abstractmethod
    def _validate(self, X, y, first: bool, min_rows: int):
        """X and y, checked; ``first`` where a new model starts."""

    def _row_weights(self, sample_weight, X, y) -> NDArray[np.float64] | None:
        """The weights of rows, or None where all are 1."""
        return check_weights(sample_weight, X)

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

    def _fit(self, X, y, sample_weight, classes=None):
        self._settings()  # refuses parameters before any work is done
        self.__dict__.pop("_state", None)  # a fit that fails leaves no older one behind
        X, y = self._validate(X, y, first=True, min_rows=2)
        self._learn_targets(y, classes)
        weights = self._row_weights(sample_weight, X, y)
        self._check_presence(y, weights)
        targets, settings = self._targets(y), self._settings()
        frame = self._read_frame(X, targets, weights, settings)
        self._state = fitting.fit(frame, X, targets, weights, settings)
        self._state.all_known = self.frame is None
        self._state.largest = self._largest(y, weights)
        self.frame_ = self._state.frame
        self._state.outside.note(self.frame_, X)
        return self

    def _partial_fit(self, X, y, sample_weight, classes=None):
        settings = self._settings()
        first = not hasattr(self, "_state")
        X, y = self._validate(X, y, first=first, min_rows=1)
        if first:
            self._learn_targets(y, classes, streaming=True)
        targets = self._targets(y)
        weights = self._row_weights(sample_weight, X, y)
        if first:
            self._state = self._start(X, y, weights, settings)
            self.frame_ = self._state.frame
        state = self._streaming_state("partial_fit")
        kind = type(state.statistics)
        state.calibration, state.all_known = None, False
        state.statistics += fitting.accumulate(kind, state, X, targets, weights, settings)
        state.largest = np.maximum(state.largest, self._largest(y, weights))
        state.solution = None
        state.outside.note(state.frame, X)
        return self

    def _start(self, X, y, weights, settings: Settings) -> State:
        """An empty model, ready to stream: the frame comes from the first block."""
        targets = self._targets(y)
        frame = self._read_frame(X, targets, weights, settings)
        if frame.n_components == np.inf:
            raise ValueError(
                "n_components=inf is the exact kernel machine, which needs all rows at once: use "
                "fit, or a finite n_components to stream."
            )
        if frame.n_components is None:
            frame = fitting.fit(frame, X, targets, weights, settings).frame
        functions = frame.functions()
        dtype = np.dtype(np.float64) if functions.n_targets else settings.dtype
        state = State(frame, functions, None, None, dtype)
        bagging.check(state, settings, targets(slice(0, 1)).shape[1])
        coding.check_solver(settings, functions)
        if bagging.by_pairs(functions, settings):
            state.statistics = bagging.none(functions)
            return state
        if functions.coded_parts:
            state.statistics = CodedRows.none()
            return state
        # Least squares without a ridge is safe in an orthogonal factor; moments are for forgetting.
        plain = settings.lenient and settings.bound is None and settings.solver == "auto"
        kind = Factor if plain or settings.solver in ("qr", "dual") else Moments
        exact = kind is Factor or settings.alpha == 0
        state.dtype = np.dtype(np.float64) if exact else dtype
        state.statistics = kind.zero(functions.n_columns, targets(slice(0, 1)).shape[1])
        return state

    @squared_only("forget")
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
        weights = self._row_weights(sample_weight, X, y)
        state = self._streaming_state("forget")
        held, targets, settings = state.statistics, self._targets(y), self._settings()
        if self.solver == "auto" and not isinstance(self._law().default_alpha, str):
            held = fitting.as_moments(held)  # a stream without a ridge holds a factor
        gone = fitting.accumulate(type(held), state, X, targets, weights, settings, growing=False)
        state.statistics = held.without(gone)
        state.solution = state.calibration = None
        return self

    @squared_only("merge")
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
        mine, theirs = self._streaming_state("merge"), other._state.statistics
        if isinstance(mine.statistics, CodedRows):
            coding.merge(mine, other._state)
        elif isinstance(mine.statistics, Moments) and isinstance(theirs, (Moments, Factor)):
            mine.statistics = mine.statistics + fitting.as_moments(theirs)
        elif type(theirs) is type(mine.statistics):
            mine.statistics = mine.statistics + theirs
        elif isinstance(theirs, Moments) and self._settings().lenient:
            mine.statistics = fitting.as_moments(mine.statistics) + theirs
        else:
            raise ValueError(
                f"One model holds {type(mine.statistics).__name__} and the other "
                f"{type(theirs).__name__}: fit both with the same solver and alpha."
            )
        mine.solution = mine.calibration = None
        mine.all_known = False
        mine.largest = np.maximum(mine.largest, other._state.largest)
        mine.outside.count += other._state.outside.count
        return self

    def _check_same_targets(self, other) -> None:
        mine, theirs = self._n_targets, other._n_targets
        if mine != theirs:
            raise ValueError(f"The models have {mine} and {theirs} target columns.")

    def _streaming_state(self, method: str) -> State:
        """The state, with statistics that rows can be added to."""
        state = self._state
        if state.statistics is None:
            raise ValueError(
                f"{method} needs statistics of fixed size, which "
                + (
                    "the exact kernel machine (n_components=inf) does not have: use a finite "
                    "n_components."
                    if state.frame.n_components == np.inf
                    else f"the solver {self._solution.solver!r} does not keep: use solver='eigen' "
                    "or 'cholesky', or start with partial_fit."
                )
            )
        # Few rows were solved in the dual and kept as rows. Moments take any number.
        solved_as = None if state.solution is None else state.solution.solver
        if self.solver == "auto" and solved_as == "dual":
            state.statistics = fitting.as_moments(state.statistics)
        return state

    def _read_frame(self, X, targets: Targets, weights, settings: Settings) -> Frame:
        n_components = self._n_components()
        if self.frame is not None:
            frame = self._given_frame(X, n_components)
        else:
            frame = read_frame(self, X, weights, n_components, targets, settings)
        return grown(frame, X, targets, weights, self._for_classes, settings)

    def _given_frame(self, X, n_components) -> Frame:
        frame = self.frame
        if not isinstance(frame, Frame):
            raise TypeError(f"frame must be another model's frame_ or None, got {frame!r}.")
        if frame.n_features != X.shape[1]:
            raise ValueError(
                f"The frame was read from {frame.n_features} columns, X has {X.shape[1]}."
            )
        if self.scales is not None:
            raise ValueError(
                "A frame has its scales already: leave scales=None, or read another frame."
            )
        family = as_family(self.family)
        kinds, held = ([type(part) for part in f.parts_of_union()] for f in (family, frame.family))
        if self.family != "fourier" and kinds != held:
            raise ValueError(
                f"The frame holds {frame.family!r}, the model asks for {family!r}: leave family "
                "out, or read another frame."
            )
        if n_components is not None:
            frame = frame.with_components(n_components)
        frame = replace(frame, ridge=None)  # found for the targets of that model
        # Without a random_state of its own a model repeats the frame's draw.
        return frame if self.random_state is None else frame.with_seed(seed_from(self.random_state))

    # -- what was learned --------------------------------------------------------------------

    def _check_X(self, X):
        check_is_fitted(self)
        X = canonical(
            validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        )
        self._state.outside.note(self._state.frame, X)
        return X

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_state")

    @property
    def _solution(self) -> Solution:
        """The solution, solved for now if rows came or went since the last one."""
        check_is_fitted(self)
        state = self._state
        if state.solution is None:
            state.solution = fitting.solve_leniently(state, self._settings())
        return state.solution

    def _least_squares(self, wanted: str) -> LeastSquares:
        """The solution, where it is one that knows degrees of freedom and leverages."""
        solution = self._solution
        if self._state.frame.family.uses_target:
            raise ValueError(
                f"{wanted} would take functions for independent of the targets, from which those "
                f"of {self._state.frame.family!r} have learned. What they say of rows that they "
                "have not seen: leave_one_out, and oob_error_ where alpha='auto'."
            )
        if not isinstance(solution, LeastSquares):
            raise ValueError(
                f"{wanted} needs the squared loss without a box, solved from statistics (solver "
                f"'eigen', 'cholesky', 'dual' or 'qr'; for cells 'dual', and as few rows as an "
                f"n × n matrix may have); this model was solved by {solution.solver!r}."
            )
        return solution

    @property
    def functions_(self) -> Functions:
        check_is_fitted(self)
        return self._state.functions

    @property
    def alpha_(self) -> float:
        return self._solution.alpha

    @property
    def gcv_error_(self) -> float:
        try:
            return self._least_squares("gcv_error_").gcv_error
        except ValueError as reason:
            raise AttributeError(str(reason)) from None

    @property
    def oob_error_(self) -> float:
        """Mean squared error on rows that functions have not seen, averaged over targets."""
        solution = self._solution
        if not isinstance(solution, OutOfBag):
            raise AttributeError(
                "oob_error_ is known where functions that learned from targets are weighed by rows "
                f"they have not seen (solver 'out_of_bag'); this model has {solution.solver!r}."
            )
        return float(solution.errors.mean())

    @property
    def solution_(self) -> Solution:
        return self._solution

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """s_m² Var(x_m), as a share of the sum over columns m, of learned scales s.

        With scales="rotate" s_m² is the squared length of row m of the learned matrix.
        """
        check_is_fitted(self)
        importances = self._state.frame.importances
        if importances is None:
            raise AttributeError(
                "feature_importances_ are known where scales were learned: scales='learn' or "
                "'rotate'."
            )
        return importances

    @property
    def n_components_(self):
        check_is_fitted(self)
        return self._state.frame.n_components

    @property
    def n_outside_(self) -> int:
        """How many rows lay outside of the range that the functions were drawn for."""
        check_is_fitted(self)
        return self._state.outside.count

    def _clipped(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions within ±clip, or within the largest |y| seen."""
        check_clip(self.clip)
        if self.clip is None:
            return scores
        limit = self._state.largest if isinstance(self.clip, str) else float(self.clip)
        return np.clip(scores, -limit, limit)

    def _scores(self, X, numbers: NDArray | None = None) -> NDArray[np.float64]:
        """f(x) for every row and target; with their numbers, from what functions have not seen."""
        return fitting.scores(self._state, X, self._solution, self.n_jobs, numbers)

    def _unseen_scores(self, X, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """f(x) from functions that have not seen the rows, by their numbers."""
        unknown = int((numbers < 0).sum())
        if unknown and self._state.all_known:
            raise ValueError(
                f"{unknown} of {len(numbers)} rows are not among those that functions have learned "
                "from: hand in rows and targets as they were handed to fit, to the last bit."
            )
        return self._scores(X, numbers)

    def _leverages(self, X, solution: LeastSquares) -> NDArray[np.float64]:
        """z̃'(Z̃'Z̃ + μI)⁻¹z̃ + 1/Σω for every row, the second term for the intercept."""
        functions = self._state.functions
        features = self._state.features(X)

        def leverages(Z, rows):
            if self._state.kernel is not None:
                return solution.posterior.quadratic(*self._state.kernel.centred(Z))
            if isinstance(functions, KernelColumns):
                return solution.posterior.quadratic(*functions.centred(features.rows(rows), Z))
            return solution.posterior.quadratic(Z - solution.mean)

        values = cpu.apply(features, leverages, self.n_jobs)
        return values + (1 / solution.weight if self.fit_intercept else 0)

    def _leave_one_out(self, X, y, sample_weight) -> NDArray[np.float64]:
        """Scores of the models fitted without one row each: y - e/(1 - h)."""
        check_is_fitted(self)
        X, y = self._validate(X, y, first=False, min_rows=1)
        weights = self._row_weights(sample_weight, X, y)
        Y = self._targets(y)(slice(0, X.shape[0]))
        functions = self._state.functions
        if self._state.frame.family.uses_target:
            if functions.bags is None or functions.coded_parts:
                raise ValueError(
                    "leave_one_out asks functions that have not seen a row, and here all have, or "
                    "their leaves have weights that did: use bootstrap < 1 and output='value'."
                )
            return self._unseen_scores(X, functions.bags.numbers(X, Y))
        each = np.ones(len(Y)) if weights is None else weights
        solution = self._least_squares("leave_one_out")
        if isinstance(self._state.statistics, Factor):
            # 1 - h is a small difference: worth the singular vectors of the rows themselves.
            solution = fitting.orthogonal_solution(self._state, solution, self._settings())
        left = 1 - each * self._leverages(X, solution)
        if (left < 1e-10).any():
            row = int(np.argmin(left))
            raise ValueError(
                f"The model passes through row {row} whatever its target, so leaving it out is "
                "not defined by the fit alone: use alpha > 0 or fewer functions."
            )
        return Y - (Y - self._scores(X)) / left[:, None]
