"""Newton's method inside a box: smooth losses, up to some thousand functions.

Needs a loss with a second derivative, whose columns can be fitted apart, and room for k × k
matrices. Each step solves with the exact Hessian of the weights that are free; weights at the box
that want to leave it stay there (Bertsekas 1982). Without a box it is Newton's method.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from scipy import linalg, optimize

from .found import Found
from .problem import Point, Problem
from .solution import Array

MAX_STEPS = 100
# Up to here k × k matrices are no matter.
MODERATE = 4000
# Systems through few rows have at most so many.
FEW_ROWS = 6000


def minimise(problem: Problem, start: Point, tolerance: float, damping: float = 0.0) -> Found:
    """The minimum of a smooth problem, column by column."""
    found = [
        _minimise(problem.column(j), _column(start, j), tolerance, damping)
        for j in range(problem.n_targets)
    ]
    point = Point(
        *(
            np.concatenate([getattr(f.point, name) for f in found], axis=-1)
            for name in Point.__dataclass_fields__
        )
    )
    worst = min(found, key=lambda f: f.converged)
    return Found(point, max(f.iterations for f in found), worst.converged, worst.stopped)


def _column(point: Point, j: int) -> Point:
    return Point(*(getattr(point, name)[..., j : j + 1] for name in Point.__dataclass_fields__))


def _minimise(problem: Problem, point: Point, tolerance: float, damping: float) -> Found:
    # With very many functions only steps through few rows are taken, and none is damped.
    large = problem.operator.shape[1] > MODERATE
    damping = 0.0 if large else damping
    search = _exact_search if problem.limits is None else _projected_search
    for step in range(MAX_STEPS):
        if problem.residual(point) <= tolerance:
            return Found(point, step, True, "the gradient is small enough")
        hessian = _Hessian(problem, point)
        if large and hessian.too_large:
            return Found(point, step, False, "too many rows have a curvature")
        while True:
            with problem.operator.dense(hessian.size):
                direction = hessian.direction(damping)
            length, following = search(problem, point, *direction)
            if following is not None:
                break
            if damping >= 1 or large:
                return Found(point, step, False, "rounding errors hide any further descent")
            damping = min(max(10 * damping, 0.01), 1.0)
        if length < 0.05 and not large:
            damping = min(max(10 * damping, 0.01), 1.0)
        elif length > 0.5:
            damping = damping / 10 if damping > 0.005 else 0.0
        point = following
    return Found(point, MAX_STEPS, False, f"{MAX_STEPS} steps were not enough")


class _Hessian:
    """Second derivatives at a point; the weights the box holds there stay where they are.

    Where few rows have any curvature (kinks, flat parts), a step may lead far away. ``damping``
    adds so much of the largest curvature the loss can have, for all rows; with all of it a step is
    about sure to descend.
    """

    def __init__(self, problem: Problem, point: Point):
        self.problem, self.point = problem, point
        self.free = ~problem.held(point.coef, point.gradient)[:, 0]
        self.each = problem.curvature(point.scores)[:, 0]
        self.chosen = np.flatnonzero(self.each)

    @property
    def size(self) -> int:
        return min(len(self.chosen) or 1, len(self.free))

    @property
    def too_large(self) -> bool:
        """Whether a problem of very many functions has no small system to solve."""
        return not 0 < len(self.chosen) <= FEW_ROWS or self.problem.penalty == 0

    def direction(self, damping: float) -> tuple[Array, Array]:
        """The Newton direction of weights and intercept."""
        problem, point, free = self.problem, self.point, self.free
        count = int(np.count_nonzero(free))
        gradient = np.column_stack([point.gradient[free, 0], np.zeros(count)])
        large = len(free) > MODERATE
        few = not damping and 0 < len(self.chosen) < count and problem.penalty > 0
        if few or large:
            rows, each = self._few_rows, self.each[self.chosen]
            sums, total = each @ rows, float(each.sum())
            solve = _few_rows_solver(rows, each, 2 * problem.penalty)
        else:
            gram, sums, total = self._system(damping)
            solve = _solver(gram)
        # The intercept by elimination: H d + s δ = -g, s'd + t δ = -g₀.
        gradient[:, 1] = sums
        solved = solve(gradient)
        shift = np.zeros(1)
        if problem.intercept:
            left = total - sums @ solved[:, 1]
            right = sums @ solved[:, 0] - point.intercept_gradient[0]
            shift[0] = right / left if left > 1e-12 * total else 0.0
        direction = np.zeros_like(point.coef)
        direction[free, 0] = -solved[:, 0] - shift[0] * solved[:, 1]
        return direction, shift

    @cached_property
    def _few_rows(self) -> Array:
        rows = self.problem.operator.rows(self.chosen).astype(np.float64, copy=False)
        return rows if self.free.all() else rows[:, self.free]

    @cached_property
    def _gram(self) -> tuple[Array, Array]:
        return self.problem.operator.gram(self.each)

    def _system(self, damping: float) -> tuple[Array, Array, float]:
        problem = self.problem
        gram, sums = self._gram
        total = float(self.each.sum())
        if damping:
            factor = damping * min(problem.steepest, 1e6)
            rough = problem.operator.rough_gram
            gram = gram + factor * rough
            total += factor * float(problem.weights.sum())
        if not self.free.all():
            gram, sums = gram[np.ix_(self.free, self.free)], sums[self.free]
        elif not damping:
            gram = gram.copy()
        gram.flat[:: len(gram) + 1] += 2 * problem.penalty
        return gram, sums, total


def _few_rows_solver(rows: Array, each: Array, ridge: float) -> Callable[[Array], Array]:
    """(Z'DZ + νI)⁻¹ through the matrix of the few rows of Z (Woodbury)."""
    system = rows @ rows.T
    system.flat[:: len(system) + 1] += ridge / each
    inner = _solver(system)

    def solve(right: Array) -> Array:
        return (right - rows.T @ inner(rows @ right)) / ridge

    return solve


def _solver(system: Array) -> Callable[[Array], Array]:
    """A positive semi-definite system, with as little added to its diagonal as it takes."""
    diagonal = np.diagonal(system).copy()
    added = 1e-13 * (float(diagonal.max(initial=0.0)) or 1.0)
    while True:
        system.flat[:: len(system) + 1] = diagonal + added
        try:
            factor = linalg.cho_factor(system, lower=True, check_finite=False)
        except linalg.LinAlgError:
            added *= 100
            continue
        return lambda right: linalg.cho_solve(factor, right, check_finite=False)


def _exact_search(
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
        return float((slopes * along).sum()) + inner + length * square

    first = slope(0.0)
    if not first < 0:
        return 0.0, None
    low, high = 0.0, 1.0
    while (last := slope(high)) < 0.1 * first and high < 1e6:
        low, high = high, 4 * high
    length = high
    if last > -0.1 * first:
        length = optimize.brentq(slope, low, high, xtol=1e-3 * (high - low), rtol=1e-2)
        length = length or 1e-3 * (high - low)
    following = problem.evaluate(point.coef + length * direction, point.intercept + length * shift)
    return length, following


def _projected_search(
    problem: Problem, point: Point, direction: Array, shift: Array
) -> tuple[float, Point | None]:
    """The first of the steps 1, ½, ¼, … (put back into the box) that pays for itself."""
    rounding = 4 * float(np.finfo(problem.operator.products).eps) * abs(float(point.value[0]))
    length = 1.0
    while length > 0.05:
        coef = problem.inside(point.coef + length * direction)
        following = problem.evaluate(coef, point.intercept + length * shift)
        expected = float((point.gradient * (coef - point.coef)).sum())
        expected += length * float(point.intercept_gradient @ shift)
        gain = float(point.value[0] - following.value[0])
        if gain >= -1e-4 * expected and gain > 0:
            return length, following
        # Where values no longer tell, the gradient does.
        if abs(gain) <= rounding and problem.residual(following) < 0.5 * problem.residual(point):
            return length, following
        length *= 0.5
    return 0.0, None
