"""The squared loss with many functions: conjugate gradients in variables that make it round.

Needs the squared loss without a box, and room for a sketch; neither Z'Z nor its cube is paid for.
With w = Cu, C from a sketch of all rows (`preconditioner`), conjugate gradients on
C'(Z̃'ΩZ̃ + μI)C converge in some ten passes. The products of a pass may be float32: every so often
the gradient is computed anew in float64 from the weights themselves, and only what is missing is
solved for. That is what keeps sketched solvers as accurate as QR (Epperly 2024; Epperly, Meier and
Nakatsukasa 2025), and starts from any weights, for instance those of a larger ridge.
"""

from __future__ import annotations

import numpy as np

from .found import Found
from .in_passes import InPasses
from .preconditioner import Preconditioner
from .problem import Point, Problem
from .solution import Array

MAX_STEPS = 500
# Conjugate gradients in float32 products gain this much before the gradient is computed anew.
GAIN = 1e-3
# The objective may rise by this share of it where it hardly falls any more.
RISES = 1e-6


class Sketched(InPasses):
    """The squared loss with many functions."""

    name = "sketched"
    kinds = ("",)
    squared_only = True
    box = False
    sketches = True


def minimise(
    problem: Problem, start: Point, tolerance: float, preconditioner: Preconditioner
) -> Found:
    """The minimum of Σω(y - z̃'w - b)² + μ‖w‖², all columns together.

    In the new variables half the squared gradient is about what F can still fall by; the solver
    stops where that is ``tolerance``² of F.
    """
    exact = problem.exactly()
    point, steps, before = start, 0, np.inf
    unit = 1 / np.sqrt(problem.weights.sum())
    while True:
        if not np.isfinite(point.value).all():
            return Found(point, steps, False, "the iterates are no longer finite")
        right = _transformed(point, preconditioner, unit)
        left = float(np.max(_norms(right) / np.sqrt(_floor(problem, point))))
        if left <= tolerance:
            return Found(point, steps, True, "what is left to gain is small enough")
        if steps >= MAX_STEPS:
            return Found(point, steps, False, f"{MAX_STEPS} steps were not enough")
        if left > 0.5 * before:
            return Found(point, steps, False, "rounding errors hide any further descent")
        before = left
        inner, taken = _conjugate_gradients(
            problem, preconditioner, unit, -right / 2, max(GAIN, 0.5 * tolerance / left), steps
        )
        steps += taken
        coef = point.coef + preconditioner.apply(inner[:-1])
        following = exact.evaluate(coef, point.intercept + unit * inner[-1])
        if (following.value > (1 + RISES) * _floor(problem, point)).any():
            return Found(point, steps, False, "rounding errors hide any further descent")
        point = following


def _floor(problem: Problem, point: Point) -> Array:
    """F, or 1e-12 of what it is without weights where a model fits perfectly."""
    each = problem.weights[:, None]
    return np.maximum(point.value, 1e-12 * (each * problem.targets**2).sum(axis=0)) + 1e-300


def _norms(columns: Array) -> Array:
    return np.linalg.norm(columns, axis=0)


def _transformed(point: Point, preconditioner: Preconditioner, unit: float) -> Array:
    inner = preconditioner.transposed(point.gradient)
    return np.vstack([inner, unit * point.intercept_gradient])


def _conjugate_gradients(
    problem: Problem,
    preconditioner: Preconditioner,
    unit: float,
    right: Array,
    gain: float,
    steps: int,
) -> tuple[Array, int]:
    """u with C'(Z̃'ΩZ̃ + μI)Cu = right (the intercept in the last row), to a factor of ``gain``."""
    each = problem.weights[:, None]

    def product(U: Array) -> Array:
        W, shift = preconditioner.apply(U[:-1]), unit * U[-1] * problem.intercept
        sums = np.zeros_like(problem.targets)

        def judge(scores: Array, rows: slice) -> Array:
            weighted = each[rows] * (scores + shift)
            sums[rows] = weighted
            return weighted

        back = problem.operator.fused(W, judge) + problem.penalty * W
        last = unit * sums.sum(axis=0) * problem.intercept
        return np.vstack([preconditioner.transposed(back), last])

    solved = np.zeros_like(right)
    rest, direction = right.copy(), right.copy()
    square = (rest**2).sum(axis=0)
    goal = gain**2 * square
    for taken in range(1, MAX_STEPS - steps + 1):
        moved = product(direction)
        along = (direction * moved).sum(axis=0)
        length = np.where(along > 0, square / np.where(along > 0, along, 1), 0.0)
        solved += length * direction
        rest -= length * moved
        following = (rest**2).sum(axis=0)
        if (following <= goal).all():
            return solved, taken
        direction = (
            rest + np.where(square > 0, following / np.where(square > 0, square, 1), 0) * direction
        )
        square = following
    return solved, MAX_STEPS - steps
