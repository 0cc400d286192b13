"""Fits in passes over the rows: any loss, any number of functions, within a budget of memory."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..engines import cpu, memory
from ..engines.operator import Operator
from ..features import Features
from ..solvers import Solution
from ..solvers.found import Found
from ..solvers.iterative import FEW_FUNCTIONS, FEW_PRODUCTS, FINE, Solver
from ..solvers.newton import FEW_ROWS, MODERATE
from ..solvers.preconditioner import sketch_rows
from ..solvers.problem import Problem
from ..tuning import heldout
from . import bagging
from .progress import Progress

# Arrays of the size of the targets: scores, slopes, values, multipliers, and those of a fold.
COPIES = 14
# From here on an alpha of cells must earn its price.
FEW_ROWS_OF_CELLS = 10_000
# Solvers go on to a residual of 1e-6; predictions hardly change from here on.
WORTH_A_WARNING = 1e-4


@dataclass(frozen=True)
class Plan:
    """What a fit in passes will do with the memory it has."""

    method: str
    cached: bool
    sketch_rows: int
    reason: str


def plan(features: Features, c: int, settings: Any, method: str, why: str) -> Plan:
    """Cache the features if they fit beside what the method itself needs."""
    (n, d), k = features.X.shape, features.n_columns
    granted = memory.budget(settings.memory)
    item, threads = features.dtype.itemsize, cpu.n_threads(settings.n_jobs)
    block = features.blocks()[0].stop
    least = threads * block * (3 * k + d) * item + COPIES * 8 * n * c
    rows = sketch_rows(n, k)

    def sketch_bytes(rows: int) -> int:
        return (threads * rows * k * item) + 8 * 3 * min(rows, k) ** 2

    squares = 8 * (threads + 4) * k**2
    if method == "newton" and settings.solver == "auto" and least + squares > granted:
        method, why = "lbfgs", f"{why}; k × k matrices would need {squares / 1e9:.3g} GB"
    fixed = 0
    if method == "newton" or (method == "multipliers" and k <= MODERATE):
        fixed = squares
    elif method == "multipliers":
        fixed = 16 * min(n, FEW_ROWS) * k
    sketches = method in ("sketched", "lbfgs", "multipliers")
    own = max(fixed, sketch_bytes(rows) if sketches else 0)
    while sketches and rows > 64 and least + own > granted:
        rows //= 2
        own = max(fixed, sketch_bytes(rows))
    if least + own > granted:
        raise MemoryError(
            f"memory={settings.memory!r} grants {granted / 1e9:.3g} GB; {n} rows and {k} functions "
            f"need at least {(least + own) / 1e9:.3g} GB (solver {method!r})."
        )
    cached = least + own + n * k * item <= granted
    kept = "features cached" if cached else "features computed anew in every pass"
    return Plan(method, cached, rows, f"{why}; {kept} ({granted / 1e9:.3g} GB granted)")


def method_for(settings: Any, n: int, k: int, c: int) -> tuple[str, str]:
    """The iterative method for a loss, a box and a number of functions."""
    loss = settings.loss
    if settings.solver != "auto":
        return settings.solver, "asked for"
    if not loss.smooth:
        return "multipliers", f"the {loss.name} loss has a kink"
    if settings.bound is not None and not loss.joint:
        method = "newton" if k <= MODERATE else "lbfgs"
        return method, "a smooth loss in a box"
    few = k <= FEW_FUNCTIONS or n * k * min(n, k) * c <= FEW_PRODUCTS
    few &= k <= MODERATE or settings.alpha != 0
    if few and not loss.joint:
        return "newton", "a smooth loss and few functions or rows"
    return "lbfgs", "a smooth loss and many functions"


def fit(state: Any, X, targets, weights, settings: Any, method: str, why: str) -> Any:
    """Fit ``state`` in passes over all rows of X."""
    n, k = X.shape[0], state.functions.n_columns
    each = np.ones(n) if weights is None else weights
    if each.sum() <= 0:
        raise ValueError("All rows have weight 0: there is nothing to fit.")
    Y = targets(slice(0, n))
    progress = Progress(settings.verbose, n, f"randspan: {k} functions")
    features = state.features(X, bagging.numbers(state, X, targets, settings))
    made = plan(features, Y.shape[1], settings, method, why)
    operator = Operator(features, each, settings.intercept, made.cached, settings.n_jobs, progress)
    return solve(state, operator, made, Y, each, settings, progress)


def solve(
    state: Any,
    operator: Any,
    made: Plan,
    Y,
    each,
    settings: Any,
    progress: Progress,
    lots: NDArray[np.uint64] | None = None,
) -> Any:
    """Weights for an operator and targets; notes held-out scores where settings ask for them.

    Folds are made by ``lots`` where the place of a row is not to decide.
    """
    start = time.perf_counter()
    loss, k = settings.loss, operator.shape[1]
    offset = np.zeros(Y.shape[1])
    if settings.intercept and loss.for_numbers and not settings.heldout:
        # These losses know differences only. Small ones beside a large offset would be rounded.
        offset = each @ Y / each.sum()
        Y = Y - offset
        Y[np.abs(Y) <= 1e-14 * np.abs(offset)] = 0.0
    scale = state.frame.ridge_scale
    solver = Solver(operator, made.method, made.sketch_rows)
    problem = Problem(
        operator, loss, Y, each, 0.0, limits_of(state.functions, settings.bound), settings.intercept
    )
    with cpu.blas_threads(1, k):
        alpha, judged = settings.alpha, None
        if alpha == "auto" and operator.trace == 0:
            alpha = 1.0  # no function varies: every alpha gives the same constant
        elif alpha == "auto":
            judged = heldout.by_heldout(
                solver,
                problem,
                scale,
                operator.trace,
                state.frame.seed,
                progress.note,
                largest=largest_alpha(operator, state.frame.ridge),
                parts=heldout.folds(each, state.frame.seed, lots),
                # Small ridges take long with many cells, and change classes and errors little.
                gain=0.01 if operator.coded and len(Y) > FEW_ROWS_OF_CELLS else 0.0,
            )
            alpha = judged.alpha
        problem = replace(problem, penalty=alpha * scale)
        progress.note(f"randspan: alpha {alpha:.3g}, solver {made.method!r}")
        found = solver.minimise(problem, None if judged is None else judged.start, FINE)
        if settings.heldout:
            parts = heldout.folds(each, state.frame.seed, lots)
            if judged is None and parts:
                # Without a ridge the fit of all rows may be optimal without some of them too.
                starts: list[Found | None] = [found if alpha else None] * len(parts)
                judged = heldout.judge(solver, problem, alpha, scale, parts, starts)
            if judged is not None:
                state.heldout = judged.rows, judged.scores
    point, objective = found.point, problem.objective(found.point)
    if not np.isfinite(objective):
        raise FloatingPointError(
            f"The {loss.name} loss grew beyond all numbers: raise alpha, or scale the targets."
        )
    residual = max(found.gap, problem.residual(point))
    state.solution = Solution(
        coef=point.coef,
        intercept=point.intercept + offset - operator.mean @ point.coef,
        alpha=float(alpha),
        objective=objective,
        solver=made.method,
        reason=made.reason,
        residual=residual,
        converged=found.converged,
        stopped=found.stopped,
        iterations=found.iterations,
        seconds=time.perf_counter() - start,
    )
    warn_if_short(state.solution)
    return state


def largest_alpha(operator: Any, ridge: float | None) -> float:
    """Where a path of alphas begins, as a share of the trace."""
    if not operator.coded:
        return heldout.LARGEST
    # Cells have a kernel with k(x, x) = 1, beside which alpha is noise over signal.
    likely = 10.0 if ridge is None else min(10.0, 10 * ridge)
    return min(heldout.LARGEST, likely / operator.shape[0])


def warn_if_short(solution: Solution) -> None:
    """A ConvergenceWarning where a solver stopped so early that predictions may differ."""
    # Of cells, of which some hold many rows and some hold one, the residual says little.
    short = solution.residual > WORTH_A_WARNING or solution.solver == "conjugate"
    if not solution.converged and short:
        stopped = f" ({solution.stopped})" if solution.stopped else ""
        warnings.warn(
            f"The solver {solution.solver!r} stopped short{stopped}: residual "
            f"{solution.residual:.1e}. A larger alpha is easier to solve for.",
            ConvergenceWarning,
            stacklevel=2,
        )


def limits_of(functions, bound: float | None) -> NDArray[np.float64] | None:
    """|w_i| ≤ bound/k for drawn functions; direct links have no limit."""
    if bound is None:
        return None
    limits = np.full(functions.n_columns, bound / functions.n_components)
    limits[: functions.n_direct] = np.inf
    return limits
