"""From rows to a solution: which statistics, which solver, and what if they do not suffice.

The choice follows the shape. Fewer rows than columns: the dual, from the rows themselves. A number
for alpha: Cholesky of the moments. ``alpha="auto"``: their eigenvectors, which give every alpha at
once. Where rounding errors of the moments would reach the predictions, float64 features take the
place of float32 ones, and then an orthogonal factor the place of moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..coded import CodedRows
from ..engines import cpu, memory
from ..families import Functions
from ..features import Features
from ..frame import Frame
from ..losses import Loss, Squared
from ..moments import Factor, Moments
from ..pairs import PairMoments
from ..solvers import (
    METHODS,
    IllConditioned,
    LeastSquares,
    Solution,
    Spectrum,
    box,
    cholesky,
    spectrum,
)
from ..solvers.newton import MODERATE
from ..tuning.alpha import by_gcv
from ..tuning.width import doubled
from . import bagging, coding, iterating
from .kernel_machine import KernelColumns, check_memory
from .outside import Outside
from .parameters import NO_ROWS
from .progress import Progress

Targets = Callable[[slice], NDArray[np.float64]]

SOLVERS = ("auto", *METHODS)
# From here on the squared loss is solved in passes where moments would take longer than this many
# multiplications (about half a minute on two cores).
MANY_FUNCTIONS = 5000
MANY_PRODUCTS = 2e12
# Ridges below this share of the trace are not for Z̃Z̃'.
DUAL_TRUSTED = 1e-11


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator that say how to fit.

    ``lenient`` says that alpha may be as much larger as statistics need it to be.
    """

    loss: Loss
    alpha: Any
    bound: float | None
    intercept: bool
    solver: str
    dtype: np.dtype
    n_jobs: int | None
    verbose: bool
    memory: Any = None
    heldout: bool = False
    lenient: bool = False


@dataclass
class State:
    """Everything a fitted model knows.

    ``solution`` is None while rows wait to be solved for. ``heldout`` are numbers of rows, and
    scores of models that did not see them, where settings ask for it and a fit knows them;
    ``calibration`` is what a classifier makes of them. ``kernel`` has the training rows of a model
    of cells that was solved for through their kernel. ``all_known`` says that functions that learn
    from rows have had a share of every row of the model. ``largest`` is the largest |y| of every
    target, ``outside`` counts rows beyond the family's range.
    """

    frame: Frame
    functions: Functions
    statistics: Any
    solution: Solution | None
    dtype: np.dtype
    heldout: tuple[NDArray, NDArray] | None = None
    calibration: Any = None
    loss: Loss = field(default_factory=Squared)
    kernel: Any = None
    all_known: bool = False
    largest: Any = 0.0
    outside: Outside = field(default_factory=Outside)

    def features(self, X, numbers: NDArray[np.int64] | None = None) -> Features:
        return Features(self.frame, self.functions, X, self.dtype, numbers)


def fit(frame: Frame, X, targets: Targets, weights, settings: Settings) -> State:
    """Fit all rows of X; chooses the number of functions where the frame leaves it open."""
    if frame.n_components is not None:
        return _fit(frame, X, targets, weights, settings)

    # How many functions is a question that the squared loss answers well and fast, for all losses.
    by_statistics = settings.solver == "auto" or METHODS[settings.solver].statistics
    plain = isinstance(settings.loss, Squared) and settings.bound is None and by_statistics
    asking = settings if plain else replace(settings, loss=Squared(), bound=None, solver="auto")

    def attempt(k: int) -> tuple[float, State]:
        state = _fit(frame.with_components(k), X, targets, weights, asking)
        known = isinstance(state.solution, LeastSquares)
        return (state.solution.gcv_error if known else np.inf), state  # type: ignore[union-attr]

    found = doubled(attempt)
    return found if plain else _fit(found.frame, X, targets, weights, settings)


def _fit(frame: Frame, X, targets: Targets, weights, settings: Settings) -> State:
    if frame.n_components == np.inf:
        return _fit_kernel_machine(frame, X, targets, weights, settings)
    functions = frame.functions()
    exact = settings.alpha == 0 or functions.n_targets > 0  # predictions have the digits of y
    dtype = np.dtype(np.float64) if exact else settings.dtype
    state = State(frame, functions, None, None, dtype, loss=settings.loss)
    bagging.check(state, settings, targets(slice(0, 1)).shape[1])
    coding.check_solver(settings, functions)
    if bagging.by_pairs(functions, settings):
        state.statistics = bagging.read(state, X, targets, weights, settings)
        state.solution = bagging.weigh(state, settings)
        return state
    if functions.coded_parts:
        state.statistics = coding.read(state, X, targets, weights, settings)
        state.solution = coding.solve(state, settings)
        if state.heldout is not None and weights is not None:
            rows, scores = state.heldout
            state.heldout = np.flatnonzero(weights > 0)[rows], scores
        return state
    method, why = _method(X.shape[0], functions.n_columns, targets(slice(0, 1)).shape[1], settings)
    if not METHODS[method].statistics:
        return iterating.fit(state, X, targets, weights, settings, method, why)
    present = X.shape[0] if weights is None else int(np.count_nonzero(weights))
    few = present < functions.n_columns and settings.bound is None
    if settings.solver in ("dual", "qr") or (settings.solver == "auto" and few):
        return _fit_factor(state, X, targets, weights, settings, "")
    why = ""
    for precision in dict.fromkeys([dtype, np.dtype(np.float64)]):
        state.dtype = precision
        state.statistics = accumulate(Moments, state, X, targets, weights, settings)
        if settings.solver != "auto":
            state.solution = solve_leniently(state, settings)
            return state
        try:
            state.solution = solve(state, settings, why)
            return state
        except IllConditioned:
            why = f"; moments of {precision.name} features were too ill-conditioned"
    return _fit_factor(state, X, targets, weights, settings, why)


def _method(n: int, k: int, c: int, settings: Settings) -> tuple[str, str]:
    """Which solver, by loss, box, shape and memory; refuses what a solver asked for cannot do."""
    loss, solver = settings.loss, settings.solver
    squared = isinstance(loss, Squared)
    if solver != "auto":
        return solver, "asked for"
    if not squared:
        return iterating.method_for(settings, n, k, c)
    if settings.bound is not None:
        if k <= MODERATE and 8 * k**2 * 8 <= memory.budget(settings.memory):
            return "box", ""
        return iterating.method_for(settings, n, k, c)
    if settings.alpha == 0 and n <= k:
        return "cholesky", ""  # passes would not find the solution of minimal norm
    factor = 10 if settings.alpha == "auto" else 1
    products = min(n * k**2 + factor * k**3, n**2 * k + factor * n**3)
    if k >= MANY_FUNCTIONS and products > MANY_PRODUCTS:
        return "sketched", f"{k} functions: passes are cheaper than moments"
    needed = 8 * (cpu.n_threads(settings.n_jobs) + 4) * k * min(n, k)
    if needed > memory.budget(settings.memory):
        return "sketched", f"moments would need {needed / 1e9:.3g} GB"
    return "eigen" if settings.alpha == "auto" else "cholesky", ""


def check_method(solver: str, settings: Settings) -> None:
    """Say which need of a solver a loss or a box does not meet."""
    if solver == "auto":
        return
    loss, method = settings.loss, METHODS[solver]
    if method.squared_only and not isinstance(loss, Squared):
        problem = f"is for the squared loss, not for loss={loss.name!r}"
    elif method.smooth and not loss.smooth:
        problem = f"needs a smooth loss; the {loss.name} loss has a kink (use 'multipliers')"
    elif solver == "multipliers" and loss.smooth:
        problem = f"is for losses with a kink; the {loss.name} loss has none (use 'lbfgs')"
    elif loss.joint and not method.joint:
        problem = "fits classes apart, which the logistic loss of several classes is not made for"
    elif settings.bound is not None and not method.box:
        problem = f"knows no box (bound={settings.bound:g})"
    elif solver == "box" and settings.bound is None:
        problem = "needs a bound"
    else:
        return
    raise ValueError(f"solver={solver!r} {problem}; solver='auto' chooses one that fits.")


def _fit_factor(state: State, X, targets, weights, settings: Settings, why: str) -> State:
    state.dtype = np.dtype(np.float64)
    state.statistics = accumulate(Factor, state, X, targets, weights, settings)
    state.solution = solve_leniently(state, settings, why)
    return state


def _fit_kernel_machine(frame: Frame, X, targets, weights, settings: Settings) -> State:
    if not isinstance(settings.loss, Squared) or settings.bound is not None:
        raise ValueError(
            "n_components=inf, the exact kernel machine, has the squared loss and no box; use a "
            f"finite n_components for loss={settings.loss.name!r} and bound={settings.bound!r}."
        )
    if settings.solver != "auto":
        raise ValueError(
            f"n_components=inf has one solver; leave solver='auto' instead of {settings.solver!r}."
        )
    n = X.shape[0]
    check_memory(n)
    train = frame.rows(X.copy(), np.float64)
    functions = KernelColumns(frame.family, frame.n_features, n, train)
    gram, Y = functions.evaluate(train), targets(slice(0, n))
    keys = Features(frame, functions, X, np.dtype(np.float64)).keys(slice(0, n))
    counted = len(np.unique(keys if weights is None else keys[weights > 0]))
    with cpu.blas_threads(settings.n_jobs, n):
        path = spectrum.from_kernel(gram, Y, weights, counted, settings.intercept)
    solution = _on_path(path, 1.0, settings, "infinitely many functions: the exact kernel machine")
    if settings.intercept:
        shares = np.full(n, 1 / n) if weights is None else weights / weights.sum()
        functions = replace(functions, shares=shares, means=solution.mean)
    return State(frame, functions, None, solution, np.dtype(np.float64))


def accumulate(
    kind, state: State, X, targets: Targets, weights, settings: Settings, growing: bool = True
):
    """The statistics of all rows of X, in blocks.

    Cells that are new are added to the functions, or refused where these are not ``growing``.
    """
    if kind is CodedRows:
        return coding.read(state, X, targets, weights, settings, growing)
    if kind is PairMoments:
        return bagging.read(state, X, targets, weights, settings)
    k = state.functions.n_columns
    progress = Progress(settings.verbose, X.shape[0], f"randspan: {k} functions")
    features = state.features(X, bagging.numbers(state, X, targets, settings))
    return cpu.accumulate(kind, features, targets, weights, settings.n_jobs, progress)


def solve(state: State, settings: Settings, why: str = "") -> Solution:
    """The weights that a state's statistics lead to, with the solver that fits them."""
    statistics, scale = state.statistics, state.frame.ridge_scale
    if isinstance(statistics, CodedRows):
        return coding.solve(state, settings)
    if isinstance(statistics, PairMoments):
        return bagging.weigh(state, settings)
    limits = iterating.limits_of(state.functions, settings.bound)
    with cpu.blas_threads(settings.n_jobs, statistics.n_functions):
        if isinstance(statistics, Factor):
            return _solve_factor(statistics, scale, settings, why)
        if limits is not None:
            return _solve_box(statistics, scale, limits, settings, why)
        return _solve_moments(statistics, scale, settings, why)


def solve_leniently(state: State, settings: Settings, why: str = "") -> Solution:
    """The weights, if alpha was left to us with the smallest ridge that statistics can carry."""
    try:
        return solve(state, settings, why)
    except IllConditioned:
        if not settings.lenient:
            raise
    statistics = state.statistics
    if isinstance(statistics, Factor):
        needed = DUAL_TRUSTED * statistics.trace
    else:
        about = statistics if settings.intercept else statistics.about_origin()
        spectrum.check_remains(about)
        # Where functions hardly vary, what is left of their mean is rounding.
        rounding = 64 * np.finfo(np.float64).eps * about.weight * float(about.mean @ about.mean)
        needed = max(cholesky.smallest_trusted(about), rounding)
    alpha = max(2 * needed / state.frame.ridge_scale, 1e-100)
    return solve(state, replace(settings, alpha=alpha), why + "; the smallest ridge it can carry")


def _solve_box(moments: Moments, scale: float, limits, settings: Settings, why: str) -> Solution:
    if moments.weight <= 0:
        raise ValueError(NO_ROWS)
    alpha, reason = settings.alpha, "the squared loss in a box: moments suffice" + why
    if alpha == "auto":
        alpha = by_gcv(spectrum.from_moments(moments, settings.intercept), scale, settings.dtype)
        reason += "; alpha by cross-validation without the box"
    if moments.noise and alpha * scale < cholesky.smallest_trusted(moments):
        raise IllConditioned("float32 features are not accurate enough for so small a ridge.")
    solution = box.solve(moments, alpha, scale, limits, settings.intercept, reason)
    iterating.warn_if_short(solution)
    return solution


def _solve_moments(moments: Moments, scale: float, settings: Settings, why: str) -> Solution:
    if moments.weight <= 0:
        raise ValueError(NO_ROWS)
    if settings.alpha != "auto" and settings.solver in ("auto", "cholesky"):
        reason = "one alpha, at least as many rows as columns: moments by Cholesky" + why
        return cholesky.solve(moments, settings.alpha, scale, settings.intercept, reason)
    if settings.solver == "cholesky":
        raise ValueError(
            "solver='cholesky' solves for one alpha: give a number, or use solver='eigen'."
        )
    path = spectrum.from_moments(moments, settings.intercept)
    if settings.alpha == "auto":
        reason = "alpha by cross-validation from the eigenvectors of the moments" + why
        return _on_path(path, scale, settings, reason)
    needed = cholesky.smallest_trusted(moments)
    return path.solution(settings.alpha, scale, "asked for" + why, needed)


def _solve_factor(factor: Factor, scale: float, settings: Settings, why: str) -> Solution:
    if factor.weight <= 0:
        raise ValueError(NO_ROWS)
    few = factor.rows < factor.n_functions
    if settings.solver == "dual" or (settings.solver == "auto" and few):
        # Z̃Z̃' squares the condition number as Z̃'Z̃ does; small ridges need the rows themselves.
        mu = np.inf if settings.alpha == "auto" else settings.alpha * scale
        needed = DUAL_TRUSTED * factor.trace
        if mu >= needed:
            path = spectrum.from_few_rows(factor, settings.intercept)
            reason = "fewer rows than columns: the dual" if few else "asked for"
            return _on_path(path, scale, settings, reason + why)
        if settings.solver == "dual":
            raise IllConditioned(spectrum.advice(factor.trace, mu, needed, scale))
        why = why or "; the ridge is too small for the dual"
    path = spectrum.from_factor(factor, settings.intercept)
    return _on_path(path, scale, settings, "orthogonal factor of the rows" + why)


def scores(
    state: State, X, solution: Solution, n_jobs: int | None, numbers: NDArray | None = None
) -> NDArray[np.float64]:
    """f(x) for every row and target; with their numbers, from what functions have not seen."""

    def of(Z, rows):
        return Z.astype(np.float64, copy=False) @ solution.coef + solution.intercept

    return cpu.apply(state.features(X, numbers), of, n_jobs)


def orthogonal_solution(state: State, solution: LeastSquares, settings: Settings) -> LeastSquares:
    """The same solution with a posterior from the factor's singular vectors."""
    if solution.solver == "qr":
        return solution
    with cpu.blas_threads(settings.n_jobs, state.functions.n_columns):
        path = spectrum.from_factor(state.statistics, settings.intercept)
        return path.solution(solution.alpha, state.frame.ridge_scale, "")


def _on_path(path: Spectrum, scale: float, settings: Settings, reason: str) -> LeastSquares:
    alpha = settings.alpha
    if alpha == "auto":
        alpha = by_gcv(path, scale, settings.dtype)
    return path.solution(alpha, scale, reason)


def as_moments(statistics: Moments | Factor) -> Moments:
    return statistics.moments() if isinstance(statistics, Factor) else statistics
