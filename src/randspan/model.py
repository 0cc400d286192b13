"""A frozen model and its verbs: fit, add, remove, merge, solve; each returns a new model.

Statistics are cheap to add to and dear to solve for. Adding, removing and merging rows therefore
leave the weights open, and `solved` finds them when somebody asks, by the task that came with the
last of these verbs; a model remembers what it found for itself, which changes nothing that can be
seen (and is not pickled).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from . import judging, refinement
from .calibration import Calibration
from .engines import Engine
from .families import Family, Functions
from .features import Features
from .footprint import JUDGED, KEPT_ROWS, shape_before
from .frame import Frame
from .once import Remembers, once
from .planning import by_out_of_bag, plan
from .solvers import METHODS, IllConditioned, Plan, Solution, Task, Terms, passes
from .solvers.in_passes import OperatorRows
from .solvers.method import OPERATOR, PRODUCTS
from .solvers.plan import Shape
from .solvers.solution import SAVED_WITHOUT
from .sources import Source
from .statistics import KINDS, Cells, Moments, OutOfBagMoments, Statistics
from .statistics.base import NO_ROWS
from .statistics.kept import Kept
from .statistics.kernel_rows import KernelRows
from .statistics.key_sample import KeySample
from .statistics.products import Products

Array = NDArray[np.float64]

# Solvers go on to a residual of 1e-6; predictions hardly change from here on.
WORTH_A_WARNING = 1e-4


@dataclass(frozen=True, eq=False)
class Model(Remembers):
    """Everything a fitted model knows.

    Attributes
    ----------
    frame : Frame
        What was read from data before the draw.
    functions : Functions
        The drawn functions, with the cells or rows that the statistics hold.
    statistics : Statistics or None
        What rows can be added to and removed from; None after a fit in passes.
    solution : Solution or None
        The weights; None while rows wait to be solved for.
    plan : Plan
        What was read and how it is solved.
    task : Task
        What is minimised.
    extent : ndarray of shape (2, n_targets)
        The smallest and the largest y of every target; rows that were forgotten count.
    n_outside : int
        Rows beyond the range that functions were drawn for.
    all_known : bool
        Whether functions that learn from rows have had a share of every row of the model.
    calibration : Calibration or None
        From scores to probabilities.
    remark : str
        What else is to be said of why it is solved as it is.
    recent : Kept or None
        The rows themselves as long as they are few, for statistics that are sums: they are left out
        to choose alpha, and for errors and intervals. None once they are many, or where alpha goes
        by a formula.
    lean : bool
        Whether it comes from a file without statistics: it predicts, and no more.
    sample : KeySample or None
        Some of the rows, which importances of columns are found with; None of a part of another
        model, and where nobody asks.
    """

    frame: Frame
    functions: Functions
    statistics: Statistics | None
    solution: Solution | None
    plan: Plan
    task: Task
    extent: Array
    n_outside: int = 0
    all_known: bool = False
    calibration: Calibration | None = None
    recent: Kept | None = None
    remark: str = ""
    lean: bool = False
    sample: KeySample | None = None

    @property
    def empty(self) -> bool:
        """Whether all rows were forgotten."""
        return self.statistics is not None and self.statistics.weight <= 0

    @property
    def parts(self) -> tuple[tuple[float, Model], ...]:
        """Itself with weight one: what a portfolio has several of."""
        return ((1.0, self),)

    @property
    def offset(self) -> float:
        return 0.0

    @property
    def extrapolates(self) -> bool:
        """Whether functions may grow without limit."""
        return self.frame.family.extrapolates

    def having_taken(self, nbytes: int) -> Model:
        """The same model; its plan says what was taken on the way to it, where that was more."""
        made = replace(self.plan, nbytes=max(self.plan.nbytes, nbytes))
        solution = self.solution and replace(self.solution, plan=made)
        return replace(self, plan=made, solution=solution)

    def remarked(self, remark: str) -> Model:
        """The same model; there is more to be said of why it is as it is."""
        return replace(self, remark=self.remark + remark)

    # -- rows come and go ----------------------------------------------------------------------

    def added(self, source: Source, task: Task, extent: Array, engine: Engine) -> Model:
        """The model of these rows as well, solved for as ``task`` says."""
        held = self._streaming("partial_fit", task)
        return self._holding(
            held.plus(self._read(held, source, engine)),
            recent=_together(self.recent, _rows_of(source, task, held)),
            task=task,
            extent=_joined(self.extent, extent),
            n_outside=self.n_outside + self.frame.n_outside(source),
            all_known=False,
            sample=None if self.sample is None else self.sample.plus(KeySample.of(source)),
        )

    def removed(self, source: Source, task: Task, engine: Engine) -> Model:
        """The model that has never seen these rows."""
        held = self._streaming("forget", task)
        out_of_bag = self.functions.out_of_bag
        if out_of_bag is not None and self.all_known:
            known = out_of_bag.trained_on(source.keys, source.targets())
            unknown = int((~known & (source.each > 0)).sum())
            if unknown:
                raise ValueError(
                    f"{unknown} of {source.n_rows} rows cannot have been in the model: they are "
                    "not among those that its functions were trained on."
                )
        if task.solver == "auto" and not isinstance(self.frame.family.default_alpha, str):
            held = held.summed()  # a stream without a ridge holds a factor
        left = held.minus(self._read(held, source, engine))
        recent = self.recent
        if recent is not None:
            gone = _rows_of(source, task, held)
            recent = None if gone is None else recent.without(gone)
        if left.drowned and recent is not None and len(recent):  # few rows are read again
            left = self._read(held, recent.source, engine)
        sample = None if self.sample is None else self.sample.minus(source)
        return self._holding(left, task=task, recent=recent, sample=sample)

    def of_extent(self, extent: Array) -> Model:
        """The same model; targets are known to lie within other limits."""
        return replace(self, extent=extent)

    def merged(self, other: Model, task: Task) -> Model:
        """The model of both models' rows; the frames must be the same."""
        mine, theirs = self._streaming("merge", task), other.statistics
        if theirs is None:
            raise other._keeps_no_statistics("merge")
        if task.solver == "auto" and mine.name != theirs.name:
            mine = mine.summed()
        return self._holding(
            mine.plus(theirs),
            recent=_together(self.recent, other.recent),
            task=task,
            extent=_joined(self.extent, other.extent),
            n_outside=self.n_outside + other.n_outside,
            all_known=False,
            sample=of_both(self.sample, other.sample),
        )

    def going_on_from(self, fitted: Model, task: Task) -> Model | None:
        """The stream that begins with the rows of a fit, where its statistics can go on."""
        held, wanted = fitted.statistics, self.statistics
        assert wanted is not None
        if held is not None and held.name != wanted.name:
            held = held.summed()
        if held is None or held.name != wanted.name:
            return None
        known = {"extent": fitted.extent, "n_outside": fitted.n_outside}
        known["recent"] = fitted.recent
        return self._holding(held, task=task, **known)

    def as_functions(self, n_components: int, task: Task, engine: Engine) -> Model:
        """An exact kernel machine, re-read as functions drawn from the same frame."""
        source = cast(KernelRows, self.statistics).kept.source
        frame = replace(self.frame.with_components(n_components), ridge=None)
        begun = start(frame, source, task, engine).added(source, task, self.extent, engine)
        remark = f"; {source.n_rows} rows are too many for an exact kernel machine: functions"
        remark, sample = self.remark + remark, self.sample
        return replace(begun, n_outside=self.n_outside, remark=remark, sample=sample)

    def _streaming(self, method: str, task: Task) -> Statistics:
        """Statistics that any number of rows can be added to."""
        if self.statistics is None:
            raise self._keeps_no_statistics(method)
        if task.alpha == "leave_one_out" and self.statistics.settled:
            raise ValueError(
                f"alpha='leave_one_out' needs all rows at once, and {self.statistics.name} are all "
                f"that {method} has of them: leave alpha='auto', or fit anew."
            )
        weighed = self.statistics.name == OutOfBagMoments.name
        if by_out_of_bag(self.functions.layout, task) != weighed:
            asked = f"alpha={task.alpha!r}, bound={task.bound!r}, solver={task.solver!r}"
            how = "by out-of-bag predictions" if weighed else "as plain functions"
            raise ValueError(
                f"{method} goes on with the statistics of a model that weighs its functions {how}, "
                f"and {asked} needs others: set them back, or fit anew."
            )
        # Few rows were solved in the dual and kept as rows. Moments take any number.
        solved_as = None if self.solution is None else self.solution.solver
        safest = task.lenient and task.bound is None  # which streams hold as a factor
        if task.solver == "auto" and solved_as == "dual" and not safest:
            return self.statistics.summed()
        return self.statistics

    def _keeps_no_statistics(self, method: str) -> ValueError:
        if self.lean:
            return ValueError(SAVED_WITHOUT.format(method))
        return ValueError(
            f"{method} needs statistics of fixed size, which the solver {self.plan.method!r} does "
            "not keep: use solver='eigen' or 'cholesky', or start with partial_fit."
        )

    def _read(self, held: Statistics, source: Source, engine: Engine) -> Statistics:
        read = held.read(self._blocks(source), engine)
        read.check_finite()
        return read

    def _holding(self, statistics: Statistics, task: Task, **changes) -> Model:
        """The same model with other statistics, to be solved for in the precision it began with."""
        task = replace(task, dtype=self.task.dtype)
        functions = statistics.columns(self.functions)
        changed = replace(self, statistics=statistics, functions=functions, task=task, **changes)
        return replace(changed, solution=None, calibration=None)

    # -- weights -------------------------------------------------------------------------------

    def solved(self, engine: Engine) -> Model:
        """The same model with its weights, solved for if rows came or went."""
        if self.solution is not None:
            return self
        return once(self, "_solved", lambda: self._solved_for(engine))

    def _solved_for(self, engine: Engine) -> Model:
        held = self.statistics
        assert held is not None
        made = plan(
            self._shape(held), self.task, engine.machine(self.task.memory_limit), held=held.name
        )
        while True:
            if held.settled:  # features have gone into sums in the precision they were read in
                made = replace(made, dtype=self.plan.dtype)
            try:
                return replace(self, plan=made).with_weights(self._rows, engine)
            except IllConditioned:
                if made.fallback is None:
                    raise
                made = made.fallback

    @property
    def rows(self) -> Source | None:
        """The rows that were fitted, where they are known: few of them, or a kernel machine's."""
        if isinstance(self.statistics, KernelRows) and self.statistics.rows:
            return self.statistics.kept.source
        return self._rows

    @property
    def _rows(self) -> Source | None:
        """The rows of a stream, as long as they are few."""
        if self.recent is None or not len(self.recent):
            return None
        return self.recent.source

    def _shape(self, held: Statistics) -> Shape:
        """The shape of what is held."""
        d, c = self.functions.n_features, self.extent.shape[1]
        return Shape(held.rows, held.rows, d, c, self.functions.layout, held.n_cells)

    def without_statistics(self) -> Model:
        """The same weights, and nothing that rows are added to, removed from or left out by."""
        found = self.found.for_predictions()
        lean = replace(self, statistics=None, recent=None, solution=found, lean=True)
        return replace(lean, sample=None)

    def _reading(self, source: Source, engine: Engine) -> Model:
        """The statistics that the plan asks for, read unless they are there."""
        made = self.plan
        if not made.statistics or self.statistics is not None:
            return self
        held = KINDS[made.statistics].read(self._blocks(source), engine)
        held.check_finite()
        model = replace(self, statistics=held, functions=held.columns(self.functions))
        if held.n_cells:  # how many there are is known only now
            machine = engine.machine(self.task.memory_limit)
            before = shape_of(self.frame.family, self.frame.n_components, source, engine.threads)
            shape = replace(before, layout=model.functions.layout, n_cells=held.n_cells)
            made = plan(shape, self.task, machine, held=held.name)
        return replace(model, plan=made)

    def with_weights(self, source: Source | None, engine: Engine) -> Model:
        """The weights that the plan leads to; ``source`` are the rows where no statistics are."""
        if self.empty:
            raise ValueError(NO_ROWS)
        method = METHODS[self.plan.method, self.plan.statistics]
        terms = self._terms(engine)
        if method.judged and source is not None and self.task.alpha in JUDGED:
            asked = (self._blocks(source), self.task.intercept, engine, terms.range)
            found = judging.judges(*asked)
            terms = replace(terms, judges=found)
        given = self._given(method.takes, source, engine)
        size = self.statistics.size if self.statistics is not None else self.functions.n_columns
        with engine.blas(size, alone=method.tiled or method.takes == OPERATOR):
            solution = method.solve(given, self.task, terms)
        known = solution.least_squares  # None in a box, where there is no formula
        if known and source is not None and isinstance(given, Moments):
            mu = known.alpha * self.frame.ridge_scale
            if refinement.needed(given, mu, self.plan.dtype):
                solution = known = refinement.refined(known, self._blocks(source), mu, engine)
        if known and source is not None and terms.judges is not None and terms.judges.sampled:
            given_too = (known, self.task.intercept, engine, terms.range)
            estimate = judging.validation(self._blocks(source), *given_too)
            solution = replace(solution, estimate=estimate)
        warn_if_short(solution)
        reason = solution.reason + self.remark
        return replace(self, solution=replace(solution, reason=reason, plan=self.plan))

    def _terms(self, engine: Engine) -> Terms:
        frame, limits = self.frame, limits_of(self.functions, self.task.bound)
        note = engine.progress(0, "weights").note

        at = (frame.ridge_scale, limits, frame.seed, frame.ridge)
        within = self.task.range(self.extent)
        return Terms(self.plan, *at, range=within, pool=pool_of(engine), note=note)

    def _given(
        self, takes: str, source: Source | None, engine: Engine
    ) -> Statistics | Products | OperatorRows:
        """What a method takes."""
        made, held, centred = self.plan, self.statistics, self.task.intercept
        if takes == OPERATOR and held is None:
            assert source is not None
            return engine.operator(self._blocks(source), centred, made.cached)
        assert held is not None
        if takes == OPERATOR:
            rows = cast(Cells, held)
            return engine.cell_operator(rows, self.frame, self.functions, made, centred)
        return held.products(self.frame, self.functions) if takes == PRODUCTS else held

    def features(self, source: Source, out_of_bag: bool = False) -> Features:
        """The features of rows; ``out_of_bag``, out-of-bag values where functions were trained."""
        return Features(self.frame, self.functions, source, self.plan.dtype, out_of_bag)

    def _blocks(self, source: Source) -> Features:
        """The features of rows as a fit reads them."""
        return replace(self.features(source, self.plan.out_of_bag), step=self.plan.block)

    @property
    def found(self) -> Solution:
        """The solution of a model that is solved."""
        assert self.solution is not None
        return self.solution


# -- from rows to a model --------------------------------------------------------------------------


def fit(frame: Frame, source: Source, task: Task, extent: Array, engine: Engine) -> Model:
    """The model of all rows, for a frame that knows how many functions there are."""
    model = _planned(frame, source, task, extent, engine)
    model = replace(model, n_outside=frame.n_outside(source))
    weights = None
    if model.plan.statistics == Cells.name:  # rows of weight 0 have no cells
        weights, source = source.weights, source.without_absent()
    while True:
        model = model._reading(source, engine)
        try:
            model = model.with_weights(source, engine)
            break
        except IllConditioned:
            made, other = model.plan, model.plan.fallback
            if other is None:
                raise
        again = (other.statistics, other.dtype) != (made.statistics, made.dtype)
        model = replace(model, plan=other, statistics=None if again else model.statistics)
    recent = _rows_of(source, task, model.statistics)
    return replace(model, solution=_with_heldout_of(model.found, weights), recent=recent)


def start(frame: Frame, source: Source, task: Task, engine: Engine) -> Model:
    """A model of no rows, ready to stream rows like these."""
    model = _planned(frame, source, task, nothing(source), engine, streaming=True)
    held = KINDS[model.plan.statistics].none(model.functions, source.n_targets)
    recent = _rows_of(source, task, held)
    return replace(model, statistics=held, recent=None if recent is None else Kept())


def heldout_error(
    frame: Frame, source: Source, task: Task, engine: Engine, out: NDArray[np.intp] | None
) -> float:
    """The loss of some rows of cells that are held out, given by their indices or in folds."""
    model = _planned(frame, source, replace(task, solver="conjugate"), nothing(source), engine)
    model = model._reading(source, engine)
    given, terms = model._given(OPERATOR, source, engine), model._terms(engine)
    with engine.blas(1, alone=True):
        return passes.heldout_error(cast(OperatorRows, given), model.task, terms, out)


def _planned(
    frame: Frame,
    source: Source,
    task: Task,
    extent: Array,
    engine: Engine,
    streaming: bool = False,
) -> Model:
    """A model that has read nothing yet."""
    functions = frame.functions()
    before = shape_of(frame.family, frame.n_components, source, engine.threads)
    shape = replace(before, layout=functions.layout)
    made = plan(shape, task, engine.machine(task.memory_limit), streaming=streaming)
    return Model(frame, functions, None, None, made, task, extent)


def plan_of(
    frame: Frame, source: Source, task: Task, engine: Engine, streaming: bool = False
) -> Plan:
    """What a fit, or a stream, of these rows would do."""
    return _planned(frame, source, task, nothing(source), engine, streaming).plan


def _rows_of(source: Source, task: Task, held: Statistics | None) -> Kept | None:
    """Rows that are kept beside sums to be left out; None where they are too many for that."""
    sums = held is not None and held.settled
    if not sums or task.alpha == "gcv" or source.n_rows > KEPT_ROWS:
        return None
    return Kept.with_inputs(source.without_absent())


def _together(mine: Kept | None, theirs: Kept | None) -> Kept | None:
    """The rows of both, None where those of one are not known or both are too many."""
    if mine is None or theirs is None or len(mine) + len(theirs) > KEPT_ROWS:
        return None
    return mine.plus(theirs)


def of_both(mine: KeySample | None, theirs: KeySample | None) -> KeySample | None:
    """The sample of the rows of both, None where that of one is not known."""
    return None if mine is None or theirs is None else mine.plus(theirs)


def _with_heldout_of(solution: Solution, weights: Array | None) -> Solution:
    """Held-out rows by their indices among all rows, where those of weight 0 were left out."""
    held = solution.heldout
    if held is None or weights is None:
        return solution
    rows = np.flatnonzero(weights > 0)[held.rows]
    return replace(solution, heldout=replace(held, rows=rows))


def shape_of(family: Family, k: float, source: Source, threads: int) -> Shape:
    """The shape of a fit of these rows, with what comes before it."""
    rows = (source.n_rows, source.present, source.n_features, source.n_targets)
    return shape_before(family, k, *rows, row_bytes=source.row_bytes, threads=threads)


def nothing(source: Source) -> Array:
    """The extent of no targets."""
    return np.array([[np.inf], [-np.inf]]) + np.zeros(source.n_targets)


def _joined(mine: Array, theirs: Array) -> Array:
    """The extent of both."""
    return np.array([np.minimum(mine[0], theirs[0]), np.maximum(mine[1], theirs[1])])


def pool_of(engine: Engine) -> Callable[[Callable, list], list]:
    """A map over the threads of an engine, which are there while it is called."""

    def pool(function: Callable, items: list) -> list:
        with engine.pool() as run:
            return run(function, items)

    return pool


def limits_of(functions: Functions, bound: float | None) -> Array | None:
    """|w_i| ≤ bound/k for drawn functions; direct links have no limit."""
    if bound is None:
        return None
    limits = np.full(functions.n_columns, bound / functions.n_components)
    limits[: functions.n_direct] = np.inf
    return limits


def warn_if_short(solution: Solution) -> None:
    """A ConvergenceWarning where a solver stopped so early that predictions may differ."""
    # Of cells, of which some hold many rows and some hold one, the residual says little.
    # Of copies of functions it says as little, where a penalty may share weights in many ways.
    always = ("conjugate", "lasso")
    short = solution.residual > WORTH_A_WARNING or solution.solver in always
    if not solution.converged and short:
        stopped = f" ({solution.stopped})" if solution.stopped else ""
        warnings.warn(
            f"The solver {solution.solver!r} stopped short{stopped}: residual "
            f"{solution.residual:.1e}. A larger alpha is easier to solve for.",
            ConvergenceWarning,
            stacklevel=2,
        )
