"""Newton's method by conjugate gradients: smooth losses on indicators of cells, millions of them.

Needs no matrix but the diagonal of Z̃'DZ̃ over the cells. Columns of one grid are orthogonal, and
one cell may hold a hundred thousand rows where another holds one: dividing by the diagonal is what
makes the problem round. Dense functions beside the cells have a sketch of their own.

The squared loss is one Newton step. It ends when the gradient is small enough, or when the
objective is known to be within a millionth of its minimum: the last few steps of conjugate
gradients tell how far it still falls (Hestenes and Stiefel 1952).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .found import Found
from .newton import LEAST_DAMPING, search
from .preconditioner import Preconditioner
from .problem import CodedOperator, Point, Problem
from .solution import Array

MAX_STEPS = 60
MAX_PRODUCTS = 1000
# Steps of conjugate gradients that are looked back on to tell how far the objective still falls.
LOOK_BACK = 6

Dense = Callable[[float], Preconditioner]


def minimise(
    problem: Problem,
    start: Point,
    tolerance: float,
    dense: Dense | None,
    damping: float = 0.0,
    accuracy: float = 0.0,
) -> Found:
    """The minimum of a smooth problem; ``dense`` makes the preconditioner of dense functions.

    ``damping`` is that of `newton`. With a quadratic loss the search also ends where the objective
    is within ``accuracy`` of its minimum, as a share of it.
    """
    quadratic = problem.loss.quadratic
    point, products = start, 0
    for _ in range(MAX_STEPS):
        residual = problem.residual(point)
        if residual <= tolerance:
            return Found(point, products, True, "the gradient is small enough")
        goal = 0.5 * tolerance / residual if quadratic else min(0.1, residual**0.5)
        step = _Step(problem, point, dense, damping)
        coef, shift, used, near = step.solve(goal, accuracy if quadratic else 0.0)
        products += used
        if quadratic:
            following: Point | None = problem.evaluate(point.coef + coef, point.intercept + shift)
        else:
            length, following = search(problem, point, coef, shift)
            if length < 0.05:
                damping = min(max(10 * damping, LEAST_DAMPING), 1.0)
            elif length > 0.5:
                damping = damping / 10 if damping > LEAST_DAMPING else 0.0
        if following is None:
            if damping >= 1 or products >= MAX_PRODUCTS:
                return Found(point, products, False, "rounding errors hide any further descent")
            continue
        fallen = float(point.value.sum() - following.value.sum())
        point = following
        if near:
            return Found(point, products, True, "the objective is close enough to its minimum")
        if quadratic and fallen <= 1e-12 * abs(float(point.value.sum())):
            converged = problem.residual(point) <= tolerance
            return Found(point, products, converged, "rounding errors hide any further descent")
        if products >= MAX_PRODUCTS:
            break
    converged = problem.residual(point) <= tolerance
    return Found(point, products, converged, f"{products} products were not enough")


@dataclass
class _Step:
    """H d = -g, H the second derivative at a point, weights and intercepts together."""

    problem: Problem
    point: Point
    dense: Dense | None
    damping: float

    def __post_init__(self) -> None:
        problem = self.problem
        operator: CodedOperator = problem.operator  # type: ignore[assignment]
        self.operator, self.n_dense = operator, operator.n_dense
        each = problem.curvature(self.point.scores)
        if self.damping:
            each = each + self.damping * min(problem.steepest, 1e6) * problem.weights[:, None]
        self.each = each
        # The one loss that judges columns together has D = diag(p) - pp' in every row.
        self.shares = problem.loss.probabilities(self.point.scores) if problem.loss.joint else None
        self.diagonal = operator.squares(each) + 2 * problem.penalty
        self.diagonal[self.diagonal <= 0] = 1.0
        self.total = each.sum(axis=0)
        self.total[self.total <= 0] = 1.0
        self.change: Preconditioner | None = None
        if self.dense is not None:
            self.typical = problem.typical_curvature(self.point)
            self.change = self.dense(2 * problem.penalty / self.typical)

    def solve(self, goal: float, accuracy: float) -> tuple[Array, Array, int, bool]:
        """The step, how many products it took, and whether the objective is near its minimum.

        Ends when the residual has fallen to ``goal`` of what it was. Columns are solved for side
        by side, each with step lengths of its own.
        """
        point = self.point
        right = -np.vstack([point.gradient, point.intercept_gradient])
        if not self.problem.intercept:
            right[-1] = 0
        value = np.atleast_1d(point.value)
        step, left = np.zeros_like(right), right.copy()
        first = np.linalg.norm(right)
        turned = self._preconditioned(left)
        direction, size = turned.copy(), self._inner(left, turned)
        falls: list[Array] = []
        for used in range(1, MAX_PRODUCTS + 1):
            product = self._product(direction)
            along = self._inner(direction, product)
            length = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
            step += length * direction
            left -= length * product
            falls.append(length * size / 2)
            value = value - falls[-1]
            near = accuracy > 0 and used >= LOOK_BACK
            near = near and bool((sum(falls[-LOOK_BACK:]) <= accuracy * np.abs(value)).all())
            if near or np.linalg.norm(left) <= goal * first or not (length > 0).any():
                break
            turned = self._preconditioned(left)
            before, size = size, self._inner(left, turned)
            direction *= np.divide(size, before, out=np.zeros_like(size), where=before > 0)
            direction += turned
        return step[:-1], step[-1], used, near

    def _inner(self, a: Array, b: Array) -> Array:
        """Inner products, one for every column; one for all where columns depend on each other."""
        sums = np.einsum("ij,ij->j", a, b)
        return sums.sum(keepdims=True) if self.problem.loss.joint else sums

    def _product(self, V: Array) -> Array:
        """HV."""
        weights, shift = V[:-1], V[-1]
        sums = np.zeros((self.operator.shape[0], V.shape[1]))

        def judge(scores: Array, rows: slice) -> Array:
            scores = scores + shift
            sums[rows] = self.each[rows] * scores
            if self.shares is not None:
                p, each = self.shares[rows], self.problem.weights[rows, None]
                others = (p * scores).sum(axis=1, keepdims=True) - p * scores
                sums[rows] -= each * p * others
            return sums[rows]

        out = np.empty_like(V)
        out[:-1] = self.operator.fused(weights, judge)
        out[:-1] += 2 * self.problem.penalty * weights
        out[-1] = sums.sum(axis=0) if self.problem.intercept else 0.0
        return out

    def _preconditioned(self, V: Array) -> Array:
        out = np.empty_like(V)
        out[self.n_dense : -1] = V[self.n_dense : -1] / self.diagonal
        out[-1] = V[-1] / self.total
        if self.change is not None:
            above = self.change.apply(self.change.transposed(V[: self.n_dense]))
            out[: self.n_dense] = above / self.typical
        return out
