"""Newton's method inside a box: smooth losses, up to some thousand functions.

Needs a loss with a second derivative, whose columns can be fitted apart, and room for k × k
matrices. Each step goes to the minimum of the quadratic model, inside the box where there is one,
or towards it as far as it pays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from ..statistics.products import Pool
from . import box
from .found import Found
from .in_passes import InPasses, squares
from .plan import Machine, Shape
from .problem import FewRows, Point, Problem, joined
from .solution import Array

MAX_STEPS = 100
# Up to here k × k matrices are no matter.
MODERATE = 4000
# Systems through few rows have at most so many.
FEW_ROWS = 6000
# Steps shorter than this are not taken; a damped direction serves better.
SHORTEST = 1e-4
LEAST_DAMPING, MOST_DAMPING = 1e-4, 1e6
# Curvatures beside the largest that are none: their inverses overflow.
NEGLIGIBLE = 1e-30
# Residuals that are asked for last of all, and what a step beyond should make of them.
LAST, SQUARED = 1e-6, 1e-2
ENDED = "the gradient is small enough"
# A slope beyond all numbers.
BEYOND = 1e300


class Newton(InPasses):
    """Smooth losses, up to some thousand functions."""

    name = "newton"
    kinds = ("",)
    smooth = True
    joint = False

    def own_bytes(self, shape: Shape, machine: Machine) -> int:
        return squares(shape, machine)


def minimise(problem: Problem, start: Point, tolerance: float, damping: float = 0.0) -> Found:
    """The minimum of a smooth problem, column by column."""
    found = [
        _minimise(problem.column(j), _column(start, j), tolerance, damping)
        for j in range(problem.n_targets)
    ]
    point = joined([one.point for one in found])
    worst = min(found, key=lambda f: f.converged)
    return Found(point, max(f.iterations for f in found), worst.converged, worst.stopped)


def _column(point: Point, j: int) -> Point:
    return Point(*(getattr(point, name)[..., j : j + 1] for name in Point.__dataclass_fields__))


def _minimise(problem: Problem, point: Point, tolerance: float, damping: float) -> Found:
    # With very many functions only steps through few rows are taken, and none is damped.
    large = _large(problem)
    damping = 0.0 if large else damping
    # Near the minimum a step squares the residual: one more makes much of what is left vanish.
    goal = tolerance if large or tolerance > LAST else SQUARED * tolerance
    for step in range(MAX_STEPS):
        residual = problem.residual(point)
        if residual <= goal:
            return Found(point, step, True, ENDED)
        if residual <= tolerance:
            goal = tolerance
        hessian = _Hessian(problem, point)
        if large and hessian.too_large:
            return Found(point, step, False, "too many rows have a curvature")
        while True:
            direction = hessian.direction(damping)
            length, following = search(problem, point, *direction)
            if following is not None:
                break
            if residual <= tolerance:
                return Found(point, step, True, ENDED)
            if damping >= 1 or large:
                return Found(point, step, False, "rounding errors hide any further descent")
            damping = min(max(10 * damping, LEAST_DAMPING), 1.0)
        if length < 0.05 and not large:
            damping = min(max(10 * damping, LEAST_DAMPING), 1.0)
        elif length > 0.5:
            damping = damping / 10 if damping > LEAST_DAMPING else 0.0
        point = following
    return Found(point, MAX_STEPS, False, f"{MAX_STEPS} steps were not enough")


def _large(problem: Problem) -> bool:
    return problem.operator.of_cells or problem.operator.shape[1] > MODERATE


class _Hessian:
    """Second derivatives at a point.

    Where few rows have any curvature (kinks, flat parts), a step may lead far away. ``damping``
    adds so much of the largest curvature the loss can have, for all rows; with all of it a step is
    about sure to descend.
    """

    def __init__(self, problem: Problem, point: Point):
        self.problem, self.point = problem, point
        self.each = problem.curvature(point.scores)[:, 0]
        self.chosen = np.flatnonzero(self.each > NEGLIGIBLE * self.each.max(initial=0.0))

    @property
    def too_large(self) -> bool:
        """Whether a problem of very many functions has no small system to solve."""
        return not 0 < len(self.chosen) <= FEW_ROWS or self.problem.penalty == 0

    def direction(self, damping: float) -> tuple[Array, Array]:
        """The step to the minimum of the quadratic model: of weights, and of the intercept."""
        problem, point = self.problem, self.point
        if problem.limits is not None:
            return self._step_in_box(damping)
        few = not damping and 0 < len(self.chosen) < len(point.coef) and problem.penalty > 0
        if few or _large(problem):
            rows, each = self._few_rows, self.each[self.chosen]
            sums, total = rows.transposed(each[:, None])[:, 0], float(each.sum())
            solve = _few_rows_solver(rows, each, 2 * problem.penalty, problem.operator.pool)
        else:
            gram, sums, total = self._system(damping)
            solve = _solver(gram, problem.operator.pool)
        # The intercept by elimination: H d + s δ = -g, s'd + t δ = -g₀.
        solved = solve(np.column_stack([point.gradient[:, 0], sums]))
        shift = np.zeros(1)
        if problem.intercept:
            left = total - sums @ solved[:, 1]
            right = sums @ solved[:, 0] - point.intercept_gradient[0]
            shift[0] = right / left if left > 1e-12 * total else 0.0
        return -solved[:, :1] - shift[0] * solved[:, 1:], shift

    def _step_in_box(self, damping: float) -> tuple[Array, Array]:
        problem, point = self.problem, self.point
        assert problem.limits is not None
        gram, sums, total = self._system(damping)
        k = len(gram)
        system = np.zeros((k + 1, k + 1))
        system[:k, :k] = gram
        # The intercept in a unit in which it curves as much as a weight: rows of little weight
        # would be rounding errors beside the ridge.
        largest = float(np.diagonal(gram).max(initial=0.0)) or 1.0
        system[k, k] = largest
        unit = np.sqrt(largest / total) if total > 0 else 1.0
        if problem.intercept:
            system[k, :k] = system[:k, k] = unit * sums
        gradient = np.append(point.gradient[:, 0], unit * point.intercept_gradient)
        limits, here = np.append(problem.limits, np.inf), np.append(point.coef[:, 0], 0.0)
        bounds = (-limits - here, limits - here)
        step, _, _ = box.quadratic(system, -gradient, *bounds, problem.operator.pool)
        return step[:k, None], unit * step[k:]

    @cached_property
    def _few_rows(self) -> FewRows:
        return self.problem.operator.rows(self.chosen)

    @cached_property
    def _gram(self) -> tuple[Array, Array]:
        return self.problem.operator.gram(self.each)

    def _system(self, damping: float) -> tuple[Array, Array, float]:
        problem = self.problem
        gram, sums = self._gram
        total = float(self.each.sum())
        if damping:
            factor = damping * largest_curvature(problem, self.each)
            rough = problem.operator.rough_gram
            gram = gram + factor * rough
            total += factor * float(problem.weights.sum())
        else:
            gram = gram.copy()
        gram.flat[:: len(gram) + 1] += 2 * problem.penalty
        return gram, sums, total


def largest_curvature(problem: Problem, each: Array) -> float:
    """The largest second derivative of the loss, or that of rows at hand where there is no limit.

    ``each`` are ω·loss'' of the rows.
    """
    if np.isfinite(problem.steepest):
        return min(problem.steepest, MOST_DAMPING)
    present = problem.weights > 0
    columns = each.reshape(len(present), -1)[present]
    return float((columns / problem.weights[present, None]).max(initial=0.0)) or 1.0


def _few_rows_solver(
    rows: FewRows, each: Array, ridge: float, pool: Pool
) -> Callable[[Array], Array]:
    """(Z'DZ + νI)⁻¹ through the matrix of the few rows of Z (Woodbury)."""
    system = rows.inner()
    system.flat[:: len(system) + 1] += ridge / each
    inner = _solver(system, pool)

    def solve(right: Array) -> Array:
        return (right - rows.transposed(inner(rows.times(right)))) / ridge

    return solve


def _solver(system: Array, pool: Pool) -> Callable[[Array], Array]:
    factor = box.factor(system, pool)
    return lambda right: linalg.cho_solve(factor, right, check_finite=False)


def search(
    problem: Problem, point: Point, direction: Array, shift: Array
) -> tuple[float, Point | None]:
    """The minimum along a line, to a tenth of the slope it begins with.

    Scores move in a line too, so that one pass for their direction is enough for all trials.
    """
    along = problem.operator.scores(direction) + shift
    inner = 2 * problem.penalty * float((point.coef * direction).sum())
    square = 2 * problem.penalty * float((direction**2).sum())
    everything = slice(0, len(along))

    def slope(length: float) -> float:
        slopes = problem.judge(point.scores + length * along, everything)[1]
        with np.errstate(over="ignore", invalid="ignore"):
            found = float((slopes * along).sum()) + inner + length * square
        return found if np.isfinite(found) else BEYOND  # beyond all numbers is too far

    first = slope(0.0)
    if not first < 0:
        return 0.0, None
    low, high = 0.0, 1.0
    farthest = 1e6 if problem.limits is None else 1.0  # as far as the box is known to reach
    while (last := slope(high)) < 0.1 * first and high < farthest:
        low, high = high, 4 * high
    length = high
    if last > -0.1 * first:
        while low == 0 and slope(high / 8) > 0:
            high /= 8
            if high < SHORTEST:
                return high, None
        length = optimize.brentq(slope, low or high / 8, high, xtol=0.01 * high, rtol=0.01)
    coef = problem.inside(point.coef + length * direction)
    return length, problem.evaluate(coef, point.intercept + length * shift)
