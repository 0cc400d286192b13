"""The squared loss inside a box, from moments alone: no further pass over rows.

min_w Σω(y - b - z'w)² + μ‖w‖² with |w_i| ≤ limit_i. Needs moments. `quadratic` minimises any
quadratic in a box.
"""

from __future__ import annotations

import time

import numpy as np
from scipy import linalg

from ..statistics import Moments
from ..statistics.products import Pool
from . import cholesky, spectrum, tiles
from .alpha import chosen
from .method import Method
from .plan import Cost, Machine, Shape
from .solution import Array, IllConditioned, Solution
from .task import Task, Terms
from .validation import Validation

FEW_STEPS = 50
INTERIOR_STEPS = 60
ROUNDS = 5
TOLERANCE = 1e-9
# Steps this short are no steps.
SHORTEST = 1e-3


class Box(Method[Moments]):
    """The squared loss in a box; alpha is that of the problem without one."""

    name = "box"
    kinds = ("moments",)
    squared_only = True
    judged = True

    def refuses(self, task: Task) -> str | None:
        found = super().refuses(task)
        return "needs a bound" if found is None and task.bound is None else found

    def cost(self, shape: Shape, task: Task, machine: Machine) -> Cost:
        return cholesky.cost(shape, task, machine, 10)

    def solve(self, given: Moments, task: Task, terms: Terms) -> Solution:
        alpha, reason = task.alpha, terms.plan.reason
        if isinstance(alpha, str):
            path = spectrum.from_moments(given, task.intercept, terms.plan.dtype)
            alpha, _ = chosen(path, task, terms)
            reason += "; alpha by cross-validation without the box"
        if given.noise and alpha * terms.scale < cholesky.smallest_trusted(given):
            raise IllConditioned("float32 features are not accurate enough for so small a ridge.")
        assert terms.limits is not None
        given = given.centred(task.intercept, terms.plan.dtype)
        return solve(given, alpha, terms.scale, terms.limits, reason, terms.pool)


def solve(
    moments: Moments,
    alpha: float,
    scale: float,
    limits: Array,
    reason: str,
    pool: Pool | None = None,
) -> Solution:
    """The weights for μ = alpha·scale, from moments about what the intercept is to take."""
    start = time.perf_counter()
    mu = alpha * scale
    system = moments.scatter.copy()
    system.flat[:: len(system) + 1] += mu
    columns = [quadratic(system, right, -limits, limits, pool) for right in moments.cross.T]
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
        estimate=Validation(None, reason="in a box there is no formula, and no rows were held out"),
    )


def quadratic(
    system: Array, right: Array, lower: Array, upper: Array, pool: Pool | None = None
) -> tuple[Array, float, int]:
    """argmin x'Ax - 2c'x between two limits, its KKT residual, and how many steps it took.

    Projected Newton steps find it in a few steps as a rule. Where the system is flat in many
    directions they may zigzag; an interior point then leads to the right faces of the box, and
    they finish.
    """
    x, residual, steps = _projected(system, right, lower, upper, np.zeros_like(right), pool)
    for _ in range(ROUNDS):
        if residual <= TOLERANCE:
            break
        # From where we are: what is left to solve for is smaller, and so are its rounding errors.
        step, more = _interior(system, right - system @ x, lower - x, upper - x, pool)
        other, better, last = _projected(system, right, lower, upper, x + step, pool)
        steps += more + last
        if better < residual:
            x, residual = other, better
    return x, residual, steps


def _projected(
    system: Array, right: Array, lower: Array, upper: Array, x: Array, pool: Pool | None
) -> tuple[Array, float, int]:
    """Newton steps of what is free, put back into the box (Bertsekas 1982)."""
    x = np.clip(x, lower, upper)
    gradient = system @ x - right
    size = float(linalg.norm(right)) or 1.0
    step = 0
    while True:
        free = ~(((x >= upper) & (gradient < 0)) | ((x <= lower) & (gradient > 0)))
        residual = float(linalg.norm(gradient[free])) / size
        if residual <= TOLERANCE or step == FEW_STEPS:
            return x, residual, step
        part = system if free.all() else system[np.ix_(free, free)]
        direction = np.zeros_like(x)
        direction[free] = _solved(part, -gradient[free], pool)
        length, value = 1.0, x @ (gradient - right)
        while True:
            following = np.clip(x + length * direction, lower, upper)
            slope = system @ following - right
            reached = following @ (slope - right)
            if reached <= value + 2e-4 * (gradient @ (following - x)) and reached < value:
                break
            length *= 0.5
            if length < SHORTEST:
                return x, residual, step
        x, gradient, step = following, slope, step + 1


def _interior(
    system: Array, right: Array, lower: Array, upper: Array, pool: Pool | None
) -> tuple[Array, int]:
    """A primal-dual interior point (Mehrotra 1992), put on the faces its multipliers point at.

    ½x'Ax - c'x with x - l, u - x > 0 and multipliers whose products with them fall to zero
    together. The diagonal they add makes every system well-conditioned, however flat A is.
    """
    boxed = np.isfinite(upper - lower)
    count = max(2 * int(boxed.sum()), 1)
    size = float(np.abs(right).max(initial=0.0)) or 1.0
    width = np.where(boxed, upper - lower, 1.0)
    x = np.where(boxed, lower + width / 2, 0.0)
    below = above = np.where(boxed, size, 0.0)
    steps = 0
    while steps < INTERIOR_STEPS:
        steps += 1
        under = np.where(boxed, np.maximum(x - lower, 1e-15 * width), 1.0)
        over = np.where(boxed, np.maximum(upper - x, 1e-15 * width), 1.0)
        middle = float(below @ under + above @ over) / count
        rest = right - system @ x + below - above
        small = middle <= 1e-12 * size * float(width[boxed].mean())
        if small and np.abs(rest).max() <= 1e-11 * size:
            break
        matrix = system.copy(order="F")
        matrix.flat[:: len(matrix) + 1] += below / under + above / over
        solver = factor(matrix, pool)
        # First as if all products could be zero at once; then towards where that would have led.
        low, high = -below, -above
        dx = linalg.cho_solve(solver, rest + low - high, check_finite=False)
        dbelow, dabove = low - below / under * dx, high + above / over * dx
        reach = _reach(under, dx * boxed, over, below, dbelow, above, dabove)
        ahead = (below + reach * dbelow) @ (under + reach * dx * boxed)
        ahead += (above + reach * dabove) @ (over - reach * dx * boxed)
        goal = middle * (float(ahead) / count / middle) ** 3 if middle > 0 else 0.0
        low = boxed * ((goal - dx * dbelow) / under - below)
        high = boxed * ((goal + dx * dabove) / over - above)
        dx = linalg.cho_solve(solver, rest + low - high, check_finite=False)
        dbelow, dabove = low - below / under * dx, high + above / over * dx
        reach = min(1.0, 0.995 * _reach(under, dx * boxed, over, below, dbelow, above, dabove))
        x, below, above = x + reach * dx, below + reach * dbelow, above + reach * dabove
    x = np.where(boxed & (x - lower < width * below / (below + size)), lower, x)
    return np.where(boxed & (upper - x < width * above / (above + size)), upper, x), steps


def _reach(under, dx, over, below, dbelow, above, dabove) -> float:
    """How far a step can go before something that must be positive is zero; at most 1."""
    pairs = ((under, dx), (over, -dx), (below, dbelow), (above, dabove))
    shortest = 1.0
    for value, change in pairs:
        falling = (change < 0) & (value > 0)
        shortest = min(shortest, float((value[falling] / -change[falling]).min(initial=np.inf)))
    return shortest


def _solved(system: Array, right: Array, pool: Pool | None) -> Array:
    return linalg.cho_solve(factor(system, pool), right, check_finite=False)


def factor(system: Array, pool: Pool | None = None) -> tuple[Array, bool]:
    """Cholesky's factor, with as little added to the diagonal as it takes, for `cho_solve`."""
    diagonal = np.diagonal(system).copy()
    added = 1e-14 * (float(diagonal.max(initial=0.0)) or 1.0)
    while True:
        damped = system.copy(order="F")
        damped.flat[:: len(system) + 1] = diagonal + added
        lower = tiles.factor(damped, pool)
        if lower is not None:
            return lower, True
        added *= 10
