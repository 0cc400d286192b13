"""How many functions, and in which precision: asked of a sample of the rows first.

The number of functions is doubled as long as rows that are left out of a sample gain from it. All
rows can tell more functions apart than a sample can, so there are √(n/m) times as many for n rows
and a sample of m, within a budget of work: n·k² multiplications for the sums of n rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from .. import model, predictions
from ..engines import Engine
from ..frame import Frame
from ..judging import lots_of
from ..losses import Squared
from ..model import Array, Model
from ..planning import kernel_fits
from ..solvers import Task
from ..solvers.cholesky import smallest_trusted
from ..solvers.method import OPERATOR
from ..solvers.refusals import named
from ..sources import Source
from ..statistics import Moments
from ..statistics.kernel_rows import KernelRows

Fit = TypeVar("Fit")

FIRST, LAST = 128, 4096
# A doubling that gains less than this share of the error is not worth its time.
WORTH_IT = 0.99
# Rows of a sample, and functions up to which they are asked.
SAMPLE, MOST_ASKED = 8_000, 2048
# n·k² of a fit that nobody gave a number of functions for: some 20 seconds on two cores. In float64
# products take two to three times as long.
BUDGET, SLOWER = 2e12, 2.5
# Where a second reading would be dear the precision is settled beforehand, by so few functions of
# so few rows. The best ridge of more functions may be so many times smaller.
DEAR, PILOT_FUNCTIONS, PILOT_ROWS, SMALLER = 1e10, 256, 4_000, 10.0

FLOAT64 = np.dtype(np.float64)


def fit(frame: Frame, source: Source, task: Task, extent: Array, engine: Engine) -> Model:
    """The model of all rows, its number of functions chosen where the frame leaves it open."""
    if task.loss.open:
        spread = _residual_scale(frame, source, task, engine.quiet())
        task = replace(task, loss=task.loss.resolved(spread))
    if frame.n_components is not None:
        task = _precise(frame, source, task, engine)
        return model.fit(frame, source, task, extent, engine)
    # How many functions is a question that the squared loss answers well and fast, for all losses.
    by_statistics = task.solver == "auto" or named(task.solver).takes != OPERATOR
    plain = task.plain and by_statistics and task.alpha != "heldout"
    asking = task
    if not plain:
        alpha = "auto" if task.searches else task.alpha
        asking = replace(task, loss=Squared(), bound=None, solver="auto", alpha=alpha)
    sample = some_rows(source, SAMPLE, frame.seed)
    complete = sample is source

    def attempt(k: int) -> tuple[float, Model]:
        found = model.fit(frame.with_components(k), sample, asking, extent, engine)
        known = found.found.validation.error
        return (np.inf if known is None else known), found

    found = doubled(attempt, LAST if complete else MOST_ASKED)
    if complete:
        return found if plain else model.fit(found.frame, source, task, extent, engine)
    k, n = int(found.frame.n_components), source.present
    k *= 2 ** round(np.log2(n / SAMPLE) / 2)
    if k >= MOST_ASKED:  # more would still have gained
        k = LAST
    frame = replace(frame, n_components=k, ridge=found.found.alpha)
    task = _for(frame, found, source, task)
    k = min(k, _affordable(n, task.dtype))
    return model.fit(frame.with_components(k), source, task, extent, engine)


def start(frame: Frame, source: Source, task: Task, extent: Array, engine: Engine) -> Model:
    """The model of a stream's first block, which goes on with as many functions."""
    if frame.n_components is not None:
        begun = model.start(frame, source, task, engine)
        return begun.added(source, task, extent, engine)
    fitted = fit(frame, source, task, extent, engine)
    begun = model.start(fitted.frame, source, task, engine)
    known = begun.going_on_from(fitted, task)
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
    k = LAST
    while k > FIRST and n_rows * k**2 > budget:
        k //= 2
    return k


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
    """At most so many rows of a source, whichever their order."""
    if source.present <= count:
        return source
    source = source.without_absent()
    return source.some(np.sort(np.argpartition(lots_of(source, seed), count)[:count]))


def _residual_scale(frame: Frame, source: Source, task: Task, engine: Engine) -> float:
    """The standard deviation of residuals of few functions, as their median tells it.

    That of several targets, which may be of any size each, is 1.
    """
    if source.n_targets > 1:
        return 1.0
    sample = some_rows(source, PILOT_ROWS, frame.seed).without_absent()
    k = frame.n_components
    if frame.trained is None:
        k = PILOT_FUNCTIONS if k is None else min(k, PILOT_FUNCTIONS)
    alpha = "auto" if task.searches else task.alpha
    squared = replace(task, loss=Squared(), bound=None, solver="auto", alpha=alpha, heldout=False)
    found = model.fit(frame.with_components(k), sample, squared, model.nothing(sample), engine)
    Y = sample.targets()
    for away in (Y - predictions.scores(found, sample, engine), Y - np.median(Y, axis=0)):
        spread = 1.4826 * float(np.median(np.abs(away)))
        if spread > 1e-12 * float(np.abs(Y).max(initial=0.0)):
            return spread
    return float(Y.std()) or 1.0


def _precise(frame: Frame, source: Source, task: Task, engine: Engine) -> Task:
    """The task in float64 where the ridge that it will find is too small for float32."""
    k = frame.n_components
    asked = task.plain and task.alpha in model.JUDGED and task.dtype != FLOAT64
    if not asked or k == np.inf or frame.trained is not None or source.n_rows * k**2 < DEAR:
        return task
    if model.plan_of(frame, source, task, engine).statistics != Moments.name:
        return task  # no sums whose digits could be lost
    few = frame.with_components(min(k, PILOT_FUNCTIONS))
    sample = some_rows(source, PILOT_ROWS, frame.seed)
    found = model.fit(
        few, sample, replace(task, solver="auto"), model.nothing(source), engine.quiet()
    )
    return _for(frame, found, source, task)


def _for(frame: Frame, found: Model, source: Source, task: Task) -> Task:
    """The same, given a fit of fewer functions to fewer rows."""
    held = found.statistics
    if found.plan.dtype == FLOAT64:
        return replace(task, dtype=FLOAT64)
    if not isinstance(held, Moments) or not held.noise:
        return task
    # The trace grows with rows and functions, rounding errors of blocks with the root of rows.
    rows = source.present / held.rows
    needed = smallest_trusted(held) * np.sqrt(rows) * frame.n_components / found.frame.n_components
    ridge = found.found.alpha / SMALLER * frame.n_components
    return replace(task, dtype=FLOAT64) if ridge < needed else task
