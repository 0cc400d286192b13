"""From rows to a solution: which statistics, which solver, and what if they do not suffice.

The choice follows the shape. Fewer rows than columns: the dual, from the rows themselves. A number
for alpha: Cholesky of the moments. ``alpha="auto"``: their eigenvectors, which give every alpha at
once. Where rounding errors of the moments would reach the predictions, float64 features take the
place of float32 ones, and then an orthogonal factor the place of moments.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import cpu
from ..families import Functions
from ..features import Features
from ..frame import Frame
from ..moments import Factor, Moments
from ..solvers import IllConditioned, Solution, Spectrum, cholesky, spectrum
from ..tuning.alpha import by_gcv
from ..tuning.width import doubled
from .kernel_machine import KernelColumns, check_memory
from .progress import Progress

Targets = Callable[[slice], NDArray[np.float64]]

SOLVERS = ("auto", "cholesky", "eigen", "dual", "qr")


@dataclass(frozen=True)
class Settings:
    """The parameters of an estimator that say how to fit."""

    alpha: Any
    intercept: bool
    solver: str
    dtype: np.dtype
    n_jobs: int | None
    verbose: bool


@dataclass
class State:
    """Everything a fitted model knows. ``solution`` is None while rows wait to be solved for."""

    frame: Frame
    functions: Functions
    statistics: Any
    solution: Solution | None
    dtype: np.dtype

    def features(self, X) -> Features:
        return Features(self.frame, self.functions, X, self.dtype)


def fit(frame: Frame, X, targets: Targets, weights, settings: Settings) -> State:
    """Fit all rows of X; chooses the number of functions where the frame leaves it open."""
    if frame.n_components is not None:
        return _fit(frame, X, targets, weights, settings)

    def attempt(k: int) -> tuple[float, State]:
        state = _fit(frame.with_components(k), X, targets, weights, settings)
        assert state.solution is not None
        return state.solution.gcv_error, state

    return doubled(attempt)


def _fit(frame: Frame, X, targets: Targets, weights, settings: Settings) -> State:
    if frame.n_components == np.inf:
        return _fit_kernel_machine(frame, X, targets, weights, settings)
    functions = frame.functions()
    present = X.shape[0] if weights is None else int(np.count_nonzero(weights))
    few = present < functions.n_columns
    exact = settings.alpha == 0
    dtype = np.dtype(np.float64) if exact else settings.dtype
    state = State(frame, functions, None, None, dtype)
    if settings.solver in ("dual", "qr") or (settings.solver == "auto" and few):
        return _fit_factor(state, X, targets, weights, settings, "")
    why = ""
    for precision in dict.fromkeys([dtype, np.dtype(np.float64)]):
        state.dtype = precision
        state.statistics = accumulate(Moments, state, X, targets, weights, settings)
        try:
            state.solution = solve(state.statistics, frame.ridge_scale, settings, why)
            return state
        except IllConditioned:
            if settings.solver != "auto":
                raise
            why = f"; moments of {precision.name} features were too ill-conditioned"
    return _fit_factor(state, X, targets, weights, settings, why)


def _fit_factor(state: State, X, targets, weights, settings: Settings, why: str) -> State:
    state.dtype = np.dtype(np.float64)
    state.statistics = accumulate(Factor, state, X, targets, weights, settings)
    state.solution = solve(state.statistics, state.frame.ridge_scale, settings, why)
    return state


def _fit_kernel_machine(frame: Frame, X, targets, weights, settings: Settings) -> State:
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


def accumulate(kind, state: State, X, targets: Targets, weights, settings: Settings):
    """The statistics of all rows of X, in blocks."""
    k = state.functions.n_columns
    progress = Progress(settings.verbose, X.shape[0], f"randspan: {k} functions")
    return cpu.accumulate(kind, state.features(X), targets, weights, settings.n_jobs, progress)


def solve(
    statistics: Moments | Factor, scale: float, settings: Settings, why: str = ""
) -> Solution:
    """The weights that statistics lead to, with the solver that fits them."""
    with cpu.blas_threads(settings.n_jobs, statistics.n_functions):
        if isinstance(statistics, Factor):
            return _solve_factor(statistics, scale, settings, why)
        return _solve_moments(statistics, scale, settings, why)


def _solve_moments(moments: Moments, scale: float, settings: Settings, why: str) -> Solution:
    if moments.weight <= 0:
        raise ValueError("The model holds no rows (all were forgotten, or have weight 0).")
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
        raise ValueError("The model holds no rows (all have weight 0).")
    few = factor.rows < factor.n_functions
    if settings.solver == "dual" or (settings.solver == "auto" and few):
        # Z̃Z̃' squares the condition number as Z̃'Z̃ does; small ridges need the rows themselves.
        mu = np.inf if settings.alpha == "auto" else settings.alpha * scale
        needed = 1e-11 * factor.trace
        if mu >= needed:
            path = spectrum.from_few_rows(factor, settings.intercept)
            reason = "fewer rows than columns: the dual" if few else "asked for"
            return _on_path(path, scale, settings, reason + why)
        if settings.solver == "dual":
            raise IllConditioned(spectrum.advice(factor.trace, mu, needed, scale))
        why = why or "; the ridge is too small for the dual"
    path = spectrum.from_factor(factor, settings.intercept)
    return _on_path(path, scale, settings, "orthogonal factor of the rows" + why)


def orthogonal_solution(state: State, solution: Solution, settings: Settings) -> Solution:
    """The same solution with a posterior from the factor's singular vectors."""
    if solution.solver == "qr":
        return solution
    with cpu.blas_threads(settings.n_jobs, state.functions.n_columns):
        path = spectrum.from_factor(state.statistics, settings.intercept)
        return path.solution(solution.alpha, state.frame.ridge_scale, "")


def _on_path(path: Spectrum, scale: float, settings: Settings, reason: str) -> Solution:
    alpha = settings.alpha
    if alpha == "auto":
        alpha = by_gcv(path, scale, settings.dtype)
    return path.solution(alpha, scale, reason)


def as_moments(statistics: Moments | Factor) -> Moments:
    return statistics.moments() if isinstance(statistics, Factor) else statistics
