"""Few functions of many: the squared loss with an ℓ1 penalty, from moments alone.

    ½ Σω(y - b - z'w)²/Σω + α‖w‖₁,

scikit-learn's Lasso on plain functions. With G = Σωz̃z̃'/Σω and c = Σωz̃y/Σω that is ½w'Gw - c'w +
α‖w‖₁, so that one pass over the rows is enough for a whole path of α. Coordinate descent (Friedman,
Hastie and Tibshirani 2010) finds which weights are not 0, and of which sign; the weights are then
the solution of G_AA w_A = c_A - αs_A, to rounding, which is tried whenever signs have settled. The
degrees of freedom are the number of weights that are not 0 (Zou, Hastie and Tibshirani 2007): with
these α is chosen by generalised cross-validation.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning

from ..families.shared.compiling import compiled
from ..statistics import Moments
from . import cholesky
from .method import Method
from .plan import Cost, Machine, Shape
from .solution import Array, Solution, gcv
from .task import L1, Task, Terms
from .validation import of_squares

# A path of alphas: how many, and the smallest beside the one that leaves no weight.
STEPS, SMALLEST = 80, 1e-4
# The path ends where the error is so many times the smallest, or nearly all freedoms are spent.
RISEN, SPENT = 1.5, 0.9
# Sweeps over all functions, at most and between two looks at the signs.
MOST_SWEEPS, SWEEPS = 20_000, 10
# What optimality may be missed by, beside the largest of c.
TOLERANCE = 1e-10
# A solution is one up to this.
ENOUGH = 1e3 * TOLERANCE


class Lasso(Method[Moments]):
    """The squared loss with an ℓ1 penalty."""

    name = "lasso"
    kinds = ("moments",)
    penalty = L1
    squared_only = True
    box = False

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cholesky.cost(shape, task, machine, 10)

    def solve(self, given: Moments, task: Task, terms: Terms) -> Solution:
        start = time.perf_counter()
        sums = given.centred(task.intercept, terms.plan.dtype)
        alphas = None if isinstance(task.alpha, str) else np.array([float(task.alpha)])
        steps = path(sums, alphas, given.counted, task.intercept)
        best = min(steps, key=lambda step: step.error) if alphas is None else steps[0]
        size = given.weight * (2 * best.alpha * np.abs(best.coef).sum() + best.residuals.sum())
        reason = terms.plan.reason
        return Solution(
            coef=best.coef,
            intercept=sums.target_mean - sums.mean @ best.coef,
            alpha=best.alpha,
            objective=float(size),
            solver=self.name,
            reason=reason + "; alpha by generalised cross-validation" * (alphas is None),
            residual=best.residual,
            converged=best.residual <= ENOUGH,
            stopped="" if best.residual <= ENOUGH else f"{MOST_SWEEPS} sweeps",
            iterations=best.sweeps,
            seconds=time.perf_counter() - start,
            estimate=of_squares("gcv", best.error, given.counted - best.freedoms),
        )


@dataclass(frozen=True)
class Step:
    """One α of a path: the weights, Σω(y - f)²/Σω of every target, and what it took.

    ``freedoms`` are those of a target on average, ``error`` is by generalised cross-validation,
    ``residual`` is what the conditions of optimality are missed by, beside the largest of c.
    """

    alpha: float
    coef: Array
    residuals: Array
    freedoms: float
    error: float
    residual: float
    sweeps: int


def path(sums: Moments, alphas: Array | None, counted: float, intercept: bool) -> list[Step]:
    """Weights for every α, from moments about what the intercept takes.

    With None, α falls by equal factors from the one that leaves no weight, until
    the error has risen, or as many freedoms are spent as there are.
    """
    weight = sums.weight
    gram = np.ascontiguousarray(sums.scatter / weight, dtype=np.float64)
    cross = np.asarray(sums.cross / weight, dtype=np.float64)
    scatter = np.maximum(sums.target_scatter, 0.0) / weight
    top = float(np.abs(cross).max(initial=0.0))
    ends = alphas is None
    if alphas is None:
        alphas = top * SMALLEST ** np.linspace(0, 1, STEPS) if top > 0 else np.zeros(1)
    coef = np.zeros_like(cross)
    found: list[Step] = []
    for alpha in alphas:
        columns = [
            _descended(gram, cross[:, t], float(alpha), coef[:, t]) for t in range(coef.shape[1])
        ]
        coef = np.column_stack([one[0] for one in columns])
        explained = ((2 * cross - gram @ coef) * coef).sum(axis=0)
        residuals = np.maximum(scatter - explained, 0.0)
        freedoms = float((coef != 0).sum(axis=0).mean()) + intercept
        error = float(
            gcv(weight * residuals.mean(), weight * scatter.mean(), freedoms, weight, counted)
        )
        missed = max(one[1] for one in columns) / (top or 1.0)
        sweeps = max(one[2] for one in columns)
        found.append(Step(float(alpha), coef, residuals, freedoms, error, missed, sweeps))
        least = min(step.error for step in found)
        if ends and (error > RISEN * least or freedoms > SPENT * counted):
            break
    return found


def leverages(sums: Moments, coef: Array, intercept: bool) -> Callable[[Array], Array]:
    """1/Σω + z̃_A'(Z̃_A'ΩZ̃_A)⁻¹z̃_A of every row, for the functions A that a target has kept.

    Where signs stay what they are, a fit without the row is least squares of these functions but
    for a constant, so that leave-one-out has the formula of least squares. NaN where functions are
    copies of each other.
    """
    each, parts = (1 / sums.weight if intercept else 0.0), []
    for column in coef.T:
        active = np.flatnonzero(column)
        scatter = sums.scatter[np.ix_(active, active)]
        lower, failed = linalg.lapack.dpotrf(scatter, lower=1) if len(active) else (scatter, 0)
        parts.append((active, None if failed else lower))

    def of(Z: Array) -> Array:
        found = np.full((len(Z), len(parts)), np.nan)
        for t, (active, lower) in enumerate(parts):
            if lower is not None:
                away = (Z[:, active] - sums.mean[active]).T
                if len(active):
                    away = linalg.solve_triangular(lower, away, lower=True, check_finite=False)
                found[:, t] = each + (away**2).sum(axis=0)
        return found

    return of


def warn_if_short(steps: list[Step]) -> None:
    """A ConvergenceWarning where coordinate descent has not ended."""
    short = [step.alpha for step in steps if step.residual > ENOUGH]
    if short:
        warnings.warn(
            f"Coordinate descent stopped short for {len(short)} of {len(steps)} alphas, from "
            f"{max(short):.3g} on: leave out the smallest.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _descended(gram: Array, cross: Array, alpha: float, start: Array) -> tuple[Array, float, int]:
    """The weights of one target, what they miss optimality by, and how many sweeps it took."""
    w = start.copy()
    left = cross - gram @ w
    goal = TOLERANCE * float(np.abs(cross).max(initial=0.0))
    signs, missed, sweeps = np.sign(w), np.inf, 0
    while sweeps < MOST_SWEEPS:
        sweep(gram, w, left, alpha, SWEEPS)
        sweeps += SWEEPS
        now = np.sign(w)
        if (now == signs).all():
            exact = _of_signs(gram, cross, alpha, now)
            if exact is not None:
                w, left = exact, cross - gram @ exact
        signs = now
        missed = _missed(w, left, alpha)
        if missed <= goal:
            break
        left = cross - gram @ w  # without what updates have rounded
    return w, missed, sweeps


def _of_signs(gram: Array, cross: Array, alpha: float, signs: Array) -> Array | None:
    """The weights where these are the signs; None where the weights say otherwise."""
    active = np.flatnonzero(signs)
    w = np.zeros_like(cross)
    if not len(active):
        return w
    try:
        factor = linalg.cho_factor(gram[np.ix_(active, active)], check_finite=False)
    except linalg.LinAlgError:
        return None  # copies of one function share their weight in many ways
    w[active] = linalg.cho_solve(factor, cross[active] - alpha * signs[active])
    return w if np.isfinite(w).all() and (np.sign(w) == signs).all() else None


def _missed(w: Array, left: Array, alpha: float) -> float:
    """The distance of 0 from the subdifferential, in its largest entry."""
    beyond = np.where(w != 0, np.abs(left - alpha * np.sign(w)), np.abs(left) - alpha)
    return float(np.maximum(beyond, 0.0).max(initial=0.0))


@compiled
def sweep(gram, w, left, alpha, times):
    """Coordinate descent over all functions; ``left`` is c - Gw, and both are written to."""
    k = len(w)
    for _ in range(times):
        for j in range(k):
            curvature = gram[j, j]
            if curvature <= 0.0:
                continue
            target = left[j] + curvature * w[j]
            size = abs(target) - alpha
            new = 0.0
            if size > 0.0:
                new = size / curvature if target > 0.0 else -size / curvature
            step = new - w[j]
            if step != 0.0:
                w[j] = new
                for i in range(k):
                    left[i] -= step * gram[j, i]
