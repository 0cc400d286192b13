"""Fits in passes over the rows: alpha by held-out rows, then the weights."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import cast

import numpy as np

from ..statistics.base import CannotFit
from . import heldout
from .found import Start
from .heldout import Folds, Scored
from .in_passes import OperatorRows
from .iterative import FINE, Solver
from .lbfgs import LBFGS, worth_turning
from .problem import DenseOperator, Problem
from .solution import HeldOut, Solution
from .task import Task, Terms

# From here on an alpha of cells must earn its price.
FEW_ROWS_OF_CELLS = 10_000
# A path of alphas begins at this share of the trace at least.
LEAST_START = 1e-5


def solve(given: OperatorRows, task: Task, terms: Terms) -> Solution:
    """The weights at the best alpha or at a given one, with held-out scores if asked for."""
    start = time.perf_counter()
    operator, each, plan = given.operator, given.weights, terms.plan
    if each.sum() <= 0:
        raise ValueError("All rows have weight 0: there is nothing to fit.")
    Y, loss = given.targets, task.loss
    offset = np.zeros(Y.shape[1])
    if task.intercept and loss.translation_invariant and not task.heldout:
        # Small differences beside a large offset would be rounded.
        offset = each @ Y / each.sum()
        Y = Y - offset
        Y[np.abs(Y) <= 1e-14 * np.abs(offset)] = 0.0
    turned, basis = operator, None
    by_lbfgs = plan.method == LBFGS.name and terms.limits is None and not operator.of_cells
    if by_lbfgs and operator.trace and worth_turning(*operator.shape):
        turned, basis = cast(DenseOperator, operator).turned()
    solver = Solver(turned, plan.method, plan.sketch_rows)
    least = loss.least_values(Y)
    problem = Problem(turned, loss, Y, each, 0.0, terms.limits, task.intercept, least=least)
    alpha, scored = _alpha(solver, problem, given, task, terms)
    problem = replace(problem, penalty=alpha * terms.scale)
    terms.note(f"randspan: alpha {alpha:.3g}, solver {plan.method!r}")
    found = solver.minimise(problem, None if scored is None else scored.start, FINE)
    if task.heldout and scored is None:
        folds = Folds.of(each, terms.seed, given.keys)
        # Without a ridge the fit of all rows may be optimal without some of them too.
        starts: list[Start | None] = [found.start if alpha else None] * len(folds)
        if len(folds):
            scored = heldout.score(solver, problem, alpha, terms.scale, folds, starts)
    point, objective = found.point, problem.objective(found.point)
    if not np.isfinite(objective):
        raise CannotFit(
            f"The {loss.name} loss grew beyond all numbers: raise alpha, or scale the targets."
        )
    held = None
    if task.heldout and scored is not None and scored.scores is not None:
        held = HeldOut(scored.rows, scored.scores)
    coef = point.coef if basis is None else basis @ point.coef
    return Solution(
        coef=coef,
        intercept=point.intercept + offset - operator.mean @ coef,
        alpha=alpha,
        objective=objective,
        solver=plan.method,
        reason=plan.reason,
        residual=max(found.gap, problem.residual(point)),
        converged=found.converged,
        stopped=found.stopped,
        iterations=found.iterations,
        seconds=time.perf_counter() - start,
        heldout=held,
        estimate=None if scored is None else scored.validation,
    )


def _alpha(
    solver: Solver, problem: Problem, given: OperatorRows, task: Task, terms: Terms
) -> tuple[float, Scored | None]:
    """alpha, and what held-out rows said of it where it had to be found."""
    operator = given.operator
    if not isinstance(task.alpha, str):
        return float(task.alpha), None
    if operator.trace == 0:
        return 1.0, None  # no function varies: every alpha gives the same constant
    scored = heldout.by_heldout(
        solver,
        problem,
        terms.scale,
        operator.trace,
        Folds.of(given.weights, terms.seed, given.keys),
        terms.note,
        largest=_largest_alpha(operator, terms),
        # Small ridges take long with many cells, and change classes and errors little.
        gain=0.01 if operator.of_cells and len(given.targets) > FEW_ROWS_OF_CELLS else 0.0,
    )
    return scored.alpha, scored


def heldout_error(given: OperatorRows, task: Task, terms: Terms, out) -> float:
    """The loss of rows held out, at the alpha that suits them best or was given.

    ``out`` are the indices of these rows; folds are made where it is None.
    """
    operator, each, Y = given.operator, given.weights, given.targets
    solver = Solver(operator, terms.plan.method, terms.plan.sketch_rows)
    problem = Problem(operator, task.loss, Y, each, 0.0, None, task.intercept)
    if operator.trace == 0:
        return problem.objective(problem.zero) / float(each.sum()) / Y.shape[1]
    folds = Folds.of(each, terms.seed, given.keys)
    if out is not None:
        folds = Folds([out], given.keys)
    if not isinstance(task.alpha, str):
        starts: list[Start | None] = [None] * len(folds)
        return heldout.score(solver, problem, task.alpha, terms.scale, folds, starts).error
    largest, trace = _largest_alpha(operator, terms), operator.trace
    return heldout.by_heldout(solver, problem, terms.scale, trace, folds, largest=largest).error


def _largest_alpha(operator, terms: Terms) -> float:
    """Where a path of alphas begins, as a share of the trace."""
    ridge = terms.ridge
    if not operator.of_cells:
        if ridge is None:
            return heldout.LARGEST
        # That of the squared loss suits others within a decade; where not, a path turns back.
        likely = 10 * ridge * terms.scale / operator.trace
        return float(np.clip(likely, LEAST_START, heldout.LARGEST))
    # Cells have a kernel with k(x, x) = 1, beside which alpha is noise over signal.
    likely = 10.0 if ridge is None else min(10.0, 10 * ridge)
    return min(heldout.LARGEST, likely / operator.shape[0])
