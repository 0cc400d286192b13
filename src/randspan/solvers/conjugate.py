"""Newton's method by conjugate gradients: smooth losses on indicators of cells, millions of them.

Needs no matrix but the diagonal of Z̃'DZ̃ over the cells. Columns of one grid are orthogonal, and
one cell may hold a hundred thousand rows where another holds one: dividing by the diagonal is what
makes the problem round. Dense functions beside the cells have a sketch of their own.

The squared loss is one Newton step. It ends when the gradient is small enough, or when the
objective is as near to its minimum as was asked for: the last few steps of conjugate gradients tell
how far it still falls (Hestenes and Stiefel 1952).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .found import Found
from .in_passes import InPasses
from .newton import LEAST_DAMPING, largest_curvature, search
from .preconditioner import Preconditioner
from .problem import CellOperator, Point, Problem
from .solution import Array

MAX_STEPS = 60
MAX_PRODUCTS = 3000
# Steps of conjugate gradients that are looked back on to tell how far the objective still falls.
LOOK_BACK = 6
# Residuals may grow on the way, by the root of the condition number; beyond this it is rounding.
DIVERGED = 1e8
# Cells at a time, in operations on whole vectors.
PIECE = 2**15

Dense = Callable[[float], Preconditioner]


class Conjugate(InPasses):
    """Smooth losses on indicators of cells."""

    name = "conjugate"
    kinds = ("cells",)
    smooth = True
    box = False


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
        if quadratic and fallen <= 1e-12 * abs(float(problem.excess(point).sum())):
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
        operator: CellOperator = problem.operator  # type: ignore[assignment]
        self.operator, self.n_dense = operator, operator.n_dense
        each = problem.curvature(self.point.scores)
        if self.damping:
            most = largest_curvature(problem, each)
            each = each + self.damping * most * problem.weights[:, None]
        self.each = each
        # The one loss that judges columns together has D = diag(p) - pp' in every row.
        self.shares = problem.loss.probabilities(self.point.scores) if problem.loss.joint else None
        self.diagonal = operator.squares(each) + 2 * problem.penalty
        self.diagonal[self.diagonal <= 0] = 1.0
        if problem.penalty == 0:  # only then is the solution of smallest norm where steps lead
            self.diagonal[:] = 1.0
        self.total = each.sum(axis=0)
        self.total[self.total <= 0] = 1.0
        self.change: Preconditioner | None = None
        if self.dense is not None and problem.penalty > 0:
            self.typical = problem.typical_curvature(self.point)
            self.change = self.dense(2 * problem.penalty / self.typical)

    def solve(self, goal: float, accuracy: float) -> tuple[Array, Array, int, bool]:
        """The step, how many products it took, and whether the objective is near its minimum.

        Ends when the residual has fallen to ``goal`` of what it was. Columns are solved for side
        by side, each with step lengths of its own.
        """
        point = self.point
        left = -np.vstack([point.gradient, point.intercept_gradient])
        if not self.problem.intercept:
            left[-1] = 0
        value = np.atleast_1d(self.problem.excess(point))
        step, product, direction = (np.zeros_like(left) for _ in range(3))
        first = np.linalg.norm(left)
        size = self._turn(direction, left)
        falls: list[Array] = []
        for used in range(1, MAX_PRODUCTS + 1):
            along = self._multiply(direction, product)
            length = np.divide(size, along, out=np.zeros_like(size), where=along > 0)
            norm = self._advance(step, left, direction, product, length)
            falls.append(length * size / 2)
            value = value - falls[-1]
            near = accuracy > 0 and used >= LOOK_BACK
            near = near and bool((sum(falls[-LOOK_BACK:]) <= accuracy * np.abs(value)).all())
            lost = not norm < DIVERGED * first
            if near or norm <= goal * first or lost or not (length > 0).any():
                break
            size = self._turn(direction, left, size)
        return step[:-1], step[-1], used, near

    # Vectors of millions of cells leave the cache with every operation, and room for a new one is
    # dearer than the operation itself. So all of them work in pieces, on vectors that are there.

    def _multiply(self, direction: Array, product: Array) -> Array:
        """product = H·direction; returns their inner product."""
        weights, shift = direction[:-1], direction[-1]
        sums = np.zeros((self.operator.shape[0], direction.shape[1]))

        def judge(scores: Array, rows: slice) -> Array:
            scores = scores + shift
            sums[rows] = self.each[rows] * scores
            if self.shares is not None:
                p, each = self.shares[rows], self.problem.weights[rows, None]
                others = (p * scores).sum(axis=1, keepdims=True) - p * scores
                sums[rows] -= each * p * others
            return sums[rows]

        self.operator.fused(weights, judge, out=product[:-1])
        product[-1] = sums.sum(axis=0) if self.problem.intercept else 0.0
        inner = product[-1] * shift
        for piece in self._pieces(0):
            product[piece] += 2 * self.problem.penalty * direction[piece]
            inner += np.einsum("ij,ij->j", direction[piece], product[piece])
        return self._together(inner)

    def _advance(
        self, step: Array, left: Array, direction: Array, product: Array, length: Array
    ) -> float:
        """A step along the direction; returns the norm of what is left."""
        squares = 0.0
        for piece in [*self._pieces(0), slice(len(left) - 1, len(left))]:
            step[piece] += length * direction[piece]
            left[piece] -= length * product[piece]
            squares += float(np.vdot(left[piece], left[piece]))
        return squares**0.5

    def _turn(self, direction: Array, left: Array, before: Array | float = 0.0) -> Array:
        """The next direction, conjugate to the one before; returns left'·M⁻¹·left."""
        ends = [(slice(len(left) - 1, len(left)), left[-1:] / self.total)]
        if self.change is None:
            ends.append((slice(0, self.n_dense), left[: self.n_dense]))
        else:
            dense = slice(0, self.n_dense)
            turned = self.change.apply(self.change.transposed(left[dense])) / self.typical
            ends.append((dense, turned))
        size = np.zeros(left.shape[1])
        for piece, turned in ends:
            size += np.einsum("ij,ij->j", left[piece], turned)
        for piece in self._pieces(self.n_dense):
            cells = slice(piece.start - self.n_dense, piece.stop - self.n_dense)
            size += np.einsum("ij,ij->j", left[piece], left[piece] / self.diagonal[cells])
        size = self._together(size)
        ratio = np.divide(size, before, out=np.zeros_like(size), where=np.greater(before, 0))
        for piece, turned in ends:
            direction[piece] = ratio * direction[piece] + turned
        for piece in self._pieces(self.n_dense):
            cells = slice(piece.start - self.n_dense, piece.stop - self.n_dense)
            direction[piece] *= ratio
            direction[piece] += left[piece] / self.diagonal[cells]
        return size

    def _pieces(self, first: int) -> list[slice]:
        k = self.operator.shape[1]
        return [slice(s, min(s + PIECE, k)) for s in range(first, k, PIECE)]

    def _together(self, sums: Array) -> Array:
        """One number for all columns where these depend on each other."""
        return sums.sum(keepdims=True) if self.problem.loss.joint else sums
