"""Fewer rows than functions: the n × n matrix Z̃Z̃' in place of the k × k one.

All ridges at once come from its eigenvectors. One that is given takes a Cholesky factor,
Z̃Z̃' + μI = LL', which is had in a fraction of the time: w = Z̃'(Z̃Z̃' + μI)⁻¹y.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from ..statistics import Factor
from ..statistics.base import NOT_FINITE, CannotFit
from ..statistics.moments import left_of_mean
from . import spectrum, tiles
from .alpha import chosen
from .method import Method
from .plan import Cost, Machine, Shape, block_bytes
from .solution import Array, IllConditioned, LeastSquares, Posterior, Triangle, relative
from .task import Task, Terms

# Ridges below this share of the trace are not for Z̃Z̃', which squares the condition number.
TRUSTED = 1e-11


class Dual(Method[Factor]):
    """Eigenvectors of Z̃Z̃', from a factor that still is its rows."""

    name = "dual"
    kinds = ("factor",)
    squared_only = True
    judged = True
    box = False
    # Threads of LAPACK wait by spinning: where others want the cores they take several times as
    # long as one.
    tiled = True
    sharper = "qr"

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cost(shape, task, machine)

    def solve(self, given: Factor, task: Task, terms: Terms) -> LeastSquares:
        needed, known = TRUSTED * given.trace, None
        if not np.isfinite(needed):
            raise CannotFit(NOT_FINITE)
        if terms.plan.smallest_ridge:
            task = replace(task, alpha=max(2 * needed / terms.scale, 1e-100))
        if not isinstance(task.alpha, str) and task.alpha * terms.scale < needed:
            mu = task.alpha * terms.scale
            raise IllConditioned(spectrum.advice(given.trace, mu, needed, terms.scale))
        if not isinstance(task.alpha, str):
            return _one_alpha(given, float(task.alpha), task, terms)
        path = spectrum.from_few_rows(given, task.intercept, terms.pool)
        alpha, known = chosen(path, task, terms)
        return path.solution(alpha, terms.scale, terms.plan.reason, estimate=known)


def _one_alpha(given: Factor, alpha: float, task: Task, terms: Terms) -> LeastSquares:
    """The weights for μ = alpha·scale > 0."""
    start, mu = time.perf_counter(), alpha * terms.scale
    Z, Y, mean, target_mean = given.centred(task.intercept)
    if np.vdot(Z, Z) <= left_of_mean(given.weight, mean, Z.dtype):
        Z = np.zeros_like(Z)
    system = np.asfortranarray(tiles.square(Z, terms.pool))
    system.flat[:: len(Z) + 1] += mu
    lower = tiles.factor(system, terms.pool)
    if lower is None:
        raise IllConditioned(spectrum.advice(given.trace, mu, TRUSTED * given.trace, terms.scale))
    duals = linalg.cho_solve((lower, True), Y, check_finite=False)
    coef, right = Z.T @ duals, Z.T @ Y
    inverse = tiles.inverse(lower, terms.pool)
    degrees = len(Z) - mu * float(np.einsum("ij,ij->", inverse, inverse))
    residual_sum = (mu * duals) ** 2
    return LeastSquares(
        coef=coef,
        intercept=target_mean - mean @ coef,
        mean=mean,
        alpha=alpha,
        weight=given.weight,
        counted=given.counted,
        freedoms=degrees + task.intercept,
        residual_sum=residual_sum.sum(axis=0),
        objective=float(residual_sum.sum() + mu * (coef**2).sum()),
        target_scatter=(Y**2).sum(axis=0),
        posterior=DualPosterior(np.ascontiguousarray(Z).T, inverse, mu),
        solver="dual",
        reason=terms.plan.reason,
        residual=relative(Z.T @ (Z @ coef) + mu * coef - right, right),
        seconds=time.perf_counter() - start,
    )


@dataclass(frozen=True)
class DualPosterior(Posterior):
    """(‖z‖² - ‖L⁻¹Z̃z‖²)/μ; ``rows`` are Z̃', ``inverse`` is L⁻¹."""

    rows: Array
    inverse: Array
    mu: float

    def quadratic(self, Z: Array, squares: Array | None = None) -> Array:
        inside = Triangle(self.inverse).quadratic(Z @ self.rows)
        return np.maximum(np.einsum("ij,ij->i", Z, Z) - inside, 0) / self.mu


def cost(shape: Shape, task: Task, machine: Machine) -> Cost:
    """n²k for the products of n rows, n³ for what follows (ten times that for eigenvectors).

    Up to 2k rows are kept as they are.
    """
    n, k = shape.n_rows, shape.layout.n_columns
    factor = 10 if task.searches else 1
    kept = 8 * (machine.threads + 4) * k * min(n, 2 * k)
    block = block_bytes(shape, machine, np.dtype(np.float64))
    return Cost(n**2 * k + factor * n**3, kept + block)
