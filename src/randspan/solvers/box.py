"""The squared loss inside a box, from moments alone: no further pass over rows.

min_w Σω(y - b - z'w)² + μ‖w‖² with |w_i| ≤ limit_i. Needs moments. Newton steps for the weights
that are free, put back into the box (Bertsekas 1982); for a quadratic they end at the solution.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import linalg

from ..moments import Moments
from .solution import Array, Solution

MAX_STEPS = 1000
TOLERANCE = 1e-9


def solve(
    moments: Moments, alpha: float, scale: float, limits: Array, intercept: bool, reason: str
) -> Solution:
    """The weights for μ = alpha·scale."""
    start = time.perf_counter()
    if not intercept:
        moments = moments.about_origin()
    mu = alpha * scale
    system = moments.scatter.copy()
    system.flat[:: len(system) + 1] += mu
    columns = [quadratic(system, right, -limits, limits) for right in moments.cross.T]
    coef = np.column_stack([found[0] for found in columns])
    products = moments.scatter @ coef
    explained = 2 * (coef * moments.cross).sum(axis=0) - (coef * products).sum(axis=0)
    residual_sum = np.maximum(moments.target_scatter - explained, 0)
    residual = max(found[1] for found in columns)
    return Solution(
        coef=coef,
        intercept=moments.target_mean - moments.mean @ coef,
        alpha=alpha,
        objective=float(residual_sum.sum() + mu * (coef**2).sum()),
        solver="box",
        reason=reason,
        residual=residual,
        converged=residual <= 100 * TOLERANCE,
        iterations=max(found[2] for found in columns),
        seconds=time.perf_counter() - start,
    )


def quadratic(system: Array, right: Array, lower: Array, upper: Array) -> tuple[Array, float, int]:
    """argmin x'Ax - 2c'x between two limits, its KKT residual, and how many steps it took."""
    x = np.clip(np.zeros_like(right), lower, upper)
    gradient = system @ x - right
    size = float(np.linalg.norm(right)) or 1.0
    residual = np.inf
    for step in range(MAX_STEPS):
        held = ((x >= upper) & (gradient < 0)) | ((x <= lower) & (gradient > 0))
        free = ~held
        residual = float(np.linalg.norm(gradient[free])) / size
        if residual <= TOLERANCE:
            return x, residual, step
        part = system if free.all() else system[np.ix_(free, free)]
        direction = np.zeros_like(x)
        direction[free] = _solved(part, -gradient[free])
        length, value = 1.0, x @ (gradient - right)
        while True:
            following = np.clip(x + length * direction, lower, upper)
            slope = system @ following - right
            reached = following @ (slope - right)
            if reached <= value + 2e-4 * (gradient @ (following - x)) or length < 1e-10:
                break
            length *= 0.5
        if length < 1e-10 or not reached < value:
            return x, residual, step
        x, gradient = following, slope
    return x, residual, MAX_STEPS


def _solved(system: Array, right: Array) -> Array:
    """A system that rounding may have made slightly indefinite."""
    added = 0.0
    diagonal = np.diagonal(system).copy()
    while True:
        shifted = system.copy(order="F")
        shifted.flat[:: len(system) + 1] = diagonal + added
        try:
            factor = linalg.cho_factor(shifted, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            added = max(10 * added, 1e-14 * float(diagonal.max(initial=1e-300)))
            continue
        return linalg.cho_solve(factor, right, check_finite=False)
