"""How many functions, and in which precision: asked of a sample of the rows first.

The number of functions is doubled as long as rows that are left out of a sample gain from it. All
rows can tell more functions apart than a sample can, so there are √(2n/m) times as many for n rows
and a sample of m, within a budget of work: n·k² multiplications for the sums of n rows. Neither is
rounded to a power of two, so that more rows never take a small part of the time of fewer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from .. import model, predictions
from ..engines import Engine
from ..families import Family
from ..families.shared.bandwidth import weighted_median
from ..footprint import shape_before
from ..frame import Frame
from ..judging import by_lots
from ..keys import with_targets
from ..losses import Squared
from ..model import Array, Model
from ..planning import kernel_fits, plan
from ..solvers import Task
from ..solvers.cholesky import smallest_trusted
from ..solvers.method import OPERATOR
from ..solvers.refusals import named
from ..solvers.solution import HeldOut
from ..solvers.validation import Validation, mean_of, uncertain
from ..sources import Source
from ..statistics import Moments
from ..statistics.kernel_rows import KernelRows
from .few_rows import Evidence

Fit = TypeVar("Fit")

FIRST, LAST = 128, 4096
# A doubling that gains less than this share of the error is not worth its time.
WORTH_IT = 0.99
# Rows of a sample, and functions up to which they are asked.
SAMPLE, MOST_ASKED = 8_000, 2048
# n·k² of a fit that nobody gave a number of functions for: some 20 seconds on two cores. In float64
# products take two to three times as long.
BUDGET, SLOWER = 2e12, 2.5
# Numbers of functions are multiples of this.
MULTIPLE = 64
# The ridge of functions in float64 is tiny: there is little noise, and every function more lowers
# the error somewhat. They have at least as many as take the time of the largest kernel machine.
LEAST_WORK = 5e10
# Where a second reading would be dear the precision is settled beforehand, by so few functions of
# so few rows. The best ridge of more functions may be so many times smaller.
DEAR, PILOT_FUNCTIONS, PILOT_ROWS, SMALLER = 1e10, 256, 4_000, 10.0
# Streams cannot be read again, and are asked from here on.
DEAR_OF_STREAMS = 1e8

FLOAT64 = np.dtype(np.float64)


def fit(
    frame: Frame,
    source: Source,
    task: Task,
    extent: Array,
    engine: Engine,
    evidence: Evidence | None = None,
) -> Model:
    """The model of all rows, its number of functions chosen where the frame leaves it open.

    ``evidence`` is what rows said of it that had no part in the choice of the frame.
    """
    if evidence is not None and task.plain and task.alpha in model.JUDGED:
        return as_judged(evidence, frame, source, task, extent, engine)
    if task.loss.open:
        spread = _residual_scale(frame, source, task, engine.quiet())
        task = replace(task, loss=task.loss.resolved(spread))
    if frame.n_components is not None:
        task = precise(frame, source, task, engine)
        return model.fit(frame, source, task, extent, engine)
    asking = _asking(task)
    plain = asking is task
    sample = some_rows(source, SAMPLE, frame.seed)
    if sample is source or sample.n_rows < SAMPLE:
        found, needed = _asked(frame, sample, asking, extent, engine, LAST)
        if sample is not source or not plain:
            frame = replace(found.frame, ridge=found.found.alpha)
            found = model.fit(frame, source, task, extent, engine)
        return found.having_taken(needed)
    found, needed = _asked(frame, sample, asking, extent, engine, MOST_ASKED)
    needed += int(SAMPLE * source.row_bytes)
    frame, task = _of_sample(frame, found, sample, source, task, engine)
    return model.fit(frame, source, task, extent, engine).having_taken(needed)


def as_judged(
    evidence: Evidence, frame: Frame, source: Source, task: Task, extent: Array, engine: Engine
) -> Model:
    """The kernel machine of all rows, with the errors that rows have without it."""
    found = model.fit(frame, source, replace(task, heldout=True), extent, engine)
    squares = ((source.targets() - evidence.predicted) ** 2).mean(axis=1)
    error, doubt = mean_of(squares, source.each, source.left_out_keys)
    known = found.found.least_squares
    if known is not None:
        doubt = uncertain(doubt, known.degrees_of_freedom, known.counted)
    estimate = Validation("leave_one_out", error, doubt)
    left, order, above = found.found.heldout, np.arange(source.n_rows), None
    if left is not None and left.leverages is not None:  # how far a row is from the others
        above = left.leverages[np.argsort(left.rows)]
    heldout = HeldOut(order, evidence.predicted, above)
    solution = replace(found.found, estimate=estimate, heldout=heldout)
    return replace(found, task=task, solution=solution)


def refuse(family: Family, k: float | None, source: Source, task: Task, engine: Engine) -> None:
    """Refuse what is asked before a fit and not granted: by plans alone, before any work."""
    rows, machine = source.present, engine.machine(task.memory_limit)

    def planned(asking: Task, rows: int, functions: int) -> None:
        d, c, row = source.n_features, source.n_targets, source.row_bytes
        shape = shape_before(
            family, functions, rows, rows, d, c, row_bytes=row, threads=engine.threads
        )
        plan(shape, asking, machine)

    if k is None:
        planned(_asking(task), min(rows, SAMPLE), FIRST)
    if task.loss.open and source.n_targets == 1 and not family.trains and k != np.inf:
        planned(_pilot(task), min(rows, PILOT_ROWS), int(min(k or FIRST, FIRST)))


def _asking(task: Task) -> Task:
    """What finds the number of functions; the task itself where that is solved from statistics.

    It is a question that the squared loss answers well and fast, for all losses.
    """
    by_statistics = task.solver == "auto" or named(task.solver).takes != OPERATOR
    if task.plain and by_statistics and task.alpha != "heldout":
        return task
    return _pilot(task)


def _pilot(task: Task) -> Task:
    """The squared loss in place of another."""
    alpha = "auto" if task.searches else task.alpha
    return replace(task, loss=Squared(), bound=None, solver="auto", alpha=alpha)


def _of_sample(
    frame: Frame, found: Model, sample: Source, source: Source, task: Task, engine: Engine
) -> tuple[Frame, Task]:
    """The frame with as many functions as all rows need, given a model of a sample of them."""
    k, n = int(found.frame.n_components), source.present
    k = _rounded(k * np.sqrt(2 * source.distinct / SAMPLE))
    if k >= MOST_ASKED:  # more would still have gained
        k = LAST
    frame = replace(frame, n_components=k, ridge=found.found.alpha)
    task = _for(frame, found, sample, source, task, engine)
    if task.dtype == FLOAT64:
        k = max(k, _rounded(np.sqrt(LEAST_WORK / n)))
    k = min(k, _affordable(n, task.dtype), _most(frame, source, task, engine, LAST)[0])
    return frame.with_components(k), task


def _rounded(k: float) -> int:
    """A number of functions near this one."""
    return int(np.clip(round(k / MULTIPLE) * MULTIPLE, FIRST, LAST))


def _asked(
    frame: Frame, source: Source, task: Task, extent: Array, engine: Engine, last: int
) -> tuple[Model, int]:
    """The model after which doubling no longer pays, and the bytes of the largest that was tried.

    No more functions are tried than can be solved for from statistics in the memory granted.
    """

    def attempt(k: int) -> tuple[float, Model]:
        found = model.fit(frame.with_components(k), source, task, extent, engine)
        known = found.found.validation.error
        return (np.inf if known is None else known), found

    last, _ = _most(frame, source, task, engine, last)
    found = doubled(attempt, last)
    tried = min(2 * int(found.frame.n_components), last)
    return found, _most(frame, source, task, engine, tried)[1]


def _most(frame: Frame, source: Source, task: Task, engine: Engine, last: int) -> tuple[int, int]:
    """The most functions, at most ``last``, whose statistics fit into memory, and their bytes."""
    machine, most, needed, k = engine.machine(task.memory_limit), FIRST, 0, FIRST
    while k <= last:
        shape = model.shape_of(frame.family, k, source, engine.threads)
        try:
            made = plan(shape, task, machine)
        except MemoryError:
            break
        if not made.statistics and k > FIRST:
            break
        most, needed, k = k, made.nbytes, 2 * k
    return most, needed


def start(frame: Frame, source: Source, task: Task, extent: Array, engine: Engine) -> Model:
    """The model of a stream's first rows, which goes on with as many functions."""
    if frame.n_components is not None:
        begun = model.start(frame, source, task, engine)
        return begun.added(source, task, extent, engine)
    fitted = fit(frame, source, task, extent, engine)
    # A stream cannot read its rows again: what was read in float64 goes on in it.
    precise = replace(task, dtype=FLOAT64)
    if fitted.plan.dtype != FLOAT64:
        precise = _for(fitted.frame, fitted, source, source, task, engine)
    begun = model.start(fitted.frame, source, precise, engine)
    alike = fitted.plan.dtype == begun.plan.dtype
    known = begun.going_on_from(fitted, task) if alike else None
    return begun.added(source, task, extent, engine) if known is None else known


def within(found: Model, task: Task, engine: Engine) -> Model:
    """The model, as functions where it is a kernel machine of too many rows."""
    held, machine = found.statistics, engine.machine(task.memory_limit)
    if not isinstance(held, KernelRows) or kernel_fits(held.rows, machine):
        return found
    return found.as_functions(_affordable(held.rows), task, engine)


def alike(mine: Model, theirs: Model, task: Task, engine: Engine) -> tuple[Model, Model]:
    """Both models; a kernel machine beside functions as functions like these."""
    if isinstance(mine.statistics, KernelRows) == isinstance(theirs.statistics, KernelRows):
        return mine, theirs
    if isinstance(theirs.statistics, KernelRows):
        return alike(theirs, mine, task, engine)[::-1]
    k = theirs.frame.n_components
    if mine.frame.with_components(k).same_as(theirs.frame):
        mine = mine.as_functions(int(k), task, engine)
    return mine, theirs


def _affordable(n_rows: int, dtype: np.dtype | None = None) -> int:
    """The most functions whose sums over so many rows are within the budget."""
    budget = BUDGET / (SLOWER if dtype == FLOAT64 else 1)
    return _rounded(np.sqrt(budget / max(n_rows, 1)) - MULTIPLE / 2)


def doubled(fit: Callable[[int], tuple[float, Fit]], last: int = LAST) -> Fit:
    """The fit after which doubling k no longer pays, for ``fit(k) -> (error, result)``.

    k = 128, 256, … at most ``last``, as long as a doubling lowers the error by more than one per
    cent. Draws are nested, so each step keeps the functions of the one before.
    """
    k = FIRST
    error, result = fit(k)
    while k < last:
        k *= 2
        next_error, next_result = fit(k)
        if not next_error < WORTH_IT * error:
            break
        error, result = next_error, next_result
    return result


def some_rows(source: Source, count: int, seed: int) -> Source:
    """At most so many different rows of a source, whichever their order; of equal ones, one.

    It weighs as much as they do together: a row that stands twice is one of weight 2.
    """
    if source.present <= count:
        return source
    source = source.without_absent()
    order = by_lots(source, seed)
    keys = with_targets(source.keys, source.targets())[order]
    number = np.cumsum(np.append(0, keys[1:] != keys[:-1]))  # equal ones follow each other
    kept = np.flatnonzero(number < count)
    first = order[kept][np.unique(number[kept], return_index=True)[1]]
    weights = np.bincount(number[kept], source.each[order[kept]]).astype(np.float64)
    back = np.argsort(first)
    some = source.some(first[back])
    return some if len(first) == len(kept) else replace(some, weights=weights[back])


def _residual_scale(frame: Frame, source: Source, task: Task, engine: Engine) -> float:
    """The standard deviation of residuals of few functions, as their median tells it.

    That of several targets, which may be of any size each, is 1.
    """
    if source.n_targets > 1:
        return 1.0
    sample = some_rows(source, PILOT_ROWS, frame.seed).without_absent()
    each = sample.each
    k = frame.n_components
    squared = replace(_pilot(task), heldout=False)
    if frame.trained is None:
        k = PILOT_FUNCTIONS if k is None else min(k, PILOT_FUNCTIONS)
        k = min(k, _most(frame, sample, squared, engine, PILOT_FUNCTIONS)[0])
    found = model.fit(frame.with_components(k), sample, squared, model.nothing(sample), engine)
    Y = sample.targets()
    middle = weighted_median(Y[:, 0], each)
    for away in (Y - predictions.scores(found, sample, engine), Y - middle):
        spread = 1.4826 * weighted_median(np.abs(away[:, 0]), each)
        if spread > 1e-12 * float(np.abs(Y).max(initial=0.0)):
            return spread
    mean = float(np.average(Y[:, 0], weights=each))
    return float(np.sqrt(np.average((Y[:, 0] - mean) ** 2, weights=each))) or 1.0


def precise(
    frame: Frame, source: Source, task: Task, engine: Engine, streaming: bool = False
) -> Task:
    """The task in float64 where the ridge that it will find is too small for float32.

    A fit reads rows again where that is cheap; a stream cannot.
    """
    k = frame.n_components
    asked = task.plain and task.alpha in model.JUDGED and task.dtype != FLOAT64
    if not asked or k in (None, np.inf) or frame.trained is not None:
        return task
    if source.n_rows * k**2 < (DEAR_OF_STREAMS if streaming else DEAR):
        return task
    planned = model.plan_of(frame, source, task, engine, streaming)
    if planned.statistics != Moments.name:
        return task  # no sums whose digits could be lost
    few = frame.with_components(min(k, PILOT_FUNCTIONS))
    sample = some_rows(source, PILOT_ROWS, frame.seed)
    found = model.fit(
        few, sample, replace(task, solver="auto"), model.nothing(source), engine.quiet()
    )
    return _for(frame, found, sample, source, task, engine)


def _for(
    frame: Frame, found: Model, sample: Source, source: Source, task: Task, engine: Engine
) -> Task:
    """The same, given a fit of fewer functions to a sample."""
    held = found.statistics
    sharper = replace(task, dtype=FLOAT64)
    if task.dtype == FLOAT64 or not _granted(frame, source, sharper, engine):
        return task
    if found.plan.dtype == FLOAT64:
        if not isinstance(held, Moments):
            return sharper
        # A look below the ridges of float32, cheap here, may have found nothing there.
        held = Moments.read(replace(found.features(sample), dtype=task.dtype), engine)
    if not isinstance(held, Moments) or not held.noise:
        return task
    # Rounding errors, as the norm of a random matrix, grow with the root of rows and of functions.
    more = source.present / held.rows * frame.n_components / found.frame.n_components
    needed = smallest_trusted(held) * np.sqrt(more)
    ridge = found.found.alpha / SMALLER * frame.n_components
    return sharper if ridge < needed else task


def _granted(frame: Frame, source: Source, task: Task, engine: Engine) -> bool:
    """Whether there is memory for functions in this precision: for FIRST of them at least."""
    k = min(frame.n_components or FIRST, FIRST)
    try:
        plan(
            model.shape_of(frame.family, k, source, engine.threads),
            task,
            engine.machine(task.memory_limit),
        )
    except MemoryError:
        return False
    return True
